"""Providers that stand in for each other, keys used in turn: real servers, nothing said twice."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from byte_server import HELLO, ByteServer, Reply, answer, delta, raw, serving, stream

from stormclaw.config.keys import Profile
from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ToolCall, UserText
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Hands,
    Provider,
    Remark,
    Retrying,
    Ruling,
    Step,
    Text,
    Withdrawn,
)
from stormclaw.providers._fallback.cooldowns import Cooldowns, forget, resting
from stormclaw.providers._fallback.failover import BACKOFF_S, Failover, Part
from stormclaw.providers.registry import compose, connect
from stormclaw.providers.ways import Way

REQUEST = ChatRequest("", (UserText("hi"),), (), "")
BAD_KEY = answer({"error": {"message": "bad key sk-abcdefghijklmnop"}}, 401)
BROKEN = answer({"error": {"message": "down"}}, 500)
LIMITED = answer({"error": {"message": "slow down"}}, 429, Retry_After="30")


@pytest.fixture
async def first() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


@pytest.fixture
async def second() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


class Clock:
    """Unix time that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def settings(server: ByteServer, **more: object) -> ModelSettings:
    found = ModelSettings(
        "openai-compatible", model="m", base_url=server.url, idle_timeout_s=5.0, max_retries=0
    )
    return replace(found, **more)  # type: ignore[arg-type]


def reliable(
    *servers: tuple[str, ByteServer], clock: Clock | None = None, retries: int = 0, **more: Any
) -> Failover:
    parts = [Part(name, connect(name, settings(server, **more))) for name, server in servers]
    made = compose(
        "steady",
        ModelSettings("reliable", max_retries=retries),
        parts,
        Cooldowns(clock=clock or Clock()),
    )
    assert isinstance(made, Failover)
    return made


async def hear(provider: Provider, request: ChatRequest = REQUEST) -> list[Delta | ChatResponse]:
    return [item async for item in provider.stream(request)]


def remarks(items: Sequence[object]) -> list[str]:
    return [item.text for item in items if isinstance(item, Remark)]


def shown(items: Sequence[object]) -> str:
    """What is left on the screen."""
    text = ""
    for item in items:
        if isinstance(item, Withdrawn):
            text = ""
        elif isinstance(item, Text):
            text += item.text
    return text


@pytest.mark.parametrize(
    ("reply", "more", "said"),
    [
        (raw(end="hold"), {"idle_timeout_s": 0.2}, "one sent nothing for 0.2s"),
        (BROKEN, {}, "one has trouble (down)"),
        (LIMITED, {}, "one takes no more requests for now (slow down)"),
        (BAD_KEY, {}, "one refused the key (bad key ***)"),
        (answer({"error": {"message": "pay"}}, 402), {}, "one has no credit left (pay)"),
        (raw(end="reset"), {}, "one cannot be reached"),
    ],
    ids=["silence", "500", "429", "401", "402", "reset"],
)
async def test_the_next_one_answers_and_that_is_said(
    first: ByteServer, second: ByteServer, reply: Reply, more: dict[str, Any], said: str
) -> None:
    first.will(reply)
    second.will(stream(*HELLO))
    provider = reliable(("one", first), ("two", second), **more)
    items = await hear(provider)
    await provider.close()
    (remark,) = remarks(items)
    assert remark.startswith(said)
    assert remark.endswith("; two answers instead")
    assert shown(items) == "Hello"
    last = items[-1]
    assert isinstance(last, ChatResponse)
    assert (last.provider, last.model) == ("two", "served-model")
    assert (len(first.requests), len(second.requests)) == (1, 1)


async def test_who_failed_is_passed_over_until_its_cooldown_is_over(
    first: ByteServer, second: ByteServer
) -> None:
    clock = Clock()
    first.will(LIMITED, stream(*HELLO))
    second.will(stream(*HELLO), stream(*HELLO))
    provider = reliable(("one", first), ("two", second), clock=clock)
    await hear(provider)
    clock.now += 29
    assert remarks(await hear(provider)) == []
    assert (len(first.requests), len(second.requests)) == (1, 2)
    clock.now += 2
    items = await hear(provider)
    await provider.close()
    assert remarks(items) == ["one answers again"]
    assert len(first.requests) == 2
    assert isinstance(items[-1], ChatResponse)
    assert items[-1].provider == "one"


async def test_text_that_was_shown_is_withdrawn_before_another_begins(
    first: ByteServer, second: ByteServer
) -> None:
    first.will(stream(delta("Once upon"), done=False, end="reset"))
    second.will(stream(*HELLO))
    provider = reliable(("one", first), ("two", second))
    items = await hear(provider)
    await provider.close()
    kinds = [type(item) for item in items]
    assert kinds.index(Withdrawn) < kinds.index(Text, kinds.index(Withdrawn))
    assert shown(items) == "Hello"
    assert len(remarks(items)) == 1


async def test_when_nobody_answers_one_error_says_why_and_when(
    first: ByteServer, second: ByteServer
) -> None:
    first.will(BAD_KEY)
    second.will(LIMITED)
    provider = reliable(("one", first), ("two", second))
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    assert str(caught.value) == (
        "none of the providers of steady answers: "
        "one refused the key (bad key ***), again in 60 min; "
        "two takes no more requests for now (slow down), again in 30s"
    )
    assert caught.value.kind == "rate_limit"
    assert caught.value.retry_after_s == 30
    assert caught.value.hint == "send it in 30s, or take another model with /model"
    with pytest.raises(ProviderError, match=r"two takes no more requests.*again in 30s"):
        await hear(provider)
    await provider.close()
    assert (len(first.requests), len(second.requests)) == (1, 1)


async def test_where_waiting_does_not_help_the_hint_is_another(first: ByteServer) -> None:
    first.will(BAD_KEY)
    provider = reliable(("one", first))
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    await provider.close()
    assert caught.value.kind == "auth"
    assert caught.value.retry_after_s is None
    assert "/connect" in caught.value.hint


async def test_what_passes_by_itself_is_tried_again_when_all_have_failed(
    first: ByteServer, second: ByteServer
) -> None:
    first.will(BROKEN, stream(*HELLO))
    second.will(BAD_KEY)
    provider = reliable(("one", first), ("two", second), retries=1)
    items = await hear(provider)
    await provider.close()
    assert [type(item) for item in items if isinstance(item, Retrying)] == [Retrying]
    assert shown(items) == "Hello"
    assert len(second.requests) == 1


async def test_one_that_rests_is_asked_after_all_if_nobody_else_is_left(
    first: ByteServer, second: ByteServer
) -> None:
    first.will(BROKEN, stream(*HELLO))
    second.will(stream(*HELLO), BROKEN)
    provider = reliable(("one", first), ("two", second))
    await hear(provider)
    items = await hear(provider)
    await provider.close()
    assert remarks(items) == ["two has trouble (down); one answers instead", "one answers again"]


async def test_what_another_provider_cannot_help_with_ends_it(
    first: ByteServer, second: ByteServer
) -> None:
    first.will(answer({"error": {"message": "flagged by moderation"}}, 403))
    provider = reliable(("one", first), ("two", second))
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    await provider.close()
    assert caught.value.kind == "content_filter"
    assert second.requests == []


@pytest.mark.parametrize(("window", "asked"), [(4_000, 0), (100_000, 1), (0, 0)])
async def test_too_long_a_conversation_goes_only_to_one_that_takes_more(
    first: ByteServer, second: ByteServer, window: int, asked: int
) -> None:
    first.will(answer({"error": {"message": "context_length_exceeded"}}, 400))
    second.will(stream(*HELLO))
    one = connect("one", settings(first, context_window=8_000))
    two = connect("two", settings(second, context_window=window, model="unheard-of"))
    parts = [Part("one", one), Part("two", two)]
    provider = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    if asked:
        assert shown(await hear(provider)) == "Hello"
    else:
        with pytest.raises(ProviderError) as caught:
            await hear(provider)
        assert caught.value.kind == "context_length"
    await provider.close()
    assert len(second.requests) == asked


class Program(Provider):
    """Acts by itself, then breaks."""

    name = "program"
    model = "its-own"

    def capabilities(self) -> Capabilities:
        return Capabilities(acts=True, context_window=1)

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        yield Text("Removing it.")
        yield Step(ChatResponse("Removing it."))
        raise ProviderError("connection", "program died")


async def test_after_a_program_has_acted_nobody_else_is_asked(second: ByteServer) -> None:
    parts = [Part("program", Program()), Part("two", connect("two", settings(second)))]
    provider = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    with pytest.raises(ProviderError, match="program died"):
        await hear(provider)
    await provider.close()
    assert second.requests == []


class Early(Program):
    """Asks for a call before any answer tells of it, and dies."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        assert request.hands is not None
        await request.hands.permit(ToolCall("c", "shell_exec", "{}"))
        yield Withdrawn("the connection broke")
        raise ProviderError("connection", "program died")


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_that_was_let_pass_is_an_act_before_it_is_told(
    second: ByteServer, tmp_path: Path, allowed: bool
) -> None:
    async def permit(_: ToolCall) -> Ruling:
        return Ruling(allowed)

    second.will(stream(*HELLO))
    parts = [Part("program", Early()), Part("two", connect("two", settings(second)))]
    provider = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    request = replace(REQUEST, hands=Hands(tmp_path, {}, "full", permit))
    with suppress(ProviderError):
        async for _ in provider.stream(request):
            pass
    await provider.close()
    assert len(second.requests) == (0 if allowed else 1)


async def test_capabilities_are_those_of_who_would_be_asked(second: ByteServer) -> None:
    two = connect("two", settings(second, context_window=5))
    cooldowns = Cooldowns()
    parts = [Part("program", Program()), Part("two", two)]
    provider = compose("steady", ModelSettings("reliable"), parts, cooldowns)
    assert provider.capabilities().acts
    cooldowns.rest("program", ProviderError("connection", "gone"))
    assert provider.capabilities() == two.capabilities()
    assert provider.model == "its-own"


@pytest.mark.parametrize(
    ("model", "sent"),
    [("", ["m"]), ("m", ["m"]), ("two", ["n"]), ("n", ["n"]), ("other", ["other"])],
)
async def test_each_is_asked_for_its_own_model(
    first: ByteServer, second: ByteServer, model: str, sent: list[str]
) -> None:
    first.will(stream(*HELLO))
    second.will(stream(*HELLO))
    parts = [
        Part("one/m", connect("one", settings(first))),
        Part("two/n", connect("two", settings(second, model="n"))),
    ]
    provider = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    await hear(provider, replace(REQUEST, model=model))
    await provider.close()
    assert [request.body["model"] for request in (*first.requests, *second.requests)] == sent


async def test_two_models_of_one_provider_are_told_apart(first: ByteServer) -> None:
    first.will(BROKEN, stream(*HELLO))
    one = connect("one", settings(first))
    parts = [Part("one/a", one), Part("one/b", one)]
    provider = compose("steady", ModelSettings("reliable"), parts, Cooldowns())
    items = await hear(provider)
    await provider.close()
    assert remarks(items) == ["one/a has trouble (down); one/b answers instead"]


# Keys ------------------------------------------------------------------------------------------

KEYS = (Profile("environment", "k-env"), Profile("work", "k-work"), Profile("alt", "k-alt"))


def rotating(
    server: ByteServer, cooldowns: Cooldowns, *keys: Profile, retries: int = 0
) -> Failover:
    way = Way(
        "acme",
        settings(server, max_retries=retries),
        "k",
        "a test",
        keys=keys or KEYS,
        cooldowns=cooldowns,
    )
    provider = way.connect()
    assert isinstance(provider, Failover)
    return provider


def used(server: ByteServer) -> list[str]:
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


async def test_a_key_that_is_refused_is_followed_by_the_next(first: ByteServer) -> None:
    first.will(BAD_KEY, stream(*HELLO), stream(*HELLO))
    provider = rotating(first, Cooldowns())
    items = await hear(provider)
    assert remarks(items) == [
        "acme: the key environment was refused (bad key ***); the key work is used instead"
    ]
    assert not any("k-env" in str(item) for item in items)
    await hear(provider)
    await provider.close()
    assert used(first) == ["k-env", "k-work", "k-work"]


async def test_of_three_keys_with_two_on_cooldown_the_third_is_used(first: ByteServer) -> None:
    clock = Clock()
    first.will(LIMITED, BAD_KEY, stream(*HELLO), stream(*HELLO), stream(*HELLO))
    provider = rotating(first, Cooldowns(clock=clock))
    await hear(provider)
    await hear(provider)
    clock.now += 31
    items = await hear(provider)
    await provider.close()
    assert used(first) == ["k-env", "k-work", "k-alt", "k-alt", "k-env"]
    assert remarks(items) == ["acme: the key environment is used again"]


async def test_when_all_keys_rest_one_error_says_until_when(first: ByteServer) -> None:
    clock = Clock()
    first.will(LIMITED, BAD_KEY, answer({"error": {"message": "pay"}}, 402))
    provider = rotating(first, Cooldowns(clock=clock))
    with pytest.raises(ProviderError):
        await hear(provider)
    clock.now += 10
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    await provider.close()
    assert str(caught.value) == (
        "none of the 3 keys for acme can be used: "
        "environment is used up for now (slow down), again in 20s; "
        "work was refused (bad key ***), again in 60 min; "
        "alt has no credit left (pay), again in 60 min"
    )
    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limit", 20)
    assert len(first.requests) == 3


async def test_when_all_keys_are_refused_the_hint_says_what_to_do(first: ByteServer) -> None:
    first.will(BAD_KEY, BAD_KEY, BAD_KEY)
    provider = rotating(first, Cooldowns())
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    await provider.close()
    assert caught.value.kind == "auth"
    assert "stormclaw key add acme" in caught.value.hint
    assert "stormclaw key retry acme" in caught.value.hint


async def test_what_no_key_can_help_with_is_tried_again_with_the_same(first: ByteServer) -> None:
    first.will(BROKEN, stream(*HELLO))
    provider = rotating(first, Cooldowns(), retries=1)
    items = await hear(provider)
    await provider.close()
    assert used(first) == ["k-env", "k-env"]
    assert isinstance(items[0], Retrying)


async def test_a_refused_key_rests_over_a_restart_and_no_key_is_written(
    first: ByteServer, tmp_path: Path
) -> None:
    path = tmp_path / "cooldowns.json"
    clock = Clock()
    first.will(BAD_KEY, LIMITED, stream(*HELLO), stream(*HELLO), stream(*HELLO))
    provider = rotating(first, Cooldowns(path, clock))
    await hear(provider)
    await provider.close()
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "k-env" not in text
    assert "bad key" not in text
    assert list(json.loads(text)["resting"]) == ["acme#environment"]
    provider = rotating(first, Cooldowns(path, clock))
    await hear(provider)
    await provider.close()
    assert used(first) == ["k-env", "k-work", "k-alt", "k-work"]
    changed = rotating(first, Cooldowns(path, clock), Profile("environment", "k-new"), *KEYS[1:])
    await hear(changed)
    await changed.close()
    assert used(first)[-1] == "k-new"
    assert resting(path, clock) == {}


async def test_a_key_is_tried_again_when_the_person_says_so(
    first: ByteServer, tmp_path: Path
) -> None:
    path = tmp_path / "cooldowns.json"
    first.will(BAD_KEY, BAD_KEY, BAD_KEY, stream(*HELLO))
    provider = rotating(first, Cooldowns(path))
    with pytest.raises(ProviderError):
        await hear(provider)
    assert forget(path, lambda who: who.startswith("acme#")) == 3
    assert shown(await hear(provider)) == "Hello"
    await provider.close()


DAMAGED = [
    "",
    "{",
    '{"version": 1}',
    '{"version": 9, "resting": {}}',
    "[]",
    pytest.param("[" * 200_000, id="deep"),
    json.dumps({"version": 1, "salt": "ab" * 40, "resting": {}}),
]


@pytest.mark.parametrize("text", DAMAGED)
async def test_a_damaged_file_counts_as_empty(first: ByteServer, tmp_path: Path, text: str) -> None:
    path = tmp_path / "cooldowns.json"
    path.write_text(text)
    first.will(BAD_KEY, stream(*HELLO))
    provider = rotating(first, Cooldowns(path))
    await hear(provider)
    await provider.close()
    assert len(json.loads(path.read_text())["resting"]) == 1


async def test_a_disk_that_refuses_stops_nothing(first: ByteServer, tmp_path: Path) -> None:
    first.will(BAD_KEY, stream(*HELLO))
    (tmp_path / "file").write_text("")
    provider = rotating(first, Cooldowns(tmp_path / "file" / "cooldowns.json"))
    assert shown(await hear(provider)) == "Hello"
    await provider.close()


async def test_a_single_key_is_no_rotation(first: ByteServer) -> None:
    way = Way("acme", settings(first), "k-env", "a test", keys=KEYS[:1])
    provider = way.connect()
    assert not isinstance(provider, Failover)
    await provider.close()


def test_waits_begin_short() -> None:
    assert BACKOFF_S == 0.5

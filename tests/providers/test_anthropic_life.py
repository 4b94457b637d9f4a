"""The life of a request to Anthropic: retries, silence, refusals, keys, dead servers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import pytest
from byte_server import Reply, answer, raw
from claude_events import (
    HELLO,
    Event,
    added,
    opened,
    refused,
    started,
    stopped,
    talking,
    text,
    thinking,
    told,
    tool_use,
)

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, ErrorClass, ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolOutcome, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Message,
    Remark,
    Retrying,
    Text,
    Withdrawn,
)
from stormclaw.providers.anthropic import Messages, connect
from stormclaw.providers.registry import kinds

OPUS, SONNET = "claude-opus-4-6", "claude-sonnet-4-5"
ASK = ChatRequest("be brief", (UserText("hello"),), (), OPUS)
BUSY = refused("Overloaded", "overloaded_error", 529)


def asking(*messages: Message, model: str = OPUS, effort: str = "") -> ChatRequest:
    return ChatRequest("be brief", messages or (UserText("hi"),), (), model, effort=effort)


async def everything(provider: Messages, request: ChatRequest = ASK) -> list[object]:
    return [item async for item in provider.stream(request)]


def kinds_of(items: list[object]) -> list[type]:
    return [type(item) for item in items]


async def test_a_passing_error_is_tried_again_and_told() -> None:
    async with talking() as (server, provider):
        server.will(BUSY, refused("boom", "api_error", 500), told(*HELLO))
        items = await everything(provider)
    assert [item.reason for item in items if isinstance(item, Retrying)] == ["Overloaded", "boom"]
    assert isinstance(items[-1], ChatResponse)


async def test_retries_end_and_the_sdk_makes_none() -> None:
    async with talking(max_retries=1) as (server, provider):
        server.will(BUSY, BUSY, told(*HELLO))
        with pytest.raises(ProviderError, match="Overloaded") as caught:
            await everything(provider)
        assert caught.value.kind == "server"
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "end",
    [
        told(started(), *text(0, "Hel"), end="reset"),
        told(started(), *text(0, "Hel")),
        told(started(), *text(0, "Hel"), {"type": "error", "error": {"type": "overloaded_error",
             "message": "Overloaded"}}),
        told(started(), *thinking(0, "s", "hm"), end="eof"),
        told(started(), opened(0, "text", text="Hel"), end="eof"),
    ],
    ids=["reset", "no-stop", "overloaded", "in-thinking", "in-text"],
)  # fmt: skip
async def test_what_was_shown_is_withdrawn_before_the_answer_begins_anew(end: Reply) -> None:
    async with talking() as (server, provider):
        server.will(end, told(*HELLO))
        _, *items = await everything(provider)
        assert kinds_of(items) == [Withdrawn, Retrying, Text, Text, ChatResponse]
        assert len(server.requests) == 2


async def test_a_broken_call_is_no_text_and_is_tried_again() -> None:
    cut = (started(), opened(0, "tool_use", id="t", name="x", input={}))
    async with talking() as (server, provider):
        server.will(
            told(*cut, added(0, "input_json_delta", '{"a'), end="reset"),
            told(started(), *tool_use(0, "t", "x", '{"a": 1}'), *stopped("tool_use")),
        )
        items = await everything(provider)
    assert kinds_of(items) == [Retrying, ChatResponse]


async def test_the_last_error_keeps_what_had_come() -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(told(started(), *text(0, "Hel"), end="reset"))
        with pytest.raises(ProviderError) as caught:
            await everything(provider)
    assert (caught.value.kind, caught.value.partial) == ("connection", "Hel")


async def test_retry_after_is_honoured() -> None:
    limited = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}
    async with talking() as (server, provider):
        server.will(answer(limited, 429, Retry_After="0.01"), told(*HELLO))
        assert (await everything(provider))[0] == Retrying("slow", 0.01)
        server.will(answer(limited, 429, Retry_After="3600"))
        with pytest.raises(ProviderError) as caught:
            await everything(provider)
    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limit", 3600.0)


REFUSED: list[tuple[int, str, str, ErrorClass, str]] = [
    (401, "authentication_error", "invalid x-api-key", "auth", "/connect"),
    (403, "permission_error", "Your key may not use this", "forbidden", "/model"),
    (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.",
     "payment", "billing"),
    (402, "billing_error", "There is an issue with your payment", "payment", "/model"),
    (404, "not_found_error", "model: claude-none", "not_found", "/model"),
    (413, "request_too_large", "Request exceeds the maximum size", "too_large", "/"),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum",
     "context_length", "/new"),
    (400, "invalid_request_error", "messages.1.content.0: unexpected `tool_use_id`",
     "bad_request", "/model"),
    (429, "rate_limit_error", "This request would exceed your organization's rate limit",
     "rate_limit", "/model"),
    (500, "api_error", "Internal server error", "server", "/model"),
    (504, "timeout_error", "The request timed out", "timeout", "idle_timeout_s"),
    (529, "overloaded_error", "Overloaded", "server", "too much to do"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "name", "message", "kind", "step"), REFUSED)
async def test_a_refusal_has_its_class_its_words_and_a_next_step(
    status: int, name: str, message: str, kind: ErrorClass, step: str
) -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(refused(message, name, status))
        with pytest.raises(ProviderError) as caught:
            await everything(provider)
        assert len(server.requests) == 1
    assert (caught.value.kind, str(caught.value)) == (kind, message)
    assert step in caught.value.hint


async def test_an_address_where_nothing_is_says_what_it_should_be() -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(
            answer("404 page not found", 404), answer("", 307, Location="https://x.example")
        )
        with pytest.raises(ProviderError) as caught:
            await everything(provider)
        assert "without /v1/messages" in caught.value.hint
        with pytest.raises(ProviderError, match=r"x\.example"):
            await everything(provider)


SILENT = [
    (raw(end="hold"), 0.1, ""),
    (told({"type": "ping"}, end="hold"), 0.1, ""),
    (told(started(), *text(0, "Hel"), end="hold"), 2.0, "Hel"),
]


@pytest.mark.parametrize(
    ("reply", "idle_s", "partial"), SILENT, ids=["silent", "one-ping", "after-text"]
)
async def test_silence_is_a_timeout_that_keeps_what_came(
    reply: Reply, idle_s: float, partial: str
) -> None:
    async with talking(idle_timeout_s=idle_s, max_retries=0) as (server, provider):
        server.will(reply)
        with pytest.raises(ProviderError, match="sent nothing for") as caught:
            await everything(provider)
        await server.gone.wait()
    assert (caught.value.kind, caught.value.partial) == ("timeout", partial)
    assert "idle_timeout_s" in caught.value.hint


async def test_cancelling_closes_the_connection() -> None:
    async with talking() as (server, provider):
        server.will(told(started(), *text(0, "Hel"), end="hold"))
        shown = asyncio.Event()

        async def listen() -> None:
            async for item in provider.stream(ASK):
                if isinstance(item, Text):
                    shown.set()

        task = asyncio.create_task(listen())
        await shown.wait()
        assert not server.gone.is_set()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.gone.wait()


async def test_cancelling_before_the_first_byte_closes_the_connection() -> None:
    async with talking() as (server, provider):
        server.will(raw(end="hold"))
        task = asyncio.create_task(everything(provider))
        await server.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.gone.wait()


async def test_leaving_the_stream_closes_the_connection() -> None:
    async with talking() as (server, provider):
        server.will(told(started(), *text(0, "Hel"), end="hold"))
        async with aclosing(provider.stream(ASK)) as items:
            async for _ in items:
                break
        await server.gone.wait()


UNASKED = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'  # noqa: E501
LADDERS: list[tuple[str, str, list[str], list[tuple[str | None, str | None]]]] = [
    (
        SONNET,
        "low",
        [UNASKED],
        [("enabled", None), ("adaptive", "low")],
    ),
    (
        OPUS,
        "high",
        ["adaptive thinking is not supported on this model"],
        [("adaptive", "high"), ("enabled", None)],
    ),
    (
        "claude-opus-4-8",
        "xhigh",
        [
            "output_config.effort: 'xhigh' is not supported by this model",
            "This model does not support the effort parameter.",
            "thinking: Extra inputs are not permitted",
            "thinking: Extra inputs are not permitted",
            "thinking: Extra inputs are not permitted",
        ],
        [
            ("adaptive", "xhigh"),
            ("adaptive", "high"),
            ("adaptive", None),
            ("adaptive", "xhigh"),
            ("enabled", None),
            (None, None),
        ],
    ),
    (
        "claude-sonnet-5-5",
        "none",
        ['"thinking.type.between_tools" is not supported'],
        [("between_tools", None), ("adaptive", "low")],
    ),
]


@pytest.mark.parametrize(("model", "effort", "said", "spoken"), LADDERS)
async def test_thinking_that_is_refused_becomes_simpler_and_that_is_told(
    model: str, effort: str, said: list[str], spoken: list[tuple[str | None, str | None]]
) -> None:
    async with talking() as (server, provider):
        server.will(*map(refused, said), told(*HELLO), told(*HELLO))
        items = await everything(provider, asking(model=model, effort=effort))
        remarks = [item.text for item in items if isinstance(item, Remark)]
        assert len(remarks) == len(said)
        assert model in remarks[0]
        assert isinstance(items[-1], ChatResponse)
        again = await everything(provider, asking(model=model, effort=effort))
        assert not any(isinstance(item, Remark) for item in again)
        asked = [
            (
                request.body.get("thinking", {}).get("type"),
                request.body.get("output_config", {}).get("effort"),
            )
            for request in server.requests
        ]
    assert asked == [*spoken, spoken[-1]]


async def test_what_a_server_does_not_take_is_left_out_from_then_on() -> None:
    settings: dict[str, Any] = {"temperature": 0.5, "extra_body": {"service_tier": "auto"}}
    async with talking(**settings) as (server, provider):
        server.will(
            refused("`temperature` is deprecated for this model."),
            refused("service_tier: Extra inputs are not permitted"),
            refused("messages.0.content.0.cache_control: Extra inputs are not permitted"),
            told(*HELLO),
            told(*HELLO),
        )
        items = await everything(provider)
        assert kinds_of(items)[:2] == [Remark, Remark]
        await everything(provider)
        last = server.requests[-1]
        fields = [
            {"temperature", "service_tier"} & request.body.keys() for request in server.requests
        ]
        assert [len(named) for named in fields] == [2, 1, 0, 0, 0]
        marked = [b"cache_control" in request.content for request in server.requests]
        assert marked == [True, True, True, False, False]
        assert last.body["messages"]


async def test_another_bad_request_is_told_as_it_is() -> None:
    async with talking(temperature=0.5) as (server, provider):
        server.will(refused("temperature: range: 0..1"))
        with pytest.raises(ProviderError, match="range"):
            await everything(provider)
        assert len(server.requests) == 1


async def test_an_answer_longer_than_the_model_can_give_is_asked_shorter() -> None:
    said = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for x"
    async with talking() as (server, provider):
        server.will(refused(said), told(*HELLO), told(*HELLO))
        await everything(provider)
        await everything(provider)
        assert [r.body["max_tokens"] for r in server.requests] == [32_000, 8_192, 8_192]


async def test_a_conversation_that_leaves_little_room_gets_a_short_answer_once() -> None:
    said = "input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000, decrease"
    async with talking() as (server, provider):
        server.will(refused(said), told(*HELLO), told(*HELLO))
        await everything(provider)
        await everything(provider)
        assert [r.body["max_tokens"] for r in server.requests] == [32_000, 11_696, 32_000]
        server.will(refused(said.replace("188240", "199900")))
        with pytest.raises(ProviderError) as caught:
            await everything(provider)
        assert caught.value.kind == "context_length"


async def thought(provider: Messages, model: str) -> AssistantTurn:
    """What the model answered, as it is kept."""
    response = await provider.chat(asking(model=model, effort="high"))
    return AssistantTurn(response.final_text, calls=response.tool_calls, echo=response.echo)


THOUGHTFUL: tuple[Event, ...] = (started(), *thinking(0, "s", "hm"), *text(1, "a"), *stopped())
FOREIGN = 'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". This setting requires `thinking-binding-controls-2026-08-01` in the `anthropic-beta` header.'  # noqa: E501


async def test_thinking_of_a_changed_conversation_is_dropped_by_the_server_then_by_us() -> None:
    model = "claude-opus-5-5"
    async with talking(headers={"anthropic-beta": "mine"}) as (server, provider):
        server.will(told(*THOUGHTFUL))
        turn = await thought(provider, model)
        server.requests.clear()
        server.will(refused(FOREIGN), refused(FOREIGN), told(*HELLO))
        ask = asking(UserText("b"), turn, UserText("c"), model=model, effort="high")
        items = await everything(provider, ask)
        assert kinds_of(items)[0] is Remark
        first, second, third = server.requests
    assert "block_binding" not in first.body["thinking"]
    assert second.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert second.headers["anthropic-beta"] == "mine,thinking-binding-controls-2026-08-01"
    assert first.headers["anthropic-beta"] == "mine"
    kept = [len(request.body["messages"][1]["content"]) for request in (first, second, third)]
    assert kept == [2, 2, 1]


async def test_a_signature_that_is_refused_is_not_sent_again_but_later_ones_are() -> None:
    async with talking() as (server, provider):
        server.will(
            told(*THOUGHTFUL), refused("messages.1: Invalid `signature` in `thinking` block")
        )
        server.will(told(*THOUGHTFUL), told(*HELLO))
        old = await thought(provider, OPUS)
        response = await provider.chat(asking(UserText("b"), old, UserText("c"), effort="high"))
        new = AssistantTurn(response.final_text, echo=response.echo.replace("hm", "new"))
        talk = (UserText("b"), old, UserText("c"), new, UserText("d"))
        await provider.chat(asking(*talk, effort="high"))
        last = server.requests[-1].body["messages"]
    assert [block["type"] for block in last[1]["content"]] == ["text"]
    assert [block["type"] for block in last[3]["content"]] == ["thinking", "text"]


async def test_an_outcome_goes_back_with_the_thinking_that_led_to_it() -> None:
    calls = (started(), *thinking(0, "s", "hm"), *tool_use(1, "t1", "grep", "{}"))
    async with talking() as (server, provider):
        server.will(told(*calls, *stopped("tool_use")), told(*HELLO))
        turn = await thought(provider, SONNET)
        outcome = ToolOutcome("t1", "grep", "done", "found", Headline("search", "x"))
        await provider.chat(asking(UserText("hi"), turn, outcome, model=SONNET, effort="high"))
        body = server.requests[-1].body
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "tool_use"]
    assert body["thinking"]["type"] == "enabled"


async def test_headers_carry_our_name_and_the_key_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-private")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "private-token")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/private")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: private\nX-Other: private")
    seen = []
    for key in ("sk-secret-key", None):
        async with talking(key, headers={"X-Mine": "yes"}) as (server, provider):
            server.will(told(*HELLO))
            await everything(provider)
            seen.append(server.requests[0].headers)
    with_key, without = seen
    assert with_key["x-api-key"] == "sk-secret-key"
    assert with_key["authorization"] == "Bearer sk-secret-key"
    assert with_key["x-mine"] == without["x-mine"] == "yes"
    assert with_key["anthropic-version"] == "2023-06-01"
    assert with_key["user-agent"].startswith("stormclaw/")
    assert not {"authorization", "x-api-key"} & without.keys()
    assert "private" not in str(seen)


async def test_ones_own_authorization_counts() -> None:
    headers = {"authorization": "Bearer mine", "Anthropic-Version": "2026-10-21"}
    async with talking(None, headers=headers) as (server, provider):
        server.will(told(*HELLO))
        await everything(provider)
        sent = server.requests[0].headers
    assert (sent["authorization"], sent["anthropic-version"]) == ("Bearer mine", "2026-10-21")


async def test_the_key_is_cut_out_of_what_the_server_says() -> None:
    async with talking() as (server, provider):
        server.will(refused("the key sk-secret-key is wrong", "authentication_error", 401))
        with pytest.raises(ProviderError, match=r"\[the key\] is wrong"):
            await everything(provider)


async def test_without_a_key_anthropic_is_not_even_asked() -> None:
    with pytest.raises(ProviderError, match="no key") as caught:
        await everything(connect("claude", ModelSettings("anthropic"), None))
    assert (caught.value.kind, "/connect" in caught.value.hint) == ("auth", True)


async def test_a_dead_server_says_where_and_what_to_do() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    silent.close()
    await silent.wait_closed()
    settings = ModelSettings("anthropic", base_url=f"http://127.0.0.1:{port}/v1/", max_retries=0)
    provider = connect("here", settings, None)
    with pytest.raises(ProviderError) as caught:
        await everything(provider)
    await provider.close()
    assert caught.value.kind == "connection"
    assert str(caught.value) == f"no connection to 127.0.0.1:{port}: nothing listens there"


async def test_a_server_without_a_configured_model_is_asked_for_one() -> None:
    async with talking() as (server, provider):
        server.will(answer({"data": [{"id": "first"}, {"id": "second"}]}), told(*HELLO))
        await everything(provider, asking(model=""))
        assert [request.path for request in server.requests] == ["/v1/models", "/v1/messages"]
        assert server.requests[1].body["model"] == provider.model == "first"


def test_what_a_configuration_makes_of_it() -> None:
    assert "anthropic" in kinds()
    plain = connect("claude", ModelSettings("anthropic"), "sk-1")
    assert plain.model == "claude-sonnet-5-5"
    assert plain.capabilities().thinking
    assert plain.capabilities().tools
    assert not connect("x", ModelSettings("anthropic", model=OPUS), "k").capabilities().thinking
    wide = ModelSettings("anthropic", model=OPUS, context_window=7, reasoning="low")
    assert connect("x", wide, "k").capabilities().context_window == 7
    assert connect("x", wide, "k").capabilities().thinking
    with pytest.raises(ConfigError, match=r"providers\.models\.claude\.base_url"):
        connect("claude", ModelSettings("anthropic", base_url="api.anthropic.com"), "k")


async def test_closing_twice_and_asking_again() -> None:
    async with talking() as (server, provider):
        server.will(told(*HELLO), told(*HELLO))
        await everything(provider)
        await provider.close()
        await provider.close()
        assert isinstance((await everything(provider))[-1], ChatResponse)


def test_connecting_loads_no_sdk() -> None:
    program = (
        "import sys\n"
        "from stormclaw.config.settings import ModelSettings\n"
        "from stormclaw.providers.registry import connect\n"
        "connect('claude', ModelSettings('anthropic'), 'k').capabilities()\n"
        "connect('aws', ModelSettings('bedrock', model='x')).capabilities()\n"
        "print({'anthropic', 'httpx2', 'aiohttp', 'boto3', 'botocore'} & sys.modules.keys())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "set()"

"""What tells a prompt cache what to keep, as it arrives at a server; and what caches did, read."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from byte_server import HELLO, ByteServer, answer, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._caching import breakpoints
from stormclaw.providers._openai.wire import Wire
from stormclaw.providers._usage import usage_of
from stormclaw.providers.openai_compatible import OpenAICompatible
from stormclaw.providers.presets import PRESETS, by_name
from stormclaw.providers.quirks import ROWS, Quirks, quirks_of

OPENROUTER = by_name("openrouter")
assert OPENROUTER is not None
ROUTED = ROWS["openrouter"]
SONNET, QWEN = "anthropic/claude-sonnet-4.5", "qwen/qwen3-coder-plus"
SYSTEM = "You are told a lot. " * 300
TOOLS = tuple(
    ToolSpec(name, f"{name} does it. " * 120, {"type": "object", "properties": {}})
    for name in ("grep", "read_file")
)
MARK = {"type": "ephemeral"}


def outcome(number: int, output: str = "found\n" * 40) -> ToolOutcome:
    return ToolOutcome(f"c{number}", "grep", "done", output, Headline("search", "x"))


def rounds(count: int) -> list[Message]:
    """A question, then so many rounds of calls; every tenth with a parallel batch and a word."""
    messages: list[Message] = [UserText("look around")]
    for number in range(count):
        batch = 30 if number % 10 == 9 else 1
        ids = [number * 100 + at for at in range(batch)]
        calls = tuple(ToolCall(f"c{at}", "grep", '{"pattern":"x"}') for at in ids)
        messages.append(AssistantTurn("" if number % 3 else "Next.", calls=calls))
        messages += [outcome(at) for at in ids]
        if number % 10 == 9:
            messages.append(UserText("go on"))
    return messages


def asking(messages: list[Message], model: str = SONNET, system: str = SYSTEM) -> ChatRequest:
    return ChatRequest(system, tuple(messages), TOOLS, model)


def carriers(value: Any) -> Iterator[dict[str, Any]]:
    """Every object that carries a marker."""
    if isinstance(value, dict):
        if "cache_control" in value:
            assert value["cache_control"] == MARK
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from carriers(item)


def unmarked(content: bytes) -> dict[str, Any]:
    """A body as it would be without markers."""
    body: dict[str, Any] = json.loads(content)
    for message in body["messages"]:
        if isinstance(message["content"], list):
            (part,) = message["content"]
            message["content"] = part["text"]
    for tool in body.get("tools", ()):
        tool.pop("cache_control", None)
    return body


@asynccontextmanager
async def talking(quirks: Quirks = ROUTED, **settings: Any) -> AsyncIterator[Any]:
    async with serving() as server:
        configured = ModelSettings("openai-compatible", base_url=server.url, **settings)
        provider = OpenAICompatible("here", configured, "sk-x", backoff_s=0.0, quirks=quirks)
        try:
            yield server, provider
        finally:
            await provider.close()


async def say(server: ByteServer, provider: OpenAICompatible, request: ChatRequest) -> bytes:
    server.will(stream(*HELLO))
    await provider.chat(request)
    return server.requests[-1].content


async def test_fifty_rounds_each_find_the_last_one_in_the_cache() -> None:
    whole = rounds(50)
    answers = [at for at, message in enumerate(whole) if isinstance(message, AssistantTurn)]
    ends = [*answers, len(whole)]
    bodies: list[bytes] = []
    async with talking() as (server, provider):
        for end in ends:
            bodies.append(await say(server, provider, asking(whole[:end])))
    assert len(bodies) == 51
    plain = Wire("here", ModelSettings("openai-compatible"))
    for end, body in zip(ends, bodies, strict=True):
        assert 3 <= len(list(carriers(json.loads(body)))) <= 4
        without = plain.body(asking(whole[:end]), SONNET, Quirks(reasoning="object")).content
        assert unmarked(body) == {
            name: value for name, value in json.loads(without).items() if name != "stream_options"
        }
    for before, after in pairwise(bodies):
        old, new = json.loads(before), json.loads(after)
        newest = old["messages"][-1]
        assert isinstance(newest["content"], list)
        # The message that was newest still carries its marker, byte for byte.
        assert new["messages"][len(old["messages"]) - 1] == newest
        assert unmarked(after)["messages"][: len(old["messages"])] == unmarked(before)["messages"]
        assert new["tools"] == old["tools"]
        assert new["messages"][0] == old["messages"][0]
        written = json.dumps(newest, ensure_ascii=False, separators=(",", ":")).encode()
        assert after.index(written) == len(_without_stable(before, old)) - len(written)


def _without_stable(body: bytes, parsed: dict[str, Any]) -> bytes:
    """The bytes up to the end of the last message, the older marker of the two taken out."""
    messages = parsed["messages"]
    end = body.index(b'],"tools":')
    text = body[:end]
    for message in messages[1:-1]:
        if isinstance(message["content"], list):
            dump = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
            whole = {**message, "content": message["content"][0]["text"]}
            text = text.replace(
                dump, json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
            )
    return text


async def test_system_last_tool_stable_and_newest_message_carry_the_four() -> None:
    async with talking() as (server, provider):
        body = json.loads(await say(server, provider, asking(rounds(3))))
    assert list(body)[:3] == ["model", "messages", "tools"]
    system, *_, stable, assistant, newest = body["messages"]
    assert system == {
        "role": "system",
        "content": [{"type": "text", "text": SYSTEM, "cache_control": MARK}],
    }
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    assert set(body["tools"][1]) == {"type", "function", "cache_control"}
    for message in (stable, newest):
        assert message["role"] == "tool"
        assert set(message) == {"role", "tool_call_id", "content"}
        assert [part["type"] for part in message["content"]] == ["text"]
    assert assistant["role"] == "assistant"
    assert len(list(carriers(body))) == 4


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-5.1", "google/gemini-2.5-pro", "deepseek/deepseek-v3.2", "openrouter/auto", "x"],
)
async def test_other_models_get_no_marker(model: str) -> None:
    async with talking() as (server, provider):
        body = await say(server, provider, asking(rounds(5), model))
    assert b"cache_control" not in body
    assert b'"type":"text"' not in body


@pytest.mark.parametrize("preset", [row for row in PRESETS if row.name != "openrouter"])
def test_other_providers_get_no_marker_whatever_the_model(preset: Any) -> None:
    wire = Wire(preset.name, ModelSettings("openai-compatible"))
    assert (
        b"cache_control"
        not in wire.body(asking(rounds(5)), SONNET, quirks_of(preset.name, SONNET)).content
    )


async def test_qwen_is_told_by_messages_alone() -> None:
    async with talking() as (server, provider):
        body = json.loads(await say(server, provider, asking(rounds(5), QWEN)))
    assert not any("cache_control" in tool for tool in body["tools"])
    assert len(list(carriers(body))) == 3


@pytest.mark.parametrize(
    ("model", "system", "marks"),
    [
        (SONNET, "x" * 1_000, 0),
        (SONNET, "x" * 3_100, 2),
        ("anthropic/claude-haiku-4.5", "x" * 3_100, 0),
        ("anthropic/claude-haiku-4.5", "x" * 12_400, 2),
        ("~anthropic/claude-haiku-latest:beta", "x" * 3_100, 2),
    ],
)
async def test_what_is_too_short_to_keep_is_not_marked(model: str, system: str, marks: int) -> None:
    request = ChatRequest(system, (UserText("hi"),), (), model)
    async with talking() as (server, provider):
        body = json.loads(await say(server, provider, request))
    assert len(list(carriers(body))) == marks


async def test_whoever_configures_their_own_is_left_alone() -> None:
    async with talking(extra_body={"cache_control": MARK}) as (server, provider):
        body = json.loads(await say(server, provider, asking(rounds(3))))
    assert [set(carrier) for carrier in carriers(body)] == [set(body)]


REFUSALS = [
    (400, "messages.3.content: Input should be a valid string"),
    (400, "Extra inputs are not permitted: messages.0.content.0.cache_control"),
    (400, "Provider returned error: A maximum of 4 blocks with cache_control may be provided."),
    (404, "No endpoints found that support cache control"),
]


@pytest.mark.parametrize(("status", "said"), REFUSALS)
async def test_a_refused_marker_is_dropped_for_the_session(status: int, said: str) -> None:
    no = answer({"error": {"message": said, "code": status}}, status)
    async with talking() as (server, provider):
        server.will(no, no, stream(*HELLO))
        response = await provider.chat(asking(rounds(6)))
        assert response.final_text == "Hello"
        first, second, third = (request.content for request in server.requests)
        assert {message["role"] for message in _marked_messages(first)} == {"system", "tool"}
        assert {message["role"] for message in _marked_messages(second)} == {"system", "assistant"}
        assert not any("cache_control" in tool for tool in json.loads(second)["tools"])
        assert b"cache_control" not in third
        assert b"cache_control" not in await say(server, provider, asking(rounds(7)))


def _marked_messages(content: bytes) -> list[dict[str, Any]]:
    return [m for m in json.loads(content)["messages"] if isinstance(m["content"], list)]


async def test_an_error_about_something_else_is_told_as_it_is() -> None:
    async with talking() as (server, provider):
        server.will(answer({"error": {"message": "roles must alternate"}}, 400))
        with pytest.raises(ProviderError, match="alternate"):
            await provider.chat(asking(rounds(3)))
        assert len(server.requests) == 1


def test_breakpoints_are_where_this_and_the_last_request_end() -> None:
    user, calls = UserText("hi"), AssistantTurn("", calls=(ToolCall("c1", "grep", "{}"),))
    assert breakpoints(()) == ()
    assert breakpoints((user,)) == (0,)
    assert breakpoints((user, calls, outcome(1))) == (0, 2)
    assert breakpoints((user, calls, outcome(1), outcome(2), UserText("and"))) == (0, 4)
    told = Delegation(outcome(1), "root/a", "t", "done", Usage())
    assert breakpoints((user, calls, told, AssistantTurn("well"), UserText("so"))) == (2, 4)
    assert breakpoints((user, calls, outcome(1)), results=False) == (0,)
    said = AssistantTurn("I look.", calls=(ToolCall("c2", "grep", "{}"),))
    talk = (user, calls, outcome(1), said, outcome(2), calls, outcome(1))
    assert breakpoints(talk, results=False) == (3,)
    assert breakpoints((calls, UserText(" "))) == ()
    assert breakpoints((user, AssistantTurn(" "), UserText("more"))) == (2,)


def test_words_in_a_row_carry_one_marker() -> None:
    wire = Wire("here", ModelSettings("openai-compatible"))
    request = ChatRequest(SYSTEM, (UserText("one"), AssistantTurn(""), UserText("two")), (), SONNET)
    _, both = json.loads(wire.body(request, SONNET, ROUTED).content)["messages"]
    assert both["content"] == [{"type": "text", "text": "one\n\ntwo", "cache_control": MARK}]


def test_marking_a_long_conversation_writes_two_messages_anew() -> None:
    """1,000 messages are joined, not written again: counted, and printed as time."""
    wire = Wire("here", ModelSettings("openai-compatible"))
    messages = rounds(350)
    wire.body(asking(messages), SONNET, ROUTED)
    kept = {key: value.json for key, value in wire._kept.items()}
    more = [*messages, AssistantTurn("done"), UserText("one more")]
    began = time.perf_counter()
    body = wire.body(asking(more), SONNET, ROUTED)
    took = time.perf_counter() - began
    print(f"{len(more)} messages, {len(body.content):,} bytes: {took * 1000:.1f} ms")
    assert len(more) > 1_000
    assert len(list(carriers(json.loads(body.content)))) == 4
    assert all(wire._kept[key].json is value for key, value in kept.items())
    assert len(wire._kept) - len(kept) == 2


@pytest.mark.parametrize(
    ("report", "sent", "read", "written"),
    [
        ({"prompt_tokens": 100}, 100, 0, 0),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60}}, 100, 60, 0),
        ({"prompt_tokens": 25_612, "prompt_tokens_details": {"cache_write_tokens": 25_600}},
         25_612, 0, 25_600),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 90,
          "cache_write_tokens": 30}}, 100, 70, 30),
        ({"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30},
         100, 60, 30),
        ({"input_tokens": 0, "cache_read_input_tokens": 60}, 60, 60, 0),
        ({"prompt_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30},
         100, 60, 30),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30,
          "prompt_tokens_details": {"cached_tokens": 60}}, 100, 60, 30),
        ({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}}, 100, 60, 0),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20},
         100, 80, 0),
        ({"prompt_tokens": 100, "cached_tokens": 70}, 100, 70, 0),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60,
          "cache_creation_input_tokens": 30, "cache_type": "ephemeral"}}, 100, 60, 30),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 1e9,
          "cache_write_tokens": True}}, 100, 100, 0),
        ({"prompt_tokens": 100, "cache_creation_input_tokens": "9", "cached_tokens": -4},
         100, 0, 0),
    ],
    ids=["none", "openai", "openrouter-cold", "written-counted-as-read", "anthropic",
         "anthropic-all-read", "anthropic-renamed", "litellm", "responses", "deepseek", "moonshot",
         "alibaba", "absurd", "not-numbers"],
)  # fmt: skip
def test_reads_and_writes_are_part_of_what_was_sent(
    report: dict[str, Any], sent: int, read: int, written: int
) -> None:
    usage = usage_of({**report, "completion_tokens": 5})
    assert usage == Usage(sent, 5, read, cache_write_tokens=written)

"""What is made of an answer of the Messages API, however its bytes come."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from byte_server import answer, raw
from claude_events import (
    HELLO,
    Event,
    added,
    closed,
    opened,
    started,
    stopped,
    talking,
    text,
    thinking,
    told,
    tool_use,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import ToolCall, Usage, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Remark,
    Text,
    Thinking,
)
from stormclaw.providers._anthropic.answer import Answer
from stormclaw.providers._sse import EventReader

ASK = ChatRequest("be brief", (UserText("hello"),), (), "claude-opus-4-6")

FULL = (
    started(cache_read_input_tokens=60, cache_creation_input_tokens=15),
    {"type": "ping"},
    *thinking(0, "c2ln", "I ponder ", "the ünïcode 🦀"),
    opened(1, "redacted_thinking", data="b3BhcXVl"),
    closed(1),
    *text(2, "Let me ", "look. 🦀"),
    opened(3, "server_tool_use", id="srv_1", name="web_search", input={}),
    added(3, "input_json_delta", '{"query": "x"}'),
    closed(3),
    {"type": "something_new", "index": 9, "delta": {"type": "text_delta", "text": "no"}},
    *tool_use(4, "toolu_1", "read_file", "", '{"pa', 'th": "a', '.py"}'),
    *tool_use(5, "toolu_2", "grep"),
    *stopped("tool_use", 89),
)

SHORT = (
    started(),
    *thinking(0, "s", "ü"),
    *text(1, "🦀"),
    *tool_use(2, "t", "x", '{"a":', "1}"),
    *stopped("tool_use"),
)


def read(*blocks: bytes, taken: tuple[str, ...] = ()) -> tuple[list[Delta], ChatResponse]:
    """Deltas and response of an answer that came in these blocks."""
    reader, collected = EventReader(), Answer("asked-model", "here")
    deltas: list[Delta] = []
    for block in blocks:
        for event in reader.feed(block):
            deltas += collected.feed(event)
    for event in reader.close():
        deltas += collected.feed(event)
    if reader.whole:
        collected.end()
    deltas += collected.remarks()
    return deltas, collected.response(sent_bytes=400, taken=taken)


def test_text_thinking_and_parallel_calls_come_out_with_what_they_cost() -> None:
    deltas, response = read(written(*FULL))
    assert deltas == [
        Thinking("I ponder "),
        Thinking("the ünïcode 🦀"),
        Text("Let me "),
        Text("look. 🦀"),
    ]
    assert response.final_text == "Let me look. 🦀"
    assert response.thinking == "I ponder the ünïcode 🦀"
    assert response.tool_calls == (
        ToolCall("toolu_1", "read_file", '{"path": "a.py"}'),
        ToolCall("toolu_2", "grep", "{}"),
    )
    assert response.usage == Usage(100, 89, 60, cache_write_tokens=15)
    assert (response.finish, response.model) == ("tool_calls", "claude-served")
    assert json.loads(response.echo) == {
        "provider": "here",
        "model": "asked-model",
        "blocks": [
            {
                "type": "thinking",
                "thinking": "I ponder the ünïcode 🦀",
                "signature": "c2ln",
            },
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "from": 0, "to": 14},
            {"type": "tool_use", "id": "toolu_1"},
            {"type": "tool_use", "id": "toolu_2"},
        ],
    }


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_the_bytes_may_be_cut_anywhere(newline: bytes) -> None:
    whole = written(*SHORT).replace(b"\n", newline)
    expected = read(whole)
    for at in range(1, len(whole)):
        assert read(whole[:at], whole[at:]) == expected


@settings(deadline=None)
@given(st.data())
def test_the_bytes_may_be_cut_everywhere(data: st.DataObject) -> None:
    whole = written(*FULL)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=60)))
    blocks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(*blocks) == read(whole)


async def test_a_server_that_sends_byte_by_byte_is_understood() -> None:
    whole = written(*FULL)
    async with talking() as (server, provider):
        server.will(raw(*(whole[at : at + 1] for at in range(len(whole)))))
        response = await provider.chat(ASK)
    assert response == replace(
        read(whole)[1], echo=response.echo.replace("asked-model", "claude-opus-4-6")
    )
    assert json.loads(response.echo)["model"] == "claude-opus-4-6"


def test_a_character_cut_into_two_escapes_is_whole_and_so_is_its_place() -> None:
    halves = [json.dumps(added(1, "text_delta", half)) for half in ("x\ud83e", "\udd80y")]
    lines = "".join(f"data: {half}\n\n" for half in halves).encode()
    head = written(started(), *thinking(0, "s", "t"), opened(1, "text", text=""))
    _, response = read(head, lines, written(closed(1), *text(2, "z"), *stopped()))
    assert response.final_text == "x🦀yz"
    places = [(block.get("from"), block.get("to")) for block in json.loads(response.echo)["blocks"]]
    assert places == [(None, None), (0, 3), (3, 4)]


def test_text_after_thinking_begins_a_paragraph() -> None:
    events = [
        *text(0, "First."),
        *thinking(1, "a", "one"),
        *text(2, "Then."),
        *thinking(3, "b", "two"),
        *text(4, "Last."),
    ]
    deltas, response = read(written(started(), *events, *stopped()))
    assert response.final_text == "First.\n\nThen.\n\nLast."
    assert response.thinking == "one\n\ntwo"
    assert "".join(d.text for d in deltas if isinstance(d, Text)) == response.final_text
    blocks = json.loads(response.echo)["blocks"]
    said = [response.final_text[b["from"] : b["to"]] for b in blocks if b["type"] == "text"]
    assert said == ["First.", "Then.", "Last."]
    assert [b["thinking"] for b in blocks if b["type"] == "thinking"] == ["one", "two"]


def test_words_and_calls_alone_need_no_echo() -> None:
    _, response = read(written(started(), *text(0, "a"), *tool_use(1, "t", "x"), *stopped()))
    assert response.echo == ""


def test_thinking_that_is_kept_from_us_goes_back_all_the_same() -> None:
    _, response = read(written(started(), *thinking(0, "sig"), *text(1, "a"), *stopped()))
    first = json.loads(response.echo)["blocks"][0]
    assert first == {"type": "thinking", "thinking": "", "signature": "sig"}
    assert response.thinking == ""


STOPS: list[tuple[str, list[Event], str]] = [
    ("end_turn", text(0, "a"), "stop"),
    ("stop_sequence", text(0, "a"), "stop"),
    ("tool_use", tool_use(0, "t", "x", "{}"), "tool_calls"),
    ("end_turn", tool_use(0, "t", "x", "{}"), "tool_calls"),
    ("tool_use", text(0, "a"), "stop"),
    ("max_tokens", text(0, "a"), "length"),
    ("something_new", text(0, "a"), "stop"),
    ("end_turn", [], "stop"),
]


@pytest.mark.parametrize(("reason", "events", "finish"), STOPS)
def test_why_it_stopped(reason: str, events: list[Event], finish: str) -> None:
    _, response = read(written(started(), *events, *stopped(reason)))
    assert response.finish == finish


def test_a_call_cut_off_by_the_limit_is_left_out() -> None:
    events = [
        *tool_use(0, "whole", "x", '{"a": 1}'),
        opened(1, "tool_use", id="cut", name="x", input={}),
        added(1, "input_json_delta", '{"a": "lo'),
        closed(1),
    ]
    _, response = read(written(started(), *events, *stopped("max_tokens")))
    assert [call.id for call in response.tool_calls] == ["whole"]
    assert response.finish == "length"


def test_a_pause_is_told() -> None:
    deltas, response = read(written(started(), *text(0, "a"), *stopped("pause_turn")))
    assert [type(delta) for delta in deltas] == [Text, Remark]
    assert response.finish == "stop"


ENDS: list[tuple[str, dict[str, Any], ErrorClass, str]] = [
    ("refusal", {}, "content_filter", "declined"),
    (
        "refusal",
        {"stop_details": {"type": "refusal", "category": "cyber", "explanation": "no exploits"}},
        "content_filter",
        "no exploits",
    ),
    ("model_context_window_exceeded", {}, "context_length", "context window"),
]


@pytest.mark.parametrize(("reason", "more", "kind", "words"), ENDS)
def test_a_stop_that_is_an_error_keeps_what_came(
    reason: str, more: dict[str, Any], kind: ErrorClass, words: str
) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        read(written(started(), *text(0, "so far"), *stopped(reason, **more)))
    assert (caught.value.kind, caught.value.partial) == (kind, "so far")


def test_an_id_that_is_taken_or_missing_becomes_a_new_one() -> None:
    events = [
        *tool_use(0, "t1", "x", "{}"),
        *tool_use(1, "", "x", "{}"),
        *tool_use(2, "t2", "x", "{}"),
        *tool_use(3, "t2", "x", "{}"),
    ]
    _, response = read(written(started(), *events, *stopped("tool_use")), taken=("t1",))
    ids = [call.id for call in response.tool_calls]
    assert len(set(ids)) == 4
    assert ids[2] == "t2"
    assert "t1" not in ids


def test_arguments_that_come_whole_are_taken() -> None:
    head = opened(0, "tool_use", id="t", name="x", input={"a": "ü"})
    _, response = read(written(started(), head, closed(0), *stopped("tool_use")))
    assert json.loads(response.tool_calls[0].arguments) == {"a": "ü"}


def test_an_answer_that_is_no_stream_is_taken_whole() -> None:
    message = {
        "type": "message",
        "model": "m",
        "content": [{"type": "text", "text": "Hi"}, *[{"type": "tool_use", "id": "t", "name": "x",
                    "input": {"a": 1}}]],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    deltas, response = read(json.dumps(message).encode())
    assert deltas == [Text("Hi")]
    assert response.tool_calls == (ToolCall("t", "x", '{"a": 1}'),)
    assert response.usage == Usage(3, 2)


def test_a_zero_at_the_end_does_not_undo_the_count() -> None:
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 0, "output_tokens": 7, "cache_read_input_tokens": None},
    }
    _, response = read(written(started(), *text(0, "a"), end, {"type": "message_stop"}))
    assert response.usage == Usage(25, 7)


def test_a_server_that_counts_nothing_is_estimated() -> None:
    message = {"type": "message_start", "message": {"model": "m"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    _, response = read(written(message, *text(0, "abcdefgh"), end, {"type": "message_stop"}))
    assert response.usage == Usage(100, 2, reported=False)


BROKEN: list[tuple[tuple[Event, ...], ErrorClass]] = [
    ((), "protocol"),
    (({"type": "ping"},), "protocol"),
    (({"hello": "world"},), "protocol"),
    (({"choices": []},), "protocol"),
    ((started(),), "connection"),
    ((started(), *text(0, "a")), "connection"),
    ((started(), *tool_use(0, "t", "x", "{}")), "connection"),
]


@pytest.mark.parametrize(("events", "kind"), BROKEN)
def test_what_is_cut_off_or_no_answer_is_an_error(
    events: tuple[Event, ...], kind: ErrorClass
) -> None:
    with pytest.raises(ProviderError) as caught:
        read(written(*events))
    assert caught.value.kind == kind


IN_BAND: list[tuple[str, str, ErrorClass]] = [
    ("overloaded_error", "Overloaded", "server"),
    ("api_error", "Internal server error", "server"),
    ("rate_limit_error", "This request would exceed your rate limit", "rate_limit"),
    ("timeout_error", "Request timed out", "timeout"),
    ("authentication_error", "invalid x-api-key", "auth"),
    ("permission_error", "not allowed", "forbidden"),
    ("billing_error", "Your credit balance is too low", "payment"),
    ("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", "context_length"),
]


@pytest.mark.parametrize(("name", "message", "kind"), IN_BAND)
async def test_an_error_in_the_stream_has_its_class(
    name: str, message: str, kind: ErrorClass
) -> None:
    error = {"type": "error", "error": {"type": name, "message": message}}
    async with talking(max_retries=0) as (server, provider):
        server.will(told(started(), *text(0, "so far"), error))
        with pytest.raises(ProviderError) as caught:
            await provider.chat(ASK)
    assert (caught.value.kind, caught.value.partial) == (kind, "so far")
    assert caught.value.hint


async def test_a_page_instead_of_an_answer_is_told() -> None:
    async with talking(max_retries=0) as (server, provider):
        server.will(raw("<html><title>Sign in</title></html>"), answer({"object": "list"}))
        for _ in range(2):
            with pytest.raises(ProviderError) as caught:
                await provider.chat(ASK)
            assert caught.value.kind == "protocol"


async def test_a_finished_answer_does_not_wait_for_a_connection_left_open() -> None:
    async with talking() as (server, provider):
        server.will(told(*HELLO, end="hold"))
        assert (await provider.chat(ASK)).final_text == "Hello"
        await server.gone.wait()


async def test_a_well_ended_answer_keeps_the_connection() -> None:
    async with talking() as (server, provider):
        server.will(told(*HELLO), told(*HELLO))
        await provider.chat(ASK)
        await provider.chat(ASK)
        assert len(server.open) == 1


async def test_text_is_shown_as_it_comes() -> None:
    gate = asyncio.Event()
    async with talking() as (server, provider):
        server.will(replace(told(*HELLO[:3], end="hold"), gate=gate))
        async with aclosing(provider.stream(ASK)) as items:
            assert await anext(items) == Text("Hel")
        assert not gate.is_set()
        gate.set()


async def test_a_burst_lets_others_run() -> None:
    pieces = [added(0, "text_delta", "word ")] * 20_000
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with talking() as (server, provider):
        server.will(raw(written(started(), opened(0, "text", text=""), *pieces, *stopped())))
        beside = asyncio.create_task(others())
        response = await provider.chat(ASK)
        beside.cancel()
    assert response.final_text == "word " * 20_000
    assert turns > 20

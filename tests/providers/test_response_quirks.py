"""Every habit of servers we know of, as bytes on a real connection, with the wanted outcome."""

# ruff: noqa: E501
from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from byte_server import HELLO, ByteServer, Reply, answer, delta, fragment, raw, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import ToolCall, Usage, UserText
from stormclaw.protocol.provider import ChatRequest, ChatResponse, Text, Thinking
from stormclaw.providers.openai_compatible import OpenAICompatible

ASK = ChatRequest("be brief", (UserText("hello"),), (), "a-model")
STOP = delta(finish="stop")
CALLED = delta(finish="tool_calls")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
HELLO_BYTES = b"".join(stream(*HELLO).body)
PATH = '{"path": "a.py"}'


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


async def talk(server: ByteServer, reply: Reply) -> tuple[ChatResponse, str, str]:
    """The response, and what was streamed as text and as thinking."""
    server.will(reply)
    settings = ModelSettings("openai-compatible", base_url=server.url, max_retries=0)
    provider = OpenAICompatible("here", settings, "key")
    text = thinking = ""
    response: ChatResponse | None = None
    try:
        async for item in provider.stream(ASK):
            assert response is None, "the response must come last"
            if isinstance(item, Text):
                text += item.text
            elif isinstance(item, Thinking):
                thinking += item.text
            elif isinstance(item, ChatResponse):
                response = item
    finally:
        await provider.close()
    assert response is not None
    return response, text, thinking


class Plain(NamedTuple):
    """A stream that must come out as some text."""

    id: str
    reply: Reply
    text: str = "Hello"


def halves(payload: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(payload[at : at + size] for at in range(0, len(payload), size))


FAMILY = "héllo 世界 👩‍👩‍👧"
PLAIN = [
    Plain("plain", stream(*HELLO)),
    Plain("keepalive-comments", raw(": OPENROUTER PROCESSING\n\n", HELLO_BYTES, ": bye\n\n")),
    Plain("crlf", raw(HELLO_BYTES.replace(b"\n", b"\r\n"))),
    Plain("crlf-cut-between", raw(*halves(HELLO_BYTES.replace(b"\n", b"\r\n"), 1))),
    Plain("cr-alone", raw(HELLO_BYTES.replace(b"\n", b"\r"))),
    Plain("no-space", raw(HELLO_BYTES.replace(b"data: ", b"data:"))),
    Plain("event-id-lines", raw(HELLO_BYTES.replace(b"data:", b"event: message\nid: 7\nretry: 9\ndata:"))),
    Plain("bom", raw(b"\xef\xbb\xbf" + HELLO_BYTES)),
    Plain("bom-cut", raw(b"\xef", b"\xbb", b"\xbf" + HELLO_BYTES)),
    Plain("no-done", stream(*HELLO, done=False)),
    Plain("no-done-eof", stream(*HELLO, done=False, end="eof")),
    Plain("no-finish-reason-but-done", stream(delta("Hel"), delta("lo"))),
    Plain("finished-then-reset", stream(*HELLO, done=False, end="reset")),
    Plain("done-then-reset", stream(delta("Hel"), delta("lo"), end="reset")),
    Plain("no-blank-lines", raw(HELLO_BYTES.replace(b"\n\n", b"\n"))),
    Plain("no-newline-at-the-end", raw(b"".join(stream(*HELLO, done=False).body).rstrip())),
    Plain("empty-data-lines", raw("data:\n\ndata: \n\n", HELLO_BYTES)),
    Plain("utf8-split", raw(*halves(b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
        for chunk in (delta(FAMILY), STOP)
    ), 1)), FAMILY),
    Plain("surrogates-split", raw(
        'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
        'data: {"choices":[{"delta":{"content":"\\ude00b"},"finish_reason":"stop"}]}\n\n'
    ), "a😀b"),
    Plain("lone-surrogate", raw(
        'data: {"choices":[{"delta":{"content":"a\\ude00b"},"finish_reason":"stop"}]}\n\n'
    ), "a\ufffdb"),
    Plain("multi-line-json", raw(*(
        "".join(f"data: {line}\n" for line in json.dumps(chunk, indent=1).split("\n")) + "\n"
        for chunk in HELLO
    ))),
    Plain("content-parts", stream(
        delta(), {"choices": [{"delta": {"content": [{"type": "text", "text": "Hello"}]}}]}, STOP
    )),
    Plain("empty-choices-first", stream({"choices": [], "prompt_filter_results": []}, *HELLO)),
    Plain("null-choices", stream({"choices": None}, *HELLO)),
    Plain("finish-eos", stream(delta("Hello"), delta(finish="eos"))),
    Plain("finish-in-text-chunk", stream(delta("Hello", finish="stop"))),
    Plain("second-choice-ignored", stream(
        {"choices": [{"index": 1, "delta": {"content": "no"}}]}, *HELLO
    )),
    Plain("after-done", raw(HELLO_BYTES, "data: nonsense\n\n")),
    Plain("nonstream-json-200", answer(
        {"model": "served-model", "choices": [
            {"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
        ]}
    )),
    Plain("nonstream-pretty", answer("\n  " + json.dumps(
        {"choices": [{"message": {"content": "Hello"}, "finish_reason": None}]}, indent=2
    ))),
    Plain("refusal", stream(delta(refusal="Hello"), STOP)),
]  # fmt: skip


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.id)
async def test_text_comes_out_whole(server: ByteServer, case: Plain) -> None:
    response, text, _ = await talk(server, case.reply)
    assert (response.final_text, text, response.finish) == (case.text, case.text, "stop")


def reported(sent: int, received: int, cached: int = 0, cost: float | None = None) -> Usage:
    return Usage(sent, received, cached, cost, reported=True)


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        ((*HELLO, {"choices": [], "usage": USAGE}), reported(10, 5)),
        (
            (delta("Hello") | {"usage": {"prompt_tokens": 10, "completion_tokens": 1}},
             STOP | {"usage": USAGE}),
            reported(10, 5),
        ),
        ((delta("Hello"), {"choices": [{"delta": {}, "finish_reason": "stop", "usage": USAGE}]}),
         reported(10, 5)),
        ((*HELLO, {"choices": [], "x_groq": {"usage": USAGE}}), reported(10, 5)),
        ((*HELLO, {"usage": {"prompt_tokens": 194, "completion_tokens": 2, "cost": 0.95,
          "cost_details": {"upstream_inference_cost": None}}}), reported(194, 2, 0, 0.95)),
        ((*HELLO, {"usage": USAGE | {"cost": 0.05, "is_byok": True,
          "cost_details": {"upstream_inference_cost": 1.0}}}), reported(10, 5, 0, 1.05)),
        ((*HELLO, {"usage": USAGE | {"prompt_cache_hit_tokens": 8}}), reported(10, 5, 8)),
        ((*HELLO, {"usage": USAGE | {"prompt_tokens_details": {"cached_tokens": 4}}}),
         reported(10, 5, 4)),
        ((*HELLO, {"usage": USAGE}, {"usage": None, "choices": []}), reported(10, 5)),
        ((*HELLO, {"usage": USAGE | {"cost": "free", "prompt_tokens_details": None}}),
         reported(10, 5)),
    ],
    ids=["last-chunk", "every-chunk", "in-choice", "x-groq", "openrouter-cost", "own-key",
         "deepseek-cache", "openai-cache", "null-later", "odd-fields"],
)  # fmt: skip
async def test_usage_is_found_and_never_added_up(
    server: ByteServer, chunks: tuple[object, ...], usage: Usage
) -> None:
    response, _, _ = await talk(server, stream(*chunks))
    assert response.usage == usage


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, "much", {"prompt_tokens": "9"}],
)
async def test_usage_is_estimated_and_marked_so_when_the_server_gives_none(
    server: ByteServer, usage: object
) -> None:
    response, _, _ = await talk(server, stream(*HELLO, {"choices": [], "usage": usage}))
    assert not response.usage.reported
    assert response.usage.output_tokens == 2
    assert response.usage.input_tokens > 10
    assert response.usage.cost_usd is None


class Called(NamedTuple):
    """A stream that must come out as tool calls; an id of "?" may be any of nine letters."""

    id: str
    reply: Reply
    calls: list[tuple[str, str, str]]
    text: str = ""


READ = ("c1", "read_file", PATH)
OTHER = '{"path": "b.py"}'
CALLS = [
    Called("basic", stream(
        fragment("read_file", "", index=0, id="c1"), fragment(None, '{"path"', index=0),
        fragment(None, ': "a.py"}', index=0), CALLED), [READ]),
    Called("finish-stop", stream(fragment("read_file", PATH, index=0, id="c1"), STOP), [READ]),
    Called("no-index", stream(fragment("read_file", PATH, id="c1"), CALLED), [READ]),
    Called("no-index-two", stream(
        fragment("read_file", PATH, id="c1"), fragment("read_file", OTHER, id="c2"), CALLED),
        [READ, ("c2", "read_file", OTHER)]),
    Called("no-index-fragments", stream(
        fragment("read_file", "", id="c1"), fragment(None, '{"path": '), fragment(None, '"a.py"}'),
        CALLED), [READ]),
    Called("two-same-index", stream(
        fragment("read_file", PATH, index=0, id="c1"),
        fragment("read_file", OTHER, index=0, id="c2"), CALLED), [READ, ("c2", "read_file", OTHER)]),
    Called("two-same-index-in-fragments", stream(
        fragment("read_file", '{"path": ', index=0, id="c1"), fragment(None, '"a.py"}', index=0),
        fragment("read_file", '{"path": ', index=0, id="c2"), fragment(None, '"b.py"}', index=0),
        CALLED), [READ, ("c2", "read_file", OTHER)]),
    Called("two-no-id-no-index", stream(
        fragment("read_file", PATH), fragment("read_file", OTHER), CALLED),
        [("?", "read_file", PATH), ("?", "read_file", OTHER)]),
    Called("args-object", stream(
        fragment("read_file", {"path": "a.py"}, index=0, id="c1"), CALLED), [READ]),
    Called("no-id", stream(fragment("read_file", PATH, index=0), CALLED),
        [("?", "read_file", PATH)]),
    Called("null-id", stream(fragment("read_file", PATH, index=0, id=None), CALLED),
        [("?", "read_file", PATH)]),
    Called("id-empty-later", stream(
        fragment("read_file", '{"path"', index=0, id="c1"),
        fragment("", ': "a.py"}', index=0, id=""), CALLED), [READ]),
    Called("name-repeated", stream(
        fragment("read_file", '{"path"', index=0, id="c1"),
        fragment("read_file", ': "a.py"}', index=0, id="c1"), CALLED), [READ]),
    Called("name-null-later", stream(
        fragment("read_file", '{"path"', index=0, id="c1"),
        delta(tool_calls=[{"index": 0, "id": None, "function":
            {"name": None, "arguments": ': "a.py"}'}}]), CALLED), [READ]),
    Called("interleaved", stream(
        fragment("read_file", '{"path": ', index=0, id="c1"),
        fragment("read_file", '{"path": ', index=1, id="c2"),
        fragment(None, '"a.py"}', index=0), fragment(None, '"b.py"}', index=1), CALLED),
        [READ, ("c2", "read_file", OTHER)]),
    Called("same-id-twice", stream(
        fragment("read_file", PATH, index=0, id="c1"),
        fragment("read_file", OTHER, index=1, id="c1"), CALLED),
        [READ, ("?", "read_file", OTHER)]),
    Called("empty-args", stream(fragment("list_dir", None, index=0, id="c1"), CALLED),
        [("c1", "list_dir", "{}")]),
    Called("bad-json-kept", stream(
        fragment("read_file", '{"path": "a.py"', index=0, id="c1"), CALLED),
        [("c1", "read_file", '{"path": "a.py"')]),
    Called("with-text", stream(
        delta("Let me look."), fragment("read_file", PATH, index=0, id="c1"), CALLED),
        [READ], "Let me look."),
    Called("junk-fragments", stream(
        delta(tool_calls=[None, "x", {}]), fragment("read_file", PATH, index=0, id="c1"), CALLED),
        [READ]),
    Called("nonstream", answer({"choices": [{"finish_reason": "tool_calls", "message": {
        "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": PATH}}
        ]}}]}), [READ]),
]  # fmt: skip


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case.id)
async def test_calls_come_out_whole(server: ByteServer, case: Called) -> None:
    response, text, _ = await talk(server, case.reply)
    assert response.finish == "tool_calls"
    assert text == case.text
    assert len(response.tool_calls) == len(case.calls)
    for call, (call_id, name, arguments) in zip(response.tool_calls, case.calls, strict=True):
        assert (call.name, call.arguments) == (name, arguments)
        if call_id == "?":
            assert re.fullmatch(r"[A-Za-z0-9]{9}", call.id)
        else:
            assert call.id == call_id
    assert len({call.id for call in response.tool_calls}) == len(case.calls)


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS", "model_length"])
async def test_a_call_cut_by_the_length_limit_is_dropped(server: ByteServer, finish: str) -> None:
    whole = fragment("read_file", PATH, index=0, id="c1")
    cut = fragment("write_file", '{"path": "b.py", "content": "half', index=1, id="c2")
    response, _, _ = await talk(server, stream(whole, cut, delta(finish=finish)))
    assert response.finish == "length"
    assert response.tool_calls == (ToolCall("c1", "read_file", PATH),)


async def test_a_call_without_arguments_at_the_length_limit_is_dropped(server: ByteServer) -> None:
    begun = fragment("write_file", "", index=0, id="c1")
    response, _, _ = await talk(server, stream(begun, delta(finish="length")))
    assert (response.finish, response.tool_calls) == ("length", ())


THOUGHT = [
    ("reasoning", [delta(reasoning="thi"), delta(reasoning="nk")]),
    ("reasoning-content", [delta(reasoning_content="think")]),
    ("both", [delta(reasoning="thi", reasoning_content="thi"),
              delta(reasoning="nk", reasoning_content="nk")]),
    ("details-beside", [delta(reasoning="think", reasoning_details=[
        {"type": "reasoning.text", "text": "think", "index": 0}])]),
    ("details-alone", [delta(reasoning_details=[
        {"type": "reasoning.text", "text": "think", "index": 0}])]),
    ("summary", [delta(reasoning_details=[
        {"type": "reasoning.summary", "summary": "think", "index": 0}])]),
    ("magistral-parts", [{"choices": [{"delta": {"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "think"}]}]}}]}]),
]  # fmt: skip


@pytest.mark.parametrize("chunks", [c for _, c in THOUGHT], ids=[name for name, _ in THOUGHT])
async def test_reasoning_is_shown_once(server: ByteServer, chunks: list[Any]) -> None:
    response, text, thinking = await talk(server, stream(*chunks, *HELLO))
    assert (response.thinking, thinking) == ("think", "think")
    assert (response.final_text, text) == ("Hello", "Hello")


async def test_reasoning_details_are_merged_by_index_and_kept_for_the_way_back(
    server: ByteServer,
) -> None:
    response, _, _ = await talk(server, stream(
        delta(reasoning_details=[{"type": "reasoning.text", "text": "thi", "index": 0, "id": None}]),
        delta(reasoning_details=[{"type": "reasoning.text", "text": "nk", "index": 0}]),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "sig", "index": 0}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "B64", "index": 0,
                                  "id": "c1", "format": "google-gemini-v1"}]),
        fragment("read_file", PATH, index=0, id="c1"), CALLED,
    ))  # fmt: skip
    assert json.loads(response.echo) == {
        "provider": "here",
        "model": "a-model",
        "fields": {"reasoning_details": [
            {"type": "reasoning.text", "text": "think", "index": 0, "id": None, "signature": "sig"},
            {"type": "reasoning.encrypted", "data": "B64", "index": 0, "id": "c1",
             "format": "google-gemini-v1"},
        ]},
    }  # fmt: skip


async def test_plain_reasoning_goes_back_under_its_own_name_while_tools_are_used(
    server: ByteServer,
) -> None:
    call = fragment("read_file", PATH, index=0, id="c1")
    used, _, _ = await talk(server, stream(delta(reasoning_content="think"), call, CALLED))
    assert json.loads(used.echo)["fields"] == {"reasoning_content": "think"}
    final, _, _ = await talk(server, stream(delta(reasoning_content="think"), *HELLO))
    assert final.echo == ""


async def test_who_answered_is_told(server: ByteServer) -> None:
    named, _, _ = await talk(server, stream(*HELLO))
    assert named.model == "served-model"
    unnamed, _, _ = await talk(server, stream({"choices": [{"delta": {"content": "x"}}]}))
    assert unnamed.model == "a-model"


class Broken(NamedTuple):
    """A stream that must end in an error."""

    id: str
    reply: Reply
    kind: ErrorClass
    message: str
    partial: str = ""


OPENROUTER_MID = delta("", finish="error") | {
    "error": {"code": "server_error", "message": "Provider disconnected unexpectedly"}
}
BROKEN = [
    Broken("truncated-reset", stream(delta("Hel"), done=False, end="reset"), "connection", "broke", "Hel"),
    Broken("truncated-eof", stream(delta("Hel"), done=False, end="eof"), "connection",
           "ended before the answer", "Hel"),
    Broken("truncated-well", stream(delta("Hel"), done=False), "connection",
           "ended before the answer", "Hel"),
    Broken("truncated-in-event", raw(b"".join(stream(*HELLO).body)[:150], end="eof"), "connection",
           "middle of an event", "Hel"),
    Broken("truncated-call", stream(fragment("read_file", PATH, index=0, id="c1"), done=False),
           "connection", "ended before the answer"),
    Broken("empty-body", raw(), "connection", "ended before the answer"),
    Broken("only-done", raw("data: [DONE]\n\n"), "protocol", "no choices"),
    Broken("nothing-said", stream({"choices": [{"delta": {}}]}), "provider", "without an answer"),
    Broken("garbage", raw("data: {nonsense\n\n"), "protocol", "no JSON"),
    Broken("garbage-binary", raw(b"data: \xff\xfe\x00\x01\n\n"), "protocol", "no JSON"),
    Broken("not-an-object", raw("data: 7\n\n"), "protocol", "no chunk"),
    Broken("web-page", raw("<html><title>Welcome</title></html>"), "protocol", "web page"),
    Broken("mid-openrouter", stream(delta("Hel"), OPENROUTER_MID, done=False), "server",
           "Provider disconnected", "Hel"),
    Broken("in-200-stream", raw('data: {"error":{"code":500,"message":"roles must alternate"}}\n\n'),
           "bad_request", "roles must alternate"),
    Broken("in-200-unknown", raw('data: {"error":{"message":"it is Tuesday"}}\n\n'),
           "provider", "it is Tuesday"),
    Broken("in-200-string", raw('data: {"error":"model overloaded"}\n\n'), "server", "model overloaded"),
    Broken("in-200-event", raw('event: error\ndata: {"message":"rate limit reached"}\n\n'),
           "rate_limit", "rate limit reached"),
    Broken("in-200-vllm", raw('data: {"object":"error","message":"boom","code":400}\n\n'),
           "bad_request", "boom"),
    Broken("in-choice", stream({"choices": [{"delta": {}, "error": {"code": 502, "message": "up"}}]}),
           "server", "up"),
    Broken("200-json", answer({"error": {"message": "Provider returned error", "code": 502,
           "metadata": {"raw": "upstream boom", "provider_name": "Acme"}}}), "server", "upstream boom"),
    Broken("200-json-odd", answer({"status": "ok"}), "protocol", "no choices"),
    Broken("200-json-cut", answer('{"choices": [{"message"'), "connection", "no whole JSON"),
    Broken("content-filter", stream(delta("Hel"), delta(finish="content_filter")),
           "content_filter", "filtered", "Hel"),
    Broken("gemini-safety", stream(delta("Hel"), delta(finish="content_filter: SAFETY")),
           "content_filter", "filtered", "Hel"),
    Broken("finish-error", stream(delta("Hel"), delta(finish="error")), "server", "broke", "Hel"),
    Broken("malformed-call", stream(delta(finish="function_call_filter: MALFORMED_FUNCTION_CALL")),
           "provider", "MALFORMED_FUNCTION_CALL"),
]  # fmt: skip


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.id)
async def test_what_is_no_answer_is_an_error_never_a_silent_success(
    server: ByteServer, case: Broken
) -> None:
    with pytest.raises(ProviderError) as caught:
        await talk(server, case.reply)
    assert caught.value.kind == case.kind
    assert case.message.lower() in str(caught.value).lower()
    assert caught.value.partial == case.partial
    assert caught.value.hint

"""One row for each known habit of servers, by its number and name: served on a socket, and read.

`test_response_quirks.py` goes into the variants of each; this table says that none is forgotten.
"""

# ruff: noqa: E501
from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from byte_server import HELLO, ByteServer, Reply, answer, delta, fragment, raw, serving, stream

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolOutcome, UserText
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Remark,
    Retrying,
    Text,
    Thinking,
    ToolSpec,
    Withdrawn,
)
from stormclaw.providers.openai_compatible import OpenAICompatible

OBJECT = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = (
    ToolSpec("read_file", "Reads.", {**OBJECT, "required": ["path"]}),
    ToolSpec("list_dir", "Lists.", OBJECT),
)
ASK = ChatRequest("be brief", (UserText("hello"),), TOOLS, "a-model")
STOP = delta(finish="stop")
CALLED = delta(finish="tool_calls")
HELLO_BYTES = b"".join(stream(*HELLO).body)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
PATH = '{"path": "a.py"}'
A = {"name": "read_file", "arguments": {"path": "a.py"}}
B = {"name": "read_file", "arguments": {"path": "b.py"}}
PLAIN = {"text": "Hello", "stop": "stop"}
READ = {"tools": [A], "stop": "tool_calls"}
FAMILY = "héllo 世界 👩‍👩‍👧"
SIGNED = [{"type": "reasoning.text", "text": "think", "index": 0, "signature": "sig"}]
SEALED = [
    {
        "type": "reasoning.encrypted",
        "data": "BASE64",
        "id": "c1",
        "format": "google-gemini-v1",
        "index": 0,
    }
]


class Row(NamedTuple):
    """A habit: what is served, and what must come of it (only the keys that are named)."""

    number: int
    id: str
    reply: Reply
    want: Mapping[str, Any]


def usage(*more: Mapping[str, Any]) -> Reply:
    return stream(*HELLO, *more)


def called(*pieces: Mapping[str, Any], finish: str = "tool_calls") -> Reply:
    return stream(*pieces, delta(finish=finish))


def part(arguments: object = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    return fragment(name, arguments, **more)


def whole(arguments: object = PATH, **more: Any) -> dict[str, Any]:
    return fragment("read_file", arguments, **more)


def refused(status: int, body: object, **headers: str) -> Reply:
    return answer(body, status, **headers)


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


def bytewise(text: str) -> Reply:
    payload = b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
        for chunk in (delta(text), STOP)
    )
    return raw(*(payload[at : at + 1] for at in range(len(payload))))


ROWS = [
    Row(29, "plain", usage({"choices": [], "usage": USAGE}), PLAIN | {"usage": [10, 5]}),
    Row(30, "keepalive-comments", raw(": OPENROUTER PROCESSING\n\n", HELLO_BYTES), PLAIN),
    Row(31, "crlf", raw(HELLO_BYTES.replace(b"\n", b"\r\n")), PLAIN),
    Row(32, "data-no-space", raw(HELLO_BYTES.replace(b"data: ", b"data:")), PLAIN),
    Row(33, "event-id-lines", raw(HELLO_BYTES.replace(b"data:", b"event: message\nid: 7\ndata:")), PLAIN),
    Row(34, "bom", raw(b"\xef\xbb\xbf" + HELLO_BYTES), PLAIN),
    Row(35, "no-done", stream(*HELLO, done=False), PLAIN),
    Row(36, "no-finish-reason", stream(delta("Hel"), delta("lo")), PLAIN),
    Row(37, "truncated", stream(delta("Hel"), done=False, end="reset"), {"text": "Hel", "error": "connection", "retry": True}),
    Row(38, "utf8-split", bytewise(FAMILY), {"text": FAMILY, "stop": "stop"}),
    Row(39, "usage-every-chunk", stream(
        delta("Hello") | {"usage": {"prompt_tokens": 10, "completion_tokens": 1}}, STOP | {"usage": USAGE}),
        PLAIN | {"usage": [10, 5]}),
    Row(40, "usage-in-choice", stream(
        delta("Hello"), {"choices": [{"delta": {}, "finish_reason": "stop", "usage": USAGE}]}),
        PLAIN | {"usage": [10, 5]}),
    Row(41, "usage-null", stream(*(chunk | {"usage": None} for chunk in HELLO)), PLAIN),
    Row(42, "usage-openrouter-cost", usage({"usage": {"prompt_tokens": 194, "completion_tokens": 2, "cost": 0.95}}),
        PLAIN | {"usage": [194, 2], "cost": 0.95}),
    Row(43, "usage-deepseek", usage({"usage": USAGE | {"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}}),
        PLAIN | {"usage": [10, 5], "cached": 8}),
    Row(44, "tool-basic", called(whole("", index=0, id="c1"), part('{"path"', index=0), part(': "a.py"}', index=0)), READ),
    Row(45, "tool-finish-stop", called(whole(index=0, id="c1"), finish="stop"), READ),
    Row(46, "tool-no-index", called(whole(id="c1")), READ),
    Row(47, "tool-two-same-index", called(
        whole(index=0, id="c1"), whole('{"path": "b.py"}', index=0, id="c2")), {"tools": [A, B], "stop": "tool_calls"}),
    Row(48, "tool-args-object", called(whole({"path": "a.py"}, index=0, id="c1")), READ),
    Row(49, "tool-no-id", called(whole(index=0)), READ),
    Row(50, "tool-id-empty-later", called(
        whole('{"path"', index=0, id="c1"), part(': "a.py"}', "", index=0, id="")), READ),
    Row(51, "tool-name-null-later", called(
        whole('{"path"', index=0, id="c1"),
        delta(tool_calls=[{"index": 0, "id": None, "function": {"name": None, "arguments": ': "a.py"}'}}])), READ),
    Row(52, "tool-interleaved", called(
        whole('{"path": ', index=0, id="c1"), whole('{"path": ', index=1, id="c2"),
        part('"a.py"}', index=0), part('"b.py"}', index=1)), {"tools": [A, B], "stop": "tool_calls"}),
    Row(53, "tool-empty-args", called(fragment("list_dir", index=0, id="c1")),
        {"tools": [{"name": "list_dir", "arguments": {}}], "stop": "tool_calls"}),
    Row(54, "tool-bad-json", called(whole('{"path": "a.py"', index=0, id="c1")),
        {"tools_bad": ["read_file"], "stop": "tool_calls"}),
    Row(55, "tool-cut-length", called(whole('{"path": "a', index=0, id="c1"), finish="length"),
        {"stop": "length", "tools": []}),
    Row(56, "tool-with-text", called(delta("Let me look."), whole(index=0, id="c1")), READ | {"text": "Let me look."}),
    Row(57, "reasoning-field", stream(delta(reasoning="think"), *HELLO), PLAIN | {"reasoning": "think"}),
    Row(58, "reasoning-content", stream(delta(reasoning_content="think"), *HELLO), PLAIN | {"reasoning": "think"}),
    Row(59, "reasoning-both", stream(delta(reasoning="think", reasoning_content="think"), *HELLO), PLAIN | {"reasoning": "think"}),
    Row(60, "reasoning-details", called(
        delta(reasoning_details=[{"type": "reasoning.text", "text": "thi", "index": 0}]),
        delta(reasoning_details=[{"type": "reasoning.text", "text": "nk", "index": 0, "signature": "sig"}]),
        whole(index=0, id="c1")), READ | {"reasoning": "think", "roundtrip": SIGNED}),
    Row(61, "reasoning-encrypted", called(delta(reasoning_details=SEALED), whole(index=0, id="c1")),
        READ | {"roundtrip": SEALED}),
    Row(62, "think-tags", stream(delta("<think>plan</think>Hello"), STOP), PLAIN | {"reasoning": "plan"}),
    Row(63, "content-parts", stream({"choices": [{"delta": {"content": [{"type": "text", "text": "Hello"}]}}]}, STOP), PLAIN),
    Row(64, "empty-choices-first", stream({"choices": [], "prompt_filter_results": []}, *HELLO), PLAIN),
    Row(65, "multi-line-json", raw(*(
        "".join(f"data: {line}\n" for line in json.dumps(chunk, indent=1).split("\n")) + "\n" for chunk in HELLO)), PLAIN),
    Row(66, "err-midstream-openrouter", stream(
        delta("Hel"), delta("", finish="error") | error("Provider disconnected", code="server_error"), done=False),
        {"error": "server", "text": "Hel", "retry": True, "message": "Provider disconnected"}),
    Row(67, "err-in-200-stream", stream(error("roles must alternate", code=500), done=False),
        {"error": "bad_request", "message": "roles must alternate"}),
    Row(68, "err-200-json", answer(error("Provider returned error", code=502, metadata={"raw": "upstream boom"})),
        {"error": "server", "message": "upstream boom", "retry": True}),
    Row(69, "nonstream-json-200", answer({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}), PLAIN),
    Row(70, "finish-content-filter", stream(delta("Hel"), delta(finish="content_filter")), {"error": "content_filter", "retry": False}),
    Row(71, "finish-unknown", stream(delta("Hello"), delta(finish="eos")), PLAIN),
    Row(72, "http-400", refused(400, error("Invalid value for 'x'", type="invalid_request_error")), {"error": "bad_request", "retry": False}),
    Row(73, "http-400-ctx", refused(400, error("This endpoint's maximum context length is 8192 tokens.")), {"error": "context_length", "retry": False}),
    Row(74, "http-400-ctx-openai", refused(400, error("Please reduce the length of the messages.", code="context_length_exceeded")),
        {"error": "context_length", "retry": False}),
    Row(75, "http-401", refused(401, error("No auth credentials found", code=401)), {"error": "auth", "retry": False}),
    Row(76, "http-402", refused(402, error("Insufficient credits", code=402)), {"error": "payment", "retry": False}),
    Row(77, "http-403-moderation", refused(403, error("Your input was flagged", code=403, metadata={"reasons": ["violence"]})),
        {"error": "content_filter", "retry": False, "message": "violence"}),
    Row(78, "http-404-model", refused(404, error("No endpoints found for acme/none.", code=404)), {"error": "not_found", "retry": False}),
    Row(79, "http-404-tools", refused(404, error("No endpoints found that support tool use.", code=404)),
        {"error": "tools_unsupported", "retry": False}),
    Row(80, "http-408", refused(408, error("Request timed out", code=408)), {"error": "timeout", "retry": True}),
    Row(81, "http-413", refused(413, "<html><title>413 Request Entity Too Large</title></html>"), {"error": "too_large", "retry": False}),
    Row(82, "http-429", refused(429, error("Rate limit exceeded: free-models-per-min", code=429)), {"error": "rate_limit", "retry": True}),
    Row(83, "http-429-quota", refused(429, error("You exceeded your current quota", code="insufficient_quota")), {"error": "payment", "retry": False}),
    Row(84, "http-429-date", refused(429, error("slow"), Retry_After="Sun, 22 Nov 2026 10:00:00 GMT", Date="Sun, 22 Nov 2026 10:00:00 GMT"),
        {"error": "rate_limit", "retry": True, "wait": 0.0}),
    Row(85, "http-500-html", refused(500, "<html><h1>Internal Server Error</h1></html>"), {"error": "server", "retry": True, "message": "Internal Server Error"}),
    Row(86, "http-502", refused(502, error("Provider returned error", code=502, metadata={"raw": '{"error":{"message":"Overloaded"}}'})),
        {"error": "server", "retry": True, "message": "Overloaded"}),
    Row(87, "http-503", refused(503, error("No available providers", code=503)), {"error": "server", "retry": True}),
    Row(88, "http-529", refused(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), {"error": "server", "retry": True}),
    Row(89, "http-400-mistral-id", refused(400, {"object": "error", "code": "3280",
        "message": "Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9."}),
        {"error": "bad_request", "retry": False, "message": "length of 9"}),
    Row(90, "http-400-gemini-list", refused(400, [error('Invalid JSON payload received. Unknown name "additionalProperties"', code=400)]),
        {"error": "bad_request", "retry": False, "message": "additionalProperties"}),
    Row(91, "http-400-groq", refused(400, error("Failed to call a function.", code="tool_use_failed")), {"error": "provider", "retry": True}),
    Row(92, "http-422-detail", refused(422, {"detail": [{"loc": ["body", "stop"], "msg": "extra fields not permitted"}]}),
        {"error": "bad_request", "retry": False, "message": "extra fields"}),
    Row(93, "http-string-error", refused(400, {"error": "llama3 does not support tools"}),
        {"error": "tools_unsupported", "retry": False, "message": "does not support tools"}),
    Row(94, "http-404-ollama", refused(404, error('model "none" not found, try pulling it first')), {"error": "not_found", "retry": False}),
]  # fmt: skip


@pytest.fixture
async def server() -> AsyncIterator[ByteServer]:
    async with serving() as running:
        yield running


async def listen(provider: OpenAICompatible, request: ChatRequest) -> dict[str, Any]:
    """What came of a request, in the words of the table."""
    found: dict[str, Any] = {"text": "", "reasoning": "", "retry": False}
    try:
        async for item in provider.stream(request):
            match item:
                case Text(text):
                    found["text"] += text
                case Thinking(text):
                    found["reasoning"] += text
                case Withdrawn():
                    found["withdrawn"] = found["text"]
                    found["text"] = ""
                case Retrying(_, after_s):
                    found |= {"retry": True, "wait": after_s}
                case ChatResponse():
                    found |= {"response": item, "stop": item.finish}
                case Remark(text):
                    found["remark"] = text
                case _:
                    raise AssertionError(f"no server says {item}")
    except ProviderError as broken:
        found |= {"error": broken.kind, "message": str(broken), "hint": broken.hint}
    return found


def connected(server: ByteServer, max_retries: int) -> OpenAICompatible:
    settings = ModelSettings("openai-compatible", base_url=server.url, max_retries=max_retries)
    return OpenAICompatible("here", settings, "key", backoff_s=0.0)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.number}-{row.id}")
async def test_every_habit_comes_out_as_it_should(server: ByteServer, row: Row) -> None:
    provider = connected(server, max_retries=0)
    server.will(row.reply)
    found = await listen(provider, ASK)
    want = dict(row.want)
    assert ("error" in found) == ("error" in want), found
    if "error" in want:
        assert found["error"] == want["error"]
        assert want.get("message", "") in found["message"]
        assert found["hint"]
        assert found["text"] == want.get("text", found["text"])
        if "retry" in want:
            await retried(server, row)
    else:
        await answered(server, provider, found, want)
    await provider.close()


async def retried(server: ByteServer, row: Row) -> None:
    """Asked again where it should be, and only there; what was shown before is withdrawn."""
    provider = connected(server, max_retries=2)
    server.replies.clear()
    server.will(row.reply, stream(*HELLO))
    found = await listen(provider, ASK)
    await provider.close()
    assert found["retry"] == row.want["retry"]
    assert ("error" not in found) == row.want["retry"]
    if row.want["retry"]:
        assert found["text"] == "Hello"
        assert found.get("withdrawn", "") == row.want.get("text", "")
        assert found["wait"] == row.want.get("wait", found["wait"])


async def answered(
    server: ByteServer, provider: OpenAICompatible, found: dict[str, Any], want: dict[str, Any]
) -> None:
    """The response says what was streamed, and what the table wants."""
    response: ChatResponse = found["response"]
    assert (response.final_text, response.thinking) == (found["text"], found["reasoning"])
    calls = response.tool_calls
    if "tools" in want:
        made = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls]
        assert made == want["tools"]
        assert len({call.id for call in calls}) == len(calls)
    if "tools_bad" in want:
        assert [call.name for call in calls] == want["tools_bad"]
        with pytest.raises(ValueError, match="delimiter"):
            json.loads(calls[0].arguments)
    counted = response.usage
    assert [counted.input_tokens, counted.output_tokens] == want.get(
        "usage", [counted.input_tokens, counted.output_tokens]
    )
    assert counted.reported == ("usage" in want)
    assert counted.cost_usd == want.get("cost")
    assert counted.cached_tokens == want.get("cached", 0)
    for name in ("text", "stop", "reasoning"):
        assert found[name] == want.get(name, found[name])
    if "roundtrip" in want:
        assert await sent_back(server, provider, response) == want["roundtrip"]


async def sent_back(
    server: ByteServer, provider: OpenAICompatible, response: ChatResponse
) -> object:
    """The signed reasoning in the next request."""
    turn = AssistantTurn(response.final_text, calls=response.tool_calls, echo=response.echo)
    results = (
        ToolOutcome(call.id, call.name, "done", "ok", Headline("read", "a"))
        for call in response.tool_calls
    )
    server.will(stream(*HELLO))
    await provider.chat(replace(ASK, messages=(*ASK.messages, turn, *results)))
    sent: object = server.requests[-1].body["messages"][2]["reasoning_details"]
    return sent


def test_no_habit_is_forgotten() -> None:
    assert [row.number for row in ROWS] == list(range(29, 95))
    assert len({row.id for row in ROWS}) == 66

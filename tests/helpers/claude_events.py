"""The events of Anthropic's Messages API, written as a server writes them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from byte_server import ByteServer, End, Reply, answer, raw, serving

from stormclaw.config.settings import ModelSettings
from stormclaw.providers._anthropic.client import AnthropicClient, Target
from stormclaw.providers.anthropic import Messages

Event = dict[str, Any]
USAGE = {"input_tokens": 25, "output_tokens": 1}


def started(model: str = "claude-served", **usage: int) -> Event:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": model}
    counts = {**USAGE, **usage}
    return {"type": "message_start", "message": {**message, "stop_reason": None, "usage": counts}}


def opened(index: int, kind: str, **head: Any) -> Event:
    block = {"type": kind, **head}
    return {"type": "content_block_start", "index": index, "content_block": block}


def added(index: int, kind: str, piece: str) -> Event:
    names = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
    delta = {"type": kind, names.get(kind, "partial_json"): piece}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def closed(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[Event]:
    deltas = [added(index, "text_delta", piece) for piece in pieces]
    return [opened(index, "text", text=""), *deltas, closed(index)]


def thinking(index: int, signature: str, *pieces: str) -> list[Event]:
    deltas = [added(index, "thinking_delta", piece) for piece in pieces]
    head = opened(index, "thinking", thinking="", signature="")
    return [head, *deltas, added(index, "signature_delta", signature), closed(index)]


def tool_use(index: int, call_id: str, name: str, *pieces: str) -> list[Event]:
    deltas = [added(index, "input_json_delta", piece) for piece in pieces]
    return [opened(index, "tool_use", id=call_id, name=name, input={}), *deltas, closed(index)]


def stopped(reason: str = "end_turn", output_tokens: int = 15, **more: Any) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    usage = {"output_tokens": output_tokens}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def written(*events: Event) -> bytes:
    return b"".join(
        f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n".encode()
        for event in events
    )


def told(*events: Event, end: End = "done") -> Reply:
    """An event stream of these events, one piece each."""
    return raw(*(written(event) for event in events), end=end)


HELLO = (started(), *text(0, "Hel", "lo"), *stopped())


def refused(message: str, kind: str = "invalid_request_error", status: int = 400) -> Reply:
    return answer({"type": "error", "error": {"type": kind, "message": message}}, status)


@asynccontextmanager
async def talking(
    key: str | None = "sk-secret-key", **changes: Any
) -> AsyncIterator[tuple[ByteServer, Messages]]:
    """A server, and a provider that talks to it without waiting between retries."""
    async with serving() as server:
        settings = replace(ModelSettings("anthropic"), **changes)
        target = Target(server.url.removesuffix("/v1"), key, settings.headers)
        provider = Messages("here", settings, AnthropicClient(target), backoff_s=0.0)
        try:
            yield server, provider
        finally:
            await provider.close()

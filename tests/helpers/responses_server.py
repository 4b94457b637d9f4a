"""What a server of OpenAI's Responses API says, as replies for a `byte_server`.

The codex CLI speaks nothing else, so its back end is tested against these.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from byte_server import End, Reply

Item: TypeAlias = Mapping[str, Any]
"""An output item of a response."""

_numbers = itertools.count(1)
PIECE = 7
"""Characters of one text delta."""


def says(text: str) -> Item:
    """A message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "role": "assistant",
        "id": f"msg_{next(_numbers)}",
        "status": "completed",
        "content": content,
    }


def thinks(text: str) -> Item:
    """Reasoning with a summary."""
    return {
        "type": "reasoning",
        "id": f"rs_{next(_numbers)}",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": "c2VhbGVk",
    }


def calls(name: str, **arguments: Any) -> Item:
    """A call of a function; its id is `call_N`."""
    number = next(_numbers)
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


def runs(command: str, **more: Any) -> Item:
    """A shell line."""
    return calls("exec_command", cmd=command, **more)


def writes(name: str, text: str) -> Item:
    """A call of a tool that takes plain text: `apply_patch`, `exec`."""
    number = next(_numbers)
    return {
        "type": "custom_tool_call",
        "id": f"ctc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "input": text,
        "status": "completed",
    }


def usage(input_tokens: int = 100, output: int = 10, cached: int = 40) -> dict[str, Any]:
    """What a response counts; `cached` is a part of the input."""
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input_tokens + output,
    }


def response(
    *items: Item,
    counted: Mapping[str, Any] | None = None,
    end: End = "done",
    complete: bool = True,
) -> Reply:
    """A response streamed as the API streams it.

    Args:
        items: What it consists of.
        counted: Its usage; None for `usage()`.
        end: How the connection ends.
        complete: False leaves out everything after the last delta.
    """
    head = {"id": f"resp_{next(_numbers)}", "object": "response", "model": "served-model"}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**head}}]
    for index, item in enumerate(items):
        events += _events(item, index, complete=complete)
    if complete:
        total = dict(counted or usage())
        done = {**head, "status": "completed", "output": list(items), "usage": total}
        events.append({"type": "response.completed", "response": done})
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
    return Reply(tuple(lines), headers={"Content-Type": "text/event-stream"}, end=end)


def _events(item: Item, index: int, *, complete: bool) -> list[dict[str, Any]]:
    at = {"item_id": item["id"], "output_index": index}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": index, "item": _begun(item)}
    ]
    match item["type"]:
        case "message":
            for piece in _pieces(item["content"][0]["text"]):
                delta = {"type": "response.output_text.delta", "content_index": 0, "delta": piece}
                events.append({**delta, **at})
        case "reasoning":
            part = {"type": "response.reasoning_summary_part.added", "summary_index": 0}
            events.append({**part, **at})
            for piece in _pieces(item["summary"][0]["text"]):
                delta = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
                events.append({**delta, "delta": piece, **at})
    if complete:
        events.append(
            {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
        )
    return events


def _begun(item: Item) -> dict[str, Any]:
    empty = {"content": [], "summary": [], "arguments": "", "input": ""}
    return {**item, **{name: value for name, value in empty.items() if name in item}}


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)] or [""]


def refuses(status: int, message: str, code: str = "", **headers: str) -> Reply:
    """An error as the API words it."""
    error = {"message": message, "type": code or "error", "code": code or None, "param": None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": error}).encode()
    return Reply((body,), status, {"Content-Type": "application/json", **named})

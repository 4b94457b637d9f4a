"""Reads the lines of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stormclaw.protocol.messages import NO_USAGE, Usage
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageStart,
    MessageStop,
    Result,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolResult,
    ToolUse,
)
from stormclaw.providers._programs.ungated import Reader


class OpencodeLines(Reader):
    """The lines of one answer: whole texts, and calls that are over."""

    def __init__(self) -> None:
        self.unknown = 0

    def read(self, line: Mapping[str, Any]) -> Iterator[CliEvent]:
        """The events in a line."""
        part = line.get("part")
        part = part if isinstance(part, Mapping) else {}
        match line.get("type"):
            case "step_start":
                yield Status("requesting")
            case "text":
                yield MessageStart(str(part.get("id") or ""))
                yield TextDelta(str(part.get("text") or ""))
                yield Status("answered")
            case "reasoning":
                yield ThinkingDelta(str(part.get("text") or ""))
            case "tool_use":
                yield from _call(part)
            case "step_finish":
                yield MessageStop(_usage(part))
                if part.get("reason") not in ("tool-calls", "tool_calls"):
                    yield Result(is_error=False, reason=str(part.get("reason") or ""))
            case "error":
                yield _error(line.get("error"))
            case _:
                self.unknown += 1


def _call(part: Mapping[str, Any]) -> Iterator[CliEvent]:
    state = part.get("state")
    state = state if isinstance(state, Mapping) else {}
    metadata = state.get("metadata")
    call_id = str(part.get("callID") or part.get("id") or "")
    # Providers number their calls anew in each answer; the part's id is the session's.
    call_id = f"{str(part.get('id') or '')[-12:]}.{call_id}"
    item = {
        "id": call_id,
        "name": part.get("tool"),
        "input": state.get("input"),
        "output": state.get("output") or state.get("error"),
        "failed": state.get("status") == "error",
        "exit": metadata.get("exit") if isinstance(metadata, Mapping) else None,
    }
    yield ToolUse(call_id, str(part.get("tool")), item)
    if state.get("status") in ("completed", "error"):
        yield ToolResult(call_id, str(item["output"] or ""), bool(item["failed"]), item)


def _usage(part: Mapping[str, Any]) -> Usage:
    """Tokens of a step; opencode's input is without what came from the cache."""
    tokens = part.get("tokens")
    if not isinstance(tokens, Mapping):
        return NO_USAGE
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, Mapping) else {}
    read, written = _number(cache, "read"), _number(cache, "write")
    cost = part.get("cost")
    return Usage(
        _number(tokens, "input") + read + written,
        _number(tokens, "output") + _number(tokens, "reasoning"),
        read,
        float(cost) if isinstance(cost, int | float) and cost > 0 else None,
        cache_write_tokens=written,
    )


def _number(tokens: Mapping[str, Any], name: str) -> int:
    value = tokens.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _error(error: object) -> Result:
    if not isinstance(error, Mapping):
        return Result(True, message=str(error or ""))
    data = error.get("data")
    data = data if isinstance(data, Mapping) else {}
    status = data.get("statusCode")
    message = str(data.get("message") or error.get("message") or error.get("name") or "")
    return Result(True, status if isinstance(status, int) else 0, message)

"""Reads the lines of `gemini --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stormclaw.protocol.messages import Usage
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageStop,
    Result,
    SessionInit,
    Status,
    TextDelta,
    ToolResult,
    ToolUse,
    Warning,  # noqa: A004 - the field's own word
)
from stormclaw.providers._programs.ungated import Reader


class GeminiLines(Reader):
    """The lines of one answer; what the person said comes back and is left out."""

    def __init__(self) -> None:
        self.unknown = 0

    def read(self, line: Mapping[str, Any]) -> Iterator[CliEvent]:
        """The events in a line."""
        match line.get("type"):
            case "init":
                yield SessionInit(str(line.get("session_id") or ""), str(line.get("model") or ""))
            case "message" if line.get("role") == "assistant":
                yield TextDelta(str(line.get("content") or ""))
                yield Status("answered")
            case "message":
                yield Status("heard")
            case "tool_use":
                call_id = str(line.get("tool_id") or "")
                name = str(line.get("tool_name") or "?")
                yield ToolUse(
                    call_id, name, {"id": call_id, "name": name, "input": line.get("parameters")}
                )
            case "tool_result":
                call_id = str(line.get("tool_id") or "")
                item = {"output": _output(line), "failed": line.get("status") != "success"}
                yield ToolResult(call_id, _output(line), bool(item["failed"]), item)
            case "error":
                yield Warning(str(line.get("message") or "something went wrong"))
            case "result":
                yield from _result(line)
            case _:
                self.unknown += 1


def _output(line: Mapping[str, Any]) -> str:
    error = line.get("error")
    said = error.get("message") if isinstance(error, Mapping) else None
    return str(line.get("output") or said or "")


def _result(line: Mapping[str, Any]) -> Iterator[CliEvent]:
    stats = line.get("stats")
    if isinstance(stats, Mapping):
        names = ("input_tokens", "output_tokens", "cached")
        numbers = [stats.get(name) for name in names]
        sent, received, read = (each if isinstance(each, int) else 0 for each in numbers)
        yield MessageStop(Usage(sent, received, read))
    error = line.get("error")
    if line.get("status") == "success":
        yield Result(is_error=False, reason="success")
    elif isinstance(error, Mapping):
        code = error.get("code")
        status = code if isinstance(code, int) else 0
        yield Result(True, status, str(error.get("message") or ""), reason=str(error.get("type")))
    else:
        yield Result(True)

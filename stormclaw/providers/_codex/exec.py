"""Reads the lines of `codex exec --json`: the way back to codex where there is no app-server.

It has no live text, no questions and no hooks of ours: whole answers and finished commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stormclaw.protocol.messages import NO_USAGE, Usage
from stormclaw.providers._codex.items import NOISE, retry
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageStart,
    MessageStop,
    Result,
    SessionInit,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolResult,
    ToolUse,
    Warning,  # noqa: A004 - the field's own word
)

KINDS: Final[Mapping[str, str]] = {
    "command_execution": "commandExecution",
    "file_change": "fileChange",
    "mcp_tool_call": "mcpToolCall",
    "web_search": "webSearch",
}
"""Items of calls, as the app-server names them."""
FIELDS: Final[Mapping[str, str]] = {
    "aggregated_output": "aggregatedOutput",
    "exit_code": "exitCode",
}
STATUSES: Final[Mapping[str, str]] = {"in_progress": "inProgress"}


class Lines:
    """Makes events of lines.

    Attributes:
        unknown: How many lines no one knew.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self._thread = ""

    def read(self, line: bytes) -> Iterator[CliEvent]:
        """The events in a line."""
        try:
            said = json.loads(line)
        except ValueError:
            return
        if not isinstance(said, Mapping):
            return
        match said.get("type"):
            case "thread.started":
                thread_id = str(said.get("thread_id") or "")
                # Items are numbered from 0 in each thread: alone no id for a conversation.
                self._thread = thread_id[-12:]
                yield SessionInit(thread_id)
            case "turn.started":
                yield Status("requesting")
            case "item.started" | "item.updated" | "item.completed" as kind:
                item = said.get("item")
                if isinstance(item, Mapping):
                    yield from self._item(item, over=kind == "item.completed")
            case "turn.completed":
                # The sum over the thread, which is new.
                yield MessageStop(_tokens(said.get("usage")))
                yield Result(is_error=False, reason="completed")
            case "turn.failed":
                error = said.get("error")
                message = error.get("message") if isinstance(error, Mapping) else ""
                yield Result(True, message=str(message or ""))
            case "error":
                message = str(said.get("message") or "")
                if message.startswith("Reconnecting"):
                    yield retry(message, message.partition("(")[2].rstrip(")"), 0)
            case _:
                self.unknown += 1

    def _item(self, item: Mapping[str, Any], *, over: bool) -> Iterator[CliEvent]:
        name, text = f"{self._thread}-{item.get('id')}", str(item.get("text") or "")
        match item.get("type"):
            case "agent_message" if over:
                yield MessageStart(name)
                yield TextDelta(text)
                yield Status("answered")
            case "reasoning" if over:
                yield ThinkingDelta(text)
            case "error" if over:
                message = str(item.get("message") or "")
                if message and not NOISE.search(message):
                    yield Warning(message)
            case "agent_message" | "reasoning" | "error" | "todo_list":
                yield Status("working")
            case str(kind):
                known = KINDS.get(kind, kind)
                shown = {**{FIELDS.get(key, key): item[key] for key in item}, "type": known}
                shown["id"] = name
                shown["status"] = STATUSES.get(str(item.get("status")), item.get("status"))
                yield ToolUse(name, known, shown)
                if over:
                    failed = item.get("status") in ("failed", "declined")
                    yield ToolResult(name, str(shown.get("aggregatedOutput") or ""), failed, shown)
            case _:
                self.unknown += 1


def _tokens(report: object) -> Usage:
    if not isinstance(report, Mapping):
        return NO_USAGE
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
    numbers = [report.get(name) for name in names]
    sent, received, read, written = (each if isinstance(each, int) else 0 for each in numbers)
    return Usage(sent, received, read, cache_write_tokens=written)

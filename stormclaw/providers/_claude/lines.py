"""From the lines of `claude --output-format stream-json` to events.

Its text comes twice, in pieces and then whole: a whole block counts only for a message that was
not streamed (after a broken stream claude asks again without one, and the pieces are void). A call
comes once, whole. Tokens stand in `message_delta`; a message's first line counts one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stormclaw.protocol.messages import Usage
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageAbandoned,
    MessageStart,
    MessageStop,
    Result,
    Retry,
    SessionInit,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolResult,
    ToolUse,
)
from stormclaw.providers._programs.events import Warning as Warned

SYNTHETIC: Final = "<synthetic>"
"""The model of an error dressed as an answer."""
QUIET: Final = frozenset(
    {"control_response", "control_cancel_request", "keep_alive", "auth_status", "tool_use_summary"}
)
QUIET_SYSTEM: Final = frozenset(
    {
        "thinking_tokens",
        "model_refusal_no_fallback",
        "hook_started",
        "hook_progress",
        "hook_response",
        "session_state_changed",
        "files_persisted",
        "task_started",
        "task_progress",
        "task_updated",
        "task_notification",
    }
)
"""Kinds that are known and tell nothing more than that claude lives."""

Line = Mapping[str, Any]


class Lines:
    """Reads the lines of one claude process, turn after turn.

    Attributes:
        unknown: How many lines of kinds nobody here knows have come.
        answer: Claude's id of its newest answer, to go on from there later.
        word: Its word for what went wrong with the newest request, "" if nothing.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self.answer = ""
        self.word = ""
        self._streaming = ""
        self._whole = ""
        self._ended: set[str] = set()
        self._usage: Usage | None = None
        self._stop = ""
        self._spent = 0.0

    def feed(self, raw: bytes) -> Iterator[CliEvent]:
        """The events of a line; nothing for one that means nothing to us."""
        try:
            line = json.loads(raw)
        except ValueError:
            line = None
        if not isinstance(line, Mapping):
            self.unknown += 1
            return
        yield from self.take(line)

    def take(self, line: Line) -> Iterator[CliEvent]:
        """The events of a line that is parsed already."""
        kind = _text(line, "type")
        if parent := line.get("parent_tool_use_id"):
            yield ToolProgress(str(parent))
            return
        if self._whole and _id_of(line) != self._whole:
            yield from self.flush()
        table: Mapping[str, Callable[[Line], Iterator[CliEvent]]] = {
            "system": self._system,
            "stream_event": self._streamed,
            "assistant": self._assistant,
            "user": _results,
            "result": self._result,
            "rate_limit_event": _limits,
            "tool_progress": _progress,
        }
        if kind in table:
            yield from table[kind](line)
        elif kind in QUIET:
            yield Status(kind)
        else:
            self.unknown += 1

    def flush(self) -> Iterator[CliEvent]:
        """An unstreamed message says nowhere that it is whole; what follows it does."""
        if self._whole:
            self._ended.add(self._whole)
            self._whole = ""
            yield MessageStop(self._usage, self._stop)
            self._usage, self._stop = None, ""

    def _system(self, line: Line) -> Iterator[CliEvent]:
        match _text(line, "subtype"):
            case "init":
                version = str(line.get("claude_code_version") or "")
                yield SessionInit(_text(line, "session_id"), _text(line, "model"), version)
            case "status":
                yield Status(_text(line, "status"))
            case "api_retry":
                yield from self._abandon()
                yield Retry(
                    _number(line.get("attempt")),
                    _number(line.get("retry_delay_ms")) / 1000,
                    _number(line.get("error_status")),
                    _text(line, "error"),
                )
            case "compact_boundary":
                yield Warned("claude has summed up the earlier part of its own conversation")
            case subtype if subtype in QUIET_SYSTEM:
                yield Status(subtype)
            case _:
                self.unknown += 1

    def _streamed(self, line: Line) -> Iterator[CliEvent]:
        event = _mapping(line.get("event"))
        match event.get("type"):
            case "message_start":
                yield from self._open(_mapping(event.get("message")), streaming=True)
            case "content_block_delta":
                yield from _piece(_mapping(event.get("delta")))
            case "message_delta":
                self._stop = _text(_mapping(event.get("delta")), "stop_reason")
                self._usage = usage_of(event.get("usage")) or self._usage
                yield Status("message_delta")
            case "message_stop" if self._streaming:
                self._ended.add(self._streaming)
                self._streaming = ""
                yield MessageStop(self._usage, self._stop)
                self._usage, self._stop = None, ""
            case _:
                yield Status("stream")

    def _assistant(self, line: Line) -> Iterator[CliEvent]:
        message = _mapping(line.get("message"))
        if message.get("model") == SYNTHETIC:
            self.word = _text(line, "error")
            yield Status("error")
            return
        self.answer = _text(line, "uuid") or self.answer
        known = _text(message, "id")
        streamed = known in self._ended or known == self._streaming
        if not streamed and known != self._whole:
            yield from self._open(message, streaming=False)
            self._usage = usage_of(message.get("usage"))
            self._stop = _text(message, "stop_reason")
        for block in _blocks(message):
            match block.get("type"):
                case "tool_use":
                    given = _mapping(block.get("input"))
                    yield ToolUse(_text(block, "id"), _text(block, "name"), given)
                case "text" if not streamed:
                    yield TextDelta(_text(block, "text"))
                case "thinking" if not streamed:
                    yield ThinkingDelta(_text(block, "thinking"))
                case _:
                    yield Status("block")

    def _open(self, message: Line, *, streaming: bool) -> Iterator[CliEvent]:
        yield from self._abandon()
        known = _text(message, "id")
        self.word = ""
        self._usage, self._stop = None, ""
        self._streaming, self._whole = (known, "") if streaming else ("", known)
        yield MessageStart(known, _text(message, "model"))

    def _abandon(self) -> Iterator[CliEvent]:
        if self._streaming:
            self._streaming = ""
            yield MessageAbandoned("the connection of claude broke, it asked again")

    def _result(self, line: Line) -> Iterator[CliEvent]:
        total = line.get("total_cost_usd")
        cost = total - self._spent if isinstance(total, int | float) else None
        self._spent = total if isinstance(total, int | float) else self._spent
        errors = line.get("errors")
        told = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
        denials = line.get("permission_denials")
        refused = line.get("stop_reason") == "refusal"
        self._streaming = ""
        yield Result(
            is_error=bool(line.get("is_error")),
            status=_number(line.get("api_error_status")),
            message=_text(line, "result") or told,
            usage=usage_of(line.get("usage")),
            cost_usd=cost,
            denials=tuple(
                _text(_mapping(denial), "tool_use_id")
                for denial in (denials if isinstance(denials, list) else ())
            ),
            context_window=max(_windows(line), default=0),
            reason="refusal" if refused else self.word or _text(line, "terminal_reason"),
        )
        self.word = ""


def usage_of(told: object) -> Usage | None:
    """Tokens as Anthropic counts them: `input_tokens` there leaves out what was cached."""
    if not isinstance(told, Mapping):
        return None
    read = _number(told.get("cache_read_input_tokens"))
    written = _number(told.get("cache_creation_input_tokens"))
    sent = _number(told.get("input_tokens")) + read + written
    received = _number(told.get("output_tokens"))
    return Usage(sent, received, read, cache_write_tokens=written) if sent or received else None


def _windows(line: Line) -> Iterator[int]:
    models = _mapping(line.get("modelUsage"))
    return (_number(_mapping(told).get("contextWindow")) for told in models.values())


def _piece(delta: Line) -> Iterator[CliEvent]:
    match delta.get("type"):
        case "text_delta":
            yield TextDelta(_text(delta, "text"))
        case "thinking_delta":
            yield ThinkingDelta(_text(delta, "thinking"))
        case _:
            yield Status("piece")


def _results(line: Line) -> Iterator[CliEvent]:
    details = line.get("tool_use_result")
    for block in _blocks(_mapping(line.get("message"))):
        if block.get("type") == "tool_result":
            yield ToolResult(
                _text(block, "tool_use_id"),
                _content(block.get("content")),
                bool(block.get("is_error")),
                _mapping(details),
            )
    yield Status("user")


def _limits(line: Line) -> Iterator[CliEvent]:
    told = _mapping(line.get("rate_limit_info"))
    if told.get("status") in (None, "allowed"):
        yield Status("rate_limit_event")
    else:
        kind = _text(told, "rateLimitType").replace("_", " ")
        yield Warned(f"claude is near a limit of its plan: {kind or 'unknown'}")


def _progress(line: Line) -> Iterator[CliEvent]:
    yield ToolProgress(_text(line, "tool_use_id"))


def _content(content: object) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (_mapping(part) for part in content)
    return "\n".join(
        _text(part, "text") if part.get("type") == "text" else f"({part.get('type')})"
        for part in parts
    )


def _id_of(line: Line) -> str:
    return _text(_mapping(line.get("message")), "id") if line.get("type") == "assistant" else ""


def _blocks(message: Line) -> list[Line]:
    content = message.get("content")
    return [_mapping(block) for block in content] if isinstance(content, list) else []


def _mapping(value: object) -> Line:
    return value if isinstance(value, Mapping) else {}


def _text(line: Line, key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0

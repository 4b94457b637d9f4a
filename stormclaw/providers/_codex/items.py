"""Reads what `codex app-server` tells of a turn, notification by notification."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stormclaw.protocol.messages import NO_USAGE, Usage
from stormclaw.providers._codex.errors import status_of
from stormclaw.providers._programs.events import (
    CliEvent,
    MessageStart,
    MessageStop,
    Result,
    Retry,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolResult,
    ToolUse,
    Warning,  # noqa: A004 - the field's own word
)

ATTEMPT: Final = re.compile(r"(\d+)/\d+")
NOISE: Final = re.compile(r"bubblewrap|Model metadata for .* not found|under temporary dir")
"""Warnings about codex' own installation; they help nobody in the middle of a conversation."""

TALK: Final = frozenset({"userMessage", "hookPrompt", "functionCallOutput", "plan"})
"""Items that are neither an answer nor a call."""
REST: Final = frozenset({"contextCompaction", "enteredReviewMode", "exitedReviewMode", "sleep"})
"""Items that only show that something is going on."""

SILENT: Final = frozenset(
    {
        "thread/started",
        "thread/status/changed",
        "thread/readState/changed",
        "thread/name/updated",
        "thread/settings/updated",
        "thread/queue/changed",
        "thread/closed",
        "thread/compacted",
        "thread/goal/cleared",
        "thread/goal/updated",
        "thread/environment/connected",
        "turn/started",
        "turn/diff/updated",
        "turn/plan/updated",
        "turn/moderationMetadata",
        "item/plan/delta",
        "item/fileChange/outputDelta",
        "item/fileChange/patchUpdated",
        "item/commandExecution/terminalInteraction",
        "item/mcpToolCall/progress",
        "hook/started",
        "hook/completed",
        "serverRequest/resolved",
        "deprecationNotice",
        "account/updated",
        "account/rateLimits/updated",
        "mcpServer/startupStatus/updated",
        "remoteControl/status/changed",
        "skills/changed",
        "app/list/updated",
        "model/verification",
        "model/safetyBuffering/updated",
        "rawResponseItem/completed",
        "rawResponse/completed",
    }
)
"""Notifications that are known and add nothing."""


class Items:
    """Makes events of the notifications of one thread.

    Args:
        thread_id: What other threads say is left out.
        resumed: Whether something was said in it before; codex then tells its sum first.

    Attributes:
        turn_id: The turn that runs; usage of others is not counted.
        unknown: How many notifications no one knew.
        total: Tokens of the thread so far.
        window: The model's window in tokens, 0 until told.
    """

    def __init__(self, thread_id: str, *, resumed: bool = False) -> None:
        self.thread_id = thread_id
        self.turn_id = ""
        self.unknown = 0
        self.total = NO_USAGE
        self.window = 0
        self._counts = not resumed
        """Whether `total` is where this turn began."""
        self._told: dict[str, int] = {}
        """Characters already passed on, by item."""

    def read(self, method: str, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        """The events in a notification, usually one or none."""
        if params.get("threadId") not in (None, self.thread_id):
            return
        reader = READERS.get(method)
        if reader is not None:
            yield from reader(self, params)
        elif method not in SILENT:
            self.unknown += 1

    def _text(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        text = _word(params, "delta")
        self._count(_word(params, "itemId"), text)
        yield TextDelta(text)

    def _thinking(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        text = _word(params, "delta")
        self._count(_word(params, "itemId"), text)
        yield ThinkingDelta(text)

    def _paragraph(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        if params.get("summaryIndex"):
            yield ThinkingDelta("\n\n")

    def _output(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        yield ToolProgress(_word(params, "itemId"), _word(params, "delta"))

    def _started(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        item = _item(params)
        kind, name = _word(item, "type"), _word(item, "id")
        match kind:
            case "agentMessage":
                yield MessageStart(name)
            case "reasoning":
                yield Status("thinking")
            case _ if kind in TALK or kind in REST:
                yield Status(kind)
            case _:
                yield ToolUse(name, kind, item)

    def _completed(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        item = _item(params)
        kind, name = _word(item, "type"), _word(item, "id")
        match kind:
            case "agentMessage":
                if rest := _word(item, "text")[self._told.get(name, 0) :]:
                    yield TextDelta(rest)
                yield Status("answered")
            case "reasoning":
                if name not in self._told and (said := _summary(item)):
                    yield ThinkingDelta(said)
            case _ if kind in TALK or kind in REST:
                yield Status(kind)
            case _:
                yield ToolUse(name, kind, item)
                failed = item.get("status") in ("failed", "declined")
                content = _word(item, "aggregatedOutput")
                yield ToolResult(name, content, is_error=failed, details=item)

    def _counted(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        report = params.get("tokenUsage")
        if isinstance(report, Mapping):
            before, self.total = self.total, tokens(report.get("total"))
            window = report.get("modelContextWindow")
            self.window = window if isinstance(window, int) else self.window
            if params.get("turnId") == self.turn_id:
                # The sum is told again when a connection breaks; `last` would count twice.
                fresh = self.total - before if self._counts else tokens(report.get("last"))
                yield MessageStop(fresh)
            self._counts = True

    def _error(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        error = params.get("error")
        if params.get("willRetry") and isinstance(error, Mapping):
            yield retry(_word(error, "message"), _word(error, "additionalDetails"),
                        status_of(error.get("codexErrorInfo")))  # fmt: skip

    def _warned(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        text = _word(params, "message") or _word(params, "summary")
        if text and not NOISE.search(text):
            yield Warning(text)

    def _rerouted(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        yield Warning(f"codex took another model: {_word(params, 'toModel') or 'unnamed'}")

    def _ended(self, params: Mapping[str, Any]) -> Iterator[CliEvent]:
        turn = params.get("turn")
        if not isinstance(turn, Mapping) or turn.get("id") not in (self.turn_id, None):
            return
        error = turn.get("error")
        if turn.get("status") == "completed":
            yield Result(is_error=False, reason="completed")
        elif isinstance(error, Mapping):
            info = error.get("codexErrorInfo")
            word = info if isinstance(info, str) else ""
            yield Result(True, status_of(info), _word(error, "message"), reason=word)
        else:
            yield Result(True, message="the turn was interrupted in codex", reason="interrupted")

    def _count(self, item_id: str, text: str) -> None:
        self._told[item_id] = self._told.get(item_id, 0) + len(text)


READERS: Final[Mapping[str, Callable[[Items, Mapping[str, Any]], Iterator[CliEvent]]]] = {
    "item/agentMessage/delta": Items._text,
    "item/reasoning/summaryTextDelta": Items._thinking,
    "item/reasoning/textDelta": Items._thinking,
    "item/reasoning/summaryPartAdded": Items._paragraph,
    "item/commandExecution/outputDelta": Items._output,
    "item/started": Items._started,
    "item/completed": Items._completed,
    "thread/tokenUsage/updated": Items._counted,
    "error": Items._error,
    "warning": Items._warned,
    "configWarning": Items._warned,
    "guardianWarning": Items._warned,
    "model/rerouted": Items._rerouted,
    "turn/completed": Items._ended,
}


def retry(message: str, details: str, status: int) -> Retry:
    """`Reconnecting... 2/5`, with why where codex says it."""
    found = ATTEMPT.search(message)
    return Retry(int(found.group(1)) if found else 1, 0.0, status, details or message)


def tokens(report: object) -> Usage:
    """Codex' own count; its input includes what came from the cache."""
    if not isinstance(report, Mapping):
        return NO_USAGE
    return Usage(
        _number(report, "inputTokens"),
        _number(report, "outputTokens"),
        _number(report, "cachedInputTokens"),
        cache_write_tokens=_number(report, "cacheWriteInputTokens"),
    )


def _summary(item: Mapping[str, Any]) -> str:
    parts = item.get("summary") or item.get("content")
    return "\n\n".join(map(str, parts)) if isinstance(parts, list) else ""


def _item(params: Mapping[str, Any]) -> Mapping[str, Any]:
    item = params.get("item")
    return item if isinstance(item, Mapping) else {}


def _word(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""


def _number(report: Mapping[str, Any], name: str) -> int:
    value = report.get(name)
    return value if isinstance(value, int) and value > 0 else 0

"""What a CLI that acts by itself can tell us while it works, whichever CLI it is.

Each CLI has a parser of its own that makes these of its lines. A line no parser knows is no event:
CLIs get new ones every week. It is counted, and the person is told once a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from stormclaw.protocol.messages import Usage


@dataclass(frozen=True, slots=True)
class SessionInit:
    """The CLI is up; `version` is its own, "" where it does not say."""

    session_id: str
    model: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """A sign of life: `requesting`, `compacting`."""

    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The CLI asks its server again.

    Attributes:
        attempt: From 1.
        delay_s: Seconds until it does.
        status: HTTP status that led to it, 0 if there was none.
        reason: The CLI's word for it: `rate_limit`.
    """

    attempt: int
    delay_s: float
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class MessageStart:
    """An answer of its model begins."""

    message_id: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer; each piece comes once."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of shown reasoning; each piece comes once."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Its model calls a tool; `name` and `input` are the CLI's own."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Live output of a call, or only a sign that it still runs (`text` is "")."""

    id: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call is over.

    Attributes:
        id: The `ToolUse.id`.
        content: What its model reads.
        is_error: As the CLI says.
        details: What else the CLI tells of it: exit code, both outputs; empty for nothing.
    """

    id: str
    content: str
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MessageStop:
    """An answer of its model is whole; `stop_reason` as Anthropic's API says: `tool_use`."""

    usage: Usage | None
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class MessageAbandoned:
    """The answer that had begun never became whole: what was shown of it does not count."""

    reason: str


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001 - the field's own word
    """Something the CLI wants known; the turn goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The turn is over.

    Attributes:
        is_error: The one thing to judge by: neither exit codes nor subtypes tell.
        status: HTTP status of the error, 0 if none.
        message: The answer, or what went wrong.
        usage: Over the whole turn, None where not told.
        cost_usd: Of the whole turn, None where not told.
        denials: Ids of the calls that were not permitted.
        reason: The CLI's word for the end: `completed`, `aborted_streaming`, `rate_limit`.
        context_window: What its model takes, in tokens; 0 where not told.
    """

    is_error: bool
    status: int = 0
    message: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None
    denials: tuple[str, ...] = ()
    reason: str = ""
    context_window: int = 0


CliEvent: TypeAlias = (
    SessionInit
    | Status
    | Retry
    | MessageStart
    | TextDelta
    | ThinkingDelta
    | ToolUse
    | ToolProgress
    | ToolResult
    | MessageStop
    | MessageAbandoned
    | Warning
    | Result
)

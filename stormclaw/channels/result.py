"""What one unattended turn came to: the object of `--output-format json` and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stormclaw.agent.asks import NOBODY
from stormclaw.errors import RETRYABLE
from stormclaw.protocol.events import (
    Answered,
    Committed,
    Event,
    Notice,
    ToolEnded,
    TurnEnded,
)
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    Note,
    ToolOutcome,
    TurnReason,
    Usage,
)

OK, FAILED, USAGE, DENIED, LIMIT, RETRY, INTERRUPTED = 0, 1, 2, 3, 53, 75, 130
"""Exit codes, see README."""


@dataclass(slots=True)
class TurnResult:
    """Filled from the events of a turn, in order."""

    session_id: str
    text: str = ""
    turns: int = 0
    reason: TurnReason | None = None
    usage: Usage = NO_USAGE
    note: Note | None = None
    fault: str = ""
    denials: list[ToolOutcome] = field(default_factory=list)
    unanswered: int = 0

    def take(self, event: Event) -> None:
        """Learn from an event of any agent."""
        match event:
            case Committed(agent=agent, node=node) if agent == ROOT:
                self._node(node.body)
            case ToolEnded(outcome=outcome) if outcome.status == "denied":
                self.denials.append(outcome)
            case Answered(reply=reply) if reply == NOBODY:
                self.unanswered += 1
            case TurnEnded(agent=agent) if agent == ROOT:
                self.reason, self.usage = event.reason, event.usage
            case Notice(level="error"):
                self.fault = event.text
            case _:
                pass

    def _node(self, body: object) -> None:
        if isinstance(body, AssistantTurn):
            self.turns += 1
            self.text = body.text or self.text
        elif isinstance(body, Note):
            self.note = body

    @property
    def is_error(self) -> bool:
        """Whether the turn did not come to its end."""
        return self.reason != "done"

    @property
    def exit_code(self) -> int:
        """As in the README's table; a question nobody could answer counts as denied."""
        if self.reason == "done":
            return DENIED if self.unanswered else OK
        if self.reason == "limit":
            return LIMIT
        if self.reason == "interrupted":
            return INTERRUPTED
        return RETRY if self.note is not None and self.note.code in RETRYABLE else FAILED

    @property
    def message(self) -> str:
        """What went wrong, and what to do next; "" if nothing did."""
        if not self.is_error:
            return ""
        parts = (self.note.text, self.note.detail) if self.note else (self.fault,)
        return "; ".join(part for part in parts if part) or "the turn did not end well"

    def to_json(self) -> dict[str, Any]:
        """The documented object."""
        kind = (self.note.code or self.note.kind) if self.note else "internal"
        return {
            "type": "result",
            "result": self.text,
            "session_id": self.session_id,
            "num_turns": self.turns,
            "usage": {
                "input_tokens": self.usage.input_tokens,
                "output_tokens": self.usage.output_tokens,
                "cached_tokens": self.usage.cached_tokens,
                "cache_write_tokens": self.usage.cache_write_tokens,
                "reported": self.usage.reported,
            },
            "cost_usd": self.usage.cost_usd,
            "cost_estimated": self.usage.cost_estimated,
            "is_error": self.is_error,
            "error": {"class": kind, "message": self.message} if self.is_error else None,
            "permission_denials": [
                {"tool": outcome.tool, "object": outcome.headline.object, "reason": outcome.output}
                for outcome in self.denials
            ],
        }

"""What is known of one call while it goes on; turned into outcome and receipt when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from stormclaw.agent.permission import Permit
from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Display, Headline
from stormclaw.protocol.messages import Author, Status, ToolCall
from stormclaw.protocol.tool import ToolResult
from stormclaw.store.receipts import Intent

LONGEST_SUMMARY = 60
STOPPED = (
    "It ended this call before it was done. No tool runs until the person clears it: "
    "answer in words"
)


@dataclass(slots=True)
class Attempt:
    """One call, or one more try of it.

    Attributes:
        call: What the model (or a person) asked for.
        author: Who asked.
        tool: Canonical name once it is known.
        headline: For the card.
        status: How it ended; `interrupted` until something else is known.
        output: For the model.
        summary: A few words for the card.
        display: What the card shows.
        permit: How the question whether it may run was settled.
        result: What the tool gave back, None if it did not get that far.
        began: Monotonic seconds when it began to run, 0.0 if it never did.
        ended_by: `estop` when the emergency stop ended it.
        masked: Values shaped like keys that its output held.
        intent: What was written down before it began, None for what only looks.
    """

    call: ToolCall
    author: Author
    tool: str
    headline: Headline
    status: Status = "interrupted"
    output: str = "interrupted by the person before it was done"
    summary: str = "interrupted"
    display: Display | None = None
    permit: Permit = field(default_factory=Permit)
    result: ToolResult | None = None
    began: float = 0.0
    masked: tuple[str, ...] = ()
    intent: Intent | None = None
    ended_by: str = ""

    @classmethod
    def of(cls, call: ToolCall, author: Author = "model") -> Attempt:
        """A call nothing is known of yet."""
        return cls(call, author, call.name, Headline("tool", call.name))

    def close(self, status: Status, output: str, summary: str) -> None:
        """It is over."""
        self.status, self.output, self.summary = status, output, summary

    def stopped(self, reason: str) -> None:
        """The emergency stop ended it; what it had put out by then stays."""
        words = f"[emergency stop: {reason}. {STOPPED}]"
        self.close("interrupted", f"{self.output}\n\n{words}".lstrip(), "emergency stop")
        self.ended_by = "estop"

    def fail(self, failure: ToolFailure) -> None:
        """It is over, and the model is told why."""
        self.close("failed", str(failure), failure.summary or _first_words(str(failure)))

    def done(self, result: ToolResult) -> None:
        """The tool came to its end, with good news or bad."""
        self.result, self.display = result, result.display
        self.close("done" if result.ok else "failed", result.output, result.summary)


def _first_words(message: str) -> str:
    line = message.strip().splitlines()[0] if message.strip() else "failed"
    return line if len(line) <= LONGEST_SUMMARY else line[: LONGEST_SUMMARY - 1] + "…"

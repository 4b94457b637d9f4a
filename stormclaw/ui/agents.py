"""One agent as the panel shows it: state, what it does, what it has used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import NO_USAGE, TurnReason, Usage
from stormclaw.ui.text import one_line

State: TypeAlias = Literal["waiting", "running", "asks", "done", "failed", "stopped"]

ENDED: dict[TurnReason, State] = {
    "done": "done",
    "limit": "stopped",
    "interrupted": "stopped",
    "failed": "failed",
}
ENDED_WORDS: dict[TurnReason, str] = {
    "done": "done",
    "limit": "stopped at its limit",
    "interrupted": "stopped",
    "failed": "failed",
}


@dataclass(slots=True)
class Agent:
    """One line of the tree.

    Attributes:
        path: `root`, `root/fixer`.
        number: 1 for root; picks the colour.
        state: What its sign shows.
        action: What it does now, or how it ended.
        since: Clock reading at which the running turn began, None while it rests.
        spent_s: Seconds of the turns before.
        answered: (provider, model) of the newest answer.
    """

    path: str
    number: int
    task: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    state: State = "waiting"
    action: str = ""
    usage: Usage = NO_USAGE
    context_tokens: int = 0
    context_window: int = 0
    budget_usd: float | None = None
    budget_tokens: int | None = None
    since: float | None = None
    spent_s: float = 0.0
    calls: dict[str, Headline] = field(default_factory=dict)
    answered: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The last part of the path; a model may have chosen it."""
        return one_line(self.path.rpartition("/")[2])

    @property
    def depth(self) -> int:
        """0 for root."""
        return self.path.count("/")

    @property
    def busy(self) -> bool:
        """Works, or waits for a person in the middle of its work."""
        return self.state in ("running", "asks")

    @property
    def tokens(self) -> int:
        """Everything sent and received."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def share(self) -> float | None:
        """How much of its purse is used, 0 to 1; of its context where it has no purse."""
        shares = []
        if self.budget_usd and self.usage.cost_usd is not None:
            shares.append(self.usage.cost_usd / self.budget_usd)
        if self.budget_tokens:
            shares.append(self.tokens / self.budget_tokens)
        if not shares and self.context_window:
            shares.append(self.context_tokens / self.context_window)
        return max(shares) if shares else None

    def elapsed_s(self, now: float) -> float:
        """Seconds of work so far."""
        return self.spent_s + (now - self.since if self.since is not None else 0.0)


def spoken(headline: Headline) -> str:
    """A call in the words of the panel: a command as it is, everything else with its verb."""
    if headline.kind == "command":
        return headline.object
    return f"{headline.verb} {headline.object}"

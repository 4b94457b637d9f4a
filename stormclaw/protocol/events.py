"""Everything a front end can learn from the core: a closed union, see docs/adr/0004.

Every event says which agent it belongs to (`root`, `root/scout-1`). A feature that needs to tell
the person something uses `Notice`; a new event is a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.protocol.asks import Ask, Reply
from stormclaw.protocol.display import Display, Headline
from stormclaw.protocol.effects import Risk
from stormclaw.protocol.messages import Node, ToolCall, ToolOutcome, TurnReason, Usage


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """An agent begins to work."""

    agent: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """An agent has stopped working; `usage` is this turn's, children included."""

    agent: str
    reason: TurnReason
    usage: Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Live answer text; neighbours may be merged for a slow listener."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Live reasoning; neighbours may be merged for a slow listener."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was streamed since the agent's last node does not count: it is taken off the screen."""

    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class Committed:
    """A node is in the conversation and on disk."""

    agent: str
    node: Node


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call begins: it waits for a person if an `Asked` follows, else it runs."""

    agent: str
    call: ToolCall
    tool: str
    headline: Headline
    risk: Risk
    display: Display | None


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Live output of a running call."""

    agent: str
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call is over and its receipt written; its node is committed soon after, in order."""

    agent: str
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A question is open."""

    agent: str
    ask: Ask


@dataclass(frozen=True, slots=True)
class Answered:
    """A question is closed, by whomever."""

    agent: str
    ask_id: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A sub-agent begins.

    Attributes:
        agent: The parent.
        child: The child's path.
        task: What it is told.
        model: The model it runs on.
        tools: Canonical names of the tools it may use.
        budget_usd: Its share of the purse, None if unlimited.
        budget_tokens: Likewise in tokens.
    """

    agent: str
    child: str
    task: str
    model: str
    tools: tuple[str, ...]
    budget_usd: float | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A sub-agent is done; `usage` is all it and its children used."""

    agent: str
    child: str
    reason: TurnReason
    usage: Usage


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """The running totals of an agent.

    Attributes:
        agent: Whose.
        usage: Everything since the session began, children included.
        context_tokens: Size of the last request plus its answer.
        context_window: What the model takes at most; 0 if unknown.
        budget_usd: The limit of this agent's purse, None if unlimited.
        budget_tokens: Likewise in tokens.
    """

    agent: str
    usage: Usage
    context_tokens: int
    context_window: int
    budget_usd: float | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the person: a retry, a fallback, a changed config, an estop.

    Attributes:
        agent: Whom it is about.
        level: How bad it is.
        text: The line.
        detail: More lines, where there is more to know: what an emergency stop has killed.
    """

    agent: str
    level: Literal["info", "warning", "error"]
    text: str
    detail: str = ""


Event: TypeAlias = (
    TurnStarted
    | TurnEnded
    | TextDelta
    | ThinkingDelta
    | Withdrawn
    | Committed
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | Asked
    | Answered
    | ChildStarted
    | ChildEnded
    | UsageChanged
    | Notice
)

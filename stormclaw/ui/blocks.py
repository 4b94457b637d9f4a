"""Node or event to block: what stands in a transcript, as values that renderers draw.

A `Block` is a source and its lines once somebody looked at it. Sources of calls change while the
call lives; everything else is fixed when it is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from stormclaw.protocol.asks import Permission
from stormclaw.protocol.display import Diff, Display, Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    NoteKind,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.security.redact import redact
from stormclaw.ui.decisions import edited, moved_on
from stormclaw.ui.markdown import Part
from stormclaw.ui.render.lines import Line
from stormclaw.ui.text import count, one_line, tokens

CardState: TypeAlias = Literal[
    "waiting", "asks", "running", "done", "failed", "denied", "interrupted"
]
Group: TypeAlias = Literal["turn", "tools", "answer", "note", "error"]
"""Kinds between which one blank line stands."""

LIVE_CHARS = 20_000
"""The end of a running call's output that is kept for the screen."""


@dataclass(eq=False, slots=True)
class Turn:
    """What the person said."""

    text: str
    steered: bool = False
    hand: bool | None = None


@dataclass(eq=False, slots=True)
class Thought:
    """Shown reasoning; `seconds` None while it still comes."""

    text: str
    seconds: float | None = None
    started: float = 0.0
    hand: bool | None = None


@dataclass(eq=False, slots=True)
class Answer:
    """A whole answer nobody has looked at yet; it is split into parts when it comes into view."""

    text: str


@dataclass(eq=False, slots=True)
class Live:
    """The part of an answer that is still being written; its lines are made by the timeline."""


@dataclass(eq=False, slots=True)
class Remark:
    """One muted line: a note of the conversation or a notice; `error` puts a red sign before it."""

    text: str
    at: float
    error: bool = False


@dataclass(eq=False, slots=True)
class Failure:
    """A turn that stopped; `last` while nothing came after it, so that its keys are true."""

    title: str
    detail: str
    code: str
    last: bool = True


@dataclass(eq=False, slots=True)
class Card:
    """One tool call.

    Attributes:
        hand: How the person folded it; None leaves it to the rules.
        whole: Show everything of the body, not only its end.
        started: Clock time at which it began to run.
        fold_at: Clock time until which a finished shell stays open, None when that is over.
        child: Path of the agent it started, if it did.
        activity: What that agent is doing.
    """

    call_id: str
    headline: Headline
    state: CardState = "waiting"
    summary: str = ""
    display: Display | None = None
    output: str = ""
    receipt: int = 0
    started: float = 0.0
    hand: bool | None = None
    whole: bool = False
    fold_at: float | None = None
    child: str = ""
    activity: str = ""

    @property
    def live(self) -> bool:
        """True while it can still change."""
        return self.state in ("waiting", "asks", "running")

    def add_output(self, text: str) -> None:
        """More live output; only the end of it is kept."""
        self.output = (self.output + text)[-LIVE_CHARS:]

    def settle(self, outcome: ToolOutcome) -> None:
        """The call is over."""
        self.headline = outcome.headline
        self.state = outcome.status
        self.summary = outcome.summary
        self.output = outcome.output
        self.display = outcome.display
        self.receipt = outcome.receipt


@dataclass(eq=False, slots=True)
class Reads:
    """Five or more reads in a row as one line."""

    cards: list[Card]
    hand: bool | None = None


Source: TypeAlias = Turn | Thought | Answer | Live | Part | Remark | Failure | Card | Reads

GROUPS: dict[type, Group] = {
    Turn: "turn",
    Thought: "tools",
    Answer: "answer",
    Live: "answer",
    Part: "answer",
    Remark: "note",
    Failure: "error",
    Card: "tools",
    Reads: "tools",
}


@dataclass(eq=False, slots=True)
class Block:
    """A source with its place.

    Attributes:
        height: Lines, without `gap`; an estimate while `lines` is None.
        gap: Blank lines above.
        lines: Drawn, or None.
        open: Whether a body is shown under the first line, as last drawn or estimated.
    """

    source: Source
    height: int = 1
    gap: int = 0
    lines: list[Line] | None = field(default=None, repr=False)
    open: bool = False

    @property
    def group(self) -> Group:
        """Its kind, for blank lines."""
        return GROUPS[type(self.source)]

    @property
    def span(self) -> int:
        """Lines it takes, gap included."""
        return self.gap + self.height


def gap_between(before: Block | None, after: Block) -> int:
    """Blank lines between two neighbours: one between kinds and after an open card, never two."""
    if before is None:
        return 0
    if before.group != after.group:
        return 1
    return int(after.group in ("turn", "answer", "error") or before.open)


REMARKS: dict[NoteKind, str] = {"info": "", "interrupted": "stopped", "limit": "limit"}


def note_source(node: Node, note: Note) -> Source:
    """A note as an error card or one muted line."""
    if note.kind == "failed":
        return Failure(note.text, note.detail, note.code)
    words = (note.text or REMARKS[note.kind], note.detail)
    return Remark("  ".join(word for word in words if word), node.at)


VERBS: dict[str, str] = {
    "apply_patch": "patch", "http": "fetch", "memory_search": "recall", "memory_write": "note",
    "pdf_extract": "pdf", "remember": "keep", "spawn_agent": "agent", "todo": "plan",
    "web_search": "search",
}  # fmt: skip
"""Tools whose cards are not called by the first word of their name."""
OBJECTS = ("path", "command", "pattern", "url", "query", "task", "question", "text")
"""Arguments that say what a call is done to, the most telling first."""


def call_headline(call: ToolCall) -> Headline:
    """What a call is named before its tool could say so: as near to its final name as can be."""
    verb = VERBS.get(call.name) or call.name.partition("_")[0][:6]
    return Headline(
        one_line(verb) or "tool", one_line(redact(_object(call.arguments)[:400]))[:200] or "…"
    )


def _object(arguments: str) -> str:
    try:
        given = json.loads(arguments)
        found = (given[name] for name in OBJECTS if isinstance(given.get(name), str))
        return next(found, "") or next(filter(lambda v: isinstance(v, str), given.values()), "")
    except (ValueError, AttributeError, RecursionError):
        return arguments


def node_sources(
    node: Node, headline: Callable[[ToolCall], Headline] = call_headline
) -> list[Source]:
    """What a node shows by itself; outcomes are not here, they settle the card of their call.

    Args:
        node: Of the conversation.
        headline: Names a call that has no outcome yet.
    """
    match node.body:
        case UserText(text, steered):
            return [Turn(text, steered)]
        case AssistantTurn() as turn:
            sources: list[Source] = []
            if turn.thinking.strip():
                sources.append(Thought(turn.thinking, turn.thought_s))
            if turn.text.strip():
                sources.append(Answer(turn.text))
            return [*sources, *(Card(call.id, headline(call)) for call in turn.calls)]
        case Note() as note:
            return [note_source(node, note)]
        case Summary() as summary:
            sizes = f"~{tokens(summary.before)} → ~{tokens(summary.after)} tokens"
            name = Headline("sum up", count(len(summary.replaces), "message"))
            return [Card(node.id, name, "done", sizes, output=summary.text)]
        case ContextEdit() as edit:
            return [Remark(edited(edit), node.at)]
        case Moved() as move:
            return [Remark(moved_on(move), node.at)]
        case ToolOutcome() | Delegation() | Label():
            return []


def ask_summary(ask: Permission) -> str:
    """What a card says while its question is open."""
    return "waits for you"


def target_path(card: Card) -> str | None:
    """The file a card is about, as shown to the person."""
    if isinstance(card.display, Diff):
        return card.display.path
    return card.headline.object if card.headline.kind == "path" else None


def common_reads(sources: Sequence[Source]) -> list[Card] | None:
    """The cards behind `sources` if all of them are reads done and left to themselves."""
    cards: list[Card] = []
    for source in sources:
        match source:
            case Reads(members):
                cards.extend(members)
            case Card(state="done", hand=None) as card if card.headline.verb == "read":
                cards.append(card)
            case _:
                return None
    return cards

"""What every readable export says the same way: facts, times, decisions, what a call showed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

from stormclaw.protocol.display import (
    Checklist,
    Diff,
    Display,
    Patch,
    Plain,
    Shell,
    Table,
)
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
    open_calls,
)
from stormclaw.store.sessions import SessionInfo

UNTITLED = "Untitled session"
DEEPEST = 6
"""Sub-agents of sub-agents are nested this deep; what is deeper follows at the end."""
_MARKS = {"open": " ", "doing": "~", "done": "x", "dropped": "-"}
_MOVES = {
    "rewind": "went back",
    "branch": "went on from another place",
    "undo": "took back",
    "redo": "took the undo back",
    "files": "put files back",
}


@dataclass(frozen=True, slots=True)
class Thread:
    """One agent's part of a session.

    Attributes:
        agent: Its path.
        nodes: What it heard, said and did, in the order written.
        unanswered: Calls that no node gives a result for.
    """

    agent: str
    nodes: tuple[Node, ...]
    unanswered: frozenset[ToolCall]


class Threads:
    """All agents of a session, each of which is shown once, wherever it is asked for first."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        agents: dict[str, list[Node]] = {ROOT: []}
        for node in nodes:
            agents.setdefault(node.agent, []).append(node)
        self._left = agents

    def take(self, agent: str, depth: int = 0) -> Thread | None:
        """An agent's part; None when it was taken before, is unknown, or lies too deep."""
        nodes = self._left.pop(agent, None) if depth <= DEEPEST else None
        if nodes is None:
            return None
        calls = frozenset(open_calls([node.body for node in nodes]))
        return Thread(agent, tuple(nodes), calls)

    def rest(self) -> Iterator[Thread]:
        """The agents nobody asked for."""
        while self._left:
            thread = self.take(next(iter(self._left)))
            if thread is not None:
                yield thread


def facts(info: SessionInfo, nodes: Sequence[Node]) -> tuple[tuple[str, str], ...]:
    """What there is to know about a session: (name, value), foreign text in the values."""
    usage, turns = NO_USAGE, 0
    models: dict[str, None] = {}
    for node in nodes:
        match node.body:
            case AssistantTurn() as turn:
                usage = usage + turn.usage
                models[f"{turn.provider}/{turn.model}".strip("/")] = None
            case Summary() as summary:
                usage = usage + summary.usage
            case UserText(steered=False) if node.agent == ROOT:
                turns += 1
            case _:
                pass
    named = ", ".join(filter(None, models)) or f"{info.provider}/{info.model}".strip("/")
    rows = (
        ("Session", info.id),
        ("Folder", str(info.workspace)),
        ("Begun", when(info.created)),
        ("Last", when(nodes[-1].at if nodes else info.updated)),
        ("Model", named),
        ("Turns", str(turns)),
        ("Tokens", tokens(usage)),
        ("Cost", cost(usage)),
        ("From", info.origin),
    )
    return tuple((name, " ".join(value.split())) for name, value in rows if value)


def when(at: float) -> str:
    """A time, UTC, to the minute."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"


def tokens(usage: Usage) -> str:
    """`12,000 in, 300 out`, with a `~` where it was estimated; "" for none."""
    if not (usage.input_tokens or usage.output_tokens):
        return ""
    about = "" if usage.reported else "~"
    return f"{about}{usage.input_tokens:,} in, {about}{usage.output_tokens:,} out"


def cost(usage: Usage) -> str:
    """`$0.4200`, with a `~` where it was estimated; "" where nobody knows."""
    about = "~" if usage.cost_estimated else ""
    return "" if usage.cost_usd is None else f"{about}${usage.cost_usd:,.4f}"


def remark(body: Note | Summary | ContextEdit | Moved | Label) -> str:
    """What was decided or happened, in a sentence; a summary's text is shown besides."""
    match body:
        case Note():
            return ": ".join(filter(None, (body.code, body.text)))
        case Summary():
            focus = f", with an eye on {body.focus}" if body.focus else ""
            room = f" ({body.before:,} to {body.after:,} tokens)" if body.before else ""
            return f"{_counted(len(body.replaces), 'entry', 'entries')} summed up{focus}{room}"
        case ContextEdit():
            return f"{body.by or 'somebody'} {_edited(body)}"
        case Moved():
            turns = f", {_counted(body.turns, 'turn')} left behind" if body.turns else ""
            files = f"; files put back: {', '.join(body.files)}" if body.files else ""
            kept = f"; left as they are: {', '.join(body.kept)}" if body.kept else ""
            return f"{_MOVES[body.kind]}{turns}{files}{kept}"
        case Label():
            return f"this place is called {body.text!r}" if body.text else "a label was taken away"
        case _:
            assert_never(body)


def _edited(edit: ContextEdit) -> str:
    if edit.undoes:
        return "took a decision about the context back"
    parts: list[str] = []
    off = sum(not change.include for change in edit.changes)
    if off:
        parts.append(f"held {_counted(off, 'entry', 'entries')} back from the model")
    if back := len(edit.changes) - off:
        parts.append(f"changed how {_counted(back, 'entry is', 'entries are')} sent")
    if edit.policies is not None:
        parts.append(f"ordered the policies: {', '.join(edit.policies) or 'as configured'}")
    return " and ".join(parts) or "changed nothing of the context"


def outcome_line(outcome: ToolOutcome) -> str:
    """How a call ended: `done, 84 lines`."""
    by = "by you" if outcome.author == "person" else ""
    receipt = f"receipt {outcome.receipt}" if outcome.receipt else ""
    return ", ".join(filter(None, (outcome.status, outcome.summary, by, receipt)))


def result_of(outcome: ToolOutcome) -> tuple[tuple[str, str], ...]:
    """What a call showed: (language, text) of each block; foreign text, made inert."""
    shown = outcome.display
    blocks: list[tuple[str, str]] = []
    if shown is None or isinstance(shown, Shell) or outcome.status != "done":
        blocks.append(("", outcome.output))
    if shown is not None and not isinstance(shown, Shell):
        blocks.append(("diff" if isinstance(shown, Diff | Patch) else "", drawn(shown)))
    return tuple((language, inert(text)) for language, text in blocks if text.strip())


def drawn(display: Display) -> str:
    """What a card shows, as text."""
    match display:
        case Diff():
            return diff_text(display)
        case Patch(files=files):
            return "\n".join(map(diff_text, files))
        case Plain(text=text):
            return text
        case Shell(command=command):
            return f"$ {command}"
        case Table(columns=columns, rows=rows):
            lines = (columns, *rows)
            return "\n".join("  ".join(" ".join(cell.split()) for cell in line) for line in lines)
        case Checklist(steps=steps):
            return "\n".join(
                f"[{_MARKS[step.state]}] {' '.join(step.text.split())}" for step in steps
            )
        case _:
            assert_never(display)


def diff_text(diff: Diff) -> str:
    """A diff in the usual form."""
    name = " ".join(diff.path.split())
    lines = [f"--- {'/dev/null' if diff.created else name}", f"+++ {name}"]
    for hunk in diff.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        lines.append(f"@@ -{old} +{new} @@")
        lines += [line.sign + line.text.replace("\n", "␤") for line in hunk.lines]
    if diff.cut:
        lines.append(f"… {_counted(diff.cut, 'changed line')} not kept")
    return "\n".join(lines)


def cut(text: str, most: int) -> tuple[str, str]:
    """The first `most` lines of a text, and what to say about the others ("" for none)."""
    lines = text.strip("\n").split("\n")
    if len(lines) <= most:
        return "\n".join(lines), ""
    left = _counted(len(lines) - most, "more line")
    return "\n".join(lines[:most]), f"… {left}; the JSON export has everything"


def child_line(delegation: Delegation) -> str:
    """Who was sent, and how that ended."""
    used = tokens(delegation.usage)
    return ", ".join(filter(None, (delegation.child, delegation.reason, used)))


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"

"""The turns of a conversation as a tree, in the order it is drawn: pure functions over nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stormclaw.agent.context.graph import branch
from stormclaw.agent.history.values import Leaf, Touched
from stormclaw.protocol.display import Diff, Patch
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    ToolOutcome,
    UserText,
    outcome_of,
)

MOST_NAMED = 3
"""Kinds of calls named in what a turn did."""

Files = Mapping[str, tuple[Touched, ...]]
"""What calls changed, by call id."""


@dataclass(slots=True)
class _Turn:
    """A turn while it is being gathered."""

    node: Node
    parent: str
    end: str
    calls: list[ToolOutcome] = field(default_factory=list)
    label: str = ""
    below: list[str] = field(default_factory=list)


def leaves(nodes: Sequence[Node], files: Files | None = None) -> tuple[Leaf, ...]:
    """The turns of all branches: each after what it follows, side branches before the trunk.

    Args:
        nodes: Everything of one agent, in the order written.
        files: What calls changed, where it is known better than from what they show (a shell
            command shows nothing of it).
    """
    turns = _turns(nodes)
    current = {node.id for node in branch(nodes)}
    tops: list[str] = []
    for turn_id, turn in turns.items():
        (turns[turn.parent].below if turn.parent else tops).append(turn_id)
    found: list[Leaf] = []
    waiting = _ordered(tops, current, 0, on_trunk=True)
    while waiting:
        turn_id, depth = waiting.pop()
        turn = turns[turn_id]
        on_trunk = turn_id in current
        found.append(_leaf(turn, depth, on_trunk, files or {}))
        waiting += _ordered(turn.below, current, depth, on_trunk=on_trunk)
    return tuple(found)


def is_turn(node: Node) -> bool:
    """Whether a turn begins here: the person spoke, or ran a command themselves."""
    match node.body:
        case UserText(steered=steered):
            return not steered
        case ToolOutcome(author="person"):
            return True
        case _:
            return False


def words_of(node: Node) -> str:
    """What the person typed to begin the turn."""
    match node.body:
        case UserText(text=text):
            return text
        case ToolOutcome() as outcome:
            return f"!{outcome.headline.object}"
        case _:
            return ""


def turns_on(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Where the turns of a branch begin."""
    return tuple(filter(is_turn, nodes))


def off(nodes: Sequence[Node], current: Sequence[Node], to: str | None) -> tuple[Node, ...]:
    """The turns of the branch `current` that are not above the node `to`."""
    everything = {node.id: node for node in nodes}
    above: set[str] = set()
    while to is not None and (node := everything.get(to)) is not None:
        above.add(node.id)
        to = node.parent
    return tuple(turn for turn in turns_on(current) if turn.id not in above)


def cut_off(nodes: Sequence[Node]) -> bool:
    """Whether the last turn of a branch has neither an answer at its end nor a note that says why.

    So it is when the program was killed while a turn ran.
    """
    for node in reversed(nodes):
        match node.body:
            case AssistantTurn(calls=calls):
                return bool(calls)
            case Note() | Moved() | ToolOutcome(author="person"):
                return False
            case UserText() | ToolOutcome() | Delegation():
                return True
            case _:
                continue
    return False


def newest_move(nodes: Sequence[Node]) -> Node | None:
    """The move of a branch that can be taken back; None once something was said after it."""
    taken_back = 0
    for node in reversed(nodes):
        match node.body:
            case Moved(kind="redo"):
                # Most redos leave the branch of what they take back; files alone are on it still.
                taken_back += node.parent == node.body.left
            case Moved(kind="files") if taken_back:
                taken_back -= 1
            case Moved():
                return node
            case UserText() | AssistantTurn() | ToolOutcome():
                return None
            case _:
                continue
    return None


def _turns(nodes: Sequence[Node]) -> dict[str, _Turn]:
    """Every turn by the id of its first node, in the order they were begun."""
    turns: dict[str, _Turn] = {}
    owner: dict[str, str] = {}
    labels: dict[str, str] = {}
    before = ""
    for node in nodes:
        parent = node.parent if node.parent is None or node.parent in owner else before
        above = owner.get(parent, "") if parent else ""
        if is_turn(node):
            turns[node.id] = _Turn(node, above, node.id)
            above = node.id
        owner[node.id], before = above, node.id
        if isinstance(node.body, Label):
            labels[node.body.node] = node.body.text
        if not above:
            continue
        turn = turns[above]
        if not isinstance(node.body, Moved):
            turn.end = node.id
        if (outcome := outcome_of(node.body)) is not None:
            turn.calls.append(outcome)
    for node_id, text in labels.items():
        if above := owner.get(node_id, ""):
            turns[above].label = text
    return turns


def _ordered(
    ids: Sequence[str], current: set[str], depth: int, *, on_trunk: bool
) -> list[tuple[str, int]]:
    """Brothers as they go onto a stack: the one that goes on comes last, so at the bottom.

    Off the trunk the newest brother goes on; on it nobody does where all of them were left.
    """
    onward = next((turn_id for turn_id in ids if turn_id in current), "")
    if not onward and ids and not on_trunk:
        onward = ids[-1]
    sides = [(turn_id, depth + 1) for turn_id in ids if turn_id != onward]
    return [*([(onward, depth)] if onward else []), *reversed(sides)]


def _leaf(turn: _Turn, depth: int, current: bool, files: Files) -> Leaf:
    return Leaf(
        turn.node.id,
        turn.end,
        turn.parent,
        depth,
        " ".join(words_of(turn.node).split()),
        _did(turn.calls),
        turn.node.at,
        turn.label,
        _touched(turn.calls, files),
        current,
    )


def _did(calls: Sequence[ToolOutcome]) -> str:
    """`read, edit retry.py, shell`: what was done, each kind once, files by their name."""
    said: dict[str, str] = {}
    for call in calls:
        if call.author != "person" and call.status == "done":
            head = call.headline
            last = head.object.rpartition("/")[2]
            wrote = isinstance(call.display, Diff | Patch)
            said[head.verb] = f"{head.verb} {last}" if wrote else head.verb
    words = [*said.values()]
    more = f", {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more


def _touched(calls: Sequence[ToolOutcome], files: Files) -> tuple[Touched, ...]:
    counts: dict[str, tuple[int, int]] = {}
    for call in calls:
        for file in files.get(call.call_id) or shown(call):
            added, removed = counts.get(file.path, (0, 0))
            counts[file.path] = (added + file.added, removed + file.removed)
    return tuple(Touched(path, *lines) for path, lines in counts.items())


def shown(call: ToolOutcome) -> tuple[Touched, ...]:
    """What a call says itself that it changed."""
    if call.status != "done":
        return ()
    match call.display:
        case Diff() as diff:
            return (Touched(diff.path, diff.added, diff.removed),)
        case Patch(files=diffs):
            return tuple(Touched(diff.path, diff.added, diff.removed) for diff in diffs)
        case _:
            return ()

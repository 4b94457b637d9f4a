"""Where on the line of snapshots a turn began, and when calls were at work."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stormclaw.agent.history.tree import shown
from stormclaw.protocol.messages import AssistantTurn, Moved, Node, ToolOutcome, outcome_of
from stormclaw.store.checkpoints import Checkpoint

SHELL_TOOL = "shell_exec"


def at_work(marks: Sequence[Checkpoint]) -> tuple[bool, ...]:
    """From each snapshot to the next one: whether a call alone may have changed what is different.

    A call that only names files was looked at with these files alone, so all that its second
    snapshot shows is its own. Any other call is taken for the one who changed what changed while
    it ran. A call without a second snapshot was cut short, and nobody knows when.
    """
    found = [False] * max(0, len(marks) - 1)
    began: dict[str, int] = {}
    for place, mark in enumerate(marks):
        if mark.moment == "before":
            began[mark.call_id] = place
        elif mark.moment == "after" and mark.call_id in began:
            start = began.pop(mark.call_id)
            if mark.partial:
                found[place - 1] = True
            elif not marks[start].partial:
                found[start:place] = [True] * (place - start)
    return tuple(found)


def begun(marks: Sequence[Checkpoint], turn: Node, nodes: Sequence[Node]) -> int:
    """How many snapshots are older than a turn.

    What the conversation says of the order counts; the clock, which may have been put right in
    between, is only asked about snapshots that it does not name: those of sub-agents.

    Args:
        marks: All of the session, oldest first.
        turn: The turn's first node.
        nodes: Everything, in the order written.
    """
    place = next((n for n, node in enumerate(nodes) if node.id == turn.id), len(nodes))
    # A command of the person's is committed once it is over, so it is among what came later.
    earlier, later = _named(nodes[:place]), _named(nodes[place:])
    first, end = 0, len(marks)
    for n, mark in enumerate(marks):
        names = {mark.id, mark.call_id}
        if names & later and not names & earlier:
            end = n
            break
        if names & earlier and not names & later:
            first = n + 1
    between = range(first, end)
    return next((n for n in between if marks[n].at >= turn.at), end)


def unkept(turn: Node, nodes: Sequence[Node], kept: Collection[str]) -> tuple[tuple[str, ...], int]:
    """What calls did since a turn began without a snapshot: files they named, commands they ran.

    Args:
        turn: The turn's first node.
        nodes: Everything, in the order written.
        kept: Ids of calls that snapshots were taken around.
    """
    place = next((n for n, node in enumerate(nodes) if node.id == turn.id), len(nodes))
    calls = (outcome_of(node.body) for node in nodes[place:])
    lost = [call for call in calls if call is not None and call.call_id not in kept]
    files = dict.fromkeys(file.path for call in lost for file in shown(call))
    return tuple(files), sum(call.tool == SHELL_TOOL and call.seconds > 0 for call in lost)


def _named(nodes: Sequence[Node]) -> frozenset[str]:
    """Ids of calls and of snapshots."""
    found: set[str] = set()
    for node in nodes:
        match node.body:
            case AssistantTurn(calls=calls):
                found |= {call.id for call in calls}
            case ToolOutcome(call_id=call_id, author="person"):
                found.add(call_id)
            case Moved(before=before, after=after):
                found |= {before, after} - {""}
            case _:
                pass
    return frozenset(found)

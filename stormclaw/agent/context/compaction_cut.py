"""What a compaction takes off the wire: everything old that nobody decided to keep. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.agent.context.graph import COMPACTION, YOU, Standing, Standings
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.wording import elided
from stormclaw.protocol.messages import (
    AssistantTurn,
    ContextEdit,
    Delegation,
    Node,
    Summary,
    ToolOutcome,
    UserText,
    outcome_of,
)

Need: TypeAlias = Literal["automatic", "asked", "pressing"]
"""Nobody asked: what the person brought back stays. The person asked: what they brought back by
taking a decision back may go again. A provider takes no more: only what is pinned stays."""
MOST_OF_A_TURN = 2
"""A turn that begins this many times `recent` back is cut in its middle instead."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is cut, and what of its older part goes.

    Attributes:
        goes: What leaves the wire, oldest first; earlier summaries among it.
        covers: Everything said and done that the new text stands for: what goes, and what the
            earlier summaries stood for.
        earlier: The summaries that are folded in, oldest first.
        tokens: What all that takes on the wire now.
        inside: The newest of the person's messages is among it: a turn was cut in its middle.
    """

    goes: tuple[Node, ...]
    covers: tuple[Node, ...]
    earlier: tuple[Node, ...]
    tokens: int
    inside: bool


def cut(
    nodes: Sequence[Node], held: Standings, gauge: Gauge, recent: int, need: Need = "asked"
) -> Cut | None:
    """What to sum up so that at least the newest `recent` tokens stay; None if nothing is older.

    Args:
        nodes: The branch, oldest first, decisions included.
        held: What holds of its nodes.
        gauge: Counts tokens.
        recent: Tokens that stay, and whatever shares an exchange with them.
        need: How much of what the person decided to keep may go all the same.
    """
    place = _place(nodes, held, gauge, recent)
    if not place:
        return None
    fixed = _fixed(nodes, held, need)
    earlier = tuple(_earlier(nodes, held, place, fixed))
    folded = {node.id for node in earlier}
    goes = tuple(
        node
        for at, node in enumerate(nodes)
        if node.id in folded or (at < place and _goes(node, held, fixed))
    )
    covered = {node.id for node in goes} | set(_below(earlier, nodes, held))
    covers = tuple(node for node in nodes if node.id in covered and is_said(node))
    if not covers or not any(is_said(node) for node in goes):
        return None
    tokens = sum(weight(node, held, gauge) for node in goes)
    newest = next((node for node in reversed(nodes) if _begins(node)), None)
    inside = newest is not None and any(node.id == newest.id for node in goes)
    return Cut(goes, covers, earlier, tokens, inside)


def weight(node: Node, held: Standings, gauge: Gauge) -> int:
    """Tokens a node takes on the wire now, about."""
    standing = held[node.id]
    if standing.include:
        return gauge.of(node.body)
    if outcome_of(node.body) is not None:
        return gauge.text(standing.summary or elided(node, standing.why))
    return gauge.text(standing.summary)


def is_said(node: Node) -> bool:
    """Whether it is something said or done rather than a decision or a remark."""
    return isinstance(node.body, UserText | AssistantTurn | ToolOutcome | Delegation)


def sealed_by_person(node: Node, held: Standings) -> bool:
    """Whether the person took it out of the model's sight."""
    standing = held[node.id]
    return not standing.include and standing.by == YOU


def _place(nodes: Sequence[Node], held: Standings, gauge: Gauge, recent: int) -> int:
    """Number of the first node that stays; 0 when all do.

    A turn's beginning where one is near enough, else a point where no call is open. The newest
    exchange stays whatever it takes.
    """
    after, tails = 0, [0] * len(nodes)
    for at in range(len(nodes) - 1, -1, -1):
        after += weight(nodes[at], held, gauge) if is_said(nodes[at]) else 0
        tails[at] = after
    places = [at for at in _quiet(nodes) if tails[at] >= max(recent, 1)]
    near = max(places, default=0)
    turns = (at for at in reversed(places) if _begins(nodes[at]))
    turn = next(turns, 0)
    return turn if turn and tails[turn] <= MOST_OF_A_TURN * max(recent, tails[near]) else near


def _quiet(nodes: Sequence[Node]) -> Iterator[int]:
    """Where words or an answer begin while no call waits for its outcome."""
    waiting: set[str] = set()
    for at, node in enumerate(nodes):
        body = node.body
        if isinstance(body, AssistantTurn):
            yield at
            waiting = {call.id for call in body.calls}
        elif isinstance(body, UserText) or _by_person(node):
            if not waiting:
                yield at
        elif (outcome := outcome_of(body)) is not None:
            waiting.discard(outcome.call_id)


def _begins(node: Node) -> bool:
    """Whether a turn of the person begins here."""
    return (isinstance(node.body, UserText) and not node.body.steered) or _by_person(node)


def _by_person(node: Node) -> bool:
    return isinstance(node.body, ToolOutcome) and node.body.author == "person"


def _fixed(nodes: Sequence[Node], held: Standings, need: Need) -> frozenset[str]:
    """Ids of what stays: pinned or kept by the person, and the answers whose calls those are."""
    kept = {name for name, standing in held.of.items() if standing.pinned}
    kept |= {node.id for node in nodes if sealed_by_person(node, held)}
    if need != "pressing":
        chosen = {name for name, standing in held.of.items() if _chosen(standing)}
        kept |= chosen - _brought_back(nodes) if need == "asked" else chosen
    outcomes = (outcome_of(node.body) for node in nodes if node.id in kept)
    calls = {outcome.call_id for outcome in outcomes if outcome is not None}
    asked = {
        node.id
        for node in nodes
        if isinstance(node.body, AssistantTurn) and any(c.id in calls for c in node.body.calls)
    }
    return frozenset(kept | asked)


def _chosen(standing: Standing) -> bool:
    return standing.include and standing.by == YOU


def _brought_back(nodes: Sequence[Node]) -> frozenset[str]:
    """Ids of what is there again only because another decision was taken back."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node.body, ContextEdit):
            named = {change.node for change in node.body.changes}
            found = found | named if node.body.undoes else found - named
    return frozenset(found)


def _goes(node: Node, held: Standings, fixed: frozenset[str]) -> bool:
    standing = held[node.id]
    gone = not standing.include and standing.by == COMPACTION
    return is_said(node) and not gone and node.id not in fixed


def _earlier(
    nodes: Sequence[Node], held: Standings, place: int, fixed: frozenset[str]
) -> Iterator[Node]:
    """The summaries on the wire before the cut, wherever they were written."""
    found = {
        summary.id
        for node in nodes[:place]
        for summary in held.summaries.get(node.id, ())
        if held[summary.id].include and summary.id not in fixed
    }
    return (node for node in nodes if node.id in found)


def _below(summaries: Sequence[Node], nodes: Sequence[Node], held: Standings) -> Iterator[str]:
    """Ids of all that summaries stand for, through the summaries they folded in."""
    by_id = {node.id: node for node in nodes}
    waiting, seen = list(summaries), set[str]()
    while waiting:
        body = waiting.pop().body
        for name in body.replaces if isinstance(body, Summary) else ():
            node = by_id.get(name)
            if node is None or name in seen:
                continue
            seen.add(name)
            if isinstance(node.body, Summary):
                waiting.append(node)
            elif held[name].by == COMPACTION:
                yield name

"""The conversation as a graph: which branch goes on, and what holds of each of its nodes.

Nodes never change. What a model is to see of them is decided by later nodes of the same branch, so
going back to an earlier place takes back the decisions made since, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stormclaw.protocol.messages import Change, ContextEdit, Node, Summary
from stormclaw.store.branches import branch as branch

COMPACTION = "compaction"
"""Stands as the decider of nodes a `Summary` replaced."""
YOU = "you"
"""Stands as the decider of what the person decided by hand; no policy touches it again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds of a node now; see `Change` for the fields, `by` is who decided."""

    include: bool = True
    summary: str = ""
    pinned: bool = False
    reasoning: bool = True
    by: str = ""
    why: str = ""


WHOLE = Standing()


@dataclass(frozen=True, slots=True)
class Standings:
    """All decisions of a branch, folded.

    Attributes:
        of: By node id; a node that is not here stands whole.
        policies: The session's own order of policies, None for the configured one.
        summaries: Id of the node a summary is read before -> the summary's node. A summary stands
            where the first of the nodes it replaced stood, or a summary among them.
    """

    of: Mapping[str, Standing]
    policies: tuple[str, ...] | None
    summaries: Mapping[str, tuple[Node, ...]]

    def __getitem__(self, node_id: str) -> Standing:
        """What holds of a node."""
        return self.of.get(node_id, WHOLE)

    def changed(self, changes: Iterable[Change], by: str) -> Standings:
        """These, with further changes that are not recorded (yet)."""
        found = dict(self.of)
        found.update({change.node: standing_of(change, by) for change in changes})
        return replace(self, of=found)


def standing_of(change: Change, by: str) -> Standing:
    """What holds of a node after a change; `by` decided it unless the change says who."""
    return Standing(
        change.include,
        change.summary,
        change.pinned,
        change.reasoning,
        change.by or by,
        change.why,
    )


def change_of(node_id: str, standing: Standing) -> Change:
    """The change after which a node stands like this, word for word."""
    return Change(
        node_id,
        standing.include,
        standing.summary,
        standing.pinned,
        standing.reasoning,
        standing.by,
        standing.why,
    )


def fold(nodes: Iterable[Node]) -> Standings:
    """What the decisions among the nodes of a branch come to."""
    every = tuple(nodes)
    folding = _Folding(every)
    for node in every:
        kind = type(node.body)
        if kind is ContextEdit or kind is Summary:
            folding.decide(node)
    return Standings(folding.standings, folding.policies, folding.summaries())


@dataclass(slots=True)
class _Folding:
    """The decisions so far.

    Attributes:
        nodes: The branch.
        orders: Id of each edit that set an order of policies -> the order before it.
        read_at: Id of each summary -> id of the node it is read before.
    """

    nodes: tuple[Node, ...]
    standings: dict[str, Standing] = field(default_factory=dict)
    policies: tuple[str, ...] | None = None
    orders: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    read_at: dict[str, str] = field(default_factory=dict)
    _found: list[Node] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def decide(self, node: Node) -> None:
        match node.body:
            case ContextEdit() as edit:
                self._edit(node.id, edit)
            case Summary(replaces=replaced):
                self._sum_up(node, replaced)
            case _:
                pass

    def summaries(self) -> dict[str, tuple[Node, ...]]:
        found: dict[str, tuple[Node, ...]] = {}
        for node in self._found:
            place = self.read_at[node.id]
            found[place] = (*found.get(place, ()), node)
        return found

    def _edit(self, node_id: str, edit: ContextEdit) -> None:
        # Orders and what is taken back say themselves who decided each node, if anybody did.
        by = "" if edit.undoes or edit.policies is not None else edit.by
        for change in edit.changes:
            self.standings[change.node] = standing_of(change, by)
        if edit.undoes in self.orders:
            self.policies = self.orders[edit.undoes]
        elif edit.policies is not None:
            self.orders[node_id] = self.policies
            self.policies = edit.policies

    def _sum_up(self, node: Node, replaced: Sequence[str]) -> None:
        for node_id in replaced:
            before = self.standings.get(node_id, WHOLE)
            self.standings[node_id] = replace(
                before, include=False, summary="", by=COMPACTION, why=""
            )
        places = self._places = self._places or {
            each.id: number for number, each in enumerate(self.nodes)
        }
        here = places[node.id]
        starts = [
            self.read_at.get(each, each) for each in replaced if places.get(each, here) < here
        ]
        self.read_at[node.id] = min(starts, key=places.__getitem__, default=node.id)
        self._found.append(node)

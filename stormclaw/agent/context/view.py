"""What a context policy looks at, and what it says: both plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stormclaw.agent.context.graph import YOU, Standing, Standings
from stormclaw.agent.context.tokens import Gauge
from stormclaw.agent.context.wording import LONGEST_ARGUMENT, shortened
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    Delegation,
    Node,
    ToolCall,
    ToolOutcome,
    UserText,
    outcome_of,
)

PLAN_TOOLS = frozenset({"todo"})
"""Their last result says what is left to do, so it stays."""
LEAST_SAVED = 40
"""Tokens; less is not worth moving the beginning of a request for."""
RECENT_SHARE = 0.6
"""The newest results are kept whole as long as they take no more than this part of the room."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a policy would change about one node."""

    change: Change
    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result that a policy may take off the wire.

    Attributes:
        node: Its node.
        outcome: Its outcome, of a delegation too.
        call: What was asked; None for what the person ran.
        answer: The node of the answer that asked; None for what the person ran.
        number: The place of its node on the branch.
    """

    node: Node
    outcome: ToolOutcome
    call: ToolCall | None
    answer: Node | None
    number: int


@dataclass(frozen=True)
class View:
    """A branch as it stands, for policies to look at.

    Attributes:
        nodes: The branch, oldest first.
        standings: What holds of them.
        gauge: Counts tokens.
        soft: Tokens a request may take before policies act.
        keep_results: How many of the newest results stay.
        workspace: Where relative paths of tools start.
        results: All results on the branch, oldest first.
        kept: Ids of the nodes no policy touches because they are recent or the plan.
        turn_starts: The number of the node the current turn began with.
    """

    nodes: Sequence[Node]
    standings: Standings
    gauge: Gauge
    soft: int
    keep_results: int
    workspace: str = ""
    results: tuple[Result, ...] = field(init=False)
    kept: frozenset[str] = field(init=False)
    turn_starts: int = field(init=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # Computed once, then as frozen as the rest.
        set_field(self, "results", tuple(_results(self.nodes)))
        set_field(self, "kept", frozenset(self._recent()))
        starts = (
            number
            for number in range(len(self.nodes) - 1, -1, -1)
            if isinstance(body := self.nodes[number].body, UserText) and not body.steered
        )
        set_field(self, "turn_starts", next(starts, 0))

    def open(self, node: Node) -> bool:
        """Whether a policy may take this node off the wire: it is whole, old, nobody's choice."""
        standing = self.standings[node.id]
        free = standing.include and not standing.pinned and standing.by != YOU
        return free and node.id not in self.kept

    def open_results(self) -> Iterator[Result]:
        """The results a policy may take off the wire, oldest first."""
        return (result for result in self.results if self.open(result.node))

    def weight(self, result: Result) -> int:
        """Tokens of a result, and of the long arguments that are cut when it goes."""
        return self.gauge.of(result.node.body) + self._cut(result.call)

    def worth(self, result: Result, left: str) -> bool:
        """Whether `left` in place of a result saves enough to be worth the loss."""
        whole = self.weight(result)
        return whole - self.gauge.text(left) >= max(LEAST_SAVED, whole // 5)

    def _cut(self, call: ToolCall | None) -> int:
        if call is None or len(call.arguments) <= LONGEST_ARGUMENT:
            return 0
        short = shortened(call).arguments
        return max(0, self.gauge.text(call.arguments) - self.gauge.text(short))

    def _recent(self) -> Iterator[str]:
        room = self.soft * RECENT_SHARE
        unread = _unread(self.nodes)
        for place, result in enumerate(reversed(self.results)):
            room -= self.gauge.of(result.node.body)
            if result.node.id in unread or (place < self.keep_results and room >= 0):
                yield result.node.id
        plans = (each for each in reversed(self.results) if each.outcome.tool in PLAN_TOOLS)
        done = (each.node.id for each in plans if each.outcome.status == "done")
        yield from (node_id for node_id, _ in zip(done, range(1), strict=False))


@dataclass(frozen=True)
class Policy:
    """One way to keep things off the wire.

    Attributes:
        name: As in the configuration; also the name of its module.
        label: For people: `superseded reads`.
        about: What it holds back, in a few words.
        propose: What it would change, each node once. A pure function.
    """

    name: str
    label: str
    about: str
    propose: Callable[[View], Sequence[Proposal]]


def held_back(node: Node, standing: Standing, left: str, why: str) -> Proposal:
    """Taking a result off the wire, `left` in its place."""
    change = Change(node.id, include=False, summary=left, reasoning=standing.reasoning, why=why)
    return Proposal(change, why)


def arguments_of(call: ToolCall | None) -> Mapping[str, Any]:
    """The arguments of a call; empty where they are no JSON object."""
    if call is None:
        return {}
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _results(nodes: Sequence[Node]) -> Iterator[Result]:
    asked: dict[str, ToolCall] = {}
    answer: Node | None = None
    for number, node in enumerate(nodes):
        body = node.body
        if isinstance(body, AssistantTurn):
            answer, asked = node, {call.id: call for call in body.calls}
        elif isinstance(body, ToolOutcome | Delegation):
            outcome = body.outcome if isinstance(body, Delegation) else body
            if outcome.author == "person":
                yield Result(node, outcome, None, None, number)
            elif call := asked.pop(outcome.call_id, None):
                yield Result(node, outcome, call, answer, number)


def _unread(nodes: Sequence[Node]) -> frozenset[str]:
    """Ids of the results no answer has been given to: the model has not seen them yet."""
    found: list[str] = []
    for node in reversed(nodes):
        if isinstance(node.body, AssistantTurn):
            break
        if outcome_of(node.body) is not None:
            found.append(node.id)
    return frozenset(found)

"""Runs policies in their order until a request is small enough. Pure: a dry run is the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from stormclaw.agent.context.graph import COMPACTION, YOU, Standing, Standings, change_of
from stormclaw.agent.context.view import Policy, View
from stormclaw.agent.context.window import Memo, window
from stormclaw.config.settings import POLICIES
from stormclaw.discover import discover
from stormclaw.errors import UsageError
from stormclaw.protocol.messages import Change


@dataclass(frozen=True, slots=True)
class Step:
    """What one policy comes to.

    Attributes:
        policy: Its name.
        changes: What it changes; empty where it found nothing, or was not needed.
        before: Tokens of the request before it.
        after: Tokens with it.
    """

    policy: str
    changes: tuple[Change, ...]
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Run:
    """What a stack of policies comes to.

    Attributes:
        steps: One for each policy, in their order.
        standings: As they are with all of it.
        tokens: Of the request with all of it.
    """

    steps: tuple[Step, ...]
    standings: Standings
    tokens: int


@cache
def policies() -> Mapping[str, Policy]:
    """All policies by name, in the order they are shipped.

    Raises:
        TypeError: A module's `POLICY` is not one, or is called otherwise than its module.
    """
    found: dict[str, Policy] = {}
    for module, policy in discover(
        "stormclaw.agent.context.policies", "POLICY", required=True
    ).items():
        if not isinstance(policy, Policy) or policy.name != module:
            raise TypeError(f"stormclaw.agent.context.policies.{module}.POLICY is not its policy")
        found[module] = policy
    shipped = [name for name in POLICIES if name in found]
    return MappingProxyType(
        {name: found[name] for name in (*shipped, *sorted(found.keys() - shipped))}
    )


def checked(order: Sequence[str]) -> tuple[str, ...]:
    """An order of policies, each once.

    Raises:
        UsageError: There is no such policy.
    """
    for name in order:
        if name not in policies():
            raise UsageError(f"no context policy {name!r}; there are: {', '.join(policies())}")
    return tuple(dict.fromkeys(order))


def run(
    order: Iterable[str], view: View, *, fixed: int, goal: int, memo: Memo | None = None
) -> Run:
    """Apply policies, each as a whole, until a request takes no more than `goal` tokens.

    Args:
        order: Names of policies; one that is not there (any more) is passed over.
        view: The branch as it stands.
        fixed: Tokens of what is no message.
        goal: In tokens, `fixed` included.
        memo: For the messages that are made on the way.
    """
    own: Memo = {} if memo is None else memo
    tokens = fixed + count(view, own)
    steps: list[Step] = []
    for name in order:
        policy = policies().get(name)
        if policy is None:
            continue
        proposals = () if tokens <= goal else tuple(policy.propose(view))
        if not proposals:
            steps.append(Step(name, (), tokens, tokens))
            continue
        changes = tuple(proposal.change for proposal in proposals)
        view = replace(view, standings=view.standings.changed(changes, name))
        after = fixed + count(view, own)
        steps.append(Step(name, changes, tokens, after))
        tokens = after
    return Run(tuple(steps), view.standings, tokens)


def count(view: View, memo: Memo) -> int:
    """Tokens of the messages as things stand."""
    return sum(map(view.gauge.of, window(view.nodes, view.standings, memo)))


def lifted(standings: Standings) -> tuple[Change, ...]:
    """The changes that take back all that policies decided, and nothing else."""
    return tuple(
        change_of(
            node_id, replace(standing, include=True, summary="", reasoning=True, by="", why="")
        )
        for node_id, standing in standings.of.items()
        if decided_by_policy(standing)
    )


def decided_by_policy(standing: Standing) -> bool:
    """Whether what holds of a node is a policy's decision."""
    return standing.by not in ("", YOU, COMPACTION)

"""Leaves out the reasoning of earlier turns; a turn in work keeps its own, as providers want it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stormclaw.agent.context.graph import YOU, change_of
from stormclaw.agent.context.view import Policy, Proposal, View
from stormclaw.protocol.messages import AssistantTurn

WHY = "earlier turn"


def _propose(view: View) -> Sequence[Proposal]:
    found = []
    for node in view.nodes[: view.turn_starts]:
        if not isinstance(node.body, AssistantTurn) or not node.body.echo:
            continue
        standing = view.standings[node.id]
        if standing.include and standing.reasoning and not standing.pinned and standing.by != YOU:
            change = replace(change_of(node.id, standing), reasoning=False, by="", why=WHY)
            found.append(Proposal(change, WHY))
    return found


POLICY = Policy(
    name="old_reasoning",
    label="old reasoning",
    about="the reasoning of earlier turns",
    propose=_propose,
)

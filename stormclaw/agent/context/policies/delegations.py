"""Shortens the answers of sub-agents that have been read long ago to how they begin."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.agent.context.view import Policy, Proposal, View, held_back
from stormclaw.agent.context.wording import beginning, gist
from stormclaw.protocol.messages import Delegation

CHARS = 600
"""Of an answer's beginning that stay: who reports well says first what was found."""
WHY = "old report"


def _propose(view: View) -> Sequence[Proposal]:
    found = []
    for result in view.open_results():
        if not isinstance(result.node.body, Delegation):
            continue
        start = beginning(result.outcome.output, CHARS)
        left = f"{start}\n[{gist(result.node)}; the rest was left out, `recall {result.node.id}`]"
        if view.worth(result, left):
            found.append(held_back(result.node, view.standings[result.node.id], left, WHY))
    return found


POLICY = Policy(
    name="delegations",
    label="sub-agent reports",
    about="old answers of sub-agents, down to their beginning",
    propose=_propose,
)

"""Cuts very long results to their beginning and end; the middle stays readable by id."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.agent.context.view import Policy, Proposal, View, held_back
from stormclaw.agent.context.wording import beginning, ending, gist

SHARE = 0.1
"""The part of the room one old result may take."""
LEFT = 0.25
"""The part of that which is left of a longer one: two thirds from its beginning."""
WHY = "long output"


def _propose(view: View) -> Sequence[Proposal]:
    most = view.soft * SHARE
    found = []
    for result in view.open_results():
        output = result.outcome.output
        tokens = view.gauge.text(output)
        if tokens <= most:
            continue
        chars = int(len(output) * most * LEFT / tokens)
        head, tail = beginning(output, chars * 2 // 3), ending(output, chars // 3)
        missing = len(output) - len(head) - len(tail)
        cut = f"[… {missing:,} characters of {gist(result.node)} left out;"
        left = f"{head}\n{cut} `recall {result.node.id}` shows them]\n{tail}"
        if view.worth(result, left):
            found.append(held_back(result.node, view.standings[result.node.id], left, WHY))
    return found


POLICY = Policy(
    name="large_outputs",
    label="large outputs",
    about="the middle of very long results",
    propose=_propose,
)

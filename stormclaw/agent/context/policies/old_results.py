"""Takes results off the wire that have been read long ago; the newest stay.

Of what lies very far back even the calls go: what came of it is in the answer that ended the turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stormclaw.agent.context.graph import YOU, change_of
from stormclaw.agent.context.view import Policy, Proposal, Result, View, held_back
from stormclaw.agent.context.wording import elided
from stormclaw.protocol.messages import AssistantTurn, Delegation, Node

FAR = 40
"""Results that must follow before a call that was answered with others goes as well."""
SAID = 200
"""Characters; an answer that says more than this beside its calls keeps its words."""
WHY, LONG_AGO = "old result", "long ago"


def _propose(view: View) -> Sequence[Proposal]:
    found: list[tuple[int, int, Proposal]] = []
    for result in view.open_results():
        if isinstance(result.node.body, Delegation):
            continue
        left = elided(result.node, WHY)
        if view.worth(result, left):
            proposal = held_back(result.node, view.standings[result.node.id], left, WHY)
            found.append((-view.weight(result), result.number, proposal))
    found.sort(key=lambda each: each[:2])
    return [*(proposal for *_, proposal in found), *_long_ago(view)]


def _long_ago(view: View) -> Iterator[Proposal]:
    """Whole exchanges, the model's longer words in their place."""
    answers: dict[str, tuple[Node, list[Result]]] = {}
    for result in view.results[:-FAR]:
        if result.answer is not None and result.number < view.turn_starts:
            answers.setdefault(result.answer.id, (result.answer, []))[1].append(result)
    for answer, results in answers.values():
        standing = view.standings[answer.id]
        if not isinstance(answer.body, AssistantTurn) or not view.open(answer):
            continue
        if len(results) < len(answer.body.calls) or not all(_free(each, view) for each in results):
            continue
        words = answer.body.text if len(answer.body.text) > SAID else ""
        change = replace(
            change_of(answer.id, standing), include=False, summary=words, by="", why=LONG_AGO
        )
        yield Proposal(change, LONG_AGO)


def _free(result: Result, view: View) -> bool:
    """Whether nobody wants this result where it is."""
    standing = view.standings[result.node.id]
    held = not standing.include or len(result.outcome.output) <= SAID
    chosen = standing.pinned or standing.by == YOU or result.node.id in view.kept
    return held and not chosen and not isinstance(result.node.body, Delegation)


POLICY = Policy(
    name="old_results",
    label="old results",
    about="tool results read long ago, the newest stay",
    propose=_propose,
)

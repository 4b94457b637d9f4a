"""What a decision about a context rests on: which one stands, what it touches, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stormclaw.agent.context.graph import Standings, change_of
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    ContextEdit,
    Node,
    Summary,
    outcome_of,
)

OUTPUT_PRICE, CACHED_PRICE = 5.0, 0.1
"""What an output token and a cached one usually cost, beside an input token."""


def with_their_calls(
    changes: Sequence[Change], nodes: Sequence[Node], standings: Standings
) -> dict[str, Change]:
    """What must come back for results to come back: the answers that asked for them."""
    back = {change.node for change in changes if change.include}
    wanted: dict[str, Change] = {}
    answer: Node | None = None
    for node in nodes:
        if isinstance(node.body, AssistantTurn):
            answer = node
        elif node.id in back and answer is not None and outcome_of(node.body) is not None:
            standing = standings[answer.id]
            if not standing.include and answer.id not in wanted:
                stands = change_of(answer.id, standing)
                wanted[answer.id] = replace(stands, include=True, summary="", by="", why="")
    return wanted


def newest_decision(nodes: Sequence[Node]) -> int | None:
    """The number of the newest decision that was not taken back."""
    undone = {node.body.undoes for node in nodes if isinstance(node.body, ContextEdit)}
    for number in range(len(nodes) - 1, -1, -1):
        match nodes[number].body:
            case ContextEdit(undoes="") | Summary() if nodes[number].id not in undone:
                return number
            case _:
                pass
    return None


def touched(decision: Node) -> tuple[str, ...]:
    """Ids of the nodes a decision is about, each once."""
    match decision.body:
        case ContextEdit(changes=changes):
            return tuple(dict.fromkeys(change.node for change in changes))
        case Summary(replaces=replaced):
            return tuple(dict.fromkeys(replaced))
        case _:
            return ()


def usd_per_token(nodes: Sequence[Node]) -> float | None:
    """What an input token costs, from what was reported for the answers; None if nothing was."""
    cost, tokens = 0.0, 0.0
    for node in nodes:
        if not isinstance(node.body, AssistantTurn) or node.body.usage.cost_usd is None:
            continue
        usage = node.body.usage
        cost += usage.cost_usd or 0.0
        tokens += usage.input_tokens - usage.cached_tokens * (1 - CACHED_PRICE)
        tokens += usage.output_tokens * OUTPUT_PRICE
    return cost / tokens if cost > 0 and tokens > 0 else None

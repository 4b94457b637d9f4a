"""Where a node of the conversation stands on the screen, found by what every block shows."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.protocol.messages import AssistantTurn, Node, Summary, UserText, outcome_of
from stormclaw.ui.blocks import Answer, Block, Card, Reads, Turn
from stormclaw.ui.markdown import Part


def block_of(blocks: Sequence[Block], nodes: Sequence[Node], node_id: str) -> int | None:
    """The block a node is shown by; None when neither has it.

    A turn of the person is found by its number, a call by its id, an answer by what stands before
    it: a block does not know its node.

    Args:
        blocks: Of a transcript.
        nodes: What it shows, oldest first.
        node_id: The node.
    """
    at = next((n for n, node in enumerate(nodes) if node.id == node_id), None)
    if at is None:
        return None
    own = _landmark(blocks, nodes, at)
    if own is not None or not isinstance(body := nodes[at].body, AssistantTurn):
        return own
    if not body.text.strip():
        ids = {call.id for call in body.calls}
        return next((n for n, block in enumerate(blocks) if ids & _calls_in(block)), None)
    earlier = (_landmark(blocks, nodes, n) for n in range(at - 1, -1, -1))
    after = next((place for place in earlier if place is not None), -1)
    texts = (n for n in range(after + 1, len(blocks)) if _is_text(blocks[n]))
    return next(texts, None)


def _landmark(blocks: Sequence[Block], nodes: Sequence[Node], at: int) -> int | None:
    """The block of a node that shows which one it is."""
    body = nodes[at].body
    outcome = outcome_of(body)
    if outcome is not None:
        return _of_call(blocks, outcome.call_id)
    if isinstance(body, Summary):
        return _of_call(blocks, nodes[at].id)
    if not isinstance(body, UserText):
        return None
    later = sum(isinstance(node.body, UserText) for node in nodes[at + 1 :])
    turns = (n for n in range(len(blocks) - 1, -1, -1) if isinstance(blocks[n].source, Turn))
    return next((n for number, n in enumerate(turns) if number == later), None)


def _of_call(blocks: Sequence[Block], call_id: str) -> int | None:
    found = (n for n in range(len(blocks) - 1, -1, -1) if call_id in _calls_in(blocks[n]))
    return next(found, None)


def _calls_in(block: Block) -> set[str]:
    match block.source:
        case Card() as card:
            return {card.call_id}
        case Reads(cards):
            return {card.call_id for card in cards}
        case _:
            return set()


def _is_text(block: Block) -> bool:
    return isinstance(block.source, Answer | Part)

"""The cards of calls: from the model's wish to the receipt, and five reads as one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stormclaw.protocol.events import Event, TextDelta, ToolStarted
from stormclaw.protocol.messages import Delegation, Node, ToolOutcome
from stormclaw.ui.blocks import Block, Card, CardState, Reads, common_reads
from stormclaw.ui.stretches import Stretches
from stormclaw.ui.text import one_line

FOLD_AFTER = 2.0
"""Seconds a shell that succeeded stays open."""
GROUP_OF = 5
"""Reads in a row that become one line."""


class Calls:
    """Knows the card of every call, and the block of every card that may still change.

    Args:
        stretches: Where the blocks stand.
        clock: Monotonic seconds.
    """

    def __init__(self, stretches: Stretches, clock: Callable[[], float]) -> None:
        self._stretches = stretches
        self._clock = clock
        self._cards: dict[str, Card] = {}
        self._blocks: dict[Card, Block] = {}
        self._asks: dict[str, str] = {}
        self._children: dict[str, Card] = {}

    def clear(self) -> None:
        """Forget all."""
        for known in (self._cards, self._blocks, self._asks, self._children):
            known.clear()

    def running(self) -> list[Block]:
        """Blocks of calls that run now."""
        return [block for card, block in self._blocks.items() if card.state == "running"]

    def load(self, outcome: ToolOutcome, node: Node) -> Block | None:
        """Settle the card of a call read from disk; a block if nobody had named the call."""
        card = self._cards.get(outcome.call_id)
        fresh = card is None or not card.live
        if card is None or fresh:
            card = Card(outcome.call_id, outcome.headline)
            self._cards[card.call_id] = card
        _settle(card, outcome, node)
        self._blocks.pop(card, None)
        return Block(card) if fresh else None

    def know(self, card: Card, block: Block) -> None:
        """A committed answer wants this call."""
        self._cards[card.call_id] = card
        self._blocks[card] = block

    def place(self, card: Card) -> None:
        """A committed answer wants this call: its card follows, the loose one if there is one."""
        known = self._cards.get(card.call_id)
        block = self._blocks.get(known) if known is not None else None
        if block is not None and block in self._stretches.loose:
            self._stretches.settle_loose(block)
            return
        self.know(card, Block(card))
        self._stretches.append([self._blocks[card]])

    def start(self, event: ToolStarted) -> None:
        """The call begins."""
        card = self._cards.get(event.call.id)
        if card is None or not card.live:
            card = Card(event.call.id, event.headline)
            self._add_loose(card)
        card.headline, card.display = event.headline, event.display
        self.set_state(card.call_id, "running")

    def progress(self, call_id: str, text: str) -> None:
        """Live output."""
        if card := self._cards.get(call_id):
            card.add_output(text)
            self._touch(card)

    def end(self, outcome: ToolOutcome, node: Node | None = None) -> None:
        """A call is over; or its outcome is on disk, mostly the second time we hear of it."""
        card = self._cards.get(outcome.call_id)
        if card is None:
            card = Card(outcome.call_id, outcome.headline)
            self._add_loose(card)
        was_live = card.live
        _settle(card, outcome, node)
        if was_live and outcome.status == "done" and card.headline.verb == "shell":
            card.fold_at = self._clock() + FOLD_AFTER if card.hand is None else None
        block = self._blocks.get(card)
        if block is None:
            return
        if node is not None and block in self._stretches.loose:
            self._stretches.settle_loose(block)
        if was_live:
            self._touch(card)
        if block not in self._stretches.loose:
            self._regroup(block)
        if node is not None and card.fold_at is None:
            self._blocks.pop(card, None)

    def asked(self, ask_id: str, call_id: str) -> None:
        """The call waits for the person."""
        self._asks[ask_id] = call_id
        self.set_state(call_id, "asks")

    def answered(self, ask_id: str) -> None:
        """The person answered; if it was a no, the outcome says so at once."""
        self.set_state(self._asks.pop(ask_id, ""), "running")

    def set_state(self, call_id: str, state: CardState) -> None:
        """The call is in another state, from now on."""
        card = self._cards.get(call_id)
        if card is not None and card.live:
            card.state, card.started = state, self._clock()
            self._touch(card)

    def fold_due(self, now: float) -> float | None:
        """Fold the shells whose time is over; when the next one is due."""
        waiting: list[float] = []
        for card in list(self._blocks):
            if card.fold_at is None:
                continue
            if card.fold_at <= now:
                card.fold_at = None
                self._touch(card)
                del self._blocks[card]
            else:
                waiting.append(card.fold_at)
        return min(waiting, default=None)

    def adopt(self, child: str) -> None:
        """Find the running card that started `child`: by its name, else the first without one."""
        name = child.rpartition("/")[2].rstrip("0123456789").rstrip("-")
        free = [
            card
            for card in self._blocks
            if card.live and card.headline.verb == "agent" and not card.child
        ]
        named = [card for card in free if one_line(card.headline.object).startswith(name)]
        for card in (named or free)[:1]:
            card.child = child
            self._children[child] = card

    def child_event(self, event: Event) -> None:
        """What a child does now is the summary of its card."""
        match event:
            case ToolStarted(headline=headline):
                activity = f"{headline.verb} {headline.object}"
            case TextDelta():
                activity = "writing its answer"
            case _:
                return
        for child, card in self._children.items():
            if event.agent == child or event.agent.startswith(child + "/"):
                self._set_activity(card, activity)

    def child_ended(self, child: str) -> None:
        """The child does nothing any more."""
        if card := self._children.pop(child, None):
            self._set_activity(card, "")

    def _set_activity(self, card: Card, activity: str) -> None:
        if card.live and card.activity != activity:
            card.activity = activity
            self._touch(card)

    def _add_loose(self, card: Card) -> None:
        self.know(card, Block(card))
        self._stretches.add_loose(self._blocks[card])

    def _touch(self, card: Card) -> None:
        if block := self._blocks.get(card):
            self._stretches.touch(block)

    def _regroup(self, block: Block) -> None:
        """Make one line of five or more reads in a row around `block`."""
        blocks = self._stretches.blocks
        start = end = self._stretches.column.index_of(block)
        while start and common_reads([blocks[start - 1].source]) is not None:
            start -= 1
        while end < self._stretches.committed and common_reads([blocks[end].source]) is not None:
            end += 1
        run = [near.source for near in blocks[start:end]]
        cards = common_reads(run) or []
        if len(cards) >= GROUP_OF:
            hand = next((source.hand for source in run if isinstance(source, Reads)), None)
            self._stretches.column.replace(start, end, [Block(Reads(cards, hand))])
            for card in cards:
                self._blocks.pop(card, None)


def _settle(card: Card, outcome: ToolOutcome, node: Node | None) -> None:
    card.settle(outcome)
    card.activity = ""
    if node is not None and isinstance(node.body, Delegation):
        card.child = node.body.child


def grouped(blocks: Sequence[Block]) -> list[Block]:
    """Loaded blocks with long runs of reads made one."""
    result: list[Block] = []
    run: list[Block] = []
    for block in [*blocks, None]:
        if block is not None and common_reads([block.source]) is not None:
            run.append(block)
            continue
        cards = common_reads([member.source for member in run]) or []
        result.extend([Block(Reads(cards))] if len(cards) >= GROUP_OF else run)
        run = []
        if block is not None:
            result.append(block)
    return result

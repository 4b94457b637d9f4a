"""What is folded away opens while a search shows a place in it, and folds again after."""

from __future__ import annotations

from stormclaw.ui.blocks import Block, Card, Reads, Thought, Turn
from stormclaw.ui.column import Column
from stormclaw.ui.find import Piece


class Unfolded:
    """What is open because the place that is shown is in it; it folds again after."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._opened: list[tuple[Block, Card | Reads | Thought | Turn, bool | None]] = []

    def open(self, block: Block, piece: Piece) -> None:
        """Open what hides a piece of a block."""
        match block.source:
            case Card() as card if piece.where == "body":
                self._open(block, card)
            case Reads(cards) as reads:
                self._open(block, reads)
                if piece.where == "body":
                    self._open(block, cards[piece.member])
            case Thought() | Turn() as source:
                self._open(block, source)
            case _:
                pass

    def close(self) -> None:
        """Fold again what was opened, unless somebody has touched it since."""
        for block, source, hand in reversed(self._opened):
            if source.hand:
                source.hand = hand
                self._touch(block)
        self._opened.clear()

    def forget(self) -> None:
        """Leave open what is open."""
        self._opened.clear()

    def _open(self, block: Block, source: Card | Reads | Thought | Turn) -> None:
        if not source.hand:
            self._opened.append((block, source, source.hand))
            source.hand = True
            self._touch(block)

    def _touch(self, block: Block) -> None:
        index = self._column.find(block)
        if index is not None:
            self._column.touch(index)

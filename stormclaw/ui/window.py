"""What of a column is in view: it follows the end, or stays on the line the person reads."""

from __future__ import annotations

from stormclaw.ui.blocks import Block
from stormclaw.ui.column import Column


class Window:
    """Decides which line is the first in view; what is in view is drawn.

    Attributes:
        following: The end is kept in view.
        held: It is not, wherever the window stands: something is being looked for.
    """

    def __init__(self, column: Column) -> None:
        self.following = True
        self.held = False
        self._column = column
        self._anchor: tuple[Block, int] | None = None
        self._seen = 0

    @property
    def new_below(self) -> int:
        """Lines that came since the person left the end."""
        return 0 if self.following else max(0, self._column.total - self._seen)

    def follow(self, following: bool) -> None:
        """Begin or cease to keep the end in view."""
        following = following and not self.held
        if following != self.following:
            self.following = following
            self._seen = self._column.total

    def let_go(self) -> None:
        """The person scrolled: the line that was read is no longer the one to stay on."""
        self._anchor = None

    def settle(self, top: int, height: int) -> int:
        """Draw what a window of `height` lines shows; its first line, `top` if nothing moved."""
        if self.following:
            return self._settle_at_end(height)
        before = self._column.total
        top = self._bounded(self._column.settle(self._anchored(top), height), height)
        self._seen += self._column.total - before  # corrected estimates are not new lines
        return top

    def keep(self, top: int) -> None:
        """Remember which line of which block is the first in view."""
        self._anchor = None
        if not self.following and self._column.blocks:
            index, inner = self._column.at(min(top, max(0, self._column.total - 1)))
            block = self._column.blocks[index]
            self._anchor = (block, inner + block.gap)

    def absorb(self, grown: int) -> None:
        """So many lines are more (or fewer) for another reason than that something came."""
        self._seen += grown

    def laid_out(self, new_below: int) -> None:
        """All lines were counted anew; as many as before are still unseen."""
        self._seen = self._column.total - new_below

    def _settle_at_end(self, height: int) -> int:
        while True:
            top = self._bounded(self._column.total, height)
            self._column.settle(top, height)
            if top == self._bounded(self._column.total, height):
                return top

    def _bounded(self, top: int, height: int) -> int:
        return max(0, min(top, self._column.total - height))

    def _anchored(self, top: int) -> int:
        """Where the line that was the first in view stands now."""
        if self._anchor is None:
            return top
        block, offset = self._anchor
        index = self._column.find(block)
        return top if index is None else self._column.top(index) + offset

"""Where every block stands: heights, gaps, tops. Drawn only where somebody looks.

Heights out of sight are estimates; `settle` draws what a window shows and says how far that moved
what stands below it. Finding a line is a binary search; a change costs what lies after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from stormclaw.ui.blocks import Answer, Block, Live, gap_between
from stormclaw.ui.markdown import Markdown, Part
from stormclaw.ui.render.cards import Moment
from stormclaw.ui.render.draw import can_open, draw, draw_head, estimate
from stormclaw.ui.render.lines import Line, place
from stormclaw.ui.render.look import Look

KEPT = 60
"""Blocks that stay drawn; older ones are drawn again when they come back into view."""


class Column:
    """A list of blocks with their places.

    Args:
        markdown: Splits and draws answers.
        moment: The current clock and dot frame.
    """

    def __init__(self, markdown: Markdown, moment: Callable[[], Moment]) -> None:
        self.blocks: list[Block] = []
        self.look: Look | None = None
        self._markdown = markdown
        self._moment = moment
        self._tops: list[int] = []
        self._valid = 0
        self._drawn: dict[Block, None] = {}
        self._changed: tuple[int, int] | None = None

    @property
    def total(self) -> int:
        """Lines of all blocks."""
        if not self.blocks:
            return 0
        return self.top(len(self.blocks) - 1) + self.blocks[-1].span

    def top(self, index: int) -> int:
        """First line of a block, its gap included."""
        self._measure()
        return self._tops[index]

    def at(self, line: int) -> tuple[int, int]:
        """(block index, line within it); negative within means its gap. Needs `0 <= line`."""
        self._measure()
        index = bisect_right(self._tops, line) - 1
        return index, line - self._tops[index] - self.blocks[index].gap

    def find(self, block: Block) -> int | None:
        """Position of a block, if it is here; fast near the end, where things happen."""
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                return index
        return None

    def index_of(self, block: Block) -> int:
        """Position of a block that is known to be here."""
        index = self.find(block)
        if index is None:
            raise ValueError("the block is not in this column")
        return index

    def replace(self, start: int, end: int, blocks: list[Block]) -> None:
        """Put `blocks` in the place of `[start:end]`."""
        for block in blocks:
            if block.lines is None:
                self._estimate(block)
        self.blocks[start:end] = blocks
        self._valid = min(self._valid, start)
        self._change(start)
        if not start and len(blocks) == len(self.blocks):
            self._fix_gaps()
            return
        for index in range(start, min(len(self.blocks), start + len(blocks) + 1)):
            self._fix_gap(index)

    def touch(self, index: int) -> None:
        """The source of a block changed: draw it anew when it is next in view."""
        block = self.blocks[index]
        block.lines = None
        self._estimate(block)
        self._resize(index)

    def put_lines(self, index: int, lines: list[Line], same: int = 0) -> None:
        """Give a block lines made elsewhere; the first `same` of them stay as they are."""
        block = self.blocks[index]
        kept = (block.lines or [])[:same]
        block.lines = [*kept, *self._placed(lines[same:])]
        block.height = len(block.lines)
        self._resize(index, same)
        self._fix_gap(index)

    def lay_out(self, look: Look) -> None:
        """Another width, theme or set of signs: everything is measured anew, nothing drawn."""
        self.look = look
        self._drawn.clear()
        for block in self.blocks:
            block.lines = None
            folded = block.height == 1 and not block.open and can_open(block.source)
            if not folded and not isinstance(block.source, Live):
                self._estimate(block)
        self._fix_gaps()
        self._valid = 0
        self._change(0)

    def lines_of(self, index: int) -> list[Line]:
        """The lines of a block, drawn if need be."""
        block = self.blocks[index]
        if block.lines is None:
            self.draw(index)
        return block.lines or []

    def draw(self, index: int) -> int:
        """Draw a block; by how many lines the column became longer."""
        block = self.blocks[index]
        before = self.total
        if isinstance(block.source, Answer):
            parts = self._markdown.split(block.source.text)
            self.replace(index, index + 1, [Block(part) for part in parts])
            return self.total - before
        if self.look is None or isinstance(block.source, Live):
            return 0
        lines = self._placed(draw(block.source, self.look, self._moment(), self._markdown))
        resized = block.height != len(lines)
        block.lines, block.height = lines, len(lines)
        opened = can_open(block.source) and len(lines) > 1
        if resized or opened != block.open:
            block.open = opened
            self._resize(index)
        self._remember(block)
        return self.total - before

    def draw_all(self) -> None:
        """Draw every block, for whoever wants the whole text."""
        index = 0
        while index < len(self.blocks):
            block = self.blocks[index]
            if block.lines is None and not isinstance(block.source, Live):
                self.draw(index)
                if self.blocks[index : index + 1] != [block]:
                    continue  # an answer was split where it stood
            index += 1

    def text_lines(self) -> list[str]:
        """Everything as plain text, gaps and margins included."""
        self.draw_all()
        result: list[str] = []
        for index, block in enumerate(self.blocks):
            drawn = self.lines_of(index)
            result += [""] * block.gap + [line.strip.text.rstrip() for line in drawn]
        return result

    def settle(self, top: int, height: int) -> int:
        """Draw what a window shows; the line its first line has moved to."""
        while (index := self._undrawn(top, height)) >= 0:
            begins = self.top(index)
            grown = self.draw(index)
            if begins < top:
                top = max(0, top + grown)
        return top

    def _undrawn(self, top: int, height: int) -> int:
        """The last block in the window that is not drawn, or -1."""
        if not self.blocks:
            return -1
        index = self.at(max(0, min(top + height, self.total) - 1))[0]
        while index >= 0:
            block = self.blocks[index]
            if block.lines is None and not isinstance(block.source, Live):
                return index
            if self.top(index) <= top:
                return -1
            index -= 1
        return -1

    def take_change(self) -> int | None:
        """The first line that may look different since the last call; None if nothing does."""
        if self._changed is None:
            return None
        (index, same), self._changed = self._changed, None
        if index >= len(self.blocks):
            return self.total
        return self.top(index) + (self.blocks[index].gap + same if same else 0)

    def refresh_head(self, index: int) -> bool:
        """Draw only the first line of a drawn block anew (clock, dot); whether it looks different.

        Heads never change their number of lines.
        """
        block = self.blocks[index]
        if not block.lines or self.look is None:
            return False
        head = self._placed(draw_head(block.source, self.look, self._moment()))
        if not head or head[0] == block.lines[0]:
            return False
        block.lines[0] = head[0]
        return True

    def forget_code(self) -> None:
        """Colours of code have become available: what shows code is drawn anew."""
        for index, block in enumerate(self.blocks):
            source = block.source
            if block.lines is not None and isinstance(source, Part) and source.has_code:
                block.lines = None
                self._change(index)

    def _placed(self, lines: list[Line]) -> list[Line]:
        if self.look is None or not self.look.width:
            return lines
        return place(lines, self.look.left, self.look.width, self.look.base)

    def _remember(self, block: Block) -> None:
        self._drawn.pop(block, None)
        self._drawn[block] = None
        if len(self._drawn) > KEPT:
            oldest = next(iter(self._drawn))
            del self._drawn[oldest]
            oldest.lines = None

    def _estimate(self, block: Block) -> None:
        if self.look is not None:
            block.height = estimate(block.source, self.look)
        block.open = can_open(block.source) and block.height > 1

    def _resize(self, index: int, same: int = 0) -> None:
        """The block may have another height; its first `same` lines look as before."""
        self._valid = min(self._valid, index + 1)
        self._change(index, same)
        self._fix_gap(index + 1)

    def _change(self, index: int, same: int = 0) -> None:
        change = (index, same)
        self._changed = change if self._changed is None else min(self._changed, change)

    def _fix_gap(self, index: int) -> None:
        """One blank line or none above a block; blocks of no height do not count."""
        if not 0 <= index < len(self.blocks):
            return
        block = self.blocks[index]
        before = index - 1
        while before >= 0 and not self.blocks[before].height:
            before -= 1
        gap = gap_between(self.blocks[before] if before >= 0 else None, block)
        gap = gap if block.height else 0
        if gap != block.gap:
            block.gap = gap
            self._valid = min(self._valid, index + 1)
            self._change(index)
        if not block.height:
            self._fix_gap(index + 1)

    def _fix_gaps(self) -> None:
        """The gaps of all blocks at once; see `_fix_gap`."""
        before: Block | None = None
        for block in self.blocks:
            if block.height:
                block.gap = gap_between(before, block)
                before = block
            else:
                block.gap = 0

    def _measure(self) -> None:
        """Make `_tops` right from the first block whose place is not known."""
        known = min(self._valid, len(self.blocks))
        if known < len(self.blocks) or len(self._tops) > known:
            del self._tops[known:]
            if not known and self.blocks:
                self._tops.append(0)
                known = 1
            spans = (block.span for block in self.blocks[known - 1 : -1])
            places = accumulate(spans, initial=self._tops[-1] if self._tops else 0)
            next(places)
            self._tops.extend(places)
        self._valid = len(self.blocks)

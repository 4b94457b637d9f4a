"""A search through a column: counts a few milliseconds at a time, walks from place to place."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from stormclaw.protocol.query import Query
from stormclaw.ui.blocks import Answer, Block, Card, Live, Reads, Thought
from stormclaw.ui.column import Column
from stormclaw.ui.find import Piece, Place, count, pieces, places
from stormclaw.ui.render.lines import Line


class Hit(NamedTuple):
    """The place `number`, from 0 on, of those in a block."""

    block: Block
    number: int


class Found(NamedTuple):
    """What a search says of itself.

    Attributes:
        words: What is looked for.
        at: Which place is shown, from 1 on; 0 for none.
        total: Places counted so far.
        whole: Everything has been looked at.
        around: The last step went over the end or the beginning.
    """

    words: str = ""
    at: int = 0
    total: int = 0
    whole: bool = True
    around: bool = False


class Finder:
    """Looks for one query; blocks that come, go or change meanwhile are taken account of.

    Args:
        column: What is searched.
        query: The words.
        clock: Seconds, for how long a stretch of counting may take.
    """

    def __init__(
        self, column: Column, query: Query, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.query = query
        self.hit: Hit | None = None
        self.around = False
        self._column = column
        self._clock = clock
        self._counts: dict[Block, int] = {}
        self._moving: list[Block] = []
        self._todo: list[Block] = []
        self._drawn: dict[Block, _Drawn] = {}

    # Counting ------------------------------------------------------------------------------

    def look(self, near: int) -> None:
        """Make a list of what has not been looked at yet: from block `near` down, then up."""
        for block in self._moving:
            self._counts.pop(block, None)
        self._moving.clear()
        blocks = self._column.blocks
        order = [*blocks[:near], *reversed(blocks[near:])]  # Taken from its end.
        self._todo = [block for block in order if block not in self._counts]
        self._drawn.clear()

    @property
    def whole(self) -> bool:
        """Everything there is has been looked at."""
        return not self._todo

    def count_on(self, seconds: float) -> bool:
        """Count for so long; True when nothing is left."""
        until = self._clock() + seconds
        todo = self._todo
        while todo:
            self._count(todo.pop())
            if self._clock() >= until:
                break
        return not todo

    def _count(self, block: Block) -> int:
        source = block.source
        live = isinstance(source, Live)
        found = len(places(block.lines or [], self.query)) if live else count(source, self.query)
        if live or _moves(source):
            self._moving.append(block)
        self._counts[block] = found
        return found

    def found(self) -> Found:
        """How far it is."""
        at = total = 0
        here = self.hit.block if self.hit is not None else None
        known = self._counts.get
        for block in self._column.blocks:
            if block is here and self.hit is not None:
                at = total + self.hit.number + 1
            total += known(block, 0)
        return Found(self.query.words, at, total, self.whole, self.around)

    # Walking -------------------------------------------------------------------------------

    def nearest(self, near: int) -> Hit | None:
        """The first place from block `near` on, else the last one before it, as far as counted."""
        blocks, counts = self._column.blocks, self._counts
        for block in blocks[near:]:
            if block not in counts:
                return None
            if counts[block]:
                return Hit(block, 0)
        for block in reversed(blocks[:near]):
            if counts.get(block):
                return Hit(block, counts[block] - 1)
        return None

    def step(self, direction: int, near: int) -> Hit | None:
        """The place after (1) or before (-1) the one that is shown; over the end goes around.

        If that one is no longer there, the nearest to block `near`.
        """
        blocks, hit = self._column.blocks, self.hit
        index = self._column.find(hit.block) if hit is not None else None
        if hit is None or index is None:
            return self.nearest(near)
        self.around = False
        if 0 <= hit.number + direction < self._counts.get(hit.block, 0):
            return Hit(hit.block, hit.number + direction)
        for steps in range(1, len(blocks) + 1):
            at = index + direction * steps
            block = blocks[at % len(blocks)]
            found = self._counts[block] if block in self._counts else self._count(block)
            if found:
                self.around = not 0 <= at < len(blocks)
                return Hit(block, 0 if direction > 0 else found - 1)
        return None

    def split(self, hit: Hit) -> Hit | None:
        """An answer nobody has looked at is drawn as parts: the same place in one of them."""
        index = self._column.find(hit.block)
        if index is None or not isinstance(hit.block.source, Answer):
            return hit
        before = len(self._column.blocks)
        self._column.draw(index)
        after = index + len(self._column.blocks) - before + 1
        last: Hit | None = None
        number = hit.number
        for block in self._column.blocks[index:after]:
            found = self._count(block)
            if number < found:
                return Hit(block, number)
            number -= found
            last = Hit(block, found - 1) if found else last
        return last

    def locate(self, hit: Hit) -> tuple[Piece, int]:
        """In which piece of its block a place is, and which one of that piece's."""
        number, last = hit.number, Piece("")
        for piece in pieces(hit.block.source):
            last, found = piece, self.query.count(piece.text)
            if number < found:
                return piece, number
            number -= found
        return last, number

    # Showing -------------------------------------------------------------------------------

    def drawn(self, block: Block) -> _Drawn:
        """Where the words stand in the lines of a drawn block."""
        lines = block.lines or []
        known = self._drawn.get(block)
        if known is None or known.lines is not lines:
            known = self._drawn[block] = _Drawn(lines, places(lines, self.query))
        return known

    def shown(self, hit: Hit) -> tuple[Place, ...]:
        """Where a place stands in its block as drawn; all of a line if its words are cut there."""
        lines = hit.block.lines or []
        piece, number = self.locate(hit)
        first, last = _rows(hit.block, piece, len(lines))
        near = [each for each in self.drawn(hit.block).places if first <= each[0].line < last]
        if near:
            return near[min(number, len(near) - 1)]
        if not lines:
            return ()
        row = min(first, len(lines) - 1)
        text = lines[row].strip.text.rstrip()
        return (Place(row, lines[row].indent, len(text)),)

    def marks(self, block: Block, line: int) -> list[tuple[int, int, bool]]:
        """What to mark of a drawn line: (start, end, whether it is the place that is shown)."""
        if not self._counts.get(block):
            return []
        drawn = self.drawn(block)
        hit = self.hit
        if hit is None or block is not hit.block:
            return [(at.start, at.end, False) for at in drawn.on(line)]
        if drawn.current is None or drawn.current[0] != hit:
            drawn.current = (hit, self.shown(hit))
        current = drawn.current[1]
        marks = [(at.start, at.end, False) for at in drawn.on(line) if at not in current]
        return [*marks, *((at.start, at.end, True) for at in current if at.line == line)]


class _Drawn:
    """The places in a block's lines, as long as these are its lines."""

    def __init__(self, lines: list[Line], found: list[tuple[Place, ...]]) -> None:
        self.lines = lines
        self.places = found
        self.current: tuple[Hit, tuple[Place, ...]] | None = None
        self._by_line: dict[int, list[Place]] = {}
        for each in found:
            for at in each:
                self._by_line.setdefault(at.line, []).append(at)

    def on(self, line: int) -> list[Place]:
        return self._by_line.get(line, [])


def _moves(source: object) -> bool:
    """Whether what a block says may still change."""
    match source:
        case Card() as card:
            return card.live
        case Thought(seconds=seconds):
            return seconds is None
        case _:
            return False


def _rows(block: Block, piece: Piece, rows: int) -> tuple[int, int]:
    """The rows (first, after the last) a piece is drawn on."""
    if piece.where == "all":
        return 0, rows
    if not isinstance(block.source, Reads):
        return (0, 1) if piece.where == "head" else (1, rows)
    head = 1 + piece.member
    body = rows - 1 - len(block.source.cards)
    return (head, head + 1) if piece.where == "head" else (head + 1, head + 1 + body)

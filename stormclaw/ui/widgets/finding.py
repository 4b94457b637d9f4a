"""A transcript that is searched: the places marked, the one that is shown brought into view."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from rich.style import Style
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from stormclaw.protocol.messages import Node
from stormclaw.protocol.query import Query
from stormclaw.ui.blocks import Block
from stormclaw.ui.find_open import Unfolded
from stormclaw.ui.finder import Finder, Found, Hit
from stormclaw.ui.render.paint import highlight
from stormclaw.ui.widgets.transcript_view import TranscriptView

SLICE_S, REST_S = 0.003, 0.001
"""Seconds of counting, and of leaving all else its turn: a key passes many hands."""
TOLD_EVERY_S = 0.05
"""How often the count is told while it grows."""
EDGE = 1
"""Rows at the top and the bottom of the window where a place does not count as in view."""
BAR = 1
"""Rows the words being looked for take from the window."""
TRIES = 5
"""How often lines above a place may come out taller than thought, before it is shown anyway."""

PLACE = Style(underline=True)
SHOWN = Style(underline=True, bold=True)


class FindingTranscript(TranscriptView):
    """Adds the search: `find`, `find_step`, `end_find`; `found` says how far it is."""

    found: var[Found] = var(Found())
    """What the search says of itself; its default while nothing is looked for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._finder: Finder | None = None
        self._unfolded = Unfolded(self.column)
        self._origin: Block | None = None
        self._searching = False

    @property
    def finding(self) -> bool:
        """Whether something is looked for, or about to be."""
        return self._finder is not None

    def find(self, words: str) -> None:
        """Look for `words` from where the person is; "" for nothing yet. The end is let go."""
        if self._finder is None:
            self._window.held = True
            self._window.follow(False)
            self._window.keep(self.scroll_offset.y)
            self._origin = self._first_in_view()
        self._fold_back()
        self._finder = Finder(self.column, Query(words))
        self._finder.look(self._near())
        self._search_on()

    def find_step(self, direction: int) -> None:
        """The place after (1) or before (-1) the one that is shown."""
        finder = self._finder
        if finder is not None and finder.query.words:
            hit = finder.step(direction, self._near())
            if hit is not None:
                self._go(hit)
            self.found = finder.found()

    def end_find(self) -> None:
        """Look for nothing any more; the view stays as it is, what is open in it too."""
        finder, self._finder = self._finder, None
        if finder is None:
            return
        if finder.hit is not None and self._stops(finder.hit.block):
            self.cursor = finder.hit.block
        self._unfolded.forget()
        self._window.held = False
        bottom = self.scroll_offset.y + self.scrollable_content_region.height
        self._window.follow(bottom + BAR >= self.column.total)
        self.found = Found()
        self._place(everything=True)

    def follow_end(self) -> None:
        """Go to the newest line; while something is looked for, without staying there."""
        if self._finder is None:
            super().follow_end()
        else:
            self.scroll_to(y=self.column.total)

    def show(self, nodes: Sequence[Node]) -> None:
        """Replace everything by these nodes; what is looked for is looked for in them."""
        finder, self._finder = self._finder, None
        self._window.held = False
        self._unfolded.forget()
        super().show(nodes)
        if finder is not None:
            self.find(finder.query.words)

    def _stops(self, block: Block) -> bool:
        """Where the cursor may stand."""
        raise NotImplementedError

    # Searching -----------------------------------------------------------------------------

    def _search_on(self) -> None:
        if not self._searching and self.is_mounted:
            self._searching = True
            self.run_worker(self._search(), group="find", exit_on_error=True)

    def _look_further(self) -> None:
        """Blocks may have come, gone or changed."""
        if self._finder is not None:
            self._finder.look(self._near())
            if not self._finder.whole:
                self._search_on()

    async def _search(self) -> None:
        """Count, a slice at a time, until everything there is has been looked at."""
        told = 0.0
        try:
            while (finder := self._finder) is not None:
                done = finder.count_on(SLICE_S)
                if finder.hit is None and finder.query.words:
                    hit = finder.nearest(self._near())
                    if hit is not None:
                        self._go(hit)
                        done = False
                if done and finder.hit is None:
                    self._place(everything=True)  # Marks of other words go.
                if done or time.perf_counter() - told >= TOLD_EVERY_S:
                    self.found = finder.found()
                    told = time.perf_counter()
                if done:
                    return
                await asyncio.sleep(REST_S)
        finally:
            self._searching = False

    def _first_in_view(self) -> Block | None:
        if not self.column.blocks:
            return None
        line = max(0, min(self.scroll_offset.y, self.column.total - 1))
        return self.column.blocks[self.column.at(line)[0]]

    def _near(self) -> int:
        """The block the search begins with."""
        if self._origin is None or (index := self.column.find(self._origin)) is None:
            self._origin = self._first_in_view()
            index = self.column.find(self._origin) if self._origin is not None else None
        return index or 0

    # Showing -------------------------------------------------------------------------------

    def _go(self, hit: Hit) -> None:
        """Show a place; what hid the one before folds again."""
        finder = self._finder
        if finder is None:
            return
        total = self.column.total
        self._unfolded.close()
        there = finder.split(hit)
        finder.hit = there
        if there is not None:
            self._unfolded.open(there.block, finder.locate(there)[0])
        self._window.absorb(self.column.total - total)
        super()._place(everything=True)
        if there is not None:
            self._bring(there)
        self._look_further()

    def _bring(self, hit: Hit) -> None:
        """Bring a place into view, if it is not there."""
        finder = self._finder
        height = self.scrollable_content_region.height
        if finder is None or self.column.look is None or not height:
            return
        top, before = self.scroll_offset.y, self.column.total
        for _ in range(TRIES):
            index = self.column.index_of(hit.block)
            self.column.lines_of(index)
            shown = finder.shown(hit)
            line = self.column.top(index) + hit.block.gap + (shown[0].line if shown else 0)
            if top + EDGE <= line < top + height - EDGE or top == line == 0:
                break
            top = max(0, line - height // 3)
            self.column.settle(top, height)
            if top == max(0, self.column.total - height):
                break
        self._window.absorb(self.column.total - before)
        self._window.let_go()
        self._window.follow(False)
        self.set_reactive(Widget.scroll_y, float(top))
        self.set_reactive(Widget.scroll_target_y, float(top))
        super()._place(everything=True)
        self.vertical_scrollbar.position = self.scroll_offset.y

    def _fold_back(self) -> None:
        total = self.column.total
        self._unfolded.close()
        self._window.absorb(self.column.total - total)

    def _place(self, *, everything: bool = False) -> None:
        """Draw what is in view; lines that came are searched too."""
        super()._place(everything=everything)
        self._look_further()

    def _look_again(self) -> None:
        """Everything may look different; the place that is shown stays in view."""
        super()._look_again()
        hit = self._finder.hit if self._finder is not None else None
        if hit is not None and self.column.find(hit.block) is not None:
            self._bring(hit)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled: other words are looked for from there on."""
        super().watch_scroll_y(old_value, new_value)
        self._origin = None

    def render_line(self, y: int) -> Strip:
        """A line of the window, what is looked for marked."""
        strip = super().render_line(y)
        look, number = self.column.look, y + self.scroll_offset.y
        if self._finder is None or look is None or not 0 <= number < self.column.total:
            return strip
        index, inner = self.column.at(number)
        if inner >= 0:
            for start, end, shown in self._finder.marks(self.column.blocks[index], inner):
                style = look.palette.select + SHOWN if shown else PLACE
                strip = highlight(strip, (start, end), style)
        return strip

"""Long text to scroll through and to search: what the model would get, a node whole.

Only the lines in view are drawn, so a megabyte scrolls like a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.message import Message

from stormclaw.ui.context_text import NO_PAPER, Paper
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import Row, Run
from stormclaw.ui.widgets.lines import Lines

WHEEL = 3


class Reading(Lines, can_focus=True):
    """Draws a `Paper` from line `first` on; what was searched for is underlined.

    Attributes:
        first: The line at the top.
        sought: What is searched for, "" for nothing.
        hits: Lines that hold it, in order.
        hit: Which of them is looked at.
    """

    DEFAULT_CSS = """
    Reading { height: 1fr; width: 1fr; margin: 0 2 0 2; background: $sc-bg; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]

    class Left(Message):
        """Esc."""

    class Moved(Message):
        """Other lines are in view."""

    def __init__(self) -> None:
        super().__init__()
        self.paper: Paper = NO_PAPER
        self.first = 0
        self.sought = ""
        self.hits: tuple[int, ...] = ()
        self.hit = 0
        self._found: frozenset[int] = frozenset()

    def put(self, paper: Paper) -> None:
        """Show another text; the section at the top stays there."""
        at = self.paper.section_at(self.first) if self.paper.rows else 0
        self.paper = paper
        if at and at < len(paper.heads):
            self.first = paper.heads[at]
        self._search()
        self.go(self.first)
        self.redraw()

    @property
    def last(self) -> int:
        """The last line that may stand at the top."""
        return max(0, len(self.paper.rows) - self.size.height)

    def go(self, first: int) -> None:
        """Show from a line on."""
        first = max(0, min(first, self.last))
        if first != self.first:
            self.first = first
            self.redraw()
        self.post_message(self.Moved())

    def lines(self, width: int) -> list[Row]:
        """What is in view."""
        rows = self.paper.rows[self.first : self.first + self.size.height]
        if not self.sought:
            return list(rows)
        return [
            self._marked(row, self.first + at) if self.first + at in self._found else row
            for at, row in enumerate(rows)
        ]

    def _marked(self, row: Row, number: int) -> Row:
        here = bool(self.hits) and self.hits[self.hit] == number
        runs = tuple(run for part in row.runs for run in underlined(part, self.sought))
        return Row(runs, "row" if here else row.ground)

    # Searching -----------------------------------------------------------------------------

    def seek(self, words: str) -> None:
        """Look for words, from what is in view on."""
        self.sought = words
        self._search()
        later = [at for at, line in enumerate(self.hits) if line >= self.first]
        self.hit = later[0] if later else 0
        self._to_hit()

    def _search(self) -> None:
        self.hits = self.paper.lines_with(self.sought) if self.sought else ()
        self._found = frozenset(self.hits)
        self.hit = min(self.hit, max(0, len(self.hits) - 1))

    def again(self, by: int) -> None:
        """The next or the last place before, around the end."""
        if self.hits:
            self.hit = (self.hit + by) % len(self.hits)
        self._to_hit()

    def _to_hit(self) -> None:
        if self.hits:
            line = self.hits[self.hit]
            if not self.first <= line < self.first + max(1, self.size.height - 1):
                self.first = max(0, min(line - self.size.height // 3, self.last))
        self.redraw()
        self.post_message(self.Moved())

    # Keys ----------------------------------------------------------------------------------

    def to_section(self, by: int) -> None:
        """To the head of the section after or before."""
        heads = self.paper.heads
        if by > 0:
            self.go(next((head for head in heads if head > self.first), self.first))
        else:
            self.go(next((head for head in reversed(heads) if head < self.first), 0))

    def action_cursor(self, by: int) -> None:
        """A line up or down."""
        self.go(self.first + by)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        self.go(self.first + by * max(1, self.size.height - 2))

    def action_first(self) -> None:
        """The beginning."""
        self.go(0)

    def action_last(self) -> None:
        """The end."""
        self.go(self.last)

    def action_pick(self) -> None:
        """Enter scrolls on, as in a pager."""
        self.action_page(1)

    def action_leave(self) -> None:
        """Back."""
        self.post_message(self.Left())

    def on_resize(self, event: Resize) -> None:
        """Another height."""
        self.go(self.first)
        self.redraw()

    def on_mouse_scroll_down(self) -> None:
        """The wheel scrolls."""
        self.go(self.first + WHEEL)

    def on_mouse_scroll_up(self) -> None:
        """The wheel scrolls."""
        self.go(self.first - WHEEL)


def underlined(run: Run, sought: str) -> Iterator[Run]:
    """The run in pieces, every place of `sought` (in any case) underlined and in accent."""
    text, low, wanted = run.text, run.text.lower(), sought.lower()
    if len(low) != len(text):
        low = text
    at = 0
    while wanted and (found := low.find(wanted, at)) >= 0:
        if found > at:
            yield run._replace(text=text[at:found])
        yield run._replace(
            text=text[found : found + len(wanted)], role="accent", flags=run.flags + "u"
        )
        at = found + len(wanted)
    if at < len(text):
        yield run._replace(text=text[at:])

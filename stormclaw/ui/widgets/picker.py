"""A list with a cursor in it: receipts, sessions, themes, providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click, Resize
from textual.message import Message

from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.widgets.lines import Lines

Draw = Callable[[int, int, bool], tuple[Sequence[Run], Sequence[Run]]]
"""(index, width, picked) -> (what stands left, what ends right)."""


class Picker(Lines, can_focus=True):
    """Draws `count` lines through `draw`, the picked one with `›` and another ground."""

    DEFAULT_CSS = """
    Picker { height: 1fr; width: 100%; background: $sc-bg; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]

    class Moved(Message):
        """Another line is picked."""

    class Taken(Message):
        """Enter, or a click, on the picked line."""

    class Left(Message):
        """Esc."""

    def __init__(self, draw: Draw, *, head: Callable[[int], Row] | None = None) -> None:
        super().__init__()
        self._draw_item = draw
        self._head = head
        self.count = 0
        self.cursor = 0
        self.empty = "nothing here"
        self._first = 0

    def fill(self, count: int, cursor: int | None = None) -> None:
        """Show so many lines; the cursor stays where it is unless told otherwise."""
        self.count = count
        wanted = self.cursor if cursor is None else cursor
        self.cursor = max(0, min(wanted, count - 1))
        self._keep_in_view()
        self.redraw()
        self.post_message(self.Moved())

    @property
    def room(self) -> int:
        """Lines of the list that are in view."""
        return max(1, self.size.height - (1 if self._head is not None else 0))

    def lines(self, width: int) -> list[Row]:
        """The head, and the part of the list that is in view."""
        rows = []
        if self._head is not None:
            head = self._head(width - 6)
            rows.append(Row((Run("    "), *head.runs)))
        if not self.count:
            return [*rows, Row((Run(f"    {self.empty}", "muted"),))]
        last = min(self.count, self._first + self.room)
        return [*rows, *(self._row(index, width) for index in range(self._first, last))]

    def _row(self, index: int, width: int) -> Row:
        picked = index == self.cursor
        lead = Run(f"  {self.signs.selected} ", "accent") if picked else Run("    ")
        left, right = self._draw_item(index, width - 6, picked)
        row = spread(left, right, width - 6, mark=self.signs.elided)
        return Row((lead, *row.runs), "row" if picked else "")

    def _keep_in_view(self) -> None:
        last = max(0, self.count - self.room)
        self._first = min(max(self._first, self.cursor - self.room + 1, 0), self.cursor, last)

    def on_resize(self, event: Resize) -> None:
        """The cursor stays in view."""
        self._keep_in_view()
        self.redraw()

    def move_to(self, index: int) -> None:
        """Pick a line."""
        index = max(0, min(index, self.count - 1))
        if index != self.cursor:
            self.cursor = index
            self._keep_in_view()
            self.redraw()
            self.post_message(self.Moved())

    def action_cursor(self, by: int) -> None:
        """A line up or down."""
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        self.move_to(self.cursor + by * max(1, self.room - 1))

    def action_first(self) -> None:
        """The first line."""
        self.move_to(0)

    def action_last(self) -> None:
        """The last line."""
        self.move_to(self.count - 1)

    def action_pick(self) -> None:
        """Take it."""
        if self.count:
            self.post_message(self.Taken())

    def action_leave(self) -> None:
        """Back."""
        self.post_message(self.Left())

    def on_mouse_scroll_down(self) -> None:
        """The wheel moves the cursor."""
        self.action_cursor(1)

    def on_mouse_scroll_up(self) -> None:
        """The wheel moves the cursor."""
        self.action_cursor(-1)

    def on_click(self, event: Click) -> None:
        """A click picks, a click on what is picked takes."""
        index = self._first + event.y - (1 if self._head is not None else 0)
        if 0 <= index < self.count:
            if index == self.cursor:
                self.action_pick()
            self.move_to(index)

"""A line at the bottom of a page to type a filter or a focus in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from stormclaw.ui.screens.context_working import WorkingPage
from stormclaw.ui.widgets.entry import Entry

Line: TypeAlias = Literal["filter", "focus"]
PLACEHOLDERS: Mapping[Line, str] = {
    "filter": "a word that must occur; enter keeps it, esc shows all",
    "focus": "what to keep in view; enter sums up, esc leaves it",
}


class LinePage(WorkingPage):
    """A page with such a line.

    Attributes:
        entry: The line; not to be seen until it is asked for.
    """

    entry: Entry

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._line: Line = "filter"

    def filter_by(self, words: str) -> None:
        """The filter as it is typed."""
        raise NotImplementedError

    def focus_given(self, focus: str) -> None:
        """The focus, when it is done."""
        raise NotImplementedError

    def ask_line(self, line: Line, text: str) -> None:
        """Open the line for a filter or a focus."""
        self._line = line
        self.entry.placeholder = PLACEHOLDERS[line]
        self.entry.load_text(text)
        self.entry.display = True
        self.entry.focus()

    def on_text_area_changed(self) -> None:
        """Filter while it is typed."""
        if self._line == "filter" and self.entry.display:
            self.filter_by(self.entry.text.strip())

    def on_entry_done(self, message: Entry.Done) -> None:
        """Enter."""
        self._close_line()
        if self._line == "focus":
            self.focus_given(message.text.strip())

    def on_entry_left(self) -> None:
        """Esc: no filter, no summing up."""
        self._close_line()
        if self._line == "filter":
            self.filter_by("")

    def _close_line(self) -> None:
        self.entry.display = False
        self.picker.focus()

"""What every shell's prompt can do: cut words and lines, and put back what was cut."""

from __future__ import annotations

from typing import Any

from textual.widgets.text_area import Location

from stormclaw.ui.keypath import QuickTextArea


class ReadlineTextArea(QuickTextArea):
    """A text area with one slot for what was cut last."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._killed = ""
        super().__init__(*args, **options)

    def _kill(self, start: Location, end: Location) -> None:
        if text := self.get_text_range(start, end):
            self._killed = text
            self.delete(start, end)

    def action_kill_to_end(self) -> None:
        """Cut to the end of the line; at its end, the line break."""
        row, column = self.cursor_location
        length = len(self.document.get_line(row))
        self._kill((row, column), (row, length) if column < length else (row + 1, 0))

    def action_kill_to_start(self) -> None:
        """Cut to the start of the line."""
        row, column = self.cursor_location
        self._kill((row, 0), (row, column))

    def action_kill_word_left(self) -> None:
        """Cut the word before the cursor."""
        self._kill(self.get_cursor_word_left_location(), self.cursor_location)

    def action_kill_word_right(self) -> None:
        """Cut the word after the cursor."""
        self._kill(self.cursor_location, self.get_cursor_word_right_location())

    def action_yank(self) -> None:
        """Put back what was cut last."""
        if self._killed:
            self.replace(self._killed, *sorted(self.selection))

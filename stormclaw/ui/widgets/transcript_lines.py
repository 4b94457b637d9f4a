"""The lines of a conversation as a widget paints them: selectable, the focused card on its ground.

What stands where is the column's business; what is in view, the transcript's.
"""

from __future__ import annotations

from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from stormclaw.ui.blocks import Block
from stormclaw.ui.column import Column
from stormclaw.ui.copying import selected_text
from stormclaw.ui.render.lines import PLAIN
from stormclaw.ui.render.paint import as_row, highlight


class TranscriptLines(ScrollView, can_focus=True):
    """Paints a column.

    Attributes:
        column: Where the blocks stand.
        cursor: The card the keys act on.
    """

    column: Column
    cursor: Block | None = None
    _painting = False

    def _repaint(self, first: int, rows: int) -> None:
        """Mark rows of the window for the next paint; padding counts as part of a row."""
        self.refresh(Region(0, self.gutter.top + first, self.outer_size.width, rows))

    def scroll_to(self, *args: float | None, **options: object) -> None:
        """Scroll at once: nothing glides."""
        options["animate"] = False
        super().scroll_to(*args, **options)  # type: ignore[arg-type]

    def render_line(self, y: int) -> Strip:
        """A line of the window; its offsets make it selectable."""
        look = self.column.look
        number = y + self.scroll_offset.y
        if look is None or not 0 <= number < self.column.total:
            base = PLAIN if look is None else look.base
            return Strip.blank(self.scrollable_content_region.width, base)
        index, inner = self.column.at(number)
        lines = self.column.lines_of(index)
        if not 0 <= inner < len(lines):
            blank = Strip.blank(look.width, look.base)
            return blank if self._painting else blank.apply_offsets(0, number)
        strip = lines[inner].strip
        block = self.column.blocks[index]
        if inner == 0 and block is self.cursor and self.has_focus:
            strip = as_row(strip, look)
        if (selection := self.text_selection) is not None:
            span = selection.get_span(number)
            if span is not None:
                strip = highlight(strip, span, look.palette.select)
        # Offsets make every style unique, which fills the caches of what is painted for nothing.
        return strip if self._painting else strip.apply_offsets(0, number)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines to paint; what the mouse asks for comes from `render_line`, with offsets."""
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, soft wraps joined."""
        return selected_text(self.column, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Repaint with the new selection."""
        self._repaint(0, self.size.height)

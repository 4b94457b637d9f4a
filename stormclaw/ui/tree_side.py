"""The pane on the right of the sessions screen: draws what it is given, for its own width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.strip import Strip

from stormclaw.ui.rows import Row, Run
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.lines import palette_of, strip_of

Drawn: TypeAlias = Callable[[int], Sequence[Row]]
"""Width in cells -> rows."""


class Side(Detail):
    """What the line under the cursor would cause."""

    DEFAULT_CSS = """
    Side { width: 36; height: 1fr; margin: 0 2 0 1; padding: 1 2 1 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._draw: Drawn = lambda width: ()

    def put(self, draw: Drawn) -> None:
        """Draw something else, from its beginning."""
        self._draw = draw
        self.top = 0
        self.redraw()

    def again(self) -> None:
        """The same, with what is known by now."""
        self.redraw()

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        return self._draw(width)

    def render_line(self, y: int) -> Strip:
        """One line; the last one says so where there are more below."""
        below = self.line_count - self.top - self.size.height
        if below > 0 and y == self.size.height - 1:
            row = Row((Run(f"{self.signs.elided} {below + 1} more lines, ] scrolls", "muted"),))
            return strip_of(row, self.size.width, palette_of(self), self.rich_style)
        return super().render_line(y)

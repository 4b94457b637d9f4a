"""A pane under or beside a list: what the picked line is about."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.ui.rows import Row
from stormclaw.ui.widgets.lines import Lines


class Detail(Lines):
    """Draws the rows it was given, on surface, behind a thin grey rule."""

    DEFAULT_CSS = """
    Detail {
        width: 1fr; height: auto; margin: 0 2 1 2; padding: 1 2 1 1;
        background: $sc-surface; border-left: outer $sc-rule;
        &.-flat { padding: 0 2 0 1; margin: 0 2 0 2; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row] = ()

    def show(self, rows: Sequence[Row]) -> None:
        """Draw other rows."""
        self.rows = rows
        self.redraw()

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        return self.rows

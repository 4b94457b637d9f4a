"""Where things stand on a screen of a given size: the grid of the design, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

NARROW, WIDE, TALL = 110, 150, 30
MARGIN = 2
SCROLLBAR = 1
MEASURE = 95
SHEET = 140
SHEET_LEAVES = 5
"""Rows of the screen above and below a sheet: header, a little chat, footer."""


@dataclass(frozen=True, slots=True)
class Column:
    """The column of transcript and composer.

    Attributes:
        area: Columns the agents' panel leaves.
        left: Columns before it.
        measure: Its own columns.
    """

    area: int
    left: int
    measure: int

    @property
    def right(self) -> int:
        """Columns after it, up to the panel."""
        return self.area - self.left - self.measure


def panel_width(width: int) -> int:
    """Columns of the agents' panel, 0 where it is one line above the composer."""
    if width < NARROW:
        return 0
    return 48 if width >= WIDE else 40


def column(width: int, *, panel: bool) -> Column:
    """The column on a screen of `width` columns; `panel` whether the panel is shown beside it."""
    area = width - (panel_width(width) if panel else 0)
    room = area - 2 * MARGIN - SCROLLBAR
    measure = max(1, min(MEASURE, room))
    return Column(area, MARGIN + max(0, room - measure) // 2, measure)


@dataclass(frozen=True, slots=True)
class Box:
    """A place on the screen."""

    x: int
    y: int
    width: int
    height: int


def sheet_width(width: int, left: int = MARGIN) -> int:
    """Columns of a sheet that begins where the composer does."""
    return min(SHEET, width - MARGIN - left)


def sheet_box(width: int, height: int, wanted: int, *, full: bool, left: int = MARGIN) -> Box:
    """A sheet directly above the footer, as high as it wants and the screen allows."""
    across = sheet_width(width, left)
    most = height - (2 if full else SHEET_LEAVES)
    high = max(6, min(most, most if full else wanted))
    return Box(left, height - 1 - high, across, high)

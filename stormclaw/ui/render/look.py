"""What every renderer is told: colours, symbols, and how much room there is."""

from __future__ import annotations

from dataclasses import dataclass

from rich.style import Style

from stormclaw.ui.palette import Palette
from stormclaw.ui.signs import UNICODE, Signs

GUTTER = 2
"""Cells of the state sign and its space; every text starts after it."""
VERB = 6
"""Cells of a card's verb; its object starts one cell later."""
MEASURE = 95
"""Cells of the longest line."""
MARGIN = 2
"""Cells left free at both sides."""


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw.

    Attributes:
        palette: Colours of the current theme.
        signs: Unicode symbols or their ASCII twins.
        measure: Cells a line takes, gutter included.
        short: The screen has few rows: no inner padding.
        left: Cells before the line; with those after it, `width` in all.
        width: Cells of the whole row; 0 when the line stands alone.
    """

    palette: Palette
    signs: Signs
    measure: int
    short: bool = False
    left: int = 0
    width: int = 0

    @property
    def base(self) -> Style:
        """Text on the ground of the screen."""
        return self.palette.text + self.palette.bg

    @property
    def prose(self) -> int:
        """Cells of running text."""
        return max(1, self.measure - GUTTER)


def plain_signs(words: str, signs: Signs) -> str:
    """Our own signs in words, as this terminal can show them."""
    if words.isascii() or signs is UNICODE:
        return words
    for sign in ("removed", "elided", "right", "between"):
        words = words.replace(getattr(UNICODE, sign), getattr(signs, sign))
    return words


def centred(
    palette: Palette, signs: Signs, width: int, *, short: bool, margin: int = MARGIN
) -> Look:
    """The look of a column centred in `width` cells, at most 95 wide, `margin` free beside it."""
    measure = min(MEASURE, width - 2 * margin)
    if measure < 2 * GUTTER:
        return Look(palette, signs, max(1, width), short, 0, max(1, width))
    return Look(palette, signs, measure, short, (width - measure) // 2, width)

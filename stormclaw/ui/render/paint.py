"""What lies over a drawn line: a selection, or the ground of the focused card."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from stormclaw.ui.render.lines import PLAIN
from stormclaw.ui.render.look import Look


def highlight(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """A strip with the characters of `span` in the style of a selection; -1 is the end."""
    start, end = span
    text = strip.text
    left = strip.index_to_cell_position(min(start, len(text))) if start else 0
    stop = len(text.rstrip()) if end == -1 else min(end, len(text))
    right = strip.index_to_cell_position(stop) if stop else 0
    if right <= left:
        return strip
    return Strip.join(
        [
            strip.crop(0, left),
            overlay(strip.crop(left, right), style),
            strip.crop(right, strip.cell_length),
        ]
    )


def as_row(strip: Strip, look: Look) -> Strip:
    """The focused card's line on its ground; without grounds a sign stands before it."""
    end = look.left + look.measure
    middle = overlay(strip.crop(look.left, end), look.palette.row)
    before = strip.crop(0, look.left)
    if look.palette.ansi and look.left >= 2:
        mark = Segment(f"{look.signs.selected} ", look.base + look.palette.accent)
        before = Strip([Segment(" " * (look.left - 2), look.base), mark], look.left)
    return Strip.join([before, middle, strip.crop(end, strip.cell_length)])


def overlay(strip: Strip, style: Style) -> Strip:
    """A strip with `style` over whatever ground it had."""
    segments = [Segment(text, (own or PLAIN) + style) for text, own, _ in strip]
    return Strip(segments, strip.cell_length)

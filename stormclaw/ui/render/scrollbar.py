"""A scrollbar of half a cell, without a track."""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

BAR = "▐"


class ThinBar(ScrollBarRender):
    """Textual's scrollbar drawn thin; set it as `widget.vertical_scrollbar.renderer`."""

    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = Color.parse("#555555"),  # noqa: B008  # Textual's signature
        bar_color: Color = Color.parse("bright_magenta"),  # noqa: B008
    ) -> Segments:
        """The bar, one segment a row; the mouse can grab it and page beside it."""
        if not vertical:
            return super().render_bar(
                size,
                virtual_size,
                window_size,
                position,
                thickness,
                vertical,
                back_color,
                bar_color,
            )
        blank = Segment(" " * thickness, Style(bgcolor=back_color))
        rows = [blank] * size
        if window_size and size and virtual_size > window_size:
            length = min(size, max(1, round(size * window_size / virtual_size)))
            start = round((size - length) * min(1.0, position / (virtual_size - window_size)))
            up, down, grab = (
                {"@mouse.down": action} for action in ("scroll_up", "scroll_down", "grab")
            )
            thumb = Style(color=bar_color, bgcolor=back_color, meta=grab)
            bar = Segment(" " * (thickness - 1) + BAR, thumb)
            above = Segment(" " * thickness, Style(bgcolor=back_color, meta=up))
            below = Segment(" " * thickness, Style(bgcolor=back_color, meta=down))
            rows = [above] * start + [bar] * length + [below] * (size - start - length)
        return Segments(rows, new_lines=True)

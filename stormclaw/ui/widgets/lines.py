"""The base of every widget here that draws itself: rows in, cached strips out, no child widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from stormclaw.ui.harmless import one_row
from stormclaw.ui.palette import Palette
from stormclaw.ui.rows import Row, clip, width_of
from stormclaw.ui.signs import Signs
from stormclaw.ui.theme import palette

if TYPE_CHECKING:
    from stormclaw.ui.frame import Frame

Line: TypeAlias = Row | Strip

FLAGS: dict[str, Style] = {
    "b": Style(bold=True),
    "u": Style(underline=True),
    "i": Style(italic=True),
}


def strip_of(row: Row, width: int, colours: Palette, base: Style) -> Strip:
    """A row as a strip of exactly `width` cells over `base`."""
    ground = colours[row.ground] if row.ground else Style.null()
    segments = []
    texts = one_row([run.text for run in row.runs])
    runs = [run._replace(text=text) for run, text in zip(row.runs, texts, strict=True)]
    for text, role, flags in clip(runs, width, ""):
        style = base + ground + colours[role]
        for flag in flags:
            style += FLAGS[flag]
        segments.append(Segment(text, style))
    missing = width - width_of(runs)
    if missing > 0:
        segments.append(Segment(" " * missing, base + ground))
    return Strip(segments, width)


class Lines(Widget):
    """Draws what `lines` gives; call `redraw` when that would be different."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] | None = None
        self._drawn: tuple[int, int, str] = (0, 0, "")
        self.top = 0
        """First line shown; for widgets with more lines than room."""

    @property
    def frame(self) -> Frame:
        """The app, for its signs and colours."""
        return cast("Frame", self.app)

    @property
    def signs(self) -> Signs:
        """The symbols in use."""
        return self.frame.signs

    def lines(self, width: int) -> Sequence[Line]:
        """Everything there is to show, in `width` cells."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Ask `lines` again; only rows that came out different are repainted."""
        before, self._strips = self._strips, None
        if not self.is_mounted or not self.size.width:
            return
        now = self._all()
        if before is None or len(before) != len(now):
            self.refresh()
            return
        regions = [
            Region(0, number - self.top, self.size.width, 1)
            for number, (old, new) in enumerate(zip(before, now, strict=True))
            if old != new and 0 <= number - self.top < self.size.height
        ]
        if regions:
            self.refresh(*regions)

    def show_from(self, top: int) -> None:
        """Scroll so that line `top` is the first, as far as there are lines."""
        top = max(0, min(top, len(self._all()) - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()

    def reveal(self, number: int) -> None:
        """Scroll as little as needed to see line `number`."""
        if number < self.top:
            self.show_from(number)
        elif number >= self.top + self.size.height:
            self.show_from(number - self.size.height + 1)

    @property
    def line_count(self) -> int:
        """How many lines there are, seen or not."""
        return len(self._all())

    def _all(self) -> list[Strip]:
        key = (self.size.width, self.size.height, self.app.theme)
        if self._strips is None or self._drawn != key:
            self._drawn = key
            colours, base = palette_of(self), self.rich_style
            self._strips = [
                line if isinstance(line, Strip) else strip_of(line, key[0], colours, base)
                for line in self.lines(key[0])
            ]
        return self._strips

    def notify_style_update(self) -> None:
        """Colours may have changed."""
        self._strips = None
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One line of the widget, by Textual."""
        strips = self._all()
        number = y + self.top
        if 0 <= number < len(strips):
            return strips[number]
        return Strip.blank(self.size.width, self.rich_style)


def palette_of(widget: Widget) -> Palette:
    """The colours of the app, kept there per theme; in an app of another kind made anew."""
    colours = getattr(widget.app, "palette", None)
    return colours if isinstance(colours, Palette) else palette(widget.app)

"""The popup directly above the composer: at most six rows, matched letters underlined."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click
from textual.message import Message

from stormclaw.ui.complete import Kind, Match
from stormclaw.ui.rows import Row, Run, clip, spread, width_of
from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.lines import Lines

NOTHING = {"history": "nothing like that was typed before"}


class Completion(Lines):
    """Draws matches; which one is picked is all it knows."""

    DEFAULT_CSS = """
    Completion { display: none; position: absolute; layer: over; background: $sc-raised; }
    """

    class Shown(Message):
        """The popup opened, closed or has another number of rows."""

    class Taken(Message):
        """A row was clicked."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.matches: Sequence[Match] = ()
        self.kind: Kind = "file"
        self.index = 0
        self.moved = False
        """The person picked the row, rather than the search."""

    @property
    def picked(self) -> Match | None:
        """The row that would be taken."""
        return self.matches[self.index] if self.matches else None

    @property
    def rows(self) -> int:
        """Rows it needs."""
        return max(1, len(self.matches))

    def show(self, matches: Sequence[Match], kind: Kind) -> None:
        """Offer these, the first one picked."""
        if (matches, kind) == (self.matches, self.kind) and self.display:
            return
        before = self.rows if self.display else 0
        self.matches, self.kind, self.index, self.moved = matches, kind, 0, False
        self.display = True
        if self.rows != before:
            self.post_message(self.Shown())
        self.redraw()

    def hide(self) -> None:
        """Close it."""
        if self.display:
            self.display = False
            self.post_message(self.Shown())

    def move(self, by: int) -> None:
        """Pick another row, around the ends."""
        if self.matches:
            self.index = (self.index + by) % len(self.matches)
            self.moved = True
            self.redraw()

    def lines(self, width: int) -> list[Row]:
        """One row a match: `› src/tide/retry.py      edited 20s ago`."""
        if not self.matches:
            return [Row((Run("   "), Run(NOTHING.get(self.kind, ""), "muted")))]
        return [self._row(number, match, width) for number, match in enumerate(self.matches)]

    def _row(self, number: int, match: Match, width: int) -> Row:
        picked = number == self.index
        sign = Run(f" {self.signs.selected} ", "accent") if picked else Run("   ")
        words = f"edited {match.detail}" if picked and self.kind == "file" else match.detail
        detail = (Run(one_line(words), "muted"), Run(" ")) if match.detail else ()
        mark = "/" if self.kind == "command" else ""
        label = (Run(mark, "text"),) if mark else ()
        runs = (*label, *letters(match, picked=picked or self.kind != "file"))
        room = max(12, width - width_of(runs) - 6)
        right = clip(detail, room, self.signs.elided)
        return spread((sign, *runs), right, width, ground="row" if picked else "")

    def on_click(self, event: Click) -> None:
        """Take the row under the mouse."""
        if 0 <= event.y < len(self.matches):
            self.index = event.y
            self.post_message(self.Taken())


def letters(match: Match, *, picked: bool) -> list[Run]:
    """The match with its letters underlined; a path's folder muted unless it is picked."""
    text = "".join(letter if letter.isprintable() else "␛" for letter in match.text)
    name_from = 0 if picked else text.rstrip("/").rfind("/") + 1
    marked = set(match.positions)
    runs: list[Run] = []
    for index, letter in enumerate(text):
        role = "text" if index >= name_from and picked else "muted"
        flags = "u" if index in marked else ""
        if runs and (runs[-1].role, runs[-1].flags) == (role, flags):
            runs[-1] = Run(runs[-1].text + letter, role, flags)
        else:
            runs.append(Run(letter, role, flags))
    return runs

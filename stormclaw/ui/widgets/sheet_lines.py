"""One question drawn: head, a window of the thing itself, why, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from textual.strip import Strip

from stormclaw.protocol.asks import Ask, Permission, Question
from stormclaw.protocol.display import (
    Checklist,
    Diff,
    DiffLine,
    Hunk,
    Patch,
    Plain,
    Shell,
    Table,
)
from stormclaw.ui import asking
from stormclaw.ui.asking import Place
from stormclaw.ui.asking_keys import keys_row
from stormclaw.ui.keymap import Situation
from stormclaw.ui.rows import BLANK, Row, Run
from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.lines import Line, Lines, palette_of

if TYPE_CHECKING:
    from stormclaw.ui.render.lines import Row as DiffRow

APPEARED_S = 0.5
"""Keys are dead this long after a question appeared or changed."""
TYPED_S = 1.0
"""And this long after the last key that went into the composer."""
COMPACT = 24
"""Rows of a screen under which blank lines are left out."""
TALL = 30
FRAME_ROWS = 5
"""Rows of the screen a sheet leaves: header, a little chat, footer."""

BEFORE = Hunk((DiffLine(" ", "", None, None),))
"""Stands for the hunk before, so that the lines between the two are counted."""

Late: TypeAlias = Line | Callable[[], Line]
"""A line, or what makes it when it comes into view."""

Mode: TypeAlias = Literal["body", "trace", "reason", "edit", "words"]


WORDS: Mapping[Mode, str] = {
    "reason": "why? (enter to skip)",
    "edit": "enter allows it as written here   ctrl+j new line   esc back",
    "words": "enter answers   ctrl+j new line   esc back",
}
"""What the last line says while words are typed under it."""


class SheetLines(Lines):
    """Draws the question it holds; `SheetView` adds the keys."""

    DEFAULT_CSS = """
    SheetLines { height: 1fr; background: $sc-raised; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.ask: Ask | None = None
        self.place = Place(1, 1, "agent-1")
        self.last_typed: Callable[[], float] = lambda: float("-inf")
        self.mode: Mode = "body"
        self.full = False
        self.offset_rows = 0
        self.picked = 0
        self.shown_at = 0.0
        self._typing = False
        self._hunks: list[int] = []
        self._body_rows = 1
        self._drawn_ask: Ask | None = None
        self._body_key: tuple[object, ...] = ()
        self._body_rows_all: list[Late] = []

    @property
    def pad(self) -> int:
        """Rows left free at the bottom."""
        return 1 if self.app.size.height >= TALL else 0

    @property
    def dead(self) -> bool:
        """Whether keys must not answer yet."""
        now = self.frame.clock()
        return now - self.shown_at < APPEARED_S or now - self.last_typed() < TYPED_S

    def wanted_height(self, width: int) -> int:
        """Rows it would like to have, padding included."""
        if self.ask is None:
            return 0
        body = len(self._body(self.ask, width))
        pad = self.pad
        return body + len(self._above(self.ask, width)) + len(self._below(self.ask, width)) + pad

    def lines(self, width: int) -> list[Line]:
        """The part that fits: head, a window of the body, why, keys."""
        ask = self.ask
        if ask is None:
            return []
        body = self._body(ask, width)
        below = self._below(ask, width)
        pad = 0 if self.mode in WORDS else self.pad
        taken = len(self._above(ask, width)) + len(below) + pad
        room = self._body_rows = max(1, self.size.height - taken)
        self.offset_rows = max(0, min(self.offset_rows, len(body) - room))
        above = self._above(ask, width)
        shown = body[self.offset_rows : self.offset_rows + room]
        window = [line() if callable(line) else line for line in shown]
        left = len(body) - self.offset_rows - room
        if left > 0:
            more = f"  {self.signs.elided} {left + 1} lines below, pgdn, end"
            window[-1] = Row((Run(more, "muted"),))
        filler = [BLANK] * (room - len(window))
        return [*above, *window, *filler, *below]

    def _above(self, ask: Ask, width: int) -> list[Line]:
        compact = self.app.size.height < COMPACT
        rows: list[Line] = [] if compact else [BLANK]
        rows.append(asking.head(ask, self.place, width, self.signs))
        under = asking.second(ask, self.place, self._hunk(), width, self.signs)
        rows += [under] if under else []
        return rows if compact else [*rows, BLANK]

    def _below(self, ask: Ask, width: int) -> list[Line]:
        compact = self.app.size.height < COMPACT
        gap: list[Line] = [] if compact else [BLANK]
        rows: list[Line] = [*gap]
        if isinstance(ask, Permission):
            rows += [*asking.why_rows(ask, width, self.signs), *gap]
        return [*rows, self._keys(ask, width)]

    def _keys(self, ask: Ask, width: int) -> Row:
        words = WORDS.get(self.mode)
        if words:
            return Row((Run("  "), Run(words, "muted")))
        return keys_row(ask, width, dead=self.dead, signs=self.signs)

    def _body(self, ask: Ask, width: int) -> list[Late]:
        """The thing itself, drawn once: it may have ten thousand lines."""
        key = (self.mode == "trace", width, self.picked, self.app.theme)
        if self._drawn_ask is not ask or self._body_key != key:
            self._drawn_ask, self._body_key = ask, key
            self._body_rows_all = self._draw_body(ask, width)
        return self._body_rows_all

    def _draw_body(self, ask: Ask, width: int) -> list[Late]:
        self._hunks = [0]
        if isinstance(ask, Question):
            return [*asking.question_rows(ask, self.picked, width, self.signs)]
        if self.mode == "trace":
            return [*asking.trace_rows(ask, width, self.signs)]
        named: list[Late] = [*asking.name_rows(ask, self.place, width, self.signs)]
        shown = self._draw_display(ask, width)
        self._hunks = [at + len(named) if at else at for at in self._hunks]
        return [*named, *shown]

    def _draw_display(self, ask: Permission, width: int) -> list[Late]:
        match ask.display:
            case Diff() as diff:
                return self._diff(diff, width)
            case Shell() as shell:
                return [*asking.command_rows(shell, ask.verdict, width, self.signs)]
            case Table() as table:
                return self._table(table, width)
            case Patch() as patch:
                return self._patch(patch, width)
            case Checklist() as checklist:
                return [*asking.checklist_rows(checklist, width, self.signs)]
            case Plain(text):
                return [*asking.plain_rows(text, width, self.signs)]
            case other:
                assert_never(other)

    def _table(self, table: Table, width: int) -> list[Late]:
        from stormclaw.ui.render.lines import prefix
        from stormclaw.ui.render.look import Look
        from stormclaw.ui.render.tables import display_table

        look = Look(palette_of(self), self.signs, width)
        indent = [("  ", self.rich_style)]
        rows = prefix(display_table(table, look, width - 2), indent, indent)
        return [partial(self._laid, row, width) for row in rows]

    def _laid(self, row: DiffRow, width: int) -> Strip:
        from stormclaw.ui.render.lines import lay

        return lay([row], width)[0].strip.apply_style(self.rich_style)

    def _diff(self, diff: Diff, width: int) -> list[Late]:
        from stormclaw.ui.render.diffs import diff_rows
        from stormclaw.ui.render.look import Look

        look = Look(palette_of(self), self.signs, width)
        lines: list[Late] = []
        self._hunks = []
        for number, hunk in enumerate(diff.hunks):
            self._hunks.append(len(lines))
            part = [hunk] if number == 0 else [BEFORE, hunk]
            rows = diff_rows(diff, look, width, columns=2, hunks=part)[number > 0 :]
            lines += [partial(self._laid, row, width) for row in rows]
        return lines or [Row((Run("  nothing would change", "muted"),))]

    def _patch(self, patch: Patch, width: int) -> list[Late]:
        """File after file, each under its name; `_hunks` are where the files begin."""
        lines: list[Late] = []
        starts = []
        for diff in patch.files:
            starts.append(len(lines))
            words = f"  +{diff.added} {self.signs.removed}{diff.removed}"
            lines.append(Row((Run(f"  {one_line(diff.path)}", "text", "b"), Run(words, "muted"))))
            lines += [*self._diff(diff, width), BLANK]
        self._hunks = starts
        return lines

    def _hunk(self) -> tuple[int, int]:
        """(the hunk at the top, how many there are)."""
        ask = self.ask
        if not isinstance(ask, Permission) or not isinstance(ask.display, Diff):
            return 1, 1
        reached = [at for at in self._hunks if at <= self.offset_rows]
        return max(1, len(reached)), len(ask.display.hunks)

    @property
    def situation(self) -> Situation:
        """For the footer's hints."""
        if isinstance(self.ask, Question):
            return "question"
        is_diff = isinstance(self.ask, Permission) and isinstance(self.ask.display, Diff)
        return "edit_sheet" if is_diff else "shell_sheet"

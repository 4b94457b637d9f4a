"""Before work begins in a project that brings things that could run: trust it, or open without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from stormclaw.config.runnable import Runnable
from stormclaw.ui.rows import BLANK, Row, Run, spread, wrap
from stormclaw.ui.text import count, fit, one_line
from stormclaw.ui.widgets.lines import Lines

APPEARED_S = 0.5
"""Keys are dead this long after the question appeared: one might still be typing."""
FRAME_ROWS = 7
"""Rows of the screen around the list: header, footer, head, keys and air."""
KIND, LEAST_ROOM, SIDES = 12, 20, 8
WORDS = (
    "This project brings what could run or widen what is allowed. It may only narrow your "
    "settings unless you trust it; the trust ends when any of this changes."
)


class Listed(Lines):
    """The things, scrollable, between a head that says why and keys that stay."""

    DEFAULT_CSS = """
    Listed {
        dock: bottom; height: 12; margin: 0 2 1 2; padding: 1 2 1 1;
        background: $sc-raised; border-left: outer $sc-attention-rule;
    }
    """

    def __init__(self, found: Sequence[Runnable]) -> None:
        super().__init__()
        self.found = found
        self.first = 0
        self.dead = True

    def on_mount(self) -> None:
        """As high as what it shows."""
        self.fit_height()

    def fit_height(self) -> None:
        """The height the list needs, as far as the screen has it."""
        width = max(LEAST_ROOM, self.app.size.width - SIDES)
        self.styles.height = len(self.lines(width)) + 2
        self.redraw()

    def lines(self, width: int) -> list[Row]:
        """Head, a window of the list, keys."""
        head = [
            Row((Run("? " if number == 0 else "  ", "attention"), Run(line)))
            for number, line in enumerate(wrap(WORDS, width - 2))
        ]
        room = max(3, self.app.size.height - FRAME_ROWS - len(head))
        rows = [row for one in self.found for row in _rows(one, width)]
        self.first = max(0, min(self.first, len(rows) - room))
        window = rows[self.first : self.first + room]
        left = len(rows) - self.first - len(window)
        if left > 0:
            more = f"  {self.signs.elided} {count(left + 1, 'line')} below, down"
            window[-1] = Row((Run(more, "muted"),))
        return [*head, BLANK, *window, BLANK, self._keys(width)]

    def _keys(self, width: int) -> Row:
        role = "muted" if self.dead else "text"
        left = (
            Run("  "), Run("y", role, "b"), Run(" trust it as it is now   ", "muted"),
            Run("enter", role, "b"), Run(" open without", "muted"),
        )  # fmt: skip
        return spread(left, (Run(count(len(self.found), "thing"), "muted"),), width)

    def scroll_by(self, rows: int) -> None:
        """Move the window."""
        self.first = max(0, self.first + rows)
        self.redraw()


def _rows(one: Runnable, width: int) -> list[Row]:
    """Kind, the thing in full, and where it stands."""
    place = one_line(one.where)
    room = max(LEAST_ROOM, width - KIND - 2)
    parts = wrap(one_line(one.what), room)
    rows = [
        Row((Run(f"  {one.kind if number == 0 else '':<{KIND}}", "muted"), Run(part)))
        for number, part in enumerate(parts)
    ]
    rows.append(Row((Run(" " * (KIND + 2)), Run(fit(place, room), "muted"))))
    return rows


class TrustQuestion(ModalScreen[bool]):
    """True for `y`; everything else opens without."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "yes", ""),
        ("n,escape,enter,ctrl+c", "no", ""),
        ("down,j", "scroll(1)", ""),
        ("up,k", "scroll(-1)", ""),
        ("pagedown", "scroll(8)", ""),
        ("pageup", "scroll(-8)", ""),
    ]
    DEFAULT_CSS = "TrustQuestion { background: transparent; }"

    def __init__(self, found: Sequence[Runnable]) -> None:
        super().__init__()
        self.listed = Listed(found)

    def compose(self) -> ComposeResult:
        """The sheet."""
        yield self.listed

    def on_mount(self) -> None:
        """Wake the keys a moment later."""
        self.set_timer(APPEARED_S, self._wake)

    def on_resize(self) -> None:
        """Another size of the terminal."""
        self.listed.fit_height()

    def _wake(self) -> None:
        self.listed.dead = False
        self.listed.redraw()

    def action_yes(self) -> None:
        """Trust it."""
        self._answer(trusted=True)

    def action_no(self) -> None:
        """Open without."""
        self._answer(trusted=False)

    def _answer(self, *, trusted: bool) -> None:
        if self.is_current and not self.listed.dead:
            self.dismiss(trusted)

    def action_scroll(self, rows: int) -> None:
        """Look at the rest of the list."""
        self.listed.scroll_by(rows)

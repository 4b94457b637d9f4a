"""The stack of context policies: their order, what each saves, and what is held back in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click, Resize
from textual.message import Message

from stormclaw.agent.context.sheet import PolicyLine, Sheet
from stormclaw.ui.context_lines import NARROW, count_of, saving
from stormclaw.ui.context_trial import Trial
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import BLANK, Row, Run, spread, width_of
from stormclaw.ui.text import cells, count, one_line
from stormclaw.ui.widgets.detail import Detail

ROOMY = 30
"""Rows of the screen from which there is air between the parts."""


class Policies(Detail, can_focus=True):
    """The policies in their order, then those that are off; one line where there is no room.

    Attributes:
        trial: The order shown.
        tried: Whether it is a dry run.
        slim: One line, until it has the focus.
    """

    DEFAULT_CSS = """
    Policies {
        max-height: 50%; margin: 1 2 0 2;
        &.-flat { margin: 1 2 0 2; }
        &:focus { border-left: outer $sc-accent; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("policies")]

    class Tried(Message):
        """Another order is wanted, as a dry run."""

        def __init__(self, trial: Trial) -> None:
            super().__init__()
            self.trial = trial

    class Applied(Message):
        """Enter: the order that is shown shall hold."""

    class Left(Message):
        """Esc."""

    class Said(Message):
        """A key that cannot do anything here says why."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(self) -> None:
        super().__init__()
        self.trial = Trial(())
        self.tried = False
        self._sheet: Sheet | None = None
        self._known: dict[str, PolicyLine] = {}
        self._cursor = 0

    def put(self, sheet: Sheet, trial: Trial, *, tried: bool) -> None:
        """Show the stack of `sheet` in the order of `trial`; the cursor stays on its policy."""
        name = self.picked
        self._sheet, self.trial, self.tried = sheet, trial, tried
        self._known = {line.name: line for line in sheet.policies}
        names = trial.names
        self._cursor = names.index(name) if name in names else min(self._cursor, len(names) - 1)
        self.settle()

    def settle(self) -> None:
        """As high as there are rows."""
        tall = self.app.size.height >= ROOMY
        self.set_class(not tall, "-flat")
        rows = len(self.lines(max(20, self.app.size.width - 8)))
        self.styles.height = rows + (2 if tall else 0)
        self.redraw()
        self.call_after_refresh(self._reveal)

    @property
    def slim(self) -> bool:
        """Whether there is room for one line only."""
        return self.app.size.height < ROOMY and not self.has_focus

    @property
    def picked(self) -> str:
        """Name of the policy under the cursor, "" if there is none."""
        names = self.trial.names
        return names[self._cursor] if 0 <= self._cursor < len(names) else ""

    def lines(self, width: int) -> Sequence[Row]:
        """Everything, or one line."""
        if self._sheet is None:
            return [BLANK]
        if self.slim:
            return [self._one_line(self._sheet, width)]
        air = [BLANK] if self.app.size.height >= ROOMY else []
        listed = [self._line(at, name, width) for at, name in enumerate(self.trial.names)]
        if not listed:
            listed = [Row((Run("  there are none", "muted"),))]
        return [self._head(width), *air, *listed, *air, self._foot(self._sheet, width)]

    def _head(self, width: int) -> Row:
        words = "tried in this order; enter applies" if self.tried else "applied in this order"
        left = (Run("  "), Run("Policies", "text", "b"), Run(f"  {words}", "muted"))
        return spread(left, (Run("would save" if self.tried else "saves", "muted"),), width)

    def _line(self, at: int, name: str, width: int) -> Row:
        line = self._known.get(name) or PolicyLine(name, name, "")
        on = name in self.trial.on
        picked = self.has_focus and at == self._cursor
        lead = f"{self.signs.selected} " if picked else "  "
        number = f"{at + 1:<3}" if on else f"{self.signs.removed:<3}"
        widest = max(cells(one_line(known.label)) for known in self._known.values())
        label = one_line(line.label)
        left = (
            Run(lead, "accent"),
            Run(number, "muted"),
            Run(label + " " * (widest - cells(label) + 3), "text" if on else "muted"),
            Run(one_line(line.about), "muted"),
        )
        right = count_of(line.saves, self._about) if on else "off"
        role = "text" if on and line.saves else "muted"
        row = spread(left, (Run(right, role),), width, mark=self.signs.elided)
        return Row(row.runs, "row" if picked else "")

    @property
    def _about(self) -> bool:
        return self._sheet is not None and self._sheet.measured == "estimate"

    def _foot(self, sheet: Sheet, width: int) -> Row:
        held = f"Held back, not lost: {count(sheet.held, 'node')}"
        stays = " stays in memory." if sheet.held == 1 else " stay in memory."
        words = held + stays if sheet.held else "Nothing is held back."
        right = saving(sheet) if sheet.held else ()
        return spread((Run(f"  {words}", "muted"),), right, width, mark=self.signs.elided)

    def _one_line(self, sheet: Sheet, width: int) -> Row:
        cut = width < NARROW
        held = Run(f"{sheet.held} held back, ", "muted")
        right = (held, *saving(sheet, short=cut)) if sheet.held else ()
        left: list[Run] = [Run("Policies", "text", "b")]
        between = f" {self.signs.between} "
        room = width - width_of(right) - 2
        for at, name in enumerate(self.trial.on):
            line = self._known.get(name) or PolicyLine(name, name, "")
            words = f"  {one_line(line.label)}" if not at else f"{between}{one_line(line.label)}"
            if width_of(left) + cells(words) + 4 > room:
                rest = f" {self.signs.elided}" if at else f"  {len(self.trial.on)} on"
                left.append(Run(rest, "muted"))
                break
            left.append(Run(words, "muted"))
        if not self.trial.on:
            left.append(Run("  all off", "muted"))
        return spread(left, right, width, mark=self.signs.elided)

    # Keys ----------------------------------------------------------------------------------

    def _reveal(self) -> None:
        if self._cursor == 0 or not self.has_focus:
            self.show_from(0)
        else:
            self.reveal(self._cursor + (2 if self.app.size.height >= ROOMY else 1))

    def action_cursor(self, by: int) -> None:
        """A policy up or down."""
        self._cursor = max(0, min(self._cursor + by, len(self.trial.names) - 1))
        self.redraw()
        self._reveal()

    def action_move(self, by: int) -> None:
        """The policy a place up or down."""
        if self.picked not in self.trial.on:
            self.post_message(self.Said("it is off: space puts it into the stack"))
            return
        self._try(self.trial.moved(self.picked, by))

    def action_switch(self) -> None:
        """The policy off, or on."""
        if self.picked:
            self._try(self.trial.toggled(self.picked))

    def _try(self, trial: Trial) -> None:
        if trial != self.trial:
            name, self.trial = self.picked, trial
            self._cursor = trial.names.index(name)
            self.redraw()
            self._reveal()
            self.post_message(self.Tried(trial))

    def action_apply(self) -> None:
        """The order that is shown shall hold."""
        self.post_message(self.Applied())

    def action_leave(self) -> None:
        """Back."""
        self.post_message(self.Left())

    def watch_has_focus(self, has_focus: bool) -> None:
        """Room for all of it while it has the focus, then for the list again."""
        super().watch_has_focus(has_focus)
        self.settle()

    def on_resize(self, event: Resize) -> None:
        """The cursor stays in view."""
        self.redraw()
        self._reveal()

    def on_click(self, event: Click) -> None:
        """A click picks."""
        above = 2 if self.app.size.height >= ROOMY else 1
        at = event.get_content_offset_capture(self).y + self.top - above
        if 0 <= at < len(self.trial.names):
            self._cursor = at
            self.redraw()

"""The one line in which a person says what to look for, and reads how often it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.message import Message
from textual.widgets import Input

from stormclaw.ui.finder import Found
from stormclaw.ui.keymap import bindings
from stormclaw.ui.keypath import paint_now
from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.widgets.header import TINY
from stormclaw.ui.widgets.lines import Lines


class _Name(Lines):
    """What the line is for."""

    DEFAULT_CSS = "_Name { width: 6; height: 1; background: $sc-surface; }"

    def lines(self, width: int) -> list[Row]:
        """The one word."""
        return [Row((Run(" find ", "muted"),))]


class _Count(Lines):
    """`12 of 340`, at the right; always as wide, so that a count moves nothing."""

    DEFAULT_CSS = """
    _Count {
        width: 28; height: 1; background: $sc-surface;
        &.-tiny { width: 20; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.found = Found()

    def show(self, found: Found) -> None:
        """Draw another count."""
        self.found = found
        self.redraw()

    def lines(self, width: int) -> list[Row]:
        """The count; nothing before there are words."""
        found = self.found
        if not found.words:
            return [Row()]
        runs: tuple[Run, ...]
        if found.total:
            of = f" of {found.total}" + ("" if found.whole else f"{self.signs.elided}")
            around = (Run("  around", "muted"),) if found.around else ()
            runs = (*around, Run(f"  {found.at}"), Run(of, "muted"))
        elif found.whole:
            runs = (Run("  not found"),)
        else:
            runs = (Run(f"  {self.signs.elided}", "muted"),)
        return [spread((), (*runs, Run(" ")), width)]


class FindBar(Horizontal):
    """Words to look for, and the count; it only asks, the transcript finds."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("find")]
    DEFAULT_CSS = """
    FindBar {
        display: none; height: 1; background: $sc-surface; border-left: outer $sc-rule;
        &:focus-within { border-left: outer $sc-accent; }
        & Input {
            width: 1fr; height: 1; border: none; padding: 0;
            background: $sc-surface; color: $sc-text; background-tint: transparent;
            &:focus { border: none; background: $sc-surface; background-tint: transparent; }
            & .input--placeholder { color: $sc-muted; }
            & .input--cursor { color: $sc-bg; background: $sc-text; text-style: none; }
            & .input--selection { background: $sc-select; }
        }
    }
    """

    @dataclass
    class Wanted(Message):
        """Other words."""

        words: str

    @dataclass
    class StepWanted(Message):
        """The next place (1), or the one before (-1)."""

        direction: int

    class LeaveWanted(Message):
        """Tab: to the transcript; the search goes on there."""

    class Closed(Message):
        """Esc."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = _Words(placeholder="words, a command, a path, r211", select_on_focus=False)
        self.entry.cursor_blink = False
        self.count = _Count()

    def compose(self) -> ComposeResult:
        """What it is, the words, the count."""
        yield _Name()
        yield self.entry
        yield self.count

    def open(self, words: str = "") -> None:
        """Show it with these words in it, or those of before, and type there."""
        self.display = True
        self.entry.focus()
        if words:
            self.entry.value = words
            self.entry.action_end()
        else:
            self.entry.action_select_all()
        self.post_message(self.Wanted(self.entry.value))

    def on_resize(self, event: Resize) -> None:
        """On a narrow screen the words have the room."""
        self.count.set_class(event.size.width < TINY, "-tiny")

    def on_input_changed(self, message: Input.Changed) -> None:
        """Look while it is typed."""
        message.stop()
        if self.display:
            self.post_message(self.Wanted(message.value))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter: the next one."""
        message.stop()
        self.action_find_step(1)

    def action_find_step(self, direction: int) -> None:
        """The next place, or the one before."""
        self.post_message(self.StepWanted(direction))

    def action_read(self) -> None:
        """Into the transcript."""
        self.post_message(self.LeaveWanted())

    def action_close(self) -> None:
        """Enough was found."""
        self.post_message(self.Closed())


class _Words(Input):
    """An `Input` whose letters are seen before anybody begins to look for them."""

    async def _on_key(self, event: Key) -> None:
        if event.key.startswith("alt+"):
            return
        await super()._on_key(event)
        if event.is_printable:
            paint_now(self)

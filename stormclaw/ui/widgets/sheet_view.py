"""The keys that answer a question: dead at first, denial by default."""

from __future__ import annotations

import json
from typing import ClassVar, Literal

from textual.binding import BindingType
from textual.events import Key
from textual.message import Message

from stormclaw.protocol.asks import Ask, Permission, Question, Reply
from stormclaw.ui import asking
from stormclaw.ui.asking import Place
from stormclaw.ui.keymap import bindings
from stormclaw.ui.widgets.sheet_lines import APPEARED_S, TYPED_S, Mode, SheetLines

WHEEL = 3
"""Rows of the body a turn of the wheel moves."""


class SheetView(SheetLines, can_focus=True):
    """A drawn question that takes keys."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("sheet")]

    class Replied(Message):
        """The person decided."""

        def __init__(self, ask_id: str, reply: Reply) -> None:
            super().__init__()
            self.ask_id = ask_id
            self.reply = reply

    class NextWanted(Message):
        """tab: another question first."""

    class Resized(Message):
        """It needs another number of rows, or wants the whole screen."""

    class EntryWanted(Message):
        """A line to write in is needed: a reason, the edited call, an answer."""

        def __init__(self, mode: Mode, text: str) -> None:
            super().__init__()
            self.mode: Mode = mode
            self.text = text

    class StillTyping(Message):
        """A key meant for the composer."""

        def __init__(self, key: Key) -> None:
            super().__init__()
            self.key = key

    def show(self, ask: Ask, place: Place) -> None:
        """Show a question; one that is new, or whose object changed, is dead for a moment."""
        if self.ask is None or ask.id != self.ask.id:
            now = self.frame.clock()
            self.shown_at, self._typing = now, now - self.last_typed() < TYPED_S
            self.mode, self.full, self.offset_rows, self.picked = "body", False, 0, 0
            self._wake_later()
        self.ask, self.place = ask, place
        self.redraw()
        self.post_message(self.Resized())

    def clear(self) -> None:
        """Nothing is asked any more."""
        self.ask = None

    def _wake_later(self) -> None:
        now = self.frame.clock()
        rest = max(self.shown_at + APPEARED_S, self.last_typed() + TYPED_S) - now
        self.set_timer(max(0.01, rest), self.wake)

    def wake(self) -> None:
        """Turn the keys bright if it is time, else look again later."""
        if self.ask is None:
            return
        if self.dead:
            self._wake_later()
        else:
            self._typing = False
            self.redraw()
            if isinstance(self.ask, Question) and not self.ask.options and self.mode == "body":
                self._open_entry("words", "")

    async def on_key(self, event: Key) -> None:
        """While a person goes on typing, letters belong to the composer; digits pick options."""
        if self.dead and (event.is_printable or event.key == "backspace"):
            event.stop()
            if self._typing:
                self.post_message(self.StillTyping(event))
            return
        if isinstance(self.ask, Question) and (event.character or "").isdigit():
            number = int(event.character or "0") - 1
            if 0 <= number < len(self.ask.options):
                event.stop()
                self.picked = number
                self.redraw()

    def _reply(self, reply: Reply) -> None:
        if self.ask is not None:
            self.post_message(self.Replied(self.ask.id, reply))

    def action_choose(self, choice: Literal["once", "session", "always"]) -> None:
        """Allow it, for now or for longer; only what the keys line offers."""
        ask = self.ask
        if self.dead or not isinstance(ask, Permission):
            return
        offered = {"once": not asking.held(ask)}.get(choice, bool(ask.verdict.grants))
        if offered:
            self._reply(Reply(choice))

    def action_deny(self) -> None:
        """Deny, with a line for the reason."""
        if not self.dead and isinstance(self.ask, Permission):
            self._open_entry("reason", "")

    def action_edit(self) -> None:
        """Change what would run; or answer a question in own words."""
        ask = self.ask
        if self.dead or ask is None:
            return
        if isinstance(ask, Question):
            self._open_entry("words", "")
        elif ask.editable:
            arguments = json.loads(ask.call.arguments)
            self._open_entry("edit", str(arguments.get(ask.editable, "")))

    def _open_entry(self, mode: Mode, text: str) -> None:
        self.mode = mode
        self.redraw()
        self.post_message(self.EntryWanted(mode, text))

    def action_why(self) -> None:
        """The steps of the judgement in place of the thing itself, and back."""
        if not self.dead and isinstance(self.ask, Permission):
            self.mode = "body" if self.mode == "trace" else "trace"
            self.offset_rows = 0
            self.redraw()
            self.post_message(self.Resized())

    def action_full(self) -> None:
        """The whole screen, and back."""
        if not self.dead:
            self.full = not self.full
            self.post_message(self.Resized())

    def action_hunk(self, by: int) -> None:
        """To the next hunk that is not at the top already."""
        starts = [at for at in self._hunks if (at > self.offset_rows) == (by > 0)]
        before = [at for at in starts if at != self.offset_rows]
        if before:
            self.offset_rows = min(before) if by > 0 else max(before)
            self.redraw()

    def action_page(self, by: int) -> None:
        """Scroll the body."""
        self.offset_rows = max(0, self.offset_rows + by * max(1, self._body_rows - 2))
        self.redraw()

    def action_edge(self, to: int) -> None:
        """To the first line of the body, or the last."""
        self.offset_rows = 0 if to < 0 else len(self._body_rows_all)
        self.redraw()

    def on_mouse_scroll_down(self) -> None:
        """The wheel scrolls the body."""
        self.offset_rows += WHEEL
        self.redraw()

    def on_mouse_scroll_up(self) -> None:
        """The wheel scrolls the body."""
        self.offset_rows = max(0, self.offset_rows - WHEEL)
        self.redraw()

    def action_option(self, by: int) -> None:
        """Pick an option; in an approval, scroll by a line."""
        if isinstance(self.ask, Question) and self.ask.options:
            self.picked = (self.picked + by) % len(self.ask.options)
        else:
            self.offset_rows = max(0, self.offset_rows + by)
        self.redraw()

    def action_next_ask(self) -> None:
        """Another question first."""
        if not self.dead:
            self.post_message(self.NextWanted())

    def action_enter(self) -> None:
        """Take the option; anything else is a denial."""
        if self.dead:
            return
        ask = self.ask
        if isinstance(ask, Question) and ask.options:
            self._reply(Reply("text", ask.options[self.picked]))
        elif isinstance(ask, Question):
            self._open_entry("words", "")
        else:
            self._reply(Reply("deny"))

    def action_escape(self) -> None:
        """Deny."""
        if not self.dead:
            self._reply(Reply("deny"))

"""Where a person types: a real text area with a shell's habits. It posts what was written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.events import Key, Paste
from textual.message import Message

from stormclaw.ui.keymap import bindings
from stormclaw.ui.pastes import Pastes
from stormclaw.ui.widgets.lines import palette_of
from stormclaw.ui.widgets.readline import ReadlineTextArea

if TYPE_CHECKING:
    from stormclaw.ui.completer import Completer
    from stormclaw.ui.history import History

MENTION = re.compile(r"(?<!\S)@\S+|\A[/!]\S*")
FOLDED = re.compile(r"\[paste \d+, \d+ lines\]")

PLACEHOLDER = "Ask for anything here, or / for commands, @ for files, ! for shell"


class Composer(ReadlineTextArea):
    """The prompt.

    Attributes:
        past: What was sent before; set when the app has read it.
        completer: The popup's brain; set by the screen that has a popup.
        take_back: Gives the message queued last, "" if none is queued.
    """

    DEFAULT_CSS = """
    Composer {
        height: auto; max-height: 10; border: none; padding: 0 1 0 1;
        border-left: outer $sc-rule; background: $sc-surface; color: $sc-text;
        scrollbar-size-vertical: 1;
        &:focus { border: none; border-left: outer $sc-accent; }
        & .text-area--cursor { color: $sc-bg; background: $sc-text; text-style: none; }
        & .text-area--cursor-line { background: $sc-surface; }
        & .text-area--placeholder { color: $sc-muted; text-style: $sc-muted-style; }
        & .text-area--selection { background: $sc-select; }
        &.-roomy { padding: 1 1 1 1; max-height: 12; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("composer")]

    @dataclass
    class Sent(Message):
        """Enter: the text in full, folded pastes expanded."""

        text: str

    class LeftUp(Message):
        """`up` with nothing older to show: the transcript may have the focus."""

    class LeftDown(Message):
        """`down` in an empty composer at its newest."""

    class HelpWanted(Message):
        """`?` in an empty composer."""

    class EndWanted(Message):
        """`end` at the end of the text."""

    class EditorWanted(Message):
        """ctrl+g: edit the draft outside."""

    class LeaveWanted(Message):
        """ctrl+d in an empty composer."""

    def __init__(self, *, id: str | None = None, placeholder: str = PLACEHOLDER) -> None:  # noqa: A002
        super().__init__(
            id=id, placeholder=placeholder, highlight_cursor_line=False, tab_behavior="focus"
        )
        self.set_reactive(Composer.cursor_blink, False)
        self.set_reactive(Composer.match_cursor_bracket, False)
        self.past: History | None = None
        self.completer: Completer | None = None
        self.take_back: Callable[[], str] = str
        self.typed_at = float("-inf")
        self.pastes = Pastes()

    def put(self, text: str) -> None:
        """Replace the draft; undo brings the old one back."""
        end = self.document.end
        self.replace(text, (0, 0), end)
        self.move_cursor(self.document.end)

    def take(self) -> str:
        """The draft in full, and an empty composer; it is remembered as history."""
        text = self.pastes.expand(self.text)
        self._remember(self.text)
        self.put("")
        self.history.clear()  # Sent is sent: undo would keep every prompt.
        self.pastes.clear()
        return text

    def _remember(self, text: str) -> None:
        full = self.pastes.expand(text)
        history = self.past
        if history is not None and history.remember(full):
            self.run_worker(lambda: history.write(full), thread=True, exit_on_error=False)

    async def _on_key(self, event: Key) -> None:
        self.typed_at = getattr(self.app, "clock", float)()
        handler = self._own_keys.get(event.key)
        if handler is not None and handler(self):
            event.stop()
            event.prevent_default()
            return
        if event.character == "?" and not self.text:
            event.stop()
            event.prevent_default()
            self.post_message(self.HelpWanted())
            return
        if event.key != "enter" and not event.key.startswith("alt+"):
            await self.quick_key(event)
            if self.past is not None and event.is_printable:
                self.past.leave()
        event.prevent_default()

    def _enter(self) -> bool:
        self.action_send()
        return True

    def _popup_key(self, move: int) -> bool:
        return self.completer is not None and self.completer.move(move)

    def _close_popup(self) -> bool:
        return self.completer is not None and self.completer.close()

    def _tab(self) -> bool:
        self.action_complete()
        return True

    _own_keys: ClassVar[dict[str, Callable[[Composer], bool]]] = {
        "enter": _enter,
        "tab": _tab,
        "up": lambda self: self._popup_key(-1),
        "down": lambda self: self._popup_key(1),
        "escape": _close_popup,
    }

    def action_send(self) -> None:
        """Send the draft, unless the popup or a backslash wants the key."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if self.completer is not None and self.completer.take(sending=True):
            return
        if line[:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return
        self.post_message(self.Sent(self.take()))

    def action_newline(self) -> None:
        """Break the line here."""
        self.replace("\n", *sorted(self.selection))

    def action_complete(self) -> None:
        """Take what the popup offers."""
        if self.completer is not None:
            self.completer.take()

    def action_search_history(self) -> None:
        """Search the history with what is typed; again: the next older."""
        if self.completer is not None and self.past is not None:
            self.completer.search(self.past)

    def action_up(self) -> None:
        """A row up; at the first one what is queued, then the history."""
        if self.cursor_location[0] or self._wrapped_row():
            self.action_cursor_up()
            return
        if not self.text and (queued := self.take_back()):
            self.put(queued)
            return
        older = self.past.older(self.text) if self.past is not None else None
        if older is not None:
            self.put(older)
        elif not self.text:
            self.post_message(self.LeftUp())

    def action_down(self) -> None:
        """A row down; at the last one newer history, at last the draft."""
        if self._cursor_offset[1] < self.wrapped_document.height - 1:
            self.action_cursor_down()
            return
        newer = self.past.newer() if self.past is not None else None
        if newer is not None:
            self.put(newer)
        elif not self.text:
            self.post_message(self.LeftDown())

    def _wrapped_row(self) -> int:
        return int(self._cursor_offset[1])

    def action_end(self) -> None:
        """To the end of the line; from the end of the text to the end of the chat."""
        if self.cursor_location == self.document.end:
            self.post_message(self.EndWanted())
        else:
            self.action_cursor_line_end()

    def action_edit_outside(self) -> None:
        """Open the draft in $EDITOR."""
        self.post_message(self.EditorWanted())

    def action_delete_or_quit(self) -> None:
        """Delete to the right; leave when there is nothing."""
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.LeaveWanted())

    def action_delete_left(self) -> None:
        """Delete to the left; a folded paste goes as one."""
        row, column = self.cursor_location
        word = self.pastes.word_before(self.document.get_line(row)[:column])
        if word and self.selection.is_empty:
            self.delete((row, column - len(word)), (row, column))
        else:
            super().action_delete_left()

    async def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(self.pastes.take(event.text), *sorted(self.selection))

    def get_line(self, line_index: int) -> Text:
        """A line of the draft, with what is not prose tinted."""
        line = super().get_line(line_index)
        colours = palette_of(self)
        for found in MENTION.finditer(line.plain):
            if found[0][0] == "@" or line_index == 0:
                line.stylize(colours.accent, *found.span())
        for found in FOLDED.finditer(line.plain):
            line.stylize(colours.muted, *found.span())
        return line

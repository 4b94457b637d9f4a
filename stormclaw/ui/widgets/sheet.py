"""A question lies in the composer's place: a view that shows it, and a line to answer in words."""

from __future__ import annotations

import json

from textual.app import ComposeResult
from textual.widget import Widget

from stormclaw.protocol.asks import Ask, Permission, Reply
from stormclaw.protocol.inert import inert
from stormclaw.ui.asking import Place
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.sheet_view import SheetView


class Sheet(Widget):
    """The view and its entry line, one above the other, behind the amber rule."""

    DEFAULT_CSS = """
    Sheet {
        display: none; position: absolute; layer: sheet; layout: vertical;
        background: $sc-raised; border-left: outer $sc-attention-rule; padding: 0 2 0 1;
        &:ansi { border-top: solid $sc-attention-rule; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.view = SheetView()
        self.entry = Entry()

    def compose(self) -> ComposeResult:
        """The two parts."""
        yield self.view
        yield self.entry

    @property
    def ask(self) -> Ask | None:
        """The question shown."""
        return self.view.ask

    @property
    def entry_rows(self) -> int:
        """Rows of the open entry line, 0 when it is closed."""
        return min(8, self.entry.wrapped_document.height) if self.entry.display else 0

    def show(self, ask: Ask, place: Place) -> None:
        """Show a question and take the focus; an open entry line is kept while it is the same."""
        same = self.view.ask is not None and self.view.ask.id == ask.id
        self.display = True
        self.view.show(ask, place)
        if not same:
            self._close_entry()

    def hide(self) -> None:
        """Nothing is asked."""
        self.view.clear()
        self.entry.display = False
        self.display = False

    def _close_entry(self) -> None:
        if self.entry.display:
            self.entry.display = False
            self.post_message(SheetView.Resized())
        self.view.mode = "body"
        self.view.redraw()
        self.view.focus()

    def on_sheet_view_entry_wanted(self, message: SheetView.EntryWanted) -> None:
        """Open the line."""
        message.stop()
        # What is hidden must not run unseen: the text to edit is the text that was shown.
        lines = message.text.split("\t") if message.mode == "edit" else [message.text]
        self.entry.load_text("\t".join(map(inert, lines)))
        self.entry.move_cursor(self.entry.document.end)
        self.entry.styles.margin = (0, 2, self.view.pad, 2)
        self.entry.display = True
        self.entry.focus()
        self.post_message(SheetView.Resized())

    def on_entry_left(self, message: Entry.Left) -> None:
        """Back to the keys; a denial already begun is a denial without a reason."""
        message.stop()
        if self.view.mode == "reason" and self.ask is not None:
            self.post_message(SheetView.Replied(self.ask.id, Reply("deny")))
        self._close_entry()

    def on_entry_done(self, message: Entry.Done) -> None:
        """The words are the reason, the answer, or what shall run."""
        message.stop()
        ask, mode = self.ask, self.view.mode
        if ask is None:
            return
        reply = Reply("deny", message.text.strip())
        if mode == "words":
            reply = Reply("text", message.text)
        elif mode == "edit" and isinstance(ask, Permission):
            arguments = json.loads(ask.call.arguments)
            arguments[ask.editable] = message.text
            reply = Reply("once", arguments=json.dumps(arguments, ensure_ascii=False))
        self.post_message(SheetView.Replied(ask.id, reply))
        self._close_entry()

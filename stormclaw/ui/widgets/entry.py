"""A few lines to write in: a reason, an answer, the edited text of a call."""

from __future__ import annotations

from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea


class Entry(TextArea):
    """A few lines to write in; Enter is done, ctrl+j a new line."""

    DEFAULT_CSS = """
    Entry {
        display: none; height: auto; max-height: 8; border: none; padding: 0 1;
        margin: 0 2 0 2; background: $sc-surface; color: $sc-text; border-left: outer $sc-rule;
        &:focus { border: none; border-left: outer $sc-accent; }
        & .text-area--cursor { color: $sc-bg; background: $sc-text; text-style: none; }
    }
    """

    class Done(Message):
        """Enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Esc."""

    def __init__(self) -> None:
        super().__init__(highlight_cursor_line=False)
        self.set_reactive(Entry.cursor_blink, False)

    async def _on_key(self, event: Key) -> None:
        outcome: Message | None = None
        if event.key == "enter":
            outcome = self.Done(self.text)
        elif event.key == "escape":
            outcome = self.Left()
        elif event.key in ("ctrl+j", "shift+enter", "alt+enter"):
            self.replace("\n", *sorted(self.selection))
        elif event.key.startswith("alt+"):
            event.prevent_default()
            return
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if outcome is not None:
            self.post_message(outcome)

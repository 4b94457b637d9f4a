"""The part of a chat that hands something out of the app: to the clipboard, to an editor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stormclaw.ui.screens.asked import AskedScreen

if TYPE_CHECKING:
    from stormclaw.ui.widgets.transcript import Transcript


class OutwardScreen(AskedScreen):
    """Copies and opens; says which way it went, or why not."""

    def say(self, words: str, role: str = "muted") -> None:
        """Say in the footer what just happened."""
        raise NotImplementedError

    def copy(self, text: str) -> None:
        """Copy, and say which way it went."""
        from stormclaw.ui.clipboard import copy

        self.say(copy(self.app, text, os.environ), "success")

    def on_transcript_copy_wanted(self, message: Transcript.CopyWanted) -> None:
        """`y` on a card."""
        self.copy(message.text)

    def on_transcript_receipt_wanted(self, message: Transcript.ReceiptWanted) -> None:
        """`r` on a card."""
        from stormclaw.ui.screens.receipts import ReceiptsScreen

        self.app.push_screen(ReceiptsScreen(f"r{message.number}"))

    def on_transcript_open_wanted(self, message: Transcript.OpenWanted) -> None:
        """`o` on a card."""
        from stormclaw.ui.editor import EditorFailed, open_file

        path = self.storm.start.workspace / message.path
        try:
            open_file(self.app, path, os.environ)
        except EditorFailed as error:
            self.say(str(error), "error")

    def on_composer_editor_wanted(self) -> None:
        """Edit the draft outside."""
        from stormclaw.ui.editor import EditorFailed, edit_text

        try:
            self.composer.put(edit_text(self.app, self.composer.text, os.environ))
        except EditorFailed as error:
            self.say(str(error), "error")

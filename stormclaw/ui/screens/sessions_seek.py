"""Finding a session or a turn: what is typed, which turns are shown, and the line to write in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from stormclaw.errors import StormClawError
from stormclaw.ui.screens.sessions_acts import SessionsPage
from stormclaw.ui.tree_lines import Wanted, Which
from stormclaw.ui.widgets.entry import Entry

SEARCH_FROM = 3
"""Letters from which what was said in other sessions is searched, too."""
REST_S = 0.15
"""How long the fingers rest before that."""


class SeekingPage(SessionsPage):
    """A page with a line to write in, for a search or anything else.

    Attributes:
        entry: The line.
        wanted: What is looked for.
    """

    entry: Entry

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.wanted = Wanted()
        self._written: Callable[[str], None] | None = None

    def fill(self) -> None:
        """Show what is wanted now."""
        raise NotImplementedError

    def action_only(self, which: Which) -> None:
        """Only turns of one kind, and all of them again."""
        self.wanted = replace(self.wanted, which="all" if self.wanted.which == which else which)
        self.fill()

    def action_search(self) -> None:
        """Search while it is typed."""
        self._written = None
        self._open_entry(self.wanted.words)

    def action_leave(self) -> None:
        """Drop the search before the screen is left."""
        if self.wanted.words:
            self._seek("")
        else:
            super().action_leave()

    def write(self, start: str, done: Callable[[str], None]) -> None:
        """Let the person write a line; `done` gets it at Enter."""
        self._written = done
        self._open_entry(start)

    def _open_entry(self, text: str) -> None:
        self.entry.load_text(text)
        self.entry.move_cursor(self.entry.document.end)
        self.entry.display = True
        self.entry.focus()

    def on_text_area_changed(self) -> None:
        """A letter more of what is searched."""
        if self._written is None and self.entry.display:
            self._seek(self.entry.text)

    def _seek(self, text: str) -> None:
        words = " ".join(text.lower().split())
        if words == self.wanted.words:
            return
        self.wanted = Wanted(words, self.wanted.which)
        self.picker.empty = "no session fits"
        self.fill()
        if len(words) >= SEARCH_FROM:
            work: Any = partial(self._search_said, words)
            self.run_worker(work, group="said", exclusive=True, exit_on_error=False)

    async def _search_said(self, words: str) -> None:
        from stormclaw.ui.session_shelf import said_in

        await asyncio.sleep(REST_S)
        runtime = self.storm.runtime
        if runtime is None:
            return
        try:
            hits = await asyncio.to_thread(said_in, runtime, words)
        except StormClawError as error:
            self.say(str(error), "error")
            return
        if words == self.wanted.words:
            self.wanted = replace(self.wanted, hits=hits)
            self.fill()

    def on_entry_done(self, message: Entry.Done) -> None:
        """Enter: back to the list, with what was written."""
        done = self._written
        self._close_entry()
        if done is not None:
            done(" ".join(message.text.split()))

    def on_entry_left(self) -> None:
        """Esc: as if nothing had been written."""
        searching = self._written is None
        self._close_entry()
        if searching:
            self._seek("")

    def _close_entry(self) -> None:
        self.entry.display = False
        self._written = None
        self.picker.focus()

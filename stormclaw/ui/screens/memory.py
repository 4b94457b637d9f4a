"""What is remembered: the project's notes, and everything that was ever said, searched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from stormclaw.errors import StormClawError
from stormclaw.ui import memory_going
from stormclaw.ui.memory_lines import change_rows, context_rows, cut, hit_head, hit_runs, words_of
from stormclaw.ui.memory_notes import Notes, load
from stormclaw.ui.rows import BLANK, Row, Run
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import age, count, inert, one_line
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.footer import Costs
from stormclaw.ui.widgets.picker import Picker

if TYPE_CHECKING:
    from stormclaw.store.finding import Hit
    from stormclaw.store.sessions import SessionInfo

MOST_HITS = 100
PAUSE_S = 0.15
"""How long nothing is typed before a search begins."""
WIDE = 110
"""Cells from which list and context stand side by side."""
DETAIL_FROM = 16
"""Rows of the screen from which the context is shown."""


class MemoryScreen(Page[None]):
    """With a query: hits, and the picked one in its context. Without: notes, and last sessions."""

    NAME = "Memory"
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("/", "search"), ("e", "edit the notes"))
    BINDINGS: ClassVar = [
        ("slash", "search", ""),
        ("a", "scope", ""),
        ("y", "copy", ""),
        ("e", "edit_notes", ""),
    ]
    DEFAULT_CSS = """
    MemoryScreen Picker { height: 2fr; }
    MemoryScreen Detail { height: 3fr; }
    MemoryScreen #page.-wide { layout: grid; grid-size: 2; grid-columns: 2fr 3fr;
        grid-rows: 1fr auto; }
    MemoryScreen #page.-wide Picker { height: 100%; }
    MemoryScreen #page.-wide Detail { height: 100%; }
    MemoryScreen #page.-wide Entry { column-span: 2; }
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.picker = Picker(self._draw)
        self.picker.empty = ""
        self.detail, self.entry = Detail(), Entry()
        self._query = argument.strip()
        self._here = False
        self._hits: tuple[Hit, ...] = ()
        self._notes = Notes("", "")
        self._sessions: list[SessionInfo] = []
        self._changed: list[Row] | None = None
        self._due: Timer | None = None

    def body(self) -> Iterable[Widget]:
        """List, context, search line."""
        yield from (self.picker, self.detail, self.entry)

    def trail(self) -> tuple[Run, ...]:
        """What is looked for, and where."""
        where = self.storm.start.workspace.name if self._here else "all folders"
        what = f'{where}, "{self._query}"' if self._query else where
        return (Run(self.NAME, "text", "b"), Run(f"  {one_line(what)}", "muted"))

    def right(self) -> tuple[Run, ...]:
        """How much there is."""
        found = count(len(self._hits), "hit") if self._query else self._notes.size
        return (Run(found, "muted"),)

    def costs(self) -> Costs:
        """What the footer says: keys of hits, or of notes and sessions."""
        if self.entry.has_focus:
            typing = (("enter", "to the hits"), ("esc", "notes"))
            return replace(super().costs(), hints=typing, right_hints=())
        scope = ("a", "all folders" if self._here else "this folder")
        if self._query:
            hints = (("enter", "open it there"), ("/", "search"), scope, ("y", "copy"))
        else:
            hints = (("/", "search"), ("e", "edit the notes"), ("enter", "open"), scope)
        return replace(super().costs(), hints=hints)

    def on_mount(self) -> None:
        """Read, or search."""
        super().on_mount()
        self.picker.focus()
        self._beside(self._read, "read")

    def _beside(self, work: Callable[[], Coroutine[None, None, None]], group: str) -> None:
        """Do something beside the screen; what came before it in its group is dropped."""
        _: Worker[None] = self.run_worker(work, group=group, exclusive=True, exit_on_error=False)

    # What is read --------------------------------------------------------------------------

    async def _read(self) -> None:
        from stormclaw.store.sessions import list_sessions

        runtime = self.storm.runtime
        if runtime is None:
            return
        self._notes = await asyncio.to_thread(load, runtime.workspace)
        where = runtime.workspace if self._here else None
        try:
            self._sessions = list(await asyncio.to_thread(list_sessions, runtime.home, where))
        except StormClawError as error:
            self.say(str(error), "error")
        await self._find(self._query)

    async def _find(self, query: str) -> None:
        """Search; what is shown is that of before until there is something new."""
        runtime = self.storm.runtime
        hits: tuple[Hit, ...] = ()
        if query and runtime is not None:
            where = runtime.workspace if self._here else None
            try:
                hits = await asyncio.to_thread(runtime.memory.search, query, MOST_HITS, where)
            except StormClawError as error:
                self.say(str(error), "error")
        self._query, self._hits = query, hits
        self._changed = None if query else self._changed
        words = f"nothing about {one_line(query)!r} was said" if query else "no session yet"
        self.picker.empty = words
        self.picker.fill(len(hits) if query else len(self._sessions), 0)
        self.refresh_facts()

    def _search_soon(self, query: str) -> None:
        if self._due is not None:
            self._due.stop()
        self._due = self.set_timer(PAUSE_S, lambda: self._search(query))

    def _search(self, query: str) -> None:
        self._due = None
        self._beside(partial(self._find, query), "find")

    # What is drawn -------------------------------------------------------------------------

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        now = self.storm.wall()
        if self._query:
            hit = self._hits[index]
            when = age(now - hit.timestamp, now)
            return hit_runs(hit, words_of(self._query), width // 3), [Run(when, "muted")]
        info = self._sessions[index]
        title = one_line(info.title)
        folder = () if self._here else (Run(f"  {one_line(info.workspace.name)}", "muted"),)
        left = [Run(title or "nothing said yet", "text" if title else "muted"), *folder]
        current = self.storm.session is not None and info.id == self.storm.session.id
        return left, [Run("now" if current else age(now - info.updated, now), "muted")]

    def on_picker_moved(self) -> None:
        """The context follows the cursor."""
        self._place()
        if not self._query:
            width, height = self._room
            rows = self._changed if self._changed is not None else self._notes.rows(width)
            self.detail.show(cut(rows, height))
        elif self._hits:
            hit = self._hits[self.picker.cursor]
            self._beside(partial(self._look, hit), "look")
        else:
            self.detail.show(())

    async def _look(self, hit: Hit) -> None:
        runtime = self.storm.runtime
        if runtime is None:
            return
        try:
            entries, at = await asyncio.to_thread(runtime.memory.around, hit, 6, 12)
        except StormClawError as error:
            self.say(str(error), "error")
            return
        width, height = self._room
        head = hit_head(hit, width) if height > 12 else hit_head(hit, width)[:2]
        words = words_of(self._query)
        self.detail.show([*head, *context_rows(entries, at, words, width, height - len(head))])

    @property
    def _room(self) -> tuple[int, int]:
        """Cells and lines of the context."""
        size = self.detail.content_size
        return max(20, size.width), max(3, size.height)

    def _place(self) -> None:
        self.query_one("#page").set_class(self.size.width >= WIDE, "-wide")
        self.detail.set_class(self.size.height < 30, "-flat")
        self.detail.display = self.size.height >= DETAIL_FROM

    def on_resize(self) -> None:
        """Another size."""
        self._place()
        self.call_after_refresh(self.on_picker_moved)

    # What is done --------------------------------------------------------------------------

    def on_picker_taken(self) -> None:
        """Go where it was said."""
        if not self._query:
            info = self._sessions[self.picker.cursor]
            self.dismiss()
            self.storm.call_next(memory_going.go_on_with, self.storm, info.id)
        elif self._hits:
            hit = self._hits[self.picker.cursor]
            self.dismiss()
            # An answer to a question asked from here would be lost with this screen.
            self.storm.call_next(memory_going.go_to, self.storm, hit)

    def action_scope(self) -> None:
        """This folder, all folders."""
        self._here = not self._here
        self._beside(self._read, "read")

    def action_copy(self) -> None:
        """Copy the whole entry, or the notes."""
        self.run_worker(self._copy(), group="copy", exit_on_error=False)

    async def _copy(self) -> None:
        from stormclaw.ui.clipboard import copy

        runtime, text = self.storm.runtime, self._notes.text
        if self._query and self._hits and runtime is not None:
            place = self._hits[self.picker.cursor].place
            found = await asyncio.to_thread(runtime.memory.search, place, 1)
            text = found[0].snippet if found else ""
        if text:
            self.say(copy(self.app, text, os.environ), "success")

    def action_edit_notes(self) -> None:
        """MEMORY.md in the person's editor; what it changed is shown."""
        from stormclaw.ui.editor import EditorFailed
        from stormclaw.ui.memory_notes import edit

        runtime = self.storm.runtime
        if runtime is None:
            return
        before = self._notes.text
        try:
            self._notes = edit(self.app, runtime.workspace, os.environ)
        except EditorFailed as error:
            self.say(str(error), "error")
            return
        rows = change_rows(before, self._notes.text, self._room[0])
        head = Row((Run("What you changed", "text", "b"),))
        self._changed = [head, BLANK, *rows] if rows else None
        self.say("notes changed" if rows else "nothing changed", "success" if rows else "muted")
        self._search("")

    def action_search(self) -> None:
        """Type what to look for; the first letter replaces what was looked for before."""
        self.entry.load_text(self._query)
        self.entry.select_all()
        self.entry.display = True
        self.entry.focus()

    def on_text_area_changed(self) -> None:
        """Search while it is typed."""
        self._search_soon(" ".join(inert(self.entry.text).split()))

    def on_descendant_focus(self) -> None:
        """Other keys count now."""
        self.refresh_facts()

    def on_entry_done(self) -> None:
        """Back to the list."""
        self.picker.focus()
        self.entry.display = False

    def on_entry_left(self) -> None:
        """Notes and sessions again."""
        self.entry.load_text("")
        self.on_entry_done()

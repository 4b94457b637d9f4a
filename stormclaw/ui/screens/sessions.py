"""Sessions and their turns: the tree on the left, on the right what the picked line would cause."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from stormclaw.errors import StormClawError
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import Run
from stormclaw.ui.screens.sessions_looks import Looks
from stormclaw.ui.screens.sessions_seek import SeekingPage
from stormclaw.ui.session_hints import hints_of
from stormclaw.ui.text import one_line
from stormclaw.ui.tree_lines import (
    HereLine,
    SessionLine,
    TurnLine,
    Unfolded,
    Wanted,
    Which,
    WordsLine,
    arrange,
)
from stormclaw.ui.tree_list import LineKey, TreeList
from stormclaw.ui.tree_side import Side
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.footer import Costs

if TYPE_CHECKING:
    from stormclaw.agent.history.values import Leaf
    from stormclaw.store.sessions import SessionInfo

TINY, NARROW, WIDE = 70, 110, 150
PANE_STEP = 5
ONLY: dict[Which, str] = {
    "all": "",
    "files": ", turns that changed files",
    "labelled": ", turns with a name",
}


class SessionsScreen(SeekingPage):
    """One screen for `/resume`, `/tree` and `/rewind`; they differ in where the cursor begins."""

    NAME = "Sessions"
    START: ClassVar[Literal["sessions", "turns"]] = "sessions"
    PLACES = ("tree",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("tree")]
    DEFAULT_CSS = """
    SessionsScreen #page { overflow: hidden; }
    SessionsScreen #shelf { layout: horizontal; width: 100%; height: 1fr; }
    SessionsScreen TreeList { width: 1fr; height: 1fr; }
    SessionsScreen.-middle Side { width: 44; }
    SessionsScreen.-wide Side { width: 64; }
    SessionsScreen.-flat Side { padding: 0 2 0 1; }
    SessionsScreen.-tiny #shelf { layout: vertical; }
    SessionsScreen.-tiny Side { width: 1fr; height: 7; margin: 0 2 0 2; padding: 0 2 0 1; }
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._everywhere = False
        self._read = False
        self._all: list[SessionInfo] = []
        self._here: list[SessionInfo] = []
        self.wanted = Wanted(argument.lower() if self.START == "sessions" else "")
        self._unfolded: dict[str, Unfolded] = {}
        self._begun = False
        self.picker, self.side, self.entry = TreeList(), Side(), Entry()
        self.picker.empty = "reading the sessions"
        self.looks = Looks(self)

    def body(self) -> Iterable[Widget]:
        """Tree, pane, a line to write in."""
        yield Container(self.picker, self.side, id="shelf")
        yield self.entry

    # What header and footer say ------------------------------------------------------------

    def trail(self) -> tuple[Run, ...]:
        """Which sessions, which turns."""
        where = "all folders" if self._everywhere else self.storm.start.workspace.name
        what = f"{where}{ONLY[self.wanted.which]}"
        what += f', "{self.wanted.words}"' if self.wanted.words else ""
        return (Run(self.NAME, "text", "b"), Run(f"  {one_line(what)}", "muted"))

    def right(self) -> tuple[Run, ...]:
        """How many there are."""
        if not self._read:
            return ()
        return (Run(f"{len(self._here)} here, {len(self._all)} everywhere", "muted"),)

    def costs(self) -> Costs:
        """The keys that mean something for the line under the cursor."""
        line = self.picker.line
        hints = hints_of(line, self.picker.now_id, self._everywhere)
        return replace(super().costs(), hints=hints, every=True)

    # Filling it ----------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The open session at once; the others, and what its commands changed, when read."""
        super().on_mount()
        self.picker.focus()
        self.on_resize()
        self._unfold_open()
        self.fill()
        self.run_worker(self._read_sessions(), group="sessions", exit_on_error=False)
        self.run_worker(self._learn(), group="learn", exit_on_error=False)

    def on_resize(self) -> None:
        """Another size: the pane beside the tree, or under it."""
        width, height = self.size.width, self.size.height
        self.set_class(width < TINY, "-tiny")
        self.set_class(NARROW <= width < WIDE, "-middle")
        self.set_class(width >= WIDE, "-wide")
        self.set_class(height < 30, "-flat")

    def renew(self) -> None:
        """A turn began or ended, the conversation moved, a place was named."""
        self.previews.clear()
        self._unfold_open()
        self.fill()

    def look_again(self) -> None:
        """Read the list of sessions again."""
        self.run_worker(self._read_sessions(), group="sessions", exit_on_error=False)

    def _unfold_open(self, *, anew: bool = False) -> None:
        session = self.storm.session
        if session is not None and (anew or not self._begun or session.id in self._unfolded):
            self._unfolded[session.id] = Unfolded(session.history.tree())

    async def _learn(self) -> None:
        """What shell commands changed, for the tree of the open session."""
        session = self.storm.session
        if session is None:
            return
        try:
            await session.history.learn()
        except StormClawError as error:
            self.say(str(error), "error")
            return
        self._unfold_open()
        self.fill()

    async def _read_sessions(self) -> None:
        from stormclaw.ui.session_shelf import survey

        runtime = self.storm.runtime
        if runtime is None:
            return
        try:
            listing = await asyncio.to_thread(survey, runtime)
        except StormClawError as error:
            self.explain(str(error))
            return
        self._read = True
        self._all = [info for info in listing.sessions if info.title or info.turns]
        self._here = [info for info in self._all if info.workspace == runtime.workspace]
        self.picker.empty = "no session fits" if self.wanted.words else "no session yet"
        self.fill()
        if listing.problems:
            more = f", and {len(listing.problems) - 1} more" if len(listing.problems) > 1 else ""
            self.say(f"left out: {one_line(listing.problems[0])}{more}", "attention")

    def _pool(self) -> list[SessionInfo]:
        """The sessions to be shown, the open one among them even if nothing was said in it."""
        pool = self._all if self._everywhere else self._here
        session = self.storm.session
        if session is None:
            return list(pool)
        return [session.info, *(info for info in pool if info.id != session.id)]

    def fill(self, to: LineKey | None = None) -> None:
        """Show what is wanted now; the cursor stays where it is, or goes `to`."""
        tree, session = self.picker, self.storm.session
        tree.now_id = session.id if session is not None else ""
        tree.now, tree.folders = self.storm.wall(), self._everywhere
        signs = self.storm.signs
        lines = arrange(self._pool(), self._unfolded, tree.now_id, self.wanted, signs)
        tree.put(lines, to or self._first(lines))
        self.refresh_facts()

    def _first(self, lines: Sequence[object]) -> LineKey | None:
        """Where the cursor begins; None once it has begun there."""
        if self._begun:
            return None
        if self.START == "turns":
            self._begun = True
            turns = [line for line in lines if isinstance(line, TurnLine) and line.leaf.current]
            return ("turn", turns[-1].session, turns[-1].leaf.id) if turns else None
        if not self._read:
            return None
        self._begun = True
        others = (
            line.info.id
            for line in lines
            if isinstance(line, SessionLine) and not self.is_open(line.info)
        )
        other = next(others, None)
        return ("session", other, "") if other is not None else None

    # The line under the cursor -------------------------------------------------------------

    def info(self) -> SessionInfo | None:
        """The session the cursor is on or in."""
        line = self.picker.line
        match line:
            case SessionLine(info):
                return info
            case TurnLine(session=wanted) | HereLine(session=wanted) | WordsLine(session=wanted):
                return next((info for info in self._pool() if info.id == wanted), None)
            case _:
                return None

    def on_picker_moved(self) -> None:
        """Pane and hints follow the cursor."""
        self.looks.follow()
        self.refresh_facts()

    def explain(self, words: str) -> None:
        """Why something was not done, in the pane; what is short, in the footer."""
        if self.is_mounted:
            self.looks.explain(words)
            self.say("not done", "error")
        else:
            self.storm.tell(words, ok=False)

    def leaves_of_open(self) -> Sequence[Leaf]:
        """Turns of the open session, as last read."""
        session = self.storm.session
        shown = self._unfolded.get(session.id) if session is not None else None
        return shown.leaves if shown else ()

    def action_peek(self) -> None:
        """How the session under the cursor ended."""
        info = self.info()
        if info is not None and isinstance(self.picker.line, SessionLine):
            self.looks.glimpse(info)

    def action_pane(self, by: int) -> None:
        """Scroll the pane."""
        self.side.show_from(self.side.top + by * PANE_STEP)

    # Folding, folders -----------------------------------------------------------------------

    def action_unfold(self, wanted: bool) -> None:
        """Show or hide the turns of the session under the cursor."""
        info = self.info()
        if info is None or wanted == (info.id in self._unfolded):
            return
        key = ("session", info.id, "")
        if not wanted:
            del self._unfolded[info.id]
        elif self.is_open(info):
            self._unfold_open(anew=True)
        else:
            self._unfolded[info.id] = Unfolded(words="reading")
            self.run_worker(self._read_turns(info), group=f"turns-{info.id}", exit_on_error=False)
        self.fill(key)

    async def _read_turns(self, info: SessionInfo) -> None:
        from stormclaw.ui.session_shelf import turns_of

        try:
            turns = await asyncio.to_thread(turns_of, self.storm.start.home, info.id)
            shown = Unfolded(turns)
        except StormClawError as error:
            shown = Unfolded(words=str(error), role="error")
        if info.id in self._unfolded:
            self._unfolded[info.id] = shown
            self.fill()

    def action_everywhere(self) -> None:
        """All folders, and back."""
        self._everywhere = not self._everywhere
        self.fill()

"""Fills the pane of the sessions screen: looks things up beside it, one thing at a time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from stormclaw.errors import StormClawError
from stormclaw.ui.heart import FRAME_S, STILL
from stormclaw.ui.rows import Row
from stormclaw.ui.text import one_line
from stormclaw.ui.tree_lines import HereLine, SessionLine, TurnLine, WordsLine
from stormclaw.ui.tree_pane import Paper, here_rows, other_turn_rows, session_rows, turn_rows

if TYPE_CHECKING:
    from stormclaw.agent.history.history import History
    from stormclaw.agent.history.values import Leaf
    from stormclaw.store.sessions import SessionInfo
    from stormclaw.ui.screens.sessions import SessionsScreen
    from stormclaw.ui.session_shelf import Glimpse

REST_S = 0.05
"""How long the cursor rests on a turn before its files are looked at."""
LOOKING = "looking at the files"
PEEK = "p  how it ended"


class Looks:
    """What is known about what the cursor was on; a look is dropped when the cursor moves on."""

    def __init__(self, page: SessionsScreen) -> None:
        self._page = page
        self._glimpses: dict[str, Glimpse] = {}
        self._problem = ""
        self._phase = STILL
        self._since = 0.0

    def follow(self) -> None:
        """The cursor is on another line, or there is more to be known about it."""
        page = self._page
        self._problem = ""
        page.side.display = page.picker.line is not None
        page.side.put(self._rows)
        page.workers.cancel_group(page, "look")
        line, session = page.picker.line, page.storm.session
        if not isinstance(line, TurnLine) or session is None or line.session != session.id:
            return
        if line.leaf.id not in page.previews:
            work: Any = partial(self._look, session.history, line.leaf)
            page.run_worker(work, group="look", exclusive=True, exit_on_error=False)

    def explain(self, words: str) -> None:
        """Words in place of everything, until the cursor moves."""
        self._problem = one_line(words)
        self._page.side.put(self._rows)

    def glimpse(self, info: SessionInfo) -> None:
        """Read how a session ended."""
        if info.id not in self._glimpses:
            work: Any = partial(self._read, info)
            self._page.run_worker(work, group="look", exclusive=True, exit_on_error=False)

    async def _look(self, history: History, leaf: Leaf) -> None:
        """What going back to before a turn would do; a dot moves meanwhile."""
        page = self._page
        await asyncio.sleep(REST_S)
        self._since = page.storm.clock()
        pulse = page.set_interval(FRAME_S, self._beat)
        try:
            page.previews[leaf.id] = await history.preview(leaf.id)
        except StormClawError as error:
            self.explain(str(error))
            return
        finally:
            pulse.stop()
            self._phase = STILL
        page.side.again()

    async def _read(self, info: SessionInfo) -> None:
        from stormclaw.ui.session_shelf import glimpse_of

        page = self._page
        try:
            home = page.storm.start.home
            self._glimpses[info.id] = await asyncio.to_thread(glimpse_of, home, info.id)
        except StormClawError as error:
            self.explain(str(error))
            return
        page.side.again()

    def _beat(self) -> None:
        self._phase += 0 if self._page.storm.calm else 1
        self._page.side.again()

    def _rows(self, width: int) -> list[Row]:
        page = self._page
        paper = Paper(width, page.storm.signs, page.storm.wall())
        line, session = page.picker.line, page.storm.session
        if self._problem:
            return paper.prose(self._problem, "error")
        match line:
            case TurnLine(session=whose, leaf=leaf) if session is not None and whose == session.id:
                seconds = int(page.storm.clock() - self._since) if self._since else 0
                working = f"{LOOKING}  {seconds}s" if seconds else LOOKING
                dot = page.storm.signs.phase(self._phase)
                return turn_rows(leaf, page.previews.get(leaf.id), paper, dot, working)
            case TurnLine(leaf=leaf):
                return other_turn_rows(leaf, paper)
            case HereLine():
                return here_rows(page.leaves_of_open(), paper)
            case SessionLine(info):
                hint = "" if page.is_open(info) else PEEK
                return session_rows(info, self._glimpses.get(info.id), paper, hint)
            case WordsLine(words=words, role=role):
                return paper.prose(one_line(words), role)
            case _:
                return []

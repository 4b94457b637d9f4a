"""A StormClaw that runs: listed in its home, and obeying the emergency stop while it is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from stormclaw.log import event
from stormclaw.security import running
from stormclaw.security.lookout import Lookout, Stopped
from stormclaw.security.running import Card

LOG = logging.getLogger(__name__)


class Stoppable(Protocol):
    """What is told of an emergency stop; the runtime, which is above this room."""

    def stop_everything(self) -> None:
        """End the tools that run, close the questions that are open."""

    def tell(self, level: Literal["info", "warning", "error"], text: str, detail: str = "") -> None:
        """A line for the person, and more where there is more to know."""

    def changed(self) -> None:
        """Tell every listener."""


class Presence:
    """From `begin` to `end`.

    Args:
        home: StormClaw's own folder.
        kind: The front end.
        workspace: The folder worked in.
        stoppable: What is told, in the event loop's thread.
    """

    def __init__(self, home: Path, kind: str, workspace: Path, stoppable: Stoppable) -> None:
        self._home, self._kind, self._workspace = home, kind, workspace
        self._stoppable = stoppable
        self._card: Card | None = None
        self._lookout: Lookout | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Leave a card, and look out for the emergency stop."""
        if self._lookout is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._card = running.register(self._home, self._kind, self._workspace)
        self._lookout = Lookout(self._home, self._stop, self._halted, self._clear)
        self._lookout.start()

    def in_session(self, session: str) -> None:
        """Another session is open now."""
        if self._card is not None:
            self._card = running.in_session(self._home, self._card, session)

    def end(self) -> None:
        """Look no more, and take the card away."""
        if self._lookout is not None:
            self._lookout.close()
        if self._card is not None:
            running.unregister(self._home, self._card)
            self._card = None

    # In the thread of the lookout ----------------------------------------------------------

    def _stop(self) -> None:
        self._soon(self._stoppable.stop_everything)

    def _halted(self, stopped: Stopped) -> None:
        event(LOG, "estop_triggered", by=stopped.by, killed=len(stopped.commands))
        line, detail = stopped.sentence(), stopped.detail()
        self._soon(lambda: self._stoppable.tell("error", line, detail))

    def _clear(self) -> None:
        def cleared() -> None:
            self._stoppable.changed()
            self._stoppable.tell("info", "emergency stop cleared; tools may run again")

        self._soon(cleared)

    def _soon(self, deed: Callable[[], None]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(deed)

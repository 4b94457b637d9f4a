"""The walls around the commands of a run: tried beside everything else, waited for in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stormclaw.security.sandbox import Sandbox

UNTRIED = Sandbox("untried", "they were not tried yet", required=True)
"""Starts nothing: until the walls are known, no command may slip past them."""


class Walls:
    """Trying takes a few tenths of a second, and nobody needs the result before the first request.

    Args:
        pick: Tries what this machine has; blocks.
    """

    def __init__(self, pick: Callable[[], Sandbox]) -> None:
        self._pick = pick
        self._trial: asyncio.Task[None] | None = None
        self._closed = False
        self._listeners: list[Callable[[str], None]] = []
        self._before: list[Sandbox] = []
        self.sandbox = UNTRIED

    def begin(self) -> None:
        """Try them in a thread; the event loop must run. Once closed, nothing is tried."""
        if self._trial is None and not self._closed:
            self._trial = asyncio.create_task(self._try())

    def again(self, pick: Callable[[], Sandbox]) -> None:
        """The settings want other walls from now on; what runs behind the old ones keeps them."""
        self._before.append(self.sandbox)
        self._trial, self._pick = None, pick
        self.begin()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the level, now if it is known and whenever it is tried."""
        self._listeners.append(listener)
        if self.sandbox is not UNTRIED:
            listener(self.sandbox.level)

    async def ready(self) -> None:
        """Return when they are known."""
        self.begin()
        if self._trial is not None:
            await asyncio.shield(self._trial)

    async def close(self) -> None:
        """Take them down."""
        self._closed = True
        if self._trial is not None:
            await self._trial
        for sandbox in (*self._before, self.sandbox):
            await asyncio.to_thread(sandbox.close)

    async def _try(self) -> None:
        self.sandbox = await asyncio.to_thread(self._pick)
        for listener in self._listeners:
            listener(self.sandbox.level)

"""Snapshots of the workspace around each call that can write, so that it can be taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.protocol.effects import (
    Effect,
    Fetches,
    Foreign,
    Reads,
    Remembers,
    Runs,
    Spawns,
    Writes,
)
from stormclaw.store.checkpoints import Checkpoint, Checkpoints, Moment


def written(effects: Iterable[Effect]) -> tuple[Path, ...] | None:
    """The files a call can write: none, these, or None for any file of the workspace."""
    paths: list[Path] = []
    for effect in effects:
        match effect:
            case Runs() | Foreign():
                return None
            case Writes(path) | Remembers(path):
                paths.append(path)
            case Reads() | Fetches() | Spawns():
                pass
    return tuple(paths)


class Snapshots:
    """Takes a session's snapshots, one at a time.

    Args:
        checkpoints: Where they go, None when they are switched off.
        session_id: Whose they are.
        warn: Told once when none can be taken.
    """

    def __init__(
        self, checkpoints: Checkpoints | None, session_id: str, warn: Callable[[str], None]
    ) -> None:
        self.checkpoints = checkpoints
        self._session_id = session_id
        self._warn = warn
        self._warned = False
        self._turn = asyncio.Lock()
        self._after: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def around(self, call_id: str, effects: Iterable[Effect]) -> AsyncGenerator[None, None]:
        """Snapshot before what is done inside, and, beside what comes next, after it.

        While a call that names its files is at work nobody else's snapshot is taken: it would show
        these files changed, and not by whom.
        """
        paths = written(effects)
        if self.checkpoints is None or paths == ():
            yield
            return
        await self.settled()
        alone = AsyncExitStack()
        if paths is not None:
            await alone.enter_async_context(self._turn)
        try:
            before = await (self.take if paths is None else self._take)(call_id, "before", paths)
        except BaseException:
            await alone.aclose()
            raise
        try:
            yield
        finally:
            task = asyncio.create_task(self._end(call_id, paths, alone, before is not None))
            self._after.add(task)
            task.add_done_callback(self._after.discard)

    async def _end(
        self, call_id: str, paths: tuple[Path, ...] | None, alone: AsyncExitStack, begun: bool
    ) -> None:
        async with alone:
            if begun:
                await (self.take if paths is None else self._take)(call_id, "after", paths)

    async def settled(self) -> None:
        """Return when every call that is over has its snapshot."""
        while self._after:
            await asyncio.wait(set(self._after))

    async def take(
        self, call_id: str, moment: Moment, paths: tuple[Path, ...] | None = None
    ) -> Checkpoint | None:
        """A snapshot now, of these files or of all; None, and the person is told once, if none can
        be taken.
        """
        async with self._turn:
            return await self._take(call_id, moment, paths)

    async def _take(
        self, call_id: str, moment: Moment, paths: tuple[Path, ...] | None
    ) -> Checkpoint | None:
        if self.checkpoints is None:
            return None
        take = self.checkpoints.take
        try:
            return await asyncio.to_thread(take, self._session_id, call_id, moment, paths)
        except StoreError as error:
            if not self._warned:
                self._warned = True
                self._warn(f"changes cannot be taken back: {error}")
            return None

"""The reading end of a program's output, without waiting for those who only keep it open."""

from __future__ import annotations

import asyncio
import os

from stormclaw.tools._output import Captured

CHUNK = 65_536
DRAIN_S = 0.05
"""How long to wait, after the shell has ended, for what others still write."""
MAX_DRAIN = 1_048_576
"""Bytes taken at once at most: a background job may write without end."""


class Pipe:
    """The reading end of a program's output, drained by the event loop.

    A pipe of our own instead of asyncio's: a background child that keeps it open must not keep
    anybody waiting.
    """

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self._loop = asyncio.get_running_loop()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self.ended = asyncio.Event()
        self._loop.add_reader(self._reading, self._take)

    async def drain(self) -> None:
        """Take what is there, and for a moment what still comes from others."""
        self._take_all()
        try:
            async with asyncio.timeout(DRAIN_S):
                await self.ended.wait()
        except TimeoutError:
            self._take_all()

    def close(self) -> None:
        """Take what is there, also after an interrupt, and give the descriptors back."""
        self._take_all()
        self._captured.finish()
        self._loop.remove_reader(self._reading)
        os.close(self._reading)
        if self.writing >= 0:
            os.close(self.writing)

    def started(self) -> None:
        """The program has its own copy of the writing end; ours would hide the end."""
        os.close(self.writing)
        self.writing = -1

    def _take_all(self) -> None:
        taken = 0
        while taken < MAX_DRAIN and not self.ended.is_set() and (size := self._take()):
            taken += size

    def _take(self) -> int:
        try:
            raw = os.read(self._reading, CHUNK)
        except BlockingIOError:
            return 0
        self._captured.feed(raw)
        if not raw:
            self._loop.remove_reader(self._reading)
            self.ended.set()
        return len(raw)

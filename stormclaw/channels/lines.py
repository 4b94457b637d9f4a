"""Lines from standard input, read in a thread so that nothing else waits for them."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading


class Lines:
    """The lines a person types (or a pipe brings), one at a time.

    A daemon thread blocks in `readline`, so that leaving the program never waits for a key.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[str] = asyncio.Queue()
        self._thread = threading.Thread(target=self._read, name="stdin", daemon=True)
        self._started = False

    async def next(self) -> str | None:
        """The next line without its newline; None at the end of input."""
        if not self._started:
            self._started = True
            self._thread.start()
        line = await self._arrived.get()
        if not line:
            self._arrived.put_nowait("")
            return None
        return line.rstrip("\n")

    def _read(self) -> None:
        while True:
            line = sys.stdin.readline()
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, line)
            if not line:
                return


def line_if_any() -> str | None:
    """A line that is there already (or will be typed, on a terminal); None without waiting else."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    if not os.isatty(sys.stdin.fileno()):
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        if not ready:
            return None
    return sys.stdin.readline().rstrip("\n") or None

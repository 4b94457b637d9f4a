"""When an app has nothing left to do: asked of the event loop, never guessed from a clock.

Textual's pilot takes an app for idle when the process used little CPU time for 20 ms. On a loaded
machine a process that gets no CPU looks the same, and the test goes on too early. Here an app is
still when no callback is ready, no thread works for it, and no timer is due soon.
"""

from __future__ import annotations

import asyncio
import math
import time
from asyncio import AbstractEventLoop, BaseEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from textual.pilot import Pilot

SOON_S = 0.04
"""A timer due within this is part of what is happening now: frames, and what waits a breath."""
BEATS = 25
"""So often `SOON_S` is waited for timers: what polls for ever (a program that runs) is no news."""
BUSY_S = 1.0
"""So much CPU time an app may need to come to rest; an answer that streams in never does."""
PATIENCE_S = 60.0
"""How long a test waits for what must come before it fails; never reached when all is well."""
NAP_S = 0.002
POLL_S = 0.005

_at_work: set[Future[Any]] = set()
"""What threads do for an event loop; it leaves when the loop has heard what came of it."""


async def still(soon_s: float = SOON_S, busy_s: float = BUSY_S) -> bool:
    """Return when nothing will happen by itself within `soon_s` seconds.

    Args:
        soon_s: Seconds that count as soon.
        busy_s: Seconds of CPU time after which it gives up. Time in which others have the CPU
            does not count, nor does time a thread needs, up to a minute.

    Returns:
        False if it gave up: something happens again and again.
    """
    loop: Any = asyncio.get_running_loop()
    threads_until = time.monotonic() + PATIENCE_S
    worked_until = time.process_time() + busy_s
    rest_s = BEATS * soon_s
    while True:
        await asyncio.sleep(0)
        threads = any(future.get_loop() is loop for future in _at_work)
        if threads and time.monotonic() < threads_until:
            await asyncio.sleep(NAP_S)
        elif threads or time.process_time() > worked_until or rest_s <= 0:
            return False
        elif not loop._ready:
            wait_s = _due(loop)
            if wait_s > soon_s:
                return True
            rest_s -= wait_s
            await asyncio.sleep(wait_s)


def _due(loop: Any) -> float:
    """Seconds until the next timer."""
    due = [handle.when() for handle in loop._scheduled if not handle.cancelled()]
    return max(0.0, min(due, default=math.inf) - float(loop.time()))


async def came(pilot: Pilot[Any], holds: Callable[[], object]) -> bool:
    """True as soon as `holds()` is; False when it never gets so."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until:
            return False
        await pilot.pause(POLL_S)
    return True


@contextmanager
def patient_pilot() -> Iterator[None]:
    """Meanwhile the pilot asks the event loop, and what threads do for it is known."""
    run_in_executor = BaseEventLoop.run_in_executor

    def known(self: AbstractEventLoop, *args: Any) -> Future[Any]:
        future = run_in_executor(cast(Any, self), *args)
        _at_work.add(future)
        future.add_done_callback(_at_work.discard)
        return future

    async def idle(*_: float) -> None:
        await still()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseEventLoop, "run_in_executor", known)
        patch.setattr("textual.pilot.wait_for_idle", idle)
        patch.setattr("textual.app.wait_for_idle", idle)
        yield
    _at_work.clear()

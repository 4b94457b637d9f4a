"""When an app has nothing left to do: asked of the event loop, never guessed from a clock.

Textual's pilot takes an app for idle when the process used little CPU time for 20 ms. On a loaded
machine a process that gets no CPU looks the same, and the test goes on too early. Here an app is
still when no callback is ready, no thread works for it, and no timer is due soon.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import AbstractEventLoop, BaseEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from textual.pilot import Pilot

SOON_S = 0.05
"""A timer due within this is part of what is happening now: frames, and what waits a breath."""
BUSY_S = 30.0
"""So long an app may be busy, or one of its threads, before a test goes on anyway."""
PATIENCE_S = 60.0
"""How long a test waits for what must come before it fails; never reached when all is well."""
NAP_S = 0.002
POLL_S = 0.005

_at_work: set[Future[Any]] = set()
"""What threads do for an event loop; it leaves when the loop has heard what came of it."""


async def still(soon_s: float = SOON_S, busy_s: float = BUSY_S) -> bool:
    """Return when nothing will happen by itself within `soon_s` seconds.

    Returns:
        False if something still happened after `busy_s` seconds.
    """
    loop: Any = asyncio.get_running_loop()
    until = time.monotonic() + busy_s
    while time.monotonic() < until:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        wait_s = _next(loop, soon_s)
        if wait_s is None:
            return True
        await asyncio.sleep(wait_s)
    return False


def _next(loop: Any, soon_s: float) -> float | None:
    """Seconds until it is worth looking again; None when nothing will happen soon."""
    if any(future.get_loop() is loop for future in _at_work):
        return NAP_S
    now = loop.time()
    due = [handle.when() - now for handle in loop._scheduled if not handle.cancelled()]
    soonest = min(due, default=soon_s)
    return max(0.0, soonest) if soonest < soon_s else None


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
        future = cast(Future[Any], run_in_executor(cast(Any, self), *args))
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

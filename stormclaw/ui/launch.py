"""Starts the app: what must be so before Textual is imported, and a collector that keeps quiet."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from stormclaw.ui.start import Start

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime

FPS = "240"
"""The grid of Textual's screen timer, 4 ms: a key waits for the next line of it."""

THRESHOLDS = (5_000, 10, 20)


def launch(start: Start, opener: Callable[[], Awaitable[Runtime]]) -> int:
    """Run the full-screen app until it is left.

    Args:
        start: What the first paint shows.
        opener: Makes the runtime; called after the first paint.

    Returns:
        The exit code.
    """
    gc.disable()
    prepare(start)
    from stormclaw.ui.app import StormApp
    from stormclaw.ui.driver import StormDriver

    app = StormApp(start, opener, driver_class=StormDriver)
    app.after_paint = settle_memory
    app.run(mouse=start.ui.mouse)
    return app.return_code or 0


def prepare(start: Start) -> None:
    """Set what Textual reads while it is imported."""
    os.environ.setdefault("TEXTUAL_FPS", FPS)
    os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    if start.ui.motion == "reduced":
        os.environ["TEXTUAL_ANIMATIONS"] = "none"


BIG = 128 * 1024
"""Bytes from which a piece of memory is asked of the system, and given back to it, by itself."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""What glibc's `mallopt` calls them."""


def settle_memory() -> None:
    """Nothing made until now is looked at by the collector again; from here it runs rarely.

    Called when the first screen is there, and again when its conversation is.
    """
    if gc.get_freeze_count():
        _give_back()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


def _give_back() -> None:
    """Have the C library give memory back: every request is a copy of the conversation, and left
    to itself glibc keeps ever larger pieces of freed memory, one heap for each thread.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # Another C library: its own habits.
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in ((M_MMAP_THRESHOLD, BIG), (M_TRIM_THRESHOLD, BIG), (M_ARENA_MAX, 2)):
            mallopt(option, value)

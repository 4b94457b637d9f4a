"""The other side of `_apart`: lowers its own limits, then does the one thing it was started for."""

from __future__ import annotations

import contextlib
import importlib
import resource
import sys
import threading

MAX_MEMORY = 1 << 30
"""Bytes of address space."""
MAX_DEPTH = 6_000
"""Nested calls: pages and documents are nested deeper than Python's usual thousand."""
STACK = 256 * 1024 * 1024


def serve() -> None:
    """`argv`: module:function, seconds of CPU time, arguments; the exit status is 1 on failure."""
    _, function, seconds, *arguments = sys.argv
    for kind, most in (
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # Not every system limits everything.
            resource.setrlimit(kind, (most, most))
    module, _, name = function.partition(":")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            getattr(importlib.import_module(f"stormclaw.tools.{module}"), name)(*arguments)
            sys.stdout.flush()
        except BaseException as failure:  # noqa: BLE001 - told to whoever started this
            failures.append(failure)

    sys.setrecursionlimit(MAX_DEPTH)
    threading.stack_size(STACK)
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    if failures:
        failure = failures[0]
        sys.stderr.write(f"{type(failure).__name__}: {' '.join(str(failure).split())[:500]}\n")
        sys.exit(1)

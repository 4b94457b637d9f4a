"""The emergency stop: a file that any shell can touch and every tool call looks for."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = "ESTOP"
MAX_RECORD = 65_536
MAX_FOUND = 100
MAX_COMMAND = 400


def path(home: Path) -> Path:
    """The file that stops every tool while it exists."""
    return home / FILE


def is_stopped(home: Path) -> bool:
    """Whether tools are stopped; one look at the disk.

    A file that cannot be looked at counts as a stop, unless its folder does not exist.
    """
    try:
        os.lstat(path(home))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def set(  # noqa: A001 - read as `estop.set`
    home: Path, by: str, found: Iterable[tuple[int, str]] = ()
) -> None:
    """Stop all tools.

    Args:
        home: StormClaw's own folder; made if need be.
        by: Who stops them, for the person.
        found: The commands that ran at that moment, each with the process id of its StormClaw,
            so that each StormClaw can say what it lost.

    Raises:
        OSError: The file cannot be made; nothing is stopped then.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    lost = [[pid, command[:MAX_COMMAND]] for pid, command in found][:MAX_FOUND]
    record = json.dumps({"by": by, "at": time.time(), "found": lost}).encode()
    descriptor, temporary = tempfile.mkstemp(dir=home, prefix=".estop-")
    try:
        os.write(descriptor, record + b"\n")
        os.fsync(descriptor)
        Path(temporary).replace(path(home))
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        path(home).touch()  # a full disk still has room for an empty file, and that stops too
    finally:
        os.close(descriptor)


def clear(home: Path) -> bool:
    """Let tools run again; False if they were not stopped."""
    try:
        path(home).unlink()
    except FileNotFoundError:
        return False
    return True


def reason(home: Path) -> str:
    """Who stopped the tools, "" if nobody did."""
    if not is_stopped(home):
        return ""
    by = _record(home).get("by")
    return by if isinstance(by, str) and by else f"the file {path(home)}"


def since(home: Path) -> float | None:
    """When the tools were stopped, in Unix seconds; None if they are not."""
    at = _record(home).get("at")
    if isinstance(at, int | float) and not isinstance(at, bool):
        return float(at)
    with contextlib.suppress(OSError):
        return os.lstat(path(home)).st_mtime
    return None


def found(home: Path, pid: int) -> tuple[str, ...]:
    """The commands of one StormClaw that ran when the stop was set, as its setter saw them."""
    entries = _record(home).get("found")
    return tuple(
        entry[1]
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, list) and len(entry) == 2 and entry[0] == pid
        if isinstance(entry[1], str)
    )


def signature(home: Path) -> tuple[int, int] | None:
    """Which stop it is, so that a second one right after a first is noticed; None without one."""
    try:
        there = os.lstat(path(home))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0, 0
    return there.st_ino, there.st_mtime_ns


def _record(home: Path) -> dict[str, Any]:
    try:
        with path(home).open("rb") as file:
            record = json.loads(file.read(MAX_RECORD))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}

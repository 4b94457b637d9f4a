"""The processes of this machine: whose child each is, whose mark it carries, and safe signals.

On Linux from /proc. Elsewhere (macOS) from `ps`, which tells start times to the second only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

MARK = "STORMCLAW_RUN"
"""In the environment of all that tools start: `<home>.<pid>.<started>`, then `.<call>`."""

CALL_PARTS = 3
"""Dots in a mark that names a call."""

Hit: TypeAlias = Literal["hit", "gone", "refused"]

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Proc:
    """A process; `started` tells it apart from a later one with the same id."""

    pid: int
    started: int
    parent: int
    session: int
    group: int
    zombie: bool

    @property
    def identity(self) -> tuple[int, int]:
        """Which process it is, whatever becomes of its parent, group and session."""
        return self.pid, self.started


def processes() -> dict[int, Proc]:
    """All processes, by id."""
    try:
        names = os.listdir(PROC)  # noqa: PTH208 - names, not paths
    except OSError:
        from stormclaw.processes_ps import table

        return {row[0]: Proc(*row) for row in table()}
    found = (_proc(int(name)) for name in names if name.isdigit())
    return {proc.pid: proc for proc in found if proc is not None}


def look(pid: int) -> Proc | None:
    """One process; None if there is none with this id."""
    if _has_proc():
        return _proc(pid)
    from stormclaw.processes_ps import table

    return next((Proc(*row) for row in table(pid)), None)


def is_alive(proc: Proc) -> bool:
    """Whether it still runs: the same process, and no zombie."""
    now = look(proc.pid)
    return now is not None and now.started == proc.started and not now.zombie


def alive(family: Iterable[Proc]) -> Iterator[Proc]:
    """Those of a family that still run."""
    return (proc for proc in family if is_alive(proc))


def with_descendants(wanted: Iterable[int], there: Mapping[int, Proc]) -> set[int]:
    """The ids, those among them that exist, and all their descendants."""
    children: dict[int, list[int]] = {}
    for proc in there.values():
        children.setdefault(proc.parent, []).append(proc.pid)
    family = {pid for pid in wanted if pid in there}
    todo = list(family)
    while todo:
        fresh = [pid for pid in children.get(todo.pop(), ()) if pid not in family]
        family.update(fresh)
        todo += fresh
    return family


def ancestors(pid: int, there: Mapping[int, Proc]) -> set[int]:
    """The process itself, its parent, and so on up."""
    line: set[int] = set()
    while pid in there and pid not in line:
        line.add(pid)
        pid = there[pid].parent
    return line


def argv_of(pid: int) -> tuple[str, ...]:
    """The words a process was started with; () if it is gone."""
    if not _has_proc():
        from stormclaw.processes_ps import command

        return tuple(command(pid).split())
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(raw.rstrip(b"\0").decode("utf-8", "replace").split("\0")) if raw else ()


def command_of(pid: int) -> str:
    """The command line of a process, "" if it is gone."""
    return " ".join(argv_of(pid)).strip()


def name_of(pid: int) -> str:
    """The short name of a process that shows no command line; "?" if there is none."""
    try:
        return (PROC / str(pid) / "comm").read_text("utf-8", "replace").strip() or "?"
    except OSError:
        return "?"


# Marks --------------------------------------------------------------------------------------


def mark_of(pid: int) -> str:
    """The mark a process was started with; "" if none, or if it cannot be read."""
    if not _has_proc():
        from stormclaw.processes_ps import environ_word

        return environ_word(pid, MARK)
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123 - many times
            raw = file.readall()
    except OSError:
        return ""
    head = f"{MARK}=".encode()
    for entry in raw.split(b"\0") if head in raw else ():
        if entry.startswith(head):
            return entry[len(head) :].decode("utf-8", "replace")
    return ""


def call_mark_of(pid: int) -> str:
    """The mark of the call a process was started for; "" if its mark names no single call."""
    mark = mark_of(pid)
    return mark if mark.count(".") >= CALL_PARTS else ""


def marks(there: Iterable[int]) -> dict[int, str]:
    """The marks of those processes of this user that carry one."""
    ours = [pid for pid in there if _is_ours(pid)] if _has_proc() else there
    found = ((pid, mark_of(pid)) for pid in ours)
    return {pid: mark for pid, mark in found if mark}


def marked_call(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for one call: its mark gets a part of its own."""
    mark = environ.get(MARK)
    return {**environ, MARK: f"{mark}.{secrets.token_hex(6)}"} if mark else dict(environ)


def carries(mark: str, wanted: str) -> bool:
    """Whether a mark is the wanted one or a part of it."""
    return bool(wanted) and (mark == wanted or mark.startswith(f"{wanted}."))


# Signals ------------------------------------------------------------------------------------


def send(proc: Proc, number: signal.Signals) -> Hit:
    """Signal this very process, never a later one with its id."""
    if proc.pid <= 1:
        return "refused"
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        with contextlib.suppress(NotImplementedError):
            return _send_held(proc, number)
    if not is_alive(proc):
        return "gone"
    return _kill(proc.pid, number)


if sys.platform == "linux":

    def _send_held(proc: Proc, number: signal.Signals) -> Hit:
        try:
            held = os.pidfd_open(proc.pid)
        except ProcessLookupError:
            return "gone"
        except OSError as problem:
            raise NotImplementedError("no pidfd here") from problem
        try:
            if not is_alive(proc):
                return "gone"
            signal.pidfd_send_signal(held, number)
        except ProcessLookupError:
            return "gone"
        except PermissionError:
            return "refused"
        except OSError as problem:
            raise NotImplementedError("no pidfd here") from problem
        finally:
            os.close(held)
        return "hit"

else:

    def _send_held(proc: Proc, number: signal.Signals) -> Hit:
        raise NotImplementedError("no pidfd here")


def _kill(pid: int, number: signal.Signals) -> Hit:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "refused"
    return "hit"


def _has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()  # noqa: PTH116 - many times
    except OSError:
        return False


def _proc(pid: int) -> Proc | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - many times
            text = file.readall().decode("utf-8", "replace")
    except OSError:
        return None
    # The name before the last bracket may hold anything, brackets and spaces included.
    fields = text.rpartition(")")[2].split()
    state, parent, group, session = fields[0], *map(int, fields[1:4])
    return Proc(pid, int(fields[19]), parent, session, group, state in {"Z", "X"})

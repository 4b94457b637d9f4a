"""Ends a process with everything it started, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Iterator

from stormclaw.processes import (
    Proc,
    alive,
    call_mark_of,
    carries,
    command_of,
    marks,
    processes,
    send,
    with_descendants,
)

__all__ = ["command_of", "family_of", "stop_family"]

GRACE_S = 2.0
"""Between asking a process to end and ending it."""
GONE_S = 2.0
"""How long what was killed may take to be gone; in the middle of a disk access it can."""
POLL_S = 0.02
KILL_AGAIN = 25
"""How often those that appear while killing are looked for."""


async def stop_family(process: asyncio.subprocess.Process, grace_s: float = GRACE_S) -> None:
    """End the leader of a session and all it started: TERM, a grace period, KILL.

    Children that left the group or the session are found as long as they descend from the leader
    when this is called, or carry the mark it was started with: so are daemons whose parent is gone.
    If the wait is cancelled, KILL comes at once.
    """
    leader = process.pid
    mark = call_mark_of(leader)
    family = _by_identity(family_of(leader, mark))
    try:
        _signal(leader, family.values(), signal.SIGTERM)
        for _ in range(round(grace_s / POLL_S)):
            if process.returncode is not None and not any(alive(family.values())):
                break
            await asyncio.sleep(POLL_S)
    finally:
        _kill(process, mark, family)
    await process.wait()
    for _ in range(round(GONE_S / POLL_S)):  # The kernel takes its time with what was killed.
        if not any(alive(family.values())):
            break
        await asyncio.sleep(POLL_S)


def family_of(leader: int, mark: str = "") -> Iterator[Proc]:
    """The leader, its session, who carries its mark, and all their descendants.

    Args:
        leader: Its process id.
        mark: The mark it was started with, "" to leave that out.
    """
    there = processes()
    wanted = {proc.pid for proc in there.values() if leader in (proc.pid, proc.session)}
    if mark:
        wanted |= {pid for pid, found in marks(there).items() if carries(found, mark)}
    return (there[pid] for pid in with_descendants(wanted, there))


def _kill(
    process: asyncio.subprocess.Process, mark: str, family: dict[tuple[int, int], Proc]
) -> None:
    """Kill until nothing new appears."""
    for _ in range(KILL_AGAIN):
        family.update(_by_identity(family_of(process.pid, mark)))
        for survivor in list(alive(family.values())):
            family.update(_by_identity(family_of(survivor.pid)))
        if process.returncode is not None and not any(alive(family.values())):
            return
        before = len(family)
        _signal(process.pid, family.values(), signal.SIGKILL)
        family.update(_by_identity(family_of(process.pid, mark)))
        if len(family) == before:
            return


def _by_identity(procs: Iterable[Proc]) -> dict[tuple[int, int], Proc]:
    return {proc.identity: proc for proc in procs}


def _signal(leader: int, family: Iterable[Proc], number: signal.Signals) -> None:
    """Signal the group at once, then those who left it."""
    there = list(alive(family))
    if any(proc.group == leader for proc in there):  # else the number may be a stranger's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)
    for proc in there:
        if proc.group != leader:
            send(proc, number)

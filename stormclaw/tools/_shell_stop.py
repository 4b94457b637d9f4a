"""Stops a shell line with all it started, inside its walls or without any."""

from __future__ import annotations

import asyncio
import signal

from stormclaw.processes import Proc, alive, send
from stormclaw.protocol.tool import Launch
from stormclaw.tools._procs import GRACE_S, POLL_S, family_of, stop_family

NAMESPACES = "bwrap"
"""The level at which a command has namespaces of its own."""


async def stop(process: asyncio.subprocess.Process, launch: Launch) -> None:
    """End the shell and all it started; those who listen may tidy up first."""
    if launch.level == NAMESPACES:
        await stop_inside(process)
    else:
        await stop_family(process)


async def stop_inside(process: asyncio.subprocess.Process, grace_s: float = GRACE_S) -> None:
    """The same for a program in namespaces.

    Everything in them is killed the moment their keeper goes, so the keeper goes last.
    """
    try:
        inside = {each.identity: each for each in family_of(process.pid) if _inside(each, process)}
        for each in inside.values():
            send(each, signal.SIGTERM)
        for _ in range(round(grace_s / POLL_S)):
            if process.returncode is not None or not any(alive(inside.values())):
                break
            await asyncio.sleep(POLL_S)
    finally:
        await stop_family(process, 0)


def _inside(proc: Proc, keeper: asyncio.subprocess.Process) -> bool:
    """Whether it is neither the keeper nor the first process of the namespace, its child."""
    return keeper.pid not in (proc.pid, proc.parent)

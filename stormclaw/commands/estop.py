"""`/estop [clear]`: no tool runs in any StormClaw of this person until it is cleared."""

from __future__ import annotations

import asyncio
import logging

from stormclaw.log import event
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime
from stormclaw.security import estop
from stormclaw.security.halting import halt_all

BY = "/estop"


async def _run(runtime: Runtime, rest: str) -> Answer:
    if rest == "clear":
        try:
            was = estop.clear(runtime.home)
        except OSError as problem:
            return Answer(f"{estop.path(runtime.home)} cannot be removed: {problem}", ok=False)
        runtime.changed()
        return Answer("tools may run again" if was else "there was no emergency stop")
    if rest:
        return Answer(f"/estop or /estop clear, not {rest!r}", ok=False)
    return await _stop(runtime)


async def _stop(runtime: Runtime) -> Answer:
    loop = asyncio.get_running_loop()

    def then() -> None:
        loop.call_soon_threadsafe(runtime.stop_everything)

    halted, problem = await asyncio.to_thread(halt_all, runtime.home, BY, then)
    event(logging.getLogger(__name__), "estop_triggered", by=BY, killed=len(halted.killed))
    runtime.changed()
    killed = [f"killed {found.proc.pid} {found.command}" for found in halted.killed]
    left = [f"COULD NOT KILL {found.proc.pid} {found.command}" for found in halted.left]
    head = "stopped: no tool runs until /estop clear; text answers go on"
    if problem:
        head = f"NOT stopped, the file cannot be made: {problem}"
    return Answer("\n".join([head, *killed, *left]), ok=not (left or problem))


COMMAND = Command("estop", "Emergency stop of all tools, everywhere", _run, "[clear]")

"""`/doctor`: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

import asyncio
import shutil
import sys

from stormclaw.commands.checkup import Patient, examine, lines, sound
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    if rest:
        return Answer(f"/doctor takes nothing, not {rest!r}", ok=False)
    place, size = runtime.place, shutil.get_terminal_size()
    patient = Patient(
        home=place.home,
        workspace=place.workspace,
        env=place.env,
        settings=place.settings,
        place=place,
        complaint="",
        at_terminal=sys.stdin is not None and sys.stdin.isatty(),
        size=(size.columns, size.lines),
    )
    findings = await asyncio.to_thread(examine, patient)
    return Answer("\n".join(lines(findings)), ok=sound(findings))


COMMAND = Command("doctor", "Check terminal, sandbox, programs, network, stores", _run)

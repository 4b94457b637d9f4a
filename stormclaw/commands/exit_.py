"""`/exit`: leave; everything is on disk already."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command, Quit
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    return Answer(change=Quit())


COMMAND = Command("exit", "Leave StormClaw", _run, aliases=("quit", "q"))

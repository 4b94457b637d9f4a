"""`/new`: another session; this one stays and can be resumed."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command, OpenSession
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    return Answer(change=OpenSession())


COMMAND = Command("new", "Start a new session; this one can be resumed", _run)

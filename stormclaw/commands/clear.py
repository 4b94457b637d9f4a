"""`/clear`: begin anew with an empty context. Nothing is deleted: it is `/new` by another name."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command, OpenSession
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    return Answer(change=OpenSession())


COMMAND = Command("clear", "Empty the context; the session before can be resumed", _run)

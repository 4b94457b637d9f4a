"""`/rename TITLE`: what this session is called in lists."""

from __future__ import annotations

from stormclaw.errors import UsageError
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    if not rest.strip():
        raise UsageError("/rename TITLE; without a title nothing changes")
    named = await runtime.rename_session(rest)
    runtime.changed()
    return Answer(f"this session is called {named!r} from here")


COMMAND = Command("rename", "Give this session another title", _run, "TITLE")

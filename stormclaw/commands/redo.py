"""`/redo`: takes back the last `/undo` or `/rewind`."""

from __future__ import annotations

from stormclaw.commands.back import brought, idle, left_alone
from stormclaw.protocol.command import Answer, Command, Draft
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    idle(runtime)
    back = await runtime.session.history.redo()
    if back is None:
        words = "nothing to bring back: nothing was taken back, or something was said since"
        return Answer(words, ok=False)
    lines = (brought(back), *left_alone(back))
    return Answer("\n".join(lines), change=Draft(), ok=not back.failed)


COMMAND = Command("redo", "Take back the last /undo or /rewind", _run)

"""`/resume [ID]`: go back to an earlier session."""

from __future__ import annotations

from stormclaw.commands.ages import age
from stormclaw.protocol.command import Answer, Command, OpenSession
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime
from stormclaw.store import sessions


async def _run(runtime: Runtime, rest: str) -> Answer:
    if rest:
        return Answer(change=OpenSession(sessions.load(runtime.home, rest).id))
    known = sessions.list_sessions(runtime.home, runtime.workspace)
    rows = tuple((info.id, age(info.updated), info.title or "(nothing said)") for info in known)
    text = "" if rows else "no earlier session in this folder"
    return Answer(text, Table(("id", "when", "title"), rows) if rows else None, screen="resume")


COMMAND = Command("resume", "Go back to an earlier session", _run, "[ID]", aliases=("sessions",))

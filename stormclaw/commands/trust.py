"""`/trust`: let this project's own configuration widen what is allowed here, or take that back."""

from __future__ import annotations

import asyncio

from stormclaw.config import trust
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    home, workspace = runtime.home, runtime.workspace
    if rest == "no":
        taken = await asyncio.to_thread(trust.untrust, home, workspace)
        runtime.reload()
        return Answer("no longer trusted" if taken else "it was not trusted")
    found = trust.asks_for(workspace, runtime.place.loaded.warnings)
    if rest == "yes":
        trust.trust(home, workspace)
        runtime.reload()
        return Answer("trusted; if any of it changes, this is asked again")
    if runtime.place.trusted:
        return Answer("this folder is trusted as it is now; /trust no takes it back")
    if not found:
        return Answer("the project asks for nothing that needs trust")
    rows = tuple((one.kind, one.what, one.where) for one in found)
    return Answer(
        "/trust yes trusts all of this as it is now", Table(("kind", "what", "from"), rows)
    )


COMMAND = Command("trust", "What this project asks for; trust it", _run, "[yes|no]")

"""`/help`: what can be typed here."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    from stormclaw.commands.run import commands

    rows = tuple(
        (f"/{command.name} {command.usage}".rstrip(), command.summary)
        for command in commands().values()
    )
    return Answer(table=Table(("command", "does"), rows), screen="help")


COMMAND = Command("help", "Keys and commands", _run)

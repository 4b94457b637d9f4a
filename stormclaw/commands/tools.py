"""`/tools`: what the model may use here."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    rows = tuple(
        (tool.name, tool.description.partition(". ")[0].rstrip("."), ", ".join(tool.aliases))
        for tool in runtime.tools.values()
    )
    return Answer(table=Table(("tool", "does", "also called"), rows), screen="tools")


COMMAND = Command("tools", "Tools the model may use", _run)

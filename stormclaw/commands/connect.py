"""`/connect`: walk to a real model. A screen asks for what is needed; a line names the way."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.providers.connectable import connectables
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    rows = tuple((one.name, one.label, one.where) for one in connectables())
    text = "without a screen: leave and run `stormclaw onboard`"
    return Answer(text, Table(("name", "provider", "where"), rows), screen="connect")


COMMAND = Command("connect", "Connect a model: key, test call, done", _run, "[PROVIDER]")

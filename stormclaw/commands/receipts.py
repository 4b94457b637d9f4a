"""`/receipts`: every attempted call of this session, and whether the chain holds."""

from __future__ import annotations

import asyncio

from stormclaw.commands.chain import sentence
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime

COLUMNS = ("id", "time", "agent", "tool", "object", "risk", "decided by")


async def _run(runtime: Runtime, rest: str) -> Answer:
    if runtime.receipts is None:
        return Answer("receipts are off (receipts.enabled)", ok=False)
    everywhere = rest == "all"
    session_id = "" if everywhere else runtime.session.id
    receipts = await asyncio.to_thread(runtime.receipts.read, 200, session_id)
    verification = await asyncio.to_thread(runtime.receipts.verify)
    rows = tuple(
        (
            f"r{receipt.number}",
            receipt.timestamp[11:19],
            str(receipt.extra.get("agent", "")),
            receipt.tool,
            str(receipt.extra.get("object", "")),
            str(receipt.extra.get("verdict", receipt.risk)),
            str(receipt.extra.get("decided_by", "")),
        )
        for receipt in receipts
    )
    return Answer(
        sentence(verification),
        Table(COLUMNS, rows),
        screen="receipts",
        ok=verification.ok,
    )


COMMAND = Command("receipts", "Receipts of this session, and the chain", _run, "[all]")

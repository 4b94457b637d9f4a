"""`/verify`: replay the whole chain of receipts."""

from __future__ import annotations

import asyncio

from stormclaw.commands.chain import told
from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    if runtime.receipts is None:
        return Answer("receipts are off (receipts.enabled)", ok=False)
    verification = await asyncio.to_thread(runtime.receipts.verify)
    return Answer("\n".join(told(verification)), ok=verification.ok)


COMMAND = Command("verify", "Replay the chain of receipts", _run)

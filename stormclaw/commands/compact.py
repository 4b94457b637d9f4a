"""`/compact [FOCUS]`: sum up what is old; the originals stay and can be brought back."""

from __future__ import annotations

import asyncio

from stormclaw.agent.context.compaction import short
from stormclaw.agent.context.compaction_cut import is_said
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.messages import Summary
from stormclaw.runtime import Runtime

OFF = "compaction is switched off (context.compaction: off)"
STOPPED = "stopped: nothing was summed up"
NOTHING = "nothing is old enough to be summed up: the newest part always stays"


async def _run(runtime: Runtime, rest: str) -> Answer:
    session = runtime.session
    if session.kit.context.compaction == "off":
        return Answer(OFF, ok=False)
    try:
        summary = await session.occupied(session.desk.compact(rest))
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if me is not None and me.cancelling():
            raise
        return Answer(STOPPED, ok=False)
    if summary is None:
        return Answer(NOTHING)
    gone = set(summary.replaces)
    count = sum(node.id in gone and is_said(node) for node in session.nodes())
    return Answer(_told(summary, count))


def _told(summary: Summary, count: int) -> str:
    sizes = f"{short(summary.before)} -> {short(summary.after)} tokens"
    cost, about = summary.usage.cost_usd, "~" if summary.usage.cost_estimated else ""
    price = f", {about}${cost:.4f}" if cost else ""
    by = "" if summary.model else ", without a model"
    messages = f"{count} message{'' if count == 1 else 's'}"
    return f"{messages}, {sizes}{price}{by}; /context shows them, u there brings them back"


COMMAND = Command("compact", "Sum up what is old; the originals stay", _run, "[FOCUS]")

"""What ends a turn that does not end itself: rounds and money. A person may say: go on."""

from __future__ import annotations

from stormclaw.agent.kit import Kit
from stormclaw.protocol.asks import Question

GO_ON, STOP = "go on", "stop"


async def spent(kit: Kit, rounds: int) -> str:
    """Why no further request may be made after `rounds` rounds of tools; "" if one may.

    A used-up budget always stops. A used-up number of rounds is put to the person, if there is one,
    each time it fills up again.
    """
    if reason := kit.purse.exhausted():
        return reason
    allowed = kit.limits.max_tool_rounds
    if rounds == 0 or rounds % allowed:
        return ""
    text = f"{kit.agent} has used tools {rounds} rounds in this turn. Go on?"
    return "" if await confirmed(kit, text) else f"the limit of {allowed} tool rounds is reached"


async def confirmed(kit: Kit, text: str) -> bool:
    """Ask the person a yes or no; no answer, or nobody there, is no."""
    reply = await kit.asks.put(Question(kit.asks.new_id(), kit.agent, text, (GO_ON, STOP)))
    return reply.choice == "text" and reply.text == GO_ON

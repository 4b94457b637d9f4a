"""A command failed because of its sandbox: may it run again with what it lacked?

Only a person can open the walls, one call at a time or by a standing grant; nothing is tried again
by itself, and the model has no say in it.
"""

from __future__ import annotations

from dataclasses import replace

from stormclaw.agent.attempt import Attempt
from stormclaw.agent.kit import Kit
from stormclaw.agent.permission import obtain
from stormclaw.agent.sealing import receipted
from stormclaw.agent.weigh import Weighed, weigh
from stormclaw.errors import ToolFailure
from stormclaw.log import one_line
from stormclaw.protocol.effects import Reach
from stormclaw.protocol.tool import Lack
from stormclaw.store.durable import finish

MOST_TRIES = 3
"""Network first, then a folder, then another: beyond that the model had better think."""


def lacking(attempt: Attempt, kit: Kit) -> Lack | None:
    """What the person could open for another try; None where there is nothing, or nobody to ask."""
    lack = attempt.result.lack if attempt.result is not None else None
    if lack is None or not kit.asks.attended or kit.stopped():
        return None
    reach = attempt.permit.verdict.reach
    return lack if reach | lack.reach != reach else None


async def wider(
    attempt: Attempt, weighed: Weighed, lack: Lack, kit: Kit
) -> tuple[Attempt, Weighed]:
    """Put the receipt of the failed try, and ask for a wider one -> that one, permitted or not.

    Raises:
        StoreError: The receipt could not be written.
    """
    await finish(receipted(attempt, kit))
    following = Attempt(attempt.call, attempt.author, attempt.tool, attempt.headline)
    following.permit.arguments = attempt.permit.arguments
    reach = attempt.permit.verdict.reach | lack.reach
    because = f"the sandbox kept it from {named(lack.reach)}: {one_line(lack.sign)[:120]}"
    try:
        call = replace(attempt.call, arguments=attempt.permit.arguments or attempt.call.arguments)
        weighed = weigh(call, kit, reach)
        weighed = await obtain(weighed, following.permit, kit, attempt.author, because)
    except ToolFailure as failure:
        following.fail(failure)
        return following, weighed
    if not following.permit.granted:
        remark = f"[not run again with {named(lack.reach)}: {following.permit.refusal}]"
        following.close("denied", f"{attempt.output}\n\n{remark}", following.permit.refusal_summary)
    return following, weighed


def named(reach: Reach) -> str:
    """`the network`, `network to a.example`, `/home/ann/.cache/uv`, or several of them."""
    parts = ["the network"] if reach.network else []
    if reach.hosts and not reach.network:
        parts.append(f"network to {', '.join(reach.hosts)}")
    return " and ".join((*parts, *map(str, reach.folders)))

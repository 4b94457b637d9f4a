"""One tool call, from the model's words to an outcome with a receipt.

There is one door: `perform`. It weighs (parse, effects, gate), asks if it must, runs, and whatever
happens - allowed, denied, failed, unknown tool, interrupted - writes the receipt and says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace

from stormclaw.agent.again import MOST_TRIES, lacking, wider
from stormclaw.agent.attempt import Attempt
from stormclaw.agent.kit import Kit
from stormclaw.agent.leash import Pulled
from stormclaw.agent.permission import obtain
from stormclaw.agent.screening import screened
from stormclaw.agent.sealing import Outcomes, intended, publish, sealed
from stormclaw.agent.weigh import Refused, Weighed, context, only_looks, weigh
from stormclaw.errors import StoreError, ToolFailure
from stormclaw.log import event
from stormclaw.protocol.effects import Spawns
from stormclaw.protocol.events import ToolStarted
from stormclaw.protocol.messages import Author, Delegation, ToolCall, ToolOutcome
from stormclaw.store.durable import finish

LOG = logging.getLogger(__name__)


def side_by_side(call: ToolCall, kit: Kit) -> bool:
    """Whether this call only looks (or delegates), so that it may run beside its neighbours."""
    try:
        weighed = weigh(call, kit)
    except Refused:
        return True
    return bool(weighed.effects) and only_looks(weighed)


async def perform(call: ToolCall, kit: Kit, outcomes: Outcomes, author: Author = "model") -> None:
    """Do what `call` asks if it may be done, and put what came of it into `outcomes`.

    What a tool or a model does wrong becomes an outcome, never an exception.

    Raises:
        StoreError: The receipt could not be written.
        asyncio.CancelledError: Interrupted; receipt and outcome are there all the same.
    """
    attempt = Attempt.of(call, author)
    event(LOG, "tool_requested", tool=call.name, agent=kit.agent)
    try:
        await kit.walls.ready()
        weighed = await _permitted(attempt, kit)
        tries = 1
        while weighed is not None and attempt.permit.granted:
            await _run(attempt, weighed, kit)
            lack = lacking(attempt, kit)
            if lack is None or tries == MOST_TRIES:
                break
            tries += 1
            attempt, weighed = await wider(attempt, weighed, lack, kit)
    finally:
        await finish(sealed(attempt, kit, outcomes))


async def abandon(
    call: ToolCall,
    kit: Kit,
    outcomes: Outcomes,
    why: str = "interrupted by the person before it began",
    receipt: int = 0,
) -> None:
    """The outcome of a call that was never begun, or whose end nobody saw.

    Args:
        call: The call.
        kit: Whose it was.
        outcomes: Filled in.
        why: For the model.
        receipt: Number of the receipt it has already; 0 writes one.
    """
    attempt = Attempt.of(call)
    with suppress(Refused):
        weighed = weigh(call, kit)
        attempt.tool, attempt.headline = weighed.tool.name, weighed.headline
    attempt.output = why
    if receipt:
        publish(attempt, receipt, kit, outcomes)
    else:
        await sealed(attempt, kit, outcomes)


async def _permitted(attempt: Attempt, kit: Kit) -> Weighed | None:
    """The call as it may run; None when it makes no sense or may not, which `attempt` then says."""
    try:
        weighed = weigh(attempt.call, kit)
    except Refused as refusal:
        attempt.tool, attempt.headline = refusal.tool, refusal.headline
        attempt.close("failed", str(refusal), refusal.summary)
        kit.hub.publish(
            ToolStarted(kit.agent, attempt.call, attempt.tool, attempt.headline, "low", None)
        )
        return None
    attempt.tool, attempt.headline = weighed.tool.name, weighed.headline
    try:
        weighed = await obtain(weighed, attempt.permit, kit, attempt.author)
    except ToolFailure as failure:
        attempt.fail(failure)
        return None
    attempt.headline = weighed.headline
    if not attempt.permit.granted:
        event(LOG, "tool_denied", tool=attempt.tool, rule=attempt.permit.verdict.rule)
        attempt.close("denied", attempt.permit.refusal, attempt.permit.refusal_summary)
        return None
    return weighed


async def _run(attempt: Attempt, weighed: Weighed, kit: Kit) -> None:
    if not only_looks(weighed):
        await intended(attempt, kit)
    event(LOG, "tool_approved", tool=attempt.tool, by=attempt.permit.decided_by)
    limit = None if weighed.tool.own_time else kit.limits.tool_timeout_s
    snapshots = kit.snapshots.around(attempt.call.id, weighed.effects)
    try:
        async with snapshots, _held(weighed, kit), asyncio.timeout(limit):
            attempt.began = time.monotonic()
            verdict = attempt.permit.verdict
            ctx = context(kit, attempt.call.id, verdict.reach, verdict.places)
            result = await weighed.tool.run(weighed.arguments, ctx)
    except ToolFailure as failure:
        attempt.fail(failure)
    except Pulled:
        attempt.close("interrupted", "", "")
        attempt.stopped(kit.stopped() or "set, and cleared again")
    except TimeoutError:
        attempt.close("failed", f"timed out after {limit:g} s", f"timed out after {limit:g}s")
    except StoreError:
        raise
    except Exception:
        LOG.exception("tool %s failed in a way it should not", attempt.tool)
        message = f"{attempt.tool} failed through a fault of its own; it is in the log"
        attempt.close("failed", message, "internal error")
    else:
        attempt.done(result)
    await screened(attempt, kit)
    if attempt.status != "done" and not attempt.ended_by and (reason := kit.stopped()):
        attempt.stopped(reason)
    if attempt.permit.arguments is not None:
        changed = f"[the person changed the call before allowing it: {attempt.permit.arguments}]"
        attempt.output = f"{attempt.output}\n\n{changed}"


def _held(weighed: Weighed, kit: Kit) -> AbstractAsyncContextManager[None]:
    """The emergency stop ends tools; a sub-agent's turn goes on in words as its parent's does."""
    delegates = any(isinstance(effect, Spawns) for effect in weighed.effects)
    return nullcontext() if delegates else kit.leash.hold()


def said(body: ToolOutcome | Delegation, output: str) -> ToolOutcome | Delegation:
    """The same outcome with other words for the model."""
    if isinstance(body, Delegation):
        return replace(body, outcome=replace(body.outcome, output=output))
    return replace(body, output=output)

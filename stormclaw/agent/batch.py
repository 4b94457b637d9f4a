"""The calls of one answer: lookers side by side, writers in order, outcomes as they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby

from stormclaw.agent.calls import abandon, perform, said, side_by_side
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.agent.limits import confirmed
from stormclaw.agent.repeats import ASK_THE_PERSON, TELL_THE_MODEL, Repeats
from stormclaw.agent.sealing import Outcomes
from stormclaw.protocol.messages import ToolCall, outcome_of
from stormclaw.store.durable import finish


async def act(
    kit: Kit, conversation: Conversation, calls: Sequence[ToolCall], repeats: Repeats
) -> str:
    """Perform `calls` and commit one outcome for each, whatever happens.

    Returns:
        "" to go on, else why the person wants the turn to end (a call repeated too often).

    Raises:
        asyncio.CancelledError: Interrupted; the calls that did not get to their end are committed
            as interrupted.
    """
    outcomes: Outcomes = {}
    try:
        for together, group in groupby(calls, key=lambda call: side_by_side(call, kit)):
            if together:
                await _all(list(group), kit, outcomes)
            else:
                for call in group:
                    await perform(call, kit, outcomes)
    finally:
        worst = _mark_repeats(calls, outcomes, repeats)
        await finish(_commit(kit, conversation, calls, outcomes))
    if worst and worst % ASK_THE_PERSON == 0:
        text = f"{kit.agent} made the same call {worst} times, with the same result. Go on?"
        if not await confirmed(kit, text):
            return f"the same call {worst} times, with the same result"
    return ""


async def _all(calls: list[ToolCall], kit: Kit, outcomes: Outcomes) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(perform(call, kit, outcomes))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _mark_repeats(calls: Sequence[ToolCall], outcomes: Outcomes, repeats: Repeats) -> int:
    """Tell the model where it goes in circles; returns the highest count seen."""
    worst = 0
    for call in calls:
        body = outcomes.get(call.id)
        outcome = outcome_of(body) if body else None
        if body is None or outcome is None:
            continue
        times = repeats.count(call, outcome)
        worst = max(worst, times)
        if times >= TELL_THE_MODEL:
            hint = (
                f"[same call, same result, {times} times now: try something else, or say why not]"
            )
            outcomes[call.id] = said(body, f"{outcome.output}\n\n{hint}")
    return worst


async def _commit(
    kit: Kit, conversation: Conversation, calls: Sequence[ToolCall], outcomes: Outcomes
) -> None:
    for call in calls:
        if call.id not in outcomes:
            await abandon(call, kit, outcomes)
        await conversation.commit(outcomes[call.id])

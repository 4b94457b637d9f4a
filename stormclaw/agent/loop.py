"""THE loop: ask the model, do what it asks, tell it what came of it, until it asks for nothing.

Read this first. One call of a tool is `calls.perform`; what the model sees is `context/window.py`,
kept short by `context/tidy.py`;
what a front end sees are the events in `protocol.events`.
"""

from __future__ import annotations

import asyncio

from stormclaw.agent.answer import answer
from stormclaw.agent.batch import act
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.inbox import Inbox
from stormclaw.agent.kit import Kit
from stormclaw.agent.limits import spent
from stormclaw.agent.repeats import Repeats
from stormclaw.errors import ProviderError
from stormclaw.protocol.events import TurnEnded, TurnStarted
from stormclaw.protocol.messages import Note, TurnReason, UserText
from stormclaw.store.durable import finish


async def run_turn(kit: Kit, conversation: Conversation, inbox: Inbox) -> Note | None:
    """Work until the model asks for nothing more, or a limit is reached, which a note then tells.

    Every exit leaves a conversation that can be sent again: each call has its outcome.

    Raises:
        ProviderError: The model gave no usable answer.
        StoreError: Something could not be written down, so nothing more was done.
        asyncio.CancelledError: The person interrupted.
    """
    rounds, repeats = 0, Repeats()
    await kit.walls.ready()
    while True:
        if reason := await spent(kit, rounds):
            return Note("limit", reason)
        turn = await answer(kit, conversation)
        if turn.calls and (reason := await act(kit, conversation, turn.calls, repeats)):
            return Note("limit", reason)
        steered = inbox.drain()
        for text in steered:
            await conversation.commit(UserText(text, steered=True))
        if not turn.calls and not steered:
            return None
        rounds += 1


async def take_turn(kit: Kit, conversation: Conversation, inbox: Inbox, text: str) -> TurnReason:
    """Commit what was said, work on it, commit how it ended if it did not end well.

    Raises:
        StoreError: The record cannot be written.
    """
    before = kit.purse.usage
    reason: TurnReason = "failed"
    kit.hub.publish(TurnStarted(kit.agent))
    try:
        reason, note = await _to_the_end(kit, conversation, inbox, text)
        if note is not None:
            await finish(conversation.commit(note))
    finally:
        kit.hub.publish(TurnEnded(kit.agent, reason, kit.purse.usage - before))
    return reason


async def _to_the_end(
    kit: Kit, conversation: Conversation, inbox: Inbox, text: str
) -> tuple[TurnReason, Note | None]:
    try:
        await conversation.commit(UserText(text))
        note = await run_turn(kit, conversation, inbox)
    except asyncio.CancelledError:
        return "interrupted", Note("interrupted", "interrupted by you")
    except ProviderError as error:
        return "failed", Note("failed", str(error), error.hint, error.kind)
    return ("limit" if note else "done"), note

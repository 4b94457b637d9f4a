"""One answer of the model, to as much of the conversation as it takes."""

from __future__ import annotations

from itertools import count

from stormclaw.agent.context.compaction import make_room
from stormclaw.agent.context.tidy import request, tidy
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.agent.think import think
from stormclaw.errors import ProviderError
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import AssistantTurn
from stormclaw.providers.recovery import RECOVERY

MOST_TRIES = 3
"""How often a conversation is made shorter for a provider that finds it too long."""


async def answer(kit: Kit, conversation: Conversation) -> AssistantTurn:
    """Hold back what is old, ask the model; where that was too long, make room and ask again.

    Raises:
        ProviderError: No usable answer.
        StoreError: Something could not be written down.
        asyncio.CancelledError: Interrupted.
    """
    if not kit.provider.capabilities().acts:  # Such a program keeps its own context.
        await tidy(kit, conversation)
    for tries in count(1):
        try:
            return await think(kit, conversation, request(kit, conversation))
        except ProviderError as error:
            if not RECOVERY[error.kind].compact or error.partial or tries > MOST_TRIES:
                raise
            kit.hub.publish(Notice(kit.agent, "warning", f"{error}; making room"))
            if not await make_room(kit, conversation):
                raise
    raise AssertionError("counting ends")

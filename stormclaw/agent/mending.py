"""What a crash left in a conversation: calls without an end, a turn without one."""

from __future__ import annotations

from stormclaw.agent.calls import abandon
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.history.tree import cut_off
from stormclaw.agent.kit import Kit
from stormclaw.agent.sealing import Outcomes, proof_of, unended
from stormclaw.protocol.messages import Note, open_calls

CUT_OFF = "the program ended in the middle of this turn; say something to go on"
ENDED = "the program ended before this was done; look at what it left before you do it again"


async def mend(kit: Kit, conversation: Conversation) -> None:
    """Give every open call its outcome, and say of a turn that was cut off that it was.

    Raises:
        StoreError: It could not be written down.
    """
    outcomes: Outcomes = {}
    unfinished = open_calls([node.body for node in conversation.nodes])
    known = await unended(kit) if unfinished else {}
    for call in unfinished:
        receipt = known.pop(proof_of(call, kit), 0)
        await abandon(call, kit, outcomes, ENDED, receipt)
        await conversation.commit(outcomes[call.id])
    if cut_off(conversation.nodes):
        await conversation.commit(Note("interrupted", CUT_OFF))

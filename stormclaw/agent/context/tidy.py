"""Before each request: what is held back, and the request made of the rest.

Decisions are recorded, so between two of them each request begins as the one before did, and the
provider's cache holds. Policies therefore act seldom, and then far enough.
"""

from __future__ import annotations

from dataclasses import replace

from stormclaw.agent.context.graph import Standings, fold
from stormclaw.agent.context.room import Room, room
from stormclaw.agent.context.stack import Step, run
from stormclaw.agent.context.view import View
from stormclaw.agent.context.window import LEFT_OUT, window
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.protocol.messages import AssistantTurn, ContextEdit, Node
from stormclaw.protocol.provider import ChatRequest

GROWTH = 0.1
"""The part of the room a request must grow by before what gained too little is tried again."""


async def tidy(kit: Kit, conversation: Conversation, *, hard: bool = False) -> None:
    """Hold back what is old, so that the next request has room.

    Args:
        kit: Whose request.
        conversation: Gets one `ContextEdit` for each policy that held something back, and a
            `Summary` where that was not enough.
        hard: All policies are applied, whatever the size, and nothing is summed up: a provider
            said that a request was too long.

    Raises:
        StoreError: A decision could not be written down.
    """
    fixed, limits = limits_of(kit)
    tally, nodes = conversation.tally, conversation.nodes
    messages = tally.follow(nodes, kit.gauge)
    if messages is None:
        sent = window(nodes, memo=conversation.memo)
        messages = tally.restart(nodes, kit.gauge, sent)
    total = fixed + messages
    if not hard and total <= limits.soft:
        tally.tried = tally.summed_up = 0
        return
    over = hard or 0 < limits.hard < total
    if over or not tally.tried or total > tally.tried + limits.soft * GROWTH:
        goal = 0 if hard else limits.goal
        total = await _hold_back(kit, conversation, fixed, replace(limits, goal=goal), over=over)
    if not hard and 0 < limits.hard < total and kit.context.compaction == "auto":
        await _sum_up(kit, conversation, limits, total)


def request(kit: Kit, conversation: Conversation) -> ChatRequest:
    """The next request: what of the conversation is on the wire, and what goes with it.

    There is a message even where all were taken off the wire, and the last word is never the
    model's own: some models refuse to go on from there.
    """
    messages = window(conversation.nodes, memo=conversation.memo)
    if not messages or isinstance(messages[-1], AssistantTurn):
        messages = (*messages, LEFT_OUT)
    return ChatRequest(
        system_prompt=kit.system_prompt(),
        messages=messages,
        tools=kit.specs,
        model=kit.model,
        metadata={"agent": kit.agent, "purpose": "work" if kit.is_root else "subagent"},
    )


def limits_of(kit: Kit) -> tuple[int, Room]:
    """Tokens of system prompt and tools, and what a request may take."""
    fixed = sum(kit.gauge.prompt(kit.system_prompt(), kit.specs))
    return fixed, room(kit.context, kit.context_window, fixed)


def view_of(kit: Kit, nodes: tuple[Node, ...], standings: Standings, soft: int) -> View:
    """A branch, for policies to look at."""
    keep = kit.context.keep_results
    return View(nodes, standings, kit.gauge, soft, keep, str(kit.workspace))


def order_of(kit: Kit, standings: Standings) -> tuple[str, ...]:
    """The policies in force: the session's own order, or the configured one."""
    return kit.context.policies if standings.policies is None else standings.policies


async def _hold_back(
    kit: Kit, conversation: Conversation, fixed: int, limits: Room, *, over: bool
) -> int:
    """Apply the policies; tokens of a request afterwards."""
    nodes = conversation.nodes
    standings = fold(nodes)
    view = view_of(kit, nodes, standings, limits.soft)
    found = run(
        order_of(kit, standings), view, fixed=fixed, goal=limits.goal, memo=conversation.memo
    )
    before = found.steps[0].before if found.steps else found.tokens
    if before - found.tokens < (1 if over else limits.worth):
        conversation.tally.tried = before
        return before
    conversation.tally.tried = found.tokens if found.tokens > limits.soft else 0
    for step in found.steps:
        if step.changes:
            await _record(conversation, step, standings)
    return found.tokens


async def _record(conversation: Conversation, step: Step, seen: Standings) -> None:
    """Commit what a policy decided, but for nodes somebody decided about meanwhile."""
    now = fold(conversation.nodes)
    changes = tuple(
        change for change in step.changes if now.of.get(change.node) == seen.of.get(change.node)
    )
    if changes:
        await conversation.commit(ContextEdit(step.policy, changes, step.before, step.after))


async def _sum_up(kit: Kit, conversation: Conversation, limits: Room, total: int) -> None:
    from stormclaw.agent.context.compaction import compact

    tally = conversation.tally
    if tally.summed_up and total <= tally.summed_up + limits.hard * GROWTH:
        return
    summary = await compact(kit, conversation, asked=False)
    if summary is None or summary.after > limits.hard:
        tally.summed_up = total if summary is None else summary.after

"""Summing up what is old, so that a long conversation can go on.

A model writes what happened; what the person said, the plan, files and failures are put in beside
it by code, from the record, each time anew. Nothing is lost: the nodes stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.agent.context.compaction_ask import (
    CONDENSE,
    Told,
    ask,
    remark,
    tell,
)
from stormclaw.agent.context.compaction_cut import Cut, Need, cut, is_said
from stormclaw.agent.context.compaction_draft import account, digest, drafted
from stormclaw.agent.context.compaction_material import clipped, fenced
from stormclaw.agent.context.graph import Standings, fold
from stormclaw.agent.context.tidy import limits_of, tidy
from stormclaw.agent.context.window import window
from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import NO_USAGE, Node, Summary, Usage

LEAST = 400
"""Tokens that have to go, or it is not worth a request."""
CONDENSED_WORDS = 120
CONDENSED_CHARS = 600
ENOUGH = 0.75
"""The part of a request that policies have to come down to, or a compaction follows."""


async def compact(
    kit: Kit, conversation: Conversation, *, focus: str = "", asked: bool = True
) -> Summary | None:
    """Sum up all but the newest part of a conversation.

    Args:
        kit: Whose conversation, model and purse.
        conversation: Gets one `Summary`.
        focus: What the person wants kept in view.
        asked: The person wants it now; else what they brought back stays.

    Returns:
        What was committed; None when nothing is old enough, or little would be gained.

    Raises:
        StoreError: It could not be written down; the conversation is unchanged.
        asyncio.CancelledError: Interrupted; the conversation is unchanged.
    """
    need: Need = "asked" if asked else "automatic"
    return await _compact(kit, conversation, _recent(kit), need, focus)


async def make_room(kit: Kit, conversation: Conversation) -> bool:
    """Make a conversation shorter that the provider did not take.

    First all that policies can hold back, then a compaction that leaves less and less; where the
    person wants to sum up themselves (`context.compaction`), policies alone.

    Returns:
        Whether the next request is smaller; False when nothing more can go.

    Raises:
        StoreError: It could not be written down.
        asyncio.CancelledError: Interrupted.
    """
    before = on_wire(kit, conversation.nodes)
    await tidy(kit, conversation, hard=True)
    if on_wire(kit, conversation.nodes) < ENOUGH * before:
        return True
    if kit.context.compaction == "auto":
        for recent in (_recent(kit), _recent(kit) // 4, 0):
            if await _compact(kit, conversation, recent, "pressing") is not None:
                return True
    return on_wire(kit, conversation.nodes) < before


async def condense(kit: Kit, text: str, what: str) -> tuple[str, Usage]:
    """A short text to stand for a long one.

    Args:
        kit: Whose model and purse.
        text: Of one node.
        what: What it is, in a few words: `result of grep retry`.

    Returns:
        What the model made of it, its beginning and end where the model cannot; what that took.

    Raises:
        asyncio.CancelledError: Interrupted.
    """
    if len(text) <= CONDENSED_CHARS:
        return text.strip() or "(nothing)", NO_USAGE

    def request(room: int, wrong: str) -> tuple[str, str]:
        about = " ".join(what.split())[:200]
        entry = fenced(f"{about}\n\n{clipped(text, room)}")
        return CONDENSE.format(words=CONDENSED_WORDS), f"The entry.{remark(wrong)}\n{entry}"

    answer = await ask(kit, "condense", request, kit.gauge.text(text) * 4 // 5)
    if answer.text:
        return answer.text, answer.usage
    _say(kit, "warning", f"no model shortened it ({answer.problem}): beginning and end are left")
    return clipped(text.strip(), CONDENSED_CHARS), answer.usage


def on_wire(kit: Kit, nodes: Sequence[Node], held: Standings | None = None) -> int:
    """Tokens of a request now: messages, system prompt and tools, as estimated."""
    return kit.gauge.request(kit.system_prompt(), kit.specs, window(nodes, held))


def short(tokens: int) -> str:
    """Tokens for people: `812`, `61.2k`."""
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


async def _compact(
    kit: Kit, conversation: Conversation, recent: int, need: Need, focus: str = ""
) -> Summary | None:
    nodes = conversation.nodes
    held = fold(nodes)
    found = cut(nodes, held, kit.gauge, recent, need)
    if found is None or found.tokens < LEAST:
        return None
    draft = drafted(kit, found, nodes, focus)
    if draft.longest <= 0:
        return None
    before = on_wire(kit, nodes, held)
    count = sum(is_said(node) for node in found.goes)
    _say(kit, "info", f"summing up {count} messages, {short(found.tokens)} tokens ...")
    answer = await account(draft, held)
    happened = draft.with_earlier(answer.text, folded=not draft.keeps_earlier)
    if not answer.text or not draft.worth(draft.text(happened)):
        answer = Told(usage=answer.usage, problem=answer.problem or "its answer was too long")
        happened = draft.with_earlier(digest(draft), folded=False)
    text = draft.text(happened)
    if not draft.worth(text):
        return None
    if not _as_it_was(conversation, found, held):
        _say(kit, "warning", "the conversation changed meanwhile: nothing was summed up")
        return None
    replaces = tuple(node.id for node in found.goes)
    summary = Summary(text, replaces, focus, before, 0, answer.model, answer.usage)
    after = on_wire(kit, (*conversation.nodes, _imagined(summary)))
    summary = Summary(text, replaces, focus, before, after, answer.model, answer.usage)
    await conversation.commit(summary)
    tell(kit, kit.purse, after)
    if not answer.model:
        _say(kit, "warning", f"summed up without a model: {answer.problem}")
    return summary


def _as_it_was(conversation: Conversation, found: Cut, held: Standings) -> bool:
    """Whether all that is to go still stands as it did, on the branch that goes on."""
    nodes = conversation.nodes
    there = {node.id for node in nodes}
    now = fold(nodes)
    return all(node.id in there and now[node.id] == held[node.id] for node in found.goes)


def _imagined(summary: Summary) -> Node:
    return Node("not yet committed", None, "", 0.0, summary)


def _recent(kit: Kit) -> int:
    """Tokens that stay; less where the window is small."""
    fixed, limits = limits_of(kit)
    wanted = kit.context.recent_tokens
    return min(wanted, max(0, limits.hard - fixed) // 2) if limits.hard else wanted


def _say(kit: Kit, level: str, text: str) -> None:
    kit.hub.publish(Notice(kit.agent, "warning" if level == "warning" else "info", text))

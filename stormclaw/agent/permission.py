"""May this call run? The gate's verdict first, a person's answer where the gate wants one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace

from stormclaw.agent.kit import Kit
from stormclaw.agent.weigh import Weighed, context, weigh
from stormclaw.errors import ToolFailure
from stormclaw.protocol.asks import Permission, Reply
from stormclaw.protocol.display import Display, Plain
from stormclaw.protocol.effects import Verdict
from stormclaw.protocol.events import Notice, ToolStarted
from stormclaw.protocol.messages import Author
from stormclaw.security.gate import judge

UNJUDGED = Verdict("deny", "low", "not judged", "none")

WALLS = frozenset({"network", "folder", "network-host"})
"""Grants that open the walls, not the gate."""

DECIDED_BY = {"once": "you, once", "session": "you, session", "always": "you, always"}


@dataclass(slots=True)
class Permit:
    """How the question was settled.

    Attributes:
        granted: True when the call may run.
        verdict: The gate's last word on it.
        decided_by: `policy`, `you, once`, `you, session`, `you, always`, `you`, `nobody`, `estop`.
        refusal: For the model, when not granted.
        refusal_summary: For the card, when not granted.
        arguments: JSON text the person put in place of the model's, None if as asked.
        granted_rules: Standing permissions this answer added.
    """

    granted: bool = False
    verdict: Verdict = UNJUDGED
    decided_by: str = "policy"
    refusal: str = ""
    refusal_summary: str = ""
    arguments: str | None = None
    granted_rules: tuple[str, ...] = ()


async def obtain(
    weighed: Weighed, permit: Permit, kit: Kit, author: Author, because: str = ""
) -> Weighed:
    """Settle `permit`; returns the call as it may run, which the person may have edited.

    Args:
        weighed: The call.
        permit: Filled in.
        kit: Who calls, with what.
        author: What a person typed needs no second yes.
        because: Why it is asked again; then a person is asked whatever the policy allows.

    Raises:
        ToolFailure: There is nothing to ask: the call cannot be done at all.
    """
    verdict = permit.verdict = await asyncio.to_thread(kit.rules.judge, weighed.effects)
    if reason := kit.stopped():
        _started(weighed, kit, verdict, None)
        return _stopped(weighed, permit, reason)
    if because and verdict.decision != "deny":
        return await _ask(weighed, permit, kit, because)
    if _passes(verdict, author, kit):
        _started(weighed, kit, verdict, None)
        permit.granted = True
        permit.decided_by = "policy" if verdict.decision == "allow" else "you, typed"
        return weighed
    if verdict.decision == "deny" and not (verdict.grants and kit.asks.attended):
        _started(weighed, kit, verdict, None)
        return _refuse(weighed, permit, f"denied: {verdict.reason}", f"denied: {verdict.reason}")
    return await _ask(weighed, permit, kit, because)


async def _ask(weighed: Weighed, permit: Permit, kit: Kit, because: str) -> Weighed:
    """Put the question until it is settled; an edited call is judged anew."""
    while True:
        verdict = permit.verdict
        asked = await _again(weighed, verdict, kit, because) if because else verdict
        try:
            display = await _preview(weighed, verdict, kit)
        except ToolFailure:
            _started(weighed, kit, verdict, None)
            raise
        _started(weighed, kit, verdict, display)
        reply = await kit.asks.put(
            Permission(
                kit.asks.new_id(),
                kit.agent,
                weighed.call,
                weighed.tool.name,
                weighed.headline,
                display,
                asked,
                weighed.tool.editable,
            )
        )
        if reason := kit.stopped():
            return _stopped(weighed, permit, reason)
        if reply.choice not in DECIDED_BY:
            return _denied(weighed, permit, reply, kit)
        if reply.arguments is not None and reply.arguments != weighed.call.arguments:
            edited = replace(weighed.call, arguments=reply.arguments)
            weighed = weigh(edited, kit, weighed.reach)
            permit.arguments = reply.arguments
            verdict = await asyncio.to_thread(kit.rules.judge, weighed.effects)
            asked = await _again(weighed, verdict, kit, because) if because else verdict
        if reply.choice in ("session", "always"):
            places = kit.rules.allow(asked.grants, always=reply.choice == "always")
            permit.granted_rules += tuple(f"{g.kind}: {g.match}" for g in asked.grants)
            for place, grant in zip(places, asked.grants, strict=False):
                note = f"always allowed here: {grant.match}  ({place})"
                kit.hub.publish(Notice(kit.agent, "info", note))
            verdict = await asyncio.to_thread(kit.rules.judge, weighed.effects)
        permit.verdict, permit.decided_by = verdict, DECIDED_BY[reply.choice]
        if verdict.decision == "allow" or (verdict.decision == "ask" and reply.choice == "once"):
            permit.granted = True
            return weighed
        if verdict.decision == "deny" and not verdict.grants:
            return _refuse(
                weighed, permit, f"denied: {verdict.reason}", f"denied: {verdict.reason}"
            )


async def _again(weighed: Weighed, verdict: Verdict, kit: Kit, because: str) -> Verdict:
    """The verdict as it is put to the person who may open the walls: asked, whatever it allows.

    What runs unasked at full autonomy has nothing to grant; what it would need elsewhere is
    offered, so that "always" opens the walls for good.
    """
    if verdict.decision != "allow":
        return replace(verdict, reason=because)
    careful = replace(kit.rules.policy, autonomy="supervised")
    offers = (await asyncio.to_thread(judge, weighed.effects, careful)).grants
    walls = tuple(grant for grant in offers if grant.kind in WALLS)
    return replace(verdict, decision="ask", reason=because, grants=walls)


def _passes(verdict: Verdict, author: Author, kit: Kit) -> bool:
    """Whether no question is needed: the gate allows it, or the person typed the command.

    What a person types needs no second yes, but it stays under everything that is forbidden.
    """
    if verdict.decision == "allow":
        return True
    if author != "person" or kit.rules.autonomy == "readonly":
        return False
    return verdict.decision == "ask" or (verdict.risk != "blocked" and bool(verdict.grants))


async def _preview(weighed: Weighed, verdict: Verdict, kit: Kit) -> Display:
    if weighed.tool.preview is None:
        shown = json.dumps(json.loads(weighed.call.arguments or "{}"), indent=2, ensure_ascii=False)
        return Plain(shown)
    return await weighed.tool.preview(
        weighed.arguments, context(kit, weighed.call.id, verdict.reach, verdict.places)
    )


def _started(weighed: Weighed, kit: Kit, verdict: Verdict, display: Display | None) -> None:
    started = ToolStarted(
        kit.agent, weighed.call, weighed.tool.name, weighed.headline, verdict.risk, display
    )
    kit.hub.publish(started)


def _stopped(weighed: Weighed, permit: Permit, reason: str) -> Weighed:
    permit.decided_by = "estop"
    message = f"emergency stop: {reason}; no tool runs until the person clears it: answer in words"
    return _refuse(weighed, permit, message, "stopped")


def _denied(weighed: Weighed, permit: Permit, reply: Reply, kit: Kit) -> Weighed:
    if not kit.asks.attended:
        permit.decided_by = "nobody"
        message = (
            f"denied: this needs a person ({permit.verdict.reason}) and nobody is here to ask; "
            "go on without it or say what you need"
        )
        return _refuse(weighed, permit, message, "denied, nobody to ask")
    permit.decided_by = "you"
    why = f": {reply.text}" if reply.text else ""
    return _refuse(weighed, permit, f"denied by the person{why}", f"denied by you{why}")


def _refuse(weighed: Weighed, permit: Permit, message: str, summary: str) -> Weighed:
    permit.granted, permit.refusal, permit.refusal_summary = False, message, summary
    return weighed

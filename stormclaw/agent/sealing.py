"""The end of an attempt: its receipt, then its outcome, then the news of it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import TypeAlias

from stormclaw.agent.attempt import Attempt
from stormclaw.agent.kit import Kit
from stormclaw.log import event
from stormclaw.protocol.events import ToolEnded
from stormclaw.protocol.messages import Delegation, Status, ToolCall, ToolOutcome
from stormclaw.security.redact import redact
from stormclaw.store.receipts import ReceiptDraft
from stormclaw.store.receipts import Status as ReceiptStatus
from stormclaw.store.sealing import hash_text

LOG = logging.getLogger(__name__)

RECEIPT_STATUS: Mapping[Status, ReceiptStatus] = {
    "done": "allowed",
    "denied": "denied",
    "failed": "failed",
    "interrupted": "failed",
}

RECENT = 50
"""Receipts of a session looked through for calls without an end."""

Outcomes = dict[str, ToolOutcome | Delegation]
"""What became of the calls of one answer, by call id."""


async def receipted(attempt: Attempt, kit: Kit) -> int:
    """Write the receipt of an attempt -> its number, 0 when receipts are off.

    Raises:
        StoreError: It could not be written.
    """
    seconds = _seconds(attempt)
    if attempt.status == "done":
        event(LOG, "tool_completed", tool=attempt.tool)
    elif attempt.status != "denied":
        event(LOG, "tool_failed", tool=attempt.tool, status=attempt.status)
    if kit.receipts is None:
        return 0
    receipt = await kit.receipts.append(_draft(attempt, kit, seconds), attempt.intent)
    event(LOG, "receipt_written", receipt=receipt.id, tool=attempt.tool)
    return receipt.number


async def intended(attempt: Attempt, kit: Kit) -> None:
    """Write down that a call with side effects begins, before it does.

    Raises:
        StoreError: It could not be written, so the call must not be made.
    """
    if kit.receipts is not None:
        draft = _draft(attempt, kit, 0.0)
        attempt.intent = await kit.receipts.intend(
            draft.conversation_id, draft.tool, draft.arguments, draft.risk, draft.extra
        )


async def sealed(attempt: Attempt, kit: Kit, outcomes: Outcomes) -> None:
    """Write the receipt, put the outcome into `outcomes`, and publish how it ended.

    Raises:
        StoreError: The receipt could not be written.
    """
    publish(attempt, await receipted(attempt, kit), kit, outcomes)


def publish(attempt: Attempt, number: int, kit: Kit, outcomes: Outcomes) -> None:
    """Put the outcome of an attempt with receipt `number` into `outcomes`, and say so."""
    outcome = ToolOutcome(
        call_id=attempt.call.id,
        tool=attempt.tool,
        status=attempt.status,
        output=attempt.output,
        headline=attempt.headline,
        summary=attempt.summary,
        display=attempt.display,
        risk=attempt.permit.verdict.risk,
        receipt=number,
        seconds=round(_seconds(attempt), 3),
        author=attempt.author,
    )
    body: ToolOutcome | Delegation = outcome
    if attempt.result is not None and (child := attempt.result.child) is not None:
        body = Delegation(outcome, child.child, child.task, child.reason, child.usage)
    outcomes[attempt.call.id] = body
    kit.hub.publish(ToolEnded(kit.agent, outcome))


def _seconds(attempt: Attempt) -> float:
    return time.monotonic() - attempt.began if attempt.began else 0.0


def _draft(attempt: Attempt, kit: Kit, seconds: float) -> ReceiptDraft:
    permit = attempt.permit
    verdict = permit.verdict
    extra: dict[str, object] = {
        "agent": kit.agent,
        "object": redact(f"{attempt.headline.verb} {attempt.headline.object}")[:400],
        "outcome": attempt.status,
        "summary": redact(attempt.summary)[:200],
        "rule": verdict.rule,
        "rule_at": verdict.origin,
        "decided_by": permit.decided_by,
        "autonomy": kit.rules.autonomy,
        "sandbox": "none" if kit.foreign else kit.sandbox.level,
        "author": attempt.author,
        "model": kit.model,
        "ms": round(seconds * 1000),
    }
    if attempt.author == "foreign":
        extra["foreign"] = kit.provider_name
    if attempt.ended_by:
        extra["ended_by"] = attempt.ended_by
    if verdict.reach.network:
        extra["network"] = True
    elif verdict.reach.hosts:
        extra["hosts"] = list(verdict.reach.hosts)
    if verdict.reach.folders:
        extra["folders"] = list(map(str, verdict.reach.folders))
    if attempt.masked:
        extra["keys_seen"] = list(attempt.masked)
    if permit.granted_rules:
        extra["granted"] = list(map(redact, permit.granted_rules))
    return ReceiptDraft(
        conversation_id=kit.session_id,
        tool=attempt.tool,
        arguments=canonical(permit.arguments or attempt.call.arguments),
        result=attempt.output,
        status=RECEIPT_STATUS[attempt.status],
        risk=verdict.risk,
        extra=extra,
    )


def canonical(arguments: str) -> str:
    """Arguments as they are hashed: equal objects hash equal, broken text as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments


Proof: TypeAlias = tuple[str, str]
"""(tool, hash of the arguments): what a call and its receipt have in common."""


def proof_of(call: ToolCall, kit: Kit) -> Proof:
    """What the receipt of a call shows."""
    tool = kit.resolve(call.name)
    return tool.name if tool is not None else call.name, hash_text(canonical(call.arguments))


async def unended(kit: Kit) -> dict[Proof, int]:
    """Receipts of this session's calls that were begun and whose end nobody saw -> their numbers.

    Raises:
        StoreError: The log cannot be read or mended.
    """
    if kit.receipts is None:
        return {}
    await kit.receipts.recover()
    recent = await asyncio.to_thread(kit.receipts.read, RECENT, kit.session_id)
    return {
        (receipt.tool, receipt.args_hash): receipt.number
        for receipt in recent
        if receipt.extra.get("outcome") == "unknown"
    }

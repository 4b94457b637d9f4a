"""What is about to be done, told from what was done: pure, no files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

import rfc8785

from stormclaw.protocol.effects import Risk
from stormclaw.store.keys import Key
from stormclaw.store.sealing import (
    Receipt,
    ReceiptDraft,
    check_names,
    clean,
    hash_text,
    signature,
    stamp,
)


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is about to be made.

    Attributes:
        conversation_id: The session.
        tool: Canonical name.
        args_hash: SHA-256 of the arguments, hex.
        risk: As judged.
        timestamp: UTC, as in receipts.
        after: Number of the newest receipt at that moment; the result's is higher.
        after_hash: Its `receipt_hash`.
        pid: The process that makes the call.
        since: When that process declared its first: process ids are used again.
        nonce: 16 hex digits: two equal calls in one millisecond are two.
        algorithm: What it is sealed with, as in receipts.
        key_id: Likewise.
        extra: Further fields, for the receipt that closes it if nobody else does.
        intent_hash: Seal over the canonical JSON of everything else.
    """

    conversation_id: str
    tool: str
    args_hash: str
    risk: Risk
    timestamp: str
    after: int
    after_hash: str
    pid: int
    since: str
    nonce: str
    algorithm: str
    key_id: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    intent_hash: str = ""


def declare(
    draft: ReceiptDraft, last: Receipt | None, at: datetime, since: str, key: Key
) -> Intent:
    """The sealed intent to do what `draft` says; its result and status do not matter.

    Raises:
        ValueError: An extra field has the name of a receipt's own.
    """
    check_names(draft.extra)
    body: dict[str, Any] = {
        "conversation_id": clean(draft.conversation_id),
        "tool": clean(draft.tool),
        "args_hash": draft.args_hash or hash_text(draft.arguments),
        "risk": draft.risk,
        "timestamp": stamp(at),
        "after": last.number if last else 0,
        "after_hash": last.receipt_hash if last else "",
        "pid": os.getpid(),
        "since": since,
        "nonce": secrets.token_hex(8),
        "extra": {clean(name): clean(value) for name, value in draft.extra.items()},
        "key_id": "",
        **signature(key),
    }
    return Intent(**body, intent_hash=_digest(body, key))


def closing(intent: Intent, key: Key) -> ReceiptDraft:
    """What is known of a call whose process ended before it was done."""
    summary = "the program ended before it was done"
    body = {name: value for name, value in asdict(intent).items() if name != "intent_hash"}
    if intent.key_id == key.id and _digest(body, key) != intent.intent_hash:
        summary += "; its intent was changed after it was written"
    return ReceiptDraft(
        intent.conversation_id,
        intent.tool,
        "",
        "",
        "failed",
        intent.risk,
        {**intent.extra, "outcome": "unknown", "summary": summary},
        intent.args_hash,
    )


def unnamed(intents: tuple[Intent, ...], receipts: Iterable[Receipt]) -> tuple[Intent, ...]:
    """Those of some intents, oldest first, that no receipt names.

    Args:
        intents: Of one process.
        receipts: Newest first; taken back to the one after which the oldest intent was declared.
    """
    if not intents:
        return ()
    named: set[object] = set()
    for receipt in receipts:
        if receipt.receipt_hash == intents[0].after_hash:
            break
        named.add(receipt.extra.get("intent"))
    return tuple(intent for intent in intents if intent.intent_hash not in named)


_KINDS: Mapping[str, type] = {"after": int, "pid": int, "extra": dict}


def intent_from_json(stored: Mapping[str, Any]) -> Intent:
    """The intent in a JSON object.

    Raises:
        ValueError: It is none.
    """
    names = {part.name for part in fields(Intent)}
    if set(stored) != names:
        raise ValueError("not an intent")
    if not all(isinstance(stored[name], _KINDS.get(name, str)) for name in names):
        raise ValueError("a field of the wrong kind")
    if stored["risk"] not in ("low", "medium", "high", "blocked"):
        raise ValueError("no such risk")
    return Intent(**stored)


def _digest(body: Mapping[str, Any], key: Key) -> str:
    return key.digest(rfc8785.dumps(dict(body)))

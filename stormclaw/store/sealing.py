"""What a receipt is and how one is sealed: pure, no files.

A receipt is one line of canonical JSON (RFC 8785). Its `receipt_hash` is the SHA-256 of the receipt
without that field, or the HMAC-SHA256 where a key is used; its `algorithm` says which. Its
`previous_hash` is the `receipt_hash` of the line before, and 64 zeros in the first one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import rfc8785

from stormclaw.protocol.effects import Risk
from stormclaw.store.keys import KEYED, NO_KEY, PLAIN, Key

Status: TypeAlias = Literal["allowed", "denied", "failed"]

FIRST_PREVIOUS_HASH = "0" * 64
LONGEST_TEXT = 4_000
"""Longest text in a receipt, in characters; the rest is counted. The hashes cover everything."""

MARKS = frozenset({"algorithm", "key_id", "intent", "intended_at", "gap", "index", "continues"})
"""Further fields only the log itself writes; see docs/adr/0009."""

_STATUSES = ("allowed", "denied", "failed")
_RISKS = ("low", "medium", "high")
_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class ReceiptDraft:
    """What the caller knows about an attempt.

    Attributes:
        conversation_id: The session.
        tool: Canonical name, or what the model wrote if there is no such tool.
        arguments: JSON text exactly as it came; only its hash is kept.
        result: What the tool gave back, "" if nothing ran; only its hash is kept.
        status: `allowed` when it ran and did its work.
        risk: As judged; `blocked` is written as high, with an extra `verdict: blocked`.
        extra: Further fields: agent, headline, object, rule, decided_by, model, sandbox ...
            Secrets must have been masked before.
        args_hash: Instead of `arguments` where only their hash is known.
    """

    conversation_id: str
    tool: str
    arguments: str
    result: str
    status: Status
    risk: Risk
    extra: Mapping[str, Any] = field(default_factory=dict)
    args_hash: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A sealed attempt, as it stands in the log.

    Attributes:
        number: Place in the chain, from 1 on.
        id: `receipt-000211`.
        timestamp: UTC, `2026-05-12T14:00:00.000Z`.
        conversation_id: The session.
        tool: See `ReceiptDraft.tool`.
        args_hash: SHA-256 of the arguments, hex.
        result_hash: SHA-256 of the result, hex; that of "" if nothing ran.
        status: How it ended.
        risk: As judged.
        previous_hash: `receipt_hash` of the receipt before.
        receipt_hash: SHA-256 of the canonical JSON of everything else.
        extra: All further fields.
    """

    number: int
    id: str
    timestamp: str
    conversation_id: str
    tool: str
    args_hash: str
    result_hash: str
    status: Status
    risk: Literal["low", "medium", "high"]
    previous_hash: str
    receipt_hash: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keyed(self) -> bool:
        """Whether it was sealed with a key."""
        return bool(self.extra.get("algorithm", PLAIN) == KEYED)


_NAMES = tuple(part.name for part in fields(Receipt) if part.name != "extra")
_TEXTS = tuple(name for name in _NAMES if name != "number")


def hash_text(text: str) -> str:
    """SHA-256 of a text, hex; lone surrogates count as the three bytes UTF-8 would give them."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(
    draft: ReceiptDraft,
    previous: Receipt | None,
    at: datetime,
    key: Key = NO_KEY,
    marks: Mapping[str, Any] | None = None,
) -> Receipt:
    """Make the receipt that follows `previous`.

    Args:
        draft: What is known of the attempt.
        previous: The receipt before, None for the first one.
        at: When; carries its time zone.
        key: What to seal with.
        marks: What the log itself has to say, by names from `MARKS`.

    Raises:
        ValueError: An extra field has the name of a receipt's own, or of a mark.
    """
    check_names(draft.extra)
    number = previous.number + 1 if previous else 1
    blocked = draft.risk == "blocked"
    extra = {clean(name): clean(value) for name, value in {**draft.extra, **(marks or {})}.items()}
    stored: dict[str, Any] = {
        "number": number,
        "id": f"receipt-{number:06}",
        "timestamp": stamp(at),
        "conversation_id": clean(draft.conversation_id),
        "tool": clean(draft.tool),
        "args_hash": draft.args_hash or hash_text(draft.arguments),
        "result_hash": hash_text(draft.result),
        "status": draft.status,
        "risk": "high" if blocked else draft.risk,
        "previous_hash": previous.receipt_hash if previous else FIRST_PREVIOUS_HASH,
        **extra,
        **({"verdict": "blocked"} if blocked else {}),
        **signature(key),
    }
    return _receipt(stored | {"receipt_hash": key.digest(rfc8785.dumps(stored))})


def check_names(extra: Mapping[str, Any]) -> None:
    """Raise ValueError where an extra field has the name of a receipt's own, or of a mark."""
    if taken := set(extra) & ({*_NAMES} | MARKS):
        raise ValueError(f"extra fields named like a receipt's own: {', '.join(sorted(taken))}")


def stamp(at: datetime) -> str:
    """A moment as receipts write it: UTC, `2026-05-12T14:00:00.000Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signature(key: Key) -> dict[str, str]:
    """The fields that say what something was sealed with."""
    return {"algorithm": key.algorithm} | ({"key_id": key.id} if key.secret else {})


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """The receipt as the flat JSON object that stands in the log."""
    return {name: getattr(receipt, name) for name in _NAMES} | dict(receipt.extra)


def receipt_to_line(receipt: Receipt) -> bytes:
    """The receipt as one line of the log."""
    return rfc8785.dumps(receipt_to_json(receipt)) + b"\n"


def receipt_from_line(line: bytes) -> Receipt:
    """The receipt on a line of the log; whether it is genuine is for `open_line` to say.

    Raises:
        ValueError: Not a receipt; the message says why.
    """
    return _receipt(_decoded(line))


def open_line(line: bytes, key: Key = NO_KEY) -> tuple[Receipt, str]:
    """The receipt on a line, and what is wrong with its seal, "" if nothing is.

    A receipt that was sealed with a key which is not the given one is not judged: compare
    `key_id` first.

    Raises:
        ValueError: Not a receipt; the message says why.
    """
    stored = _decoded(line)
    receipt = _receipt(stored)
    algorithm = receipt.extra.get("algorithm", PLAIN)
    if algorithm not in (PLAIN, KEYED):
        return receipt, f"is sealed with {algorithm!r}, which this StormClaw does not know"
    if receipt.keyed and receipt.extra.get("key_id") != key.id:
        return receipt, ""
    sealing = key if receipt.keyed else NO_KEY
    if sealing.digest(_cut(line, stored)) == receipt.receipt_hash:
        return receipt, ""
    try:
        body = {name: value for name, value in stored.items() if name != "receipt_hash"}
        same = sealing.digest(rfc8785.dumps(body)) == receipt.receipt_hash
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError):
        same = False
    if same:
        return receipt, "was written anew: it says the same, but not in the bytes it was sealed in"
    return receipt, "was changed after it was written"


def _cut(line: bytes, stored: Mapping[str, Any]) -> bytes:
    """The bytes that were sealed: the line without its hash, which stands where it belongs.

    Taking them as they are, instead of writing the receipt again, lets no byte change unseen.
    """
    names = list(stored)
    at = names.index("receipt_hash")
    before, after = names[:at], names[at + 1 :]
    if not before or not after or not before[-1] < "receipt_hash" < after[0]:
        return b""
    token = f'"receipt_hash":"{stored["receipt_hash"]}",'.encode("utf-8", "backslashreplace")
    return line.removesuffix(b"\n").replace(token, b"", 1)


def _decoded(line: bytes) -> dict[str, Any]:
    """The JSON object on a line, with all fields of a receipt.

    Raises:
        ValueError: Not a receipt; the message says why.
    """
    try:
        stored = json.loads(line, object_pairs_hook=_no_twins)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(stored, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004
    missing = [name for name in _NAMES if name not in stored]
    if missing:
        raise ValueError(f"without {', '.join(missing)}")
    wrong = [name for name in _TEXTS if not isinstance(stored[name], str)]
    if wrong or type(stored["number"]) is not int:
        raise ValueError(f"{', '.join(wrong) or 'number'} of the wrong kind")
    if stored["status"] not in _STATUSES or stored["risk"] not in _RISKS:
        raise ValueError(f"status {stored['status']!r} with risk {stored['risk']!r} does not exist")
    return stored


def clean(value: Any) -> Any:
    """The nearest value canonical JSON can hold: a receipt is written whatever it is about."""
    match value:
        case str():
            text = value.encode("utf-8", "backslashreplace").decode("utf-8")
            over = len(text) - LONGEST_TEXT
            return text if over <= 0 else f"{text[:LONGEST_TEXT]}… ({over} more characters)"
        case None | bool():
            return value
        case int():
            return value if abs(value) <= _SAFE_INTEGER else str(value)
        case float():
            # A larger one is written without a point and would come back as an unsafe integer.
            return value if abs(value) <= _SAFE_INTEGER else str(value)
        case Mapping():
            return {clean(str(name)): clean(part) for name, part in value.items()}
        case list() | tuple():
            return [clean(part) for part in value]
        case _:
            return clean(str(value))


def _receipt(stored: Mapping[str, Any]) -> Receipt:
    own = {name: stored[name] for name in _NAMES}
    return Receipt(**own, extra={k: v for k, v in stored.items() if k not in own})


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice: readers would disagree on what it says."""
    stored = dict(pairs)
    if len(stored) < len(pairs):
        raise ValueError("naming a field twice")
    return stored

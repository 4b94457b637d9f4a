"""Receipts to give away: with all it takes to check them elsewhere, with or without StormClaw."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import rfc8785

from stormclaw.errors import StoreError
from stormclaw.protocol.inert import inert
from stormclaw.store.durable import store_error
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.replay import Verification, verify_lines
from stormclaw.store.sealing import Receipt, open_line, receipt_to_json, stamp

FORMAT = "stormclaw receipts"
VERSION = 1
HOW = (
    "Each object in `receipts` is sealed: take `receipt_hash` out, write the rest as canonical "
    "JSON (RFC 8785), hash it with SHA-256 (or HMAC-SHA256 with the key, where `algorithm` says "
    "so), and the hex digest is `receipt_hash`. `links` has [number, previous_hash, receipt_hash] "
    "of every receipt of the log from the first one on: each `previous_hash` is the `receipt_hash` "
    "before it, 64 zeros at first, and each receipt stands in its place. `stormclaw receipt verify "
    "--file THIS` does all that."
)


def bundle(
    receipts: Sequence[Receipt], verification: Verification, at: datetime, conversation_id: str = ""
) -> dict[str, Any]:
    """The receipts of one session, or of all, with the links of the whole chain.

    Args:
        receipts: All of the log, oldest first.
        verification: What replaying it showed.
        at: Now; carries its time zone.
        conversation_id: Whose receipts; "" for all.
    """
    chosen = [r for r in receipts if not conversation_id or r.conversation_id == conversation_id]
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": stamp(at),
        "conversation_id": conversation_id,
        "how_to_verify": HOW,
        "chain": {
            "ok": verification.ok,
            "count": verification.count,
            "head": verification.head,
            "reason": verification.reason,
            "notes": list(verification.notes),
        },
        "receipts": list(map(receipt_to_json, chosen)),
        "links": [[r.number, r.previous_hash, r.receipt_hash] for r in receipts],
    }


def to_markdown(exported: Mapping[str, Any]) -> str:
    """An export for people, with the one for machines in its last block."""
    chain = exported["chain"]
    state = "unbroken" if chain["ok"] else f"broken: {inert(chain['reason'])}"
    whose = exported["conversation_id"]
    heading = f"# Receipts of session {inert(whose)}" if whose else "# Receipts"
    lines = [
        heading,
        "",
        f"Exported {exported['exported_at']}. The chain of {chain['count']} receipts is {state}; "
        f"its head is `{chain['head']}`.",
        "",
        "| receipt | time | tool | object | status | risk | hash |",
        "|---|---|---|---|---|---|---|",
        *(_row(stored) for stored in exported["receipts"]),
        "",
        "## How to verify",
        "",
        exported["how_to_verify"],
        "",
        "```json",
        # Backticks could end the block early.
        json.dumps(exported).replace("`", "\\u0060"),
        "```",
    ]
    return "\n".join(lines) + "\n"


def verify_file(path: Path, key: Key = NO_KEY) -> Verification:
    """Check an export, in either format, or a log that was moved here.

    Raises:
        StoreError: It cannot be read, or is neither.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise store_error("read", path, error) from error
    exported = _exported(content)
    if exported is not None:
        return _verify_bundle(path, exported, key)
    verification = verify_lines(io.BytesIO(content), key)
    if not content.startswith(b"{") or (verification.ok and not verification.count):
        raise StoreError(f"{path} is neither a log of receipts nor an export of one")
    return verification


def _verify_bundle(path: Path, exported: Mapping[str, Any], key: Key) -> Verification:
    """Every receipt by its seal and its place, every place by the links."""
    try:
        links = [(int(number), str(before), str(own)) for number, before, own in exported["links"]]
        lines = [_line(stored) for stored in exported["receipts"]]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: not a whole export: {error}") from error
    head, keyed = "0" * 64, 0
    for place, (number, before, own) in enumerate(links, start=1):
        if number != place or before != head:
            reason = f"receipt {place} does not follow from the one before it"
            return Verification(False, place - 1, head, place, reason)
        head = own
    for line in lines:
        try:
            receipt, flaw = open_line(line, key)
        except ValueError as error:
            return Verification(False, 0, head, 1, f"receipt 1: one of the receipts is {error}")
        at = receipt.number
        if not flaw and links[at - 1 : at] != [(at, receipt.previous_hash, receipt.receipt_hash)]:
            flaw = "does not stand in its place of the chain"
        if flaw:
            return Verification(False, at - 1, head, at, f"receipt {at} {flaw}")
        keyed += receipt.keyed
        if receipt.keyed and receipt.extra.get("key_id") != key.id:
            lack = "another key" if key.secret else "a key that is not there"
            reason = f"receipt {at} was sealed with {lack}"
            return Verification(False, len(links), head, at, reason, locked=True)
    note = f"{len(lines)} of them are in this export"
    return Verification(True, len(links), head, keyed=keyed, notes=(note,))


def _exported(content: bytes) -> dict[str, Any] | None:
    """The export in a file, None if there is none."""
    for candidate in (content, *_blocks(content)):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.get("format") == FORMAT:
            return found
    return None


def _blocks(content: bytes) -> Iterable[bytes]:
    """Lines of a Markdown export that may be the machine's."""
    return (line for line in content.splitlines() if line.startswith(b'{"format"'))


def _line(stored: Any) -> bytes:
    """The line of the log a receipt stood on.

    Raises:
        TypeError: Not a receipt.
    """
    if not isinstance(stored, dict):
        raise TypeError("a receipt that is no object")
    return rfc8785.dumps(stored) + b"\n"


def _row(stored: Mapping[str, Any]) -> str:
    cells = (
        stored["id"],
        stored["timestamp"],
        stored["tool"],
        stored.get("object", ""),
        stored["status"],
        stored.get("verdict", stored["risk"]),
        stored["receipt_hash"][:12],
    )
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(value: object) -> str:
    """One line of inert text that cannot end its cell or turn into markup."""
    text = " ".join(inert(str(value)).split())
    return "".join(f"\\{sign}" if sign in "\\|`*_<>[]" else sign for sign in text)

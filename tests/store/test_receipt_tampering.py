"""No receipt can be changed, lost or moved unseen; a crash is no tampering."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from stormclaw.errors import StoreError
from stormclaw.store.heads import Heads
from stormclaw.store.keys import NO_KEY
from stormclaw.store.receipts import (
    Receipt,
    ReceiptDraft,
    ReceiptLog,
)


def _draft(number: int = 1, session: str = "s1", **extra: Any) -> ReceiptDraft:
    return ReceiptDraft(session, "read_file", f'{{"n":{number}}}', "ok", "allowed", "low", extra)


async def _log(tmp_path: Path, count: int) -> ReceiptLog:
    log = ReceiptLog(tmp_path / "tool_receipts.log")
    for number in range(count):
        await log.append(_draft(number))
    return log


def _edited(line: bytes, **changes: Any) -> bytes:
    return rfc8785.dumps(json.loads(line) | changes) + b"\n"


def _resealed(line: bytes, **changes: Any) -> bytes:
    """Changed by somebody who knows how the hash is made."""
    stored = json.loads(line) | changes
    del stored["receipt_hash"]
    stored["receipt_hash"] = hashlib.sha256(rfc8785.dumps(stored)).hexdigest()
    return rfc8785.dumps(stored) + b"\n"


def _turned(line: bytes) -> bytes:
    return json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")).encode() + (
        b"\n"
    )


def _hash_last(line: bytes) -> bytes:
    """The sealed bytes untouched, the hash in another place."""
    stored = json.loads(line)
    token = f'"receipt_hash":"{stored.pop("receipt_hash")}"'.encode()
    return rfc8785.dumps(stored)[:-1] + b"," + token + b"}\n"


def _hash_at(line: bytes, following: str) -> bytes:
    """The sealed bytes untouched, the hash before another field."""
    stored = json.loads(line)
    token = f'"receipt_hash":"{stored.pop("receipt_hash")}",'.encode()
    return (
        rfc8785.dumps(stored).replace(
            f'"{following}":'.encode(), token + (f'"{following}":'.encode()), 1
        )
        + b"\n"
    )


def _index_knows(log: ReceiptLog, count: int) -> None:
    """As after a crash before the later ones reached the index."""
    heads = Heads(log.path, NO_KEY)
    heads.settle(count, log.read()[count - 1].receipt_hash)
    heads.close()


Tamper = Callable[[list[bytes]], list[bytes]]

_TAMPERED: list[tuple[str, Tamper, int, str]] = [
    ("status edited", lambda r: [r[0], _edited(r[1], status="denied"), *r[2:]], 2, "changed"),
    ("extra edited", lambda r: [r[0], _edited(r[1], note="x"), *r[2:]], 2, "changed"),
    ("risk nonsense", lambda r: [r[0], _edited(r[1], risk="none"), *r[2:]], 2, "does not exist"),
    ("hash edited", lambda r: [_edited(r[0], receipt_hash="f" * 64), *r[1:]], 1, "changed"),
    ("field removed", lambda r: [r[0], b'{"number":2}\n', *r[2:]], 2, "without id"),
    ("sealed again", lambda r: [r[0], _resealed(r[1], tool="x"), *r[2:]], 3, "does not follow"),
    ("id sealed again", lambda r: [*r[:3], _resealed(r[3], id="receipt-9")], 4, "calls itself"),
    ("id sealed again, lower",
     lambda r: [*r[:3], _resealed(r[3], id="receipt-")], 4, "calls itself 'receipt-'"),
    ("first removed", lambda r: r[1:], 1, "receipt 1 is missing, receipt 2"),
    ("middle removed", lambda r: [r[0], *r[2:]], 2, "receipt 2 is missing, receipt 3"),
    ("swapped", lambda r: [r[0], r[2], r[1], r[3]], 2, "receipt 2 is missing, receipt 3"),
    ("doubled", lambda r: [*r[:2], r[1], *r[2:]], 3, "receipt 2 stands there once more"),
    ("no JSON", lambda r: [*r[:2], b"# all fine here\n", *r[2:]], 3, "not JSON"),
    ("no JSON at the end", lambda r: [*r, b"# all fine here\n"], 5, "not JSON"),
    ("not UTF-8", lambda r: [*r[:2], b"\xff\xff\n", *r[2:]], 3, "not JSON"),
    ("torn in the middle", lambda r: [r[0], r[1][:50] + b"\n", *r[2:]], 2, "not JSON"),
    ("NULs in the middle", lambda r: [r[0], b"\0" * 9 + b"\n", *r[2:]], 2, "not JSON"),
    ("a list", lambda r: [*r[:2], b"[]\n", *r[2:]], 3, "not a JSON object"),
    ("wrong kinds", lambda r: [_edited(r[0], tool=7), *r[1:]], 1, "tool of the wrong kind"),
    ("number as text", lambda r: [_edited(r[0], number="1"), *r[1:]], 1, "number of the wrong"),
    ("number as truth", lambda r: [_edited(r[0], number=True), *r[1:]], 1, "number of the wrong"),
    ("NaN", lambda r: [r[0].replace(b'"number":1', b'"number":1,"x":NaN'), *r[1:]], 1, "changed"),
    ("field named twice",
     lambda r: [r[0].replace(b'"tool"', b'"tool":"time","tool"'), *r[1:]], 1, "a field twice"),
    ("white space", lambda r: [r[0], r[1].replace(b'","', b'", "'), *r[2:]], 2, "same, but not in"),
    ("line ends", lambda r: [line.replace(b"\n", b"\r\n") for line in r], 1, "same, but not in"),
    ("a mark of an editor", lambda r: [b"\xef\xbb\xbf" + r[0], *r[1:]], 1, "same, but not in"),
    ("order of fields", lambda r: [*r[:2], _turned(r[2]), r[3]], 3, "same, but not in"),
    ("hash moved", lambda r: [*r[:2], _hash_last(r[2]), r[3]], 3, "same, but not in"),
    ("hash first", lambda r: [*r[:2], _hash_at(r[2], "algorithm"), r[3]], 3, "same, but not in"),
    ("hash early", lambda r: [*r[:2], _hash_at(r[2], "previous_hash"), r[3]], 3, "same, but"),
    ("hash late", lambda r: [*r[:2], _hash_at(r[2], "risk"), r[3]], 3, "same, but not in"),
    ("empty line", lambda r: [r[0], b"\n", *r[1:]], 2, "not JSON"),
    ("other algorithm",
     lambda r: [_resealed(r[0], algorithm="md5"), *r[1:]], 1, "sealed with 'md5', which"),
    ("too deep", lambda r: [b"[" * 100_000 + b"\n", *r], 1, "nested too deep"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tamper", "broken_at", "reason"),
    [case[1:] for case in _TAMPERED],
    ids=[case[0] for case in _TAMPERED],
)
async def test_tampering_is_named_at_its_place(
    tmp_path: Path, tamper: Tamper, broken_at: int, reason: str
) -> None:
    log = await _log(tmp_path, 4)
    whole = log.path.read_bytes().splitlines(keepends=True)
    assert log.verify().count == 4

    log.path.write_bytes(b"".join(tamper(whole)))
    verification = log.verify()

    assert not verification.ok
    assert not verification.torn
    assert verification.broken_at == broken_at
    assert reason in verification.reason
    assert f"receipt {broken_at}" in verification.reason
    assert verification.count == broken_at - 1
    assert verification.missing == 0


@pytest.mark.parametrize(
    "name", sorted(set(Receipt.__annotations__) - {"number", "extra", "receipt_hash"})
)
async def test_every_field_must_be_text(tmp_path: Path, name: str) -> None:
    log = await _log(tmp_path, 3)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + _resealed(lines[1], **{name: 7}) + lines[2])

    verification = log.verify()

    assert verification.broken_at == 2
    assert f"line 2 of the log is {name} of the wrong kind" in verification.reason


@pytest.mark.parametrize("cut", [1, 2, 60, 200])
async def test_a_torn_last_line_is_no_tampering(tmp_path: Path, cut: int) -> None:
    log = await _log(tmp_path, 3)
    whole = log.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    torn = lines[2][: -cut - 1] if cut > 1 else lines[2][:1]
    log.path.write_bytes(lines[0] + lines[1] + torn)
    _index_knows(log, 2)

    verification = log.verify()
    assert verification.ok
    assert verification.torn
    assert verification.count == 2
    assert verification.broken_at is None
    assert "tore the line after receipt 2" in verification.reason

    receipt = await log.append(_draft(9))

    assert receipt.number == 3
    assert (tmp_path / "tool_receipts.torn-1").read_bytes() == torn
    after = log.verify()
    assert (after.ok, after.torn, after.count) == (True, False, 3)


async def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    log = await _log(tmp_path, 3)
    log.path.write_bytes(log.path.read_bytes().rstrip(b"\n"))

    assert log.verify().count == 3
    assert not log.verify().torn
    assert (await log.append(_draft(4))).number == 4
    assert log.verify().count == 4
    assert not list(tmp_path.glob("*.torn-*"))


async def test_a_foreign_last_line_stops_the_chain(tmp_path: Path) -> None:
    log = await _log(tmp_path, 2)
    before = log.path.read_bytes() + b"something else\n"
    log.path.write_bytes(before)

    with pytest.raises(StoreError, match=r"the last line is not JSON.*receipt verify"):
        await log.append(_draft(3))
    assert log.path.read_bytes() == before


async def test_an_edited_chain_goes_on_and_stays_broken(tmp_path: Path) -> None:
    log = await _log(tmp_path, 3)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + _edited(lines[1], tool="x") + lines[2])

    assert (await log.append(_draft(4))).number == 4
    assert log.verify().broken_at == 2

"""A key seals the chain: right, wrong and missing have each their own answer."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import rfc8785

from stormclaw.errors import StoreError
from stormclaw.store.heads import Heads
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog, verify
from stormclaw.store.sealing import receipt_to_line, seal

_KEY = Key("STORMCLAW_KEY", b"a long secret of the person")
_OTHER = Key("STORMCLAW_KEY", b"another secret altogether")


def _draft(number: int = 1) -> ReceiptDraft:
    return ReceiptDraft("s1", "time", "{}", "", "allowed", "low", {"n": number})


async def _log(path: Path, keyed: int, plain: int = 0) -> ReceiptLog:
    log = ReceiptLog(path)
    for number in range(plain):
        await log.append(_draft(number))
    log = ReceiptLog(path, key=_KEY)
    for number in range(keyed):
        await log.append(_draft(number))
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tool_receipts.log"


def test_a_key_comes_from_the_environment() -> None:
    assert Key.named("K", {"K": "a"}) == Key("K", b"a")
    assert Key.named("K", {"K": "\udcff"}).secret == b"\xff"
    assert Key.named("K", {}).lacking
    assert Key.named("K", {"K": ""}).lacking
    assert not Key.named("", {"": "x"}).lacking
    assert not _KEY.lacking
    assert "secret" not in repr(_KEY).replace("secret of", "")
    assert "person" not in repr(_KEY)


async def test_the_seal_is_the_hmac_and_says_so(path: Path) -> None:
    await _log(path, 1)

    stored = json.loads(path.read_bytes())
    assert stored["algorithm"] == "hmac-sha256"
    assert stored["key_id"] == _KEY.id
    assert len(_KEY.id) == 16
    body = {name: value for name, value in stored.items() if name != "receipt_hash"}
    sealed = hmac.new(_KEY.secret, rfc8785.dumps(body), hashlib.sha256).hexdigest()
    assert stored["receipt_hash"] == sealed


async def test_without_a_key_it_is_the_plain_hash_and_says_so(path: Path) -> None:
    await _log(path, 0, 1)

    assert json.loads(path.read_bytes())["algorithm"] == "sha256"
    assert "key_id" not in json.loads(path.read_bytes())


async def test_right_wrong_and_missing_have_three_answers(path: Path) -> None:
    await _log(path, 3)

    right = verify(path, _KEY)
    assert (right.ok, right.keyed, right.count, right.locked) == (True, 3, 3, False)

    wrong = verify(path, _OTHER)
    assert (wrong.ok, wrong.locked, wrong.broken_at) == (False, True, 1)
    assert wrong.reason == (
        f"receipt 1 was sealed with another key (its id is {_KEY.id}, that of the key in "
        f"STORMCLAW_KEY is {_OTHER.id})"
    )

    missing = verify(path, Key("STORMCLAW_KEY"))
    assert (missing.ok, missing.locked, missing.broken_at) == (False, True, 1)
    assert "a key that is not there: set STORMCLAW_KEY, as" in missing.reason

    unnamed = verify(path)
    assert (unnamed.ok, unnamed.locked) == (False, True)
    assert "receipts.hmac_key_env" in unnamed.reason


async def test_every_other_key_is_a_wrong_one(path: Path) -> None:
    await _log(path, 1)
    others = [Key("K", bytes([sign])) for sign in range(1, 100)]
    assert min(key.id for key in others) < _KEY.id < max(key.id for key in others)

    for other in others:
        assert (verify(path, other).ok, verify(path, other).locked) == (False, True)
        with pytest.raises(StoreError, match="another key"):
            await ReceiptLog(path, key=other).append(_draft())


async def test_the_key_is_never_written(tmp_path: Path, path: Path) -> None:
    log = await _log(path, 2)
    await log.intend("s1", "time", "{}", "low")
    await log.rotate()
    log.close()

    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert _KEY.secret not in file.read_bytes()


async def test_nobody_without_the_key_can_mend_a_receipt(path: Path) -> None:
    log = await _log(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    forged = json.loads(lines[1]) | {"status": "denied"}
    del forged["receipt_hash"]
    forged["receipt_hash"] = hashlib.sha256(rfc8785.dumps(forged)).hexdigest()
    path.write_bytes(lines[0] + rfc8785.dumps(forged) + b"\n" + lines[2])

    assert log.verify().broken_at == 2
    assert "was changed after it was written" in log.verify().reason

    forged |= {"algorithm": "sha256"}
    del forged["receipt_hash"], forged["key_id"]
    forged["receipt_hash"] = hashlib.sha256(rfc8785.dumps(forged)).hexdigest()
    path.write_bytes(lines[0] + rfc8785.dumps(forged) + b"\n" + lines[2])

    assert "receipt 2 is not sealed with the key, the one before it is" in log.verify().reason
    assert not log.verify().locked


async def test_tampering_is_named_even_where_the_key_is_missing(path: Path) -> None:
    await _log(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"".join(lines[2:]))

    found = verify(path)

    assert (found.ok, found.locked, found.broken_at) == (False, False, 2)
    assert "receipt 2 is missing, receipt 3 stands in its place" in found.reason


async def test_a_plain_log_goes_on_with_a_key(path: Path) -> None:
    log = await _log(path, 2, 3)

    found = log.verify()
    assert (found.ok, found.count, found.keyed) == (True, 5, 2)
    assert (verify(path).locked, verify(path).broken_at, verify(path).count) == (True, 4, 5)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"allowed", b"denied") + b"".join(lines[2:]))
    assert log.verify().broken_at == 2
    assert verify(path).broken_at == 2


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (NO_KEY, "sealed with a key: name the environment variable"),
        (_OTHER, "sealed with another key than the one in STORMCLAW_KEY"),
        (Key("STORMCLAW_KEY"), "names STORMCLAW_KEY, which is not set"),
    ],
    ids=["none", "another", "lacking"],
)
async def test_nobody_goes_on_without_the_right_key(path: Path, key: Key, said: str) -> None:
    await _log(path, 2)
    before = path.read_bytes()

    with pytest.raises(StoreError, match=said):
        await ReceiptLog(path, key=key).append(_draft())

    assert path.read_bytes() == before


async def test_a_new_log_can_be_begun_with_another_key(path: Path) -> None:
    await _log(path, 2)
    log = ReceiptLog(path, key=_OTHER)

    receipt, aside = await log.rotate()

    assert aside is not None
    assert "another key" in receipt.extra["continues"]["said"]
    assert (await log.append(_draft())).number == 2
    assert log.verify().ok
    assert verify(aside, _KEY).count == 2


async def test_nobody_without_the_key_can_begin_anew(path: Path) -> None:
    log = await _log(path, 3)
    log.close()
    (last,) = log.read(1)
    told = {"index_count": 3, "index_head": last.receipt_hash, "said": "nothing to see"}
    first = seal(_draft(), None, datetime(2026, 1, 1, tzinfo=UTC), NO_KEY, {"continues": told})
    path.write_bytes(receipt_to_line(first))

    found = log.verify()
    assert (found.ok, found.missing) == (False, 2)
    assert "gap" in (await log.append(_draft())).extra
    assert not log.verify().ok


async def test_with_the_key_it_can_be_begun_anew_across_a_crash(path: Path) -> None:
    log = await _log(path, 3)
    (last,) = log.read(1)
    await log.rotate()
    heads = Heads(path, _KEY)
    heads.settle(3, last.receipt_hash)  # As before the new one reached the index.
    heads.close()

    assert log.verify().ok
    assert "gap" not in (await log.append(_draft())).extra


@pytest.mark.parametrize("forged", ["", "0" * 64])
async def test_an_index_written_without_the_key_shows(path: Path, forged: str) -> None:
    log = await _log(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    heads = Heads(path, NO_KEY)
    heads.settle(3, json.loads(lines[2])["receipt_hash"])
    heads._database.run(lambda inside: inside.execute("UPDATE head SET seal = ?", (forged,)))
    heads.close()

    found = log.verify()
    assert (found.ok, found.broken_at) == (False, 3)
    assert "receipt 3 stands in an index that was written without the key" in found.reason

    await log.append(_draft())
    assert "receipt 4 was written after a gap" in log.verify().reason


async def test_the_closing_of_a_call_is_sealed_too(path: Path) -> None:
    log = ReceiptLog(path, key=_KEY)
    intent = await log.intend("s1", "shell_exec", "{}", "high", {"object": "run x"})
    log.close()

    (receipt,) = await ReceiptLog(path, key=_KEY).recover()

    assert receipt.extra["intent"] == intent.intent_hash
    assert receipt.extra["summary"] == "the program ended before it was done"
    assert receipt.keyed
    assert verify(path, _KEY).ok


async def test_a_torn_end_is_mended_with_a_key_too(tmp_path: Path, path: Path) -> None:
    log = await _log(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    torn = lines[2][:-40]
    path.write_bytes(b"".join(lines[:2]) + torn)
    heads = Heads(path, _KEY)
    heads.settle(2, json.loads(lines[1])["receipt_hash"])
    heads.close()

    assert (log.verify().ok, log.verify().torn) == (True, True)
    assert (await log.append(_draft())).number == 3
    assert (tmp_path / "tool_receipts.torn-1").read_bytes() == torn
    assert (log.verify().ok, log.verify().torn, log.verify().count) == (True, False, 3)

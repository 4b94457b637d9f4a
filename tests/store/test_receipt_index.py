"""A cut end shows, a crash is no cut, and a lost index is said, never passed over."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stormclaw.errors import StoreError
from stormclaw.store import rotation
from stormclaw.store.heads import Heads
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog, verify
from stormclaw.store.replay import Known
from stormclaw.store.sealing import receipt_to_line, seal

_NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def _draft(number: int = 1) -> ReceiptDraft:
    return ReceiptDraft("s1", "time", "{}", "", "allowed", "low", {"n": number})


async def _log(path: Path, count: int = 5) -> ReceiptLog:
    log = ReceiptLog(path)
    for number in range(count):
        await log.append(_draft(number))
    log.close()
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tool_receipts.log"


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def _index(path: Path) -> Path:
    return path.with_name(f"{path.name}.index")


def _known(path: Path) -> Known | None:
    heads = Heads(path, NO_KEY)
    try:
        return heads.known()
    finally:
        heads.close()


def _behind(path: Path, count: int) -> None:
    """The index as it stood some receipts ago."""
    heads = Heads(path, NO_KEY)
    heads.settle(count, json.loads(_lines(path)[count - 1])["receipt_hash"] if count else "0" * 64)
    heads.close()


async def test_the_index_knows_count_and_head(path: Path) -> None:
    log = await _log(path)

    assert _known(path) == Known(5, log.read()[-1].receipt_hash)
    assert _index(path).stat().st_mode & 0o077 == 0
    assert log.verify().notes == ()
    assert log.verify().missing == 0


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (4, "1 receipt is missing at the end: the log was cut after receipt 4"),
        (2, "3 receipts are missing at the end: the log was cut after receipt 2"),
        (0, "5 receipts are missing at the end: the log is empty or gone. If you moved it away"),
    ],
)
async def test_a_cut_end_is_named(path: Path, kept: int, said: str) -> None:
    log = await _log(path)
    path.write_bytes(b"".join(_lines(path)[:kept]))

    found = log.verify()

    assert (found.ok, found.count, found.missing) == (False, kept, 5 - kept)
    assert found.broken_at == kept + 1
    assert said in found.reason


async def test_a_log_that_is_gone_is_a_cut_too(path: Path) -> None:
    log = await _log(path)
    path.unlink()

    assert log.verify().missing == 5


async def test_what_is_written_after_a_cut_tells_of_it_for_good(path: Path) -> None:
    log = await _log(path)
    path.write_bytes(b"".join(_lines(path)[:2]))

    receipt = await log.append(_draft())

    assert receipt.number == 3
    assert receipt.extra["gap"] == "3 receipts are missing before it, the index knew 5"
    for _ in range(4):
        await log.append(_draft())
    _index(path).unlink()
    found = log.verify()
    assert (found.ok, found.broken_at) == (False, 3)
    assert "receipt 3 was written after a gap: 3 receipts are missing" in found.reason


async def test_a_log_written_anew_from_the_start_is_named(path: Path) -> None:
    log = await _log(path)
    previous, lines = None, []
    for number in range(5):
        previous = seal(_draft(number + 100), previous, _NOON)
        lines.append(receipt_to_line(previous))
    path.write_bytes(b"".join(lines))

    found = log.verify()
    assert (found.ok, found.broken_at) == (False, 5)
    assert "receipt 5 is not the one the index knows" in found.reason

    assert "receipt 5 is not the one" in (await log.append(_draft())).extra["gap"]
    assert log.verify().broken_at == 6


async def test_a_log_written_anew_and_longer_is_named_too(path: Path) -> None:
    log = await _log(path, 2)
    previous, lines = None, []
    for number in range(5):
        previous = seal(_draft(number + 100), previous, _NOON)
        lines.append(receipt_to_line(previous))
    path.write_bytes(b"".join(lines))

    assert log.verify().broken_at == 2
    assert "gap" in (await log.append(_draft())).extra


async def test_one_receipt_more_than_the_index_is_a_crash_and_heals(path: Path) -> None:
    log = await _log(path)
    _behind(path, 4)

    assert (log.verify().ok, log.verify().notes) == (True, ())
    receipt = await log.append(_draft())

    assert not {"gap", "index"} & set(receipt.extra)
    assert _known(path) == Known(6, receipt.receipt_hash)


@pytest.mark.parametrize("behind", [0, 2, 3])
async def test_several_more_are_said_but_break_nothing(path: Path, behind: int) -> None:
    log = await _log(path)
    _behind(path, behind)
    more = 5 - behind

    found = log.verify()
    assert found.ok
    assert found.notes == (f"the last {more} receipts were written without the index",)

    receipt = await log.append(_draft())
    told = f"{more} receipts behind: they were written without it"
    assert receipt.extra["index"] == told
    assert log.verify().notes == (f"receipt 6: the index was {told}",)


async def test_a_log_of_before_there_was_an_index_is_taken_over(path: Path) -> None:
    log = await _log(path)
    _index(path).unlink()

    found = log.verify()
    assert found.ok
    assert found.notes == ("not checked against the index: there is none yet",)
    assert not _index(path).exists()

    assert (await log.append(_draft())).extra["index"] == "begun anew: none was there"
    found = log.verify()
    assert found.ok
    assert found.notes == ("receipt 6: the index was begun anew: none was there",)


def _garbage(index: Path) -> None:
    index.write_bytes(b"no database at all" * 500)


def _half(index: Path) -> None:
    index.write_bytes(index.read_bytes()[:4096])


def _other_tables(index: Path) -> None:
    index.unlink()
    made = sqlite3.connect(index)
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("CREATE TABLE something (else_ TEXT)")
    made.execute("PRAGMA user_version = 1")
    made.close()


def _other_columns(index: Path) -> None:
    index.unlink()
    made = sqlite3.connect(index)
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("CREATE TABLE head (id INTEGER PRIMARY KEY, lines INTEGER)")
    made.execute("PRAGMA user_version = 1")
    made.close()


@pytest.mark.parametrize("ruin", [_garbage, _half, _other_tables, _other_columns])
async def test_a_damaged_index_is_kept_aside_and_said(
    path: Path, ruin: Callable[[Path], None]
) -> None:
    log = await _log(path)
    ruin(_index(path))
    ruined = _index(path).read_bytes()

    found = log.verify()
    assert found.ok
    assert found.notes[0].startswith("not checked against the index: the receipts' index")
    assert _index(path).with_name(f"{_index(path).name}.damaged-1").read_bytes() == ruined

    assert "begun anew" in (await log.append(_draft())).extra["index"]
    assert _known(path) == Known(6, log.read()[-1].receipt_hash)


async def test_a_damaged_index_is_mended_by_an_append(path: Path) -> None:
    log = await _log(path)
    _garbage(_index(path))

    assert "begun anew" in (await log.append(_draft())).extra["index"]

    assert log.verify().ok
    assert _known(path) == Known(6, log.read()[-1].receipt_hash)


async def test_an_empty_index_is_said(path: Path) -> None:
    log = await _log(path)
    _index(path).write_bytes(b"")

    assert "there is none yet" in log.verify().notes[0]
    assert "begun anew" in (await log.append(_draft())).extra["index"]


async def test_a_newer_index_is_left_alone_and_stops_nobody(path: Path) -> None:
    log = await _log(path)
    other = sqlite3.connect(_index(path))
    other.execute("PRAGMA user_version = 99")
    other.close()

    assert "written by a newer StormClaw" in log.verify().notes[0]
    receipt = await log.append(_draft())

    assert not {"gap", "index"} & set(receipt.extra)
    other = sqlite3.connect(_index(path))
    assert other.execute("SELECT count FROM head").fetchone() == (5,)
    other.close()


async def test_an_index_that_cannot_be_opened_stops_nobody(path: Path) -> None:
    _index(path).mkdir()
    log = await _log(path, 2)

    found = log.verify()
    assert (found.ok, found.count) == (True, 2)
    assert "folder stands where a file is needed" in found.notes[0]


async def test_several_logs_keep_one_index(path: Path) -> None:
    logs = [ReceiptLog(path) for _ in range(3)]
    for number in range(12):
        await logs[number % 3].append(_draft(number))

    assert _known(path) == Known(12, logs[0].read()[-1].receipt_hash)
    assert logs[0].verify().notes == ()


async def test_time_may_go_back(path: Path) -> None:
    times = iter([_NOON, _NOON - timedelta(days=400), _NOON - timedelta(days=1)])
    log = ReceiptLog(path, lambda: next(times))
    for number in range(3):
        await log.append(_draft(number))

    assert [receipt.extra["n"] for receipt in log.read()] == [0, 1, 2]
    assert log.verify().ok


# Beginning anew ------------------------------------------------------------------------------


async def test_a_log_begun_anew_tells_of_the_old_one(path: Path) -> None:
    log = ReceiptLog(path, lambda: _NOON)
    for number in range(3):
        await log.append(_draft(number))
    old = path.read_bytes()

    receipt, aside = await log.rotate()

    assert aside == path.with_name("tool_receipts-20261122-120000.log")
    assert aside.read_bytes() == old
    assert (receipt.number, receipt.tool, receipt.status) == (1, rotation.TOOL, "allowed")
    told = receipt.extra["continues"]
    assert (told["file"], told["count"]) == (aside.name, 3)
    assert told["head"] == json.loads(old.splitlines()[-1])["receipt_hash"]
    found = log.verify()
    assert found.ok
    assert f"after 3 receipts (head {told['head'][:8]}), kept in {aside.name}: " in found.notes[0]
    assert "its chain was unbroken" in found.notes[0]
    assert (await log.append(_draft())).number == 2
    assert (log.verify().ok, log.verify().count) == (True, 2)

    again, aside_again = await log.rotate()
    assert aside_again == path.with_name("tool_receipts-20261122-120000-2.log")
    assert again.extra["continues"]["count"] == 2


async def test_a_crash_while_beginning_anew_is_no_cut(path: Path) -> None:
    log = await _log(path)
    known = _known(path)
    await log.rotate()
    heads = Heads(path, NO_KEY)
    assert known is not None
    heads.settle(known.count, known.head)  # As before the new one reached the index.
    heads.close()

    assert log.verify().ok
    assert "gap" not in (await log.append(_draft())).extra
    assert (log.verify().ok, _known(path)) == (True, Known(2, log.read()[-1].receipt_hash))


async def test_only_the_log_it_continues_is_forgiven(path: Path) -> None:
    log = await _log(path)
    await log.rotate()
    first = path.read_bytes()
    for number in range(4):
        await log.append(_draft(number))
    log.close()
    path.write_bytes(first)

    assert log.verify().missing == 4


async def test_only_a_first_receipt_can_begin_anew(path: Path) -> None:
    log = await _log(path)
    known = _known(path)
    assert known is not None
    told = {"index_count": known.count, "index_head": known.head}
    forged = seal(_draft(), log.read()[0], _NOON, NO_KEY, {"continues": told})
    path.write_bytes(_lines(path)[0] + receipt_to_line(forged))

    assert log.verify().missing == 3
    assert "gap" in (await log.append(_draft())).extra


async def test_a_log_moved_by_hand_is_settled_by_beginning_anew(path: Path) -> None:
    log = await _log(path)
    path.rename(path.with_name("mine.log"))
    assert not log.verify().ok

    receipt, aside = await log.rotate()

    assert aside is None
    assert receipt.extra["continues"]["index_count"] == 5
    assert log.verify().ok
    assert "5 receipts are missing" in log.verify().notes[0]


async def test_a_broken_log_is_kept_broken_and_said_so(path: Path) -> None:
    log = await _log(path)
    path.write_bytes(path.read_bytes().replace(b'"n":2', b'"n":7') + b"rubbish\n")
    with pytest.raises(StoreError, match="receipt rotate"):
        await log.append(_draft())

    receipt, aside = await log.rotate()

    assert "receipt 3 was changed" in receipt.extra["continues"]["said"]
    assert aside is not None
    assert verify(aside).broken_at == 3
    assert (await log.append(_draft())).number == 2


async def test_beginning_anew_leaves_running_calls_their_result(path: Path) -> None:
    log = await _log(path)
    intent = await log.intend("s1", "shell_exec", "{}", "low")
    other = ReceiptLog(path)
    await other.rotate()

    assert (await log.append(_draft(), intent)).number == 2
    assert await other.recover() == ()


async def test_beginning_anew_needs_the_key_it_wants(path: Path) -> None:
    log = await _log(path)
    with pytest.raises(StoreError, match="names K, which is not set"):
        await ReceiptLog(path, key=Key("K")).rotate()
    assert log.verify().ok


async def test_a_read_only_folder_begins_nothing(path: Path, read_only: Callable[[], None]) -> None:
    log = await _log(path)
    read_only()

    with pytest.raises(StoreError, match=r"begin anew .*permissions"):
        await log.rotate()
    with pytest.raises(StoreError, match="permissions"):
        await log.intend("s", "t", "{}", "low")
    found = log.verify()
    assert (found.ok, found.count) == (True, 5)
    assert len(log.read()) == 5


async def test_a_full_disk_leaves_the_old_log_standing(small_disk: Path) -> None:
    log = ReceiptLog(small_disk / "tool_receipts.log")
    await log.append(_draft())
    filler = small_disk / "filler"
    try:
        with filler.open("ab", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass

    with pytest.raises(StoreError, match="No space left"):
        await log.rotate()

    assert log.read()[0].extra["n"] == 1
    assert not list(small_disk.glob("tool_receipts-*"))
    assert not list(small_disk.glob(".*.tmp"))

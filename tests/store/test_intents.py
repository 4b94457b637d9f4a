"""What was begun is on the disk before it is begun, and has one receipt whatever happens."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import StoreError
from stormclaw.store.durable import flocked
from stormclaw.store.keys import Key
from stormclaw.store.receipts import Intent, ReceiptDraft, ReceiptLog, receipt_to_json


def _draft(result: str = "ok") -> ReceiptDraft:
    return ReceiptDraft("s1", "shell_exec", '{"command":"make"}', result, "allowed", "medium")


async def _intend(log: ReceiptLog, command: str = "make") -> Intent:
    extra = {"agent": "root", "object": f"run {command}"}
    return await log.intend("s1", "shell_exec", json.dumps({"c": command}), "medium", extra)


def _folder(log: ReceiptLog) -> Path:
    return log.path.with_name(f"{log.path.name}.intents")


def _journals(log: ReceiptLog) -> list[Path]:
    return sorted(_folder(log).iterdir())


@pytest.fixture
def log(tmp_path: Path) -> ReceiptLog:
    return ReceiptLog(tmp_path / "tool_receipts.log")


async def test_an_intent_is_on_the_disk_and_its_receipt_names_it(log: ReceiptLog) -> None:
    first = await log.append(_draft())
    intent = await _intend(log)

    (journal,) = _journals(log)
    stored = json.loads(journal.read_bytes())
    assert stored["intent_hash"] == intent.intent_hash
    assert (stored["tool"], stored["risk"], stored["pid"]) == ("shell_exec", "medium", os.getpid())
    assert (stored["after"], stored["after_hash"]) == (1, first.receipt_hash)
    assert stored["args_hash"] == hashlib.sha256(b'{"c": "make"}').hexdigest()
    assert stored["since"] == intent.timestamp  # It is the first one of this process.
    assert journal.stat().st_mode & 0o077 == 0
    assert _folder(log).stat().st_mode & 0o077 == 0

    receipt = await log.append(_draft(), intent)

    assert receipt.number == 2
    assert receipt.extra["intent"] == intent.intent_hash
    assert receipt.extra["intended_at"] == intent.timestamp
    assert journal.read_bytes() == b""
    assert [receipt.number for receipt in log.read()] == [1, 2]
    assert log.verify().notes == ()


async def test_intents_take_no_number_and_are_no_receipts(log: ReceiptLog) -> None:
    intents = [await _intend(log, str(number)) for number in range(3)]

    assert log.read() == ()
    assert log.verify().count == 0
    receipts = [await log.append(_draft(), intent) for intent in reversed(intents)]

    assert [receipt.number for receipt in receipts] == [1, 2, 3]
    assert len(log.path.read_bytes().splitlines()) == 3


async def test_a_receipt_without_an_intent_is_as_before(log: ReceiptLog) -> None:
    receipt = await log.append(_draft())

    assert not {"intent", "intended_at"} & receipt_to_json(receipt).keys()
    assert not _folder(log).exists()


async def test_running_calls_of_a_living_process_are_left_alone(log: ReceiptLog) -> None:
    intent = await _intend(log)
    other = ReceiptLog(log.path)

    assert other.unfinished() == ()
    assert await other.recover() == ()
    assert (await other.append(_draft())).number == 1
    assert (await log.append(_draft(), intent)).extra["intent"] == intent.intent_hash
    assert len(log.read()) == 2


async def test_what_was_left_is_closed_once_and_before_anything_else(log: ReceiptLog) -> None:
    settled = await _intend(log, "settled")
    left = [await _intend(log, "one"), await _intend(log, "two")]
    await log.append(_draft(), settled)
    log.close()
    next_one = ReceiptLog(log.path)

    assert next_one.unfinished() == tuple(left)
    assert next_one.verify().notes == (
        "2 calls were cut off when a program ended; the next receipt closes that",
    )
    assert (await next_one.append(_draft("mine"))).number == 4

    closed = next_one.read()[1:3]
    for receipt, intent in zip(closed, left, strict=True):
        assert (receipt.status, receipt.risk, receipt.tool) == ("failed", "medium", "shell_exec")
        assert receipt.extra["outcome"] == "unknown"
        assert receipt.extra["summary"] == "the program ended before it was done"
        assert receipt.extra["intent"] == intent.intent_hash
        assert receipt.extra["object"] == intent.extra["object"]
        assert receipt.args_hash == intent.args_hash
        assert receipt.result_hash == hashlib.sha256(b"").hexdigest()
        assert receipt.conversation_id == "s1"
    assert _journals(log) == []
    assert await ReceiptLog(log.path).recover() == ()
    assert len(next_one.read()) == 4
    assert next_one.verify().notes == ()


async def test_the_next_start_can_close_it_without_a_call(log: ReceiptLog) -> None:
    await _intend(log)
    log.close()

    (receipt,) = await ReceiptLog(log.path).recover()

    assert (receipt.number, receipt.extra["outcome"]) == (1, "unknown")


async def test_a_receipt_written_before_the_crash_is_not_written_again(log: ReceiptLog) -> None:
    intent = await _intend(log)
    (journal,) = _journals(log)
    told = journal.read_bytes()
    await log.append(_draft(), intent)
    log.close()
    journal.write_bytes(told)  # As if the crash came before the journal was emptied.
    next_one = ReceiptLog(log.path)

    assert next_one.unfinished() == ()
    await next_one.append(_draft())

    assert [receipt.extra.get("intent") for receipt in next_one.read()] == [
        intent.intent_hash,
        None,
    ]
    assert _journals(log) == []


async def test_an_intent_changed_since_is_closed_and_said(log: ReceiptLog) -> None:
    await _intend(log, "rm -r src")
    (journal,) = _journals(log)
    told = journal.read_bytes()
    log.close()
    journal.write_bytes(told.replace(b"rm -r src", b"echo nice"))

    (receipt,) = await ReceiptLog(log.path).recover()

    assert "its intent was changed after it was written" in receipt.extra["summary"]


async def test_a_torn_intent_was_never_begun(log: ReceiptLog) -> None:
    await _intend(log, "one")
    (journal,) = _journals(log)
    told = journal.read_bytes()
    log.close()
    journal.write_bytes(told + told[:90])
    next_one = ReceiptLog(log.path)

    assert len(await next_one.recover()) == 1
    assert _journals(log) == []


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"[]\n", b"7\n", b"{}\n", b"[" * 50_000 + b"\n",
     b'{"conversation_id":"s1","tool":"x"}\n'],
    ids=["no JSON", "list", "number", "empty", "deep", "in part"],
)  # fmt: skip
async def test_what_cannot_be_read_is_kept_aside_and_hides_nothing(
    log: ReceiptLog, line: bytes
) -> None:
    await _intend(log)
    (journal,) = _journals(log)
    told = journal.read_bytes()
    log.close()
    journal.write_bytes(line + told)

    assert len(await ReceiptLog(log.path).recover()) == 1

    (kept,) = _journals(log)
    assert kept.suffix == ".unreadable"
    assert kept.read_bytes() == line + told
    assert await ReceiptLog(log.path).recover() == ()


async def test_a_journal_removed_under_a_running_call_is_written_again(log: ReceiptLog) -> None:
    first = await _intend(log, "one")
    _journals(log)[0].unlink()
    await _intend(log, "two")
    log.close()

    closed = await ReceiptLog(log.path).recover()

    assert [receipt.extra["object"] for receipt in closed] == ["run one", "run two"]
    assert closed[0].extra["intent"] == first.intent_hash


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
async def test_a_cancelled_intent_is_none(log: ReceiptLog) -> None:
    await log.append(_draft())
    with log.path.open("rb") as held:
        with flocked(held.fileno()):
            task = asyncio.create_task(_intend(log))
            while sum(x.exists() and x.samefile(log.path) for x in _open_files()) < 2:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        with pytest.raises(asyncio.CancelledError):
            await task
    log.close()

    assert ReceiptLog(log.path).unfinished() == ()
    assert _journals(log) == []


def _open_files() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())


async def test_a_withdrawn_intent_stays_withdrawn_after_a_crash(log: ReceiptLog) -> None:
    keep = await _intend(log, "keep")
    gone = await _intend(log, "gone")
    log._withdraw(gone)
    log.close()

    assert [intent.intent_hash for intent in log.unfinished()] == [keep.intent_hash]


async def test_a_withdrawal_that_cannot_be_written_is_heard(log: ReceiptLog) -> None:
    intent = await _intend(log)
    log.close()
    with pytest.raises(StoreError, match="cannot withdraw an intent"):
        log._withdraw(intent)
    assert log.unfinished() == (intent,)


async def test_no_intent_where_no_receipt_could_follow(tmp_path: Path, log: ReceiptLog) -> None:
    log.path.write_bytes(b"something else\n")
    with pytest.raises(StoreError, match="the last line is not JSON"):
        await _intend(log)
    lacking = ReceiptLog(tmp_path / "other.log", key=Key("STORMCLAW_KEY"))
    with pytest.raises(StoreError, match="STORMCLAW_KEY, which is not set"):
        await _intend(lacking)
    (tmp_path / "third.log.intents").write_text("")
    with pytest.raises(StoreError, match="file stands where a folder is needed"):
        await _intend(ReceiptLog(tmp_path / "third.log"))
    assert not _folder(log).exists()


async def test_names_of_the_logs_own_are_refused(log: ReceiptLog) -> None:
    with pytest.raises(ValueError, match="gap"):
        await log.intend("s", "t", "{}", "low", {"gap": "x"})
    with pytest.raises(ValueError, match="algorithm"):
        await log.append(ReceiptDraft("s", "t", "{}", "", "allowed", "low", {"algorithm": "md5"}))
    assert log.read() == ()


async def test_a_full_disk_begins_nothing(small_disk: Path) -> None:
    log = ReceiptLog(small_disk / "tool_receipts.log")
    done = 0

    async def fill() -> None:
        nonlocal done
        while True:
            await log.intend("s", "t", "{}", "low", {"pad": "x" * 3000})
            done += 1

    with pytest.raises(StoreError, match="No space left"):
        await fill()
    log.close()

    assert done > 3
    assert len(log.unfinished()) == done


async def test_threads_share_a_journal(log: ReceiptLog) -> None:
    before = threading.active_count()
    intents = await asyncio.gather(*(_intend(log, str(number)) for number in range(20)))
    await asyncio.gather(*(log.append(_draft(), intent) for intent in intents[::2]))
    log.close()

    closed = await ReceiptLog(log.path).recover()

    assert {r.extra["intent"] for r in closed} == {intent.intent_hash for intent in intents[1::2]}
    assert threading.active_count() < before + 50


_BEGIN = """
import asyncio, sys
from pathlib import Path
from stormclaw.store.receipts import ReceiptLog
log = ReceiptLog(Path(sys.argv[1]))
intent = asyncio.run(log.intend("s9", "shell_exec", "{}", "high", {"object": "run make"}))
print(intent.intent_hash, flush=True)
sys.stdin.readline()
"""


async def test_a_killed_process_is_told_from_a_living_one(
    log: ReceiptLog, child: Callable[..., Any]
) -> None:
    process = child(_BEGIN, log.path)
    intent_hash = process.stdout.readline().strip()
    assert await log.recover() == ()

    process.send_signal(signal.SIGKILL)
    process.wait()

    (receipt,) = await log.recover()
    assert receipt.extra["intent"] == intent_hash
    assert (receipt.conversation_id, receipt.status) == ("s9", "failed")


def test_several_processes_close_it_once(log: ReceiptLog, child: Callable[..., Any]) -> None:
    process = child(_BEGIN, log.path)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    others = [child(_CLOSE, log.path) for _ in range(4)]
    for other in others:
        other.stdin.write("go\n")
        other.stdin.flush()

    closed = [int(other.communicate()[0]) for other in others]

    assert sorted(closed) in ([0, 0, 0, 0], [0, 0, 0, 1])  # An append may have been first.
    assert [receipt.extra.get("outcome") for receipt in log.read()].count("unknown") == 1
    assert len(log.read()) == 5


_CLOSE = """
import asyncio, sys
from pathlib import Path
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog
log = ReceiptLog(Path(sys.argv[1]))
sys.stdin.readline()
async def main():
    closed = await log.recover()
    await log.append(ReceiptDraft("s", "t", "{}", "", "allowed", "low"))
    print(len(closed))
asyncio.run(main())
"""

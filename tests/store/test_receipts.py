"""Every attempt leaves a receipt, whoever else writes and whatever stops us."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import StoreError
from stormclaw.store.durable import flocked
from stormclaw.store.receipts import (
    FIRST_PREVIOUS_HASH,
    Receipt,
    ReceiptDraft,
    ReceiptLog,
    read,
    receipt_to_json,
    verify,
)
from stormclaw.store.replay import verify_lines
from stormclaw.store.sealing import receipt_from_line, receipt_to_line, seal

_SPEC_FIELDS = {
    "id", "timestamp", "conversation_id", "tool", "args_hash", "result_hash", "status", "risk",
    "previous_hash", "receipt_hash",
}  # fmt: skip
_NOON = datetime(2026, 5, 12, 16, 0, tzinfo=timezone(timedelta(hours=2)))


def _draft(number: int = 1, session: str = "s1", **extra: Any) -> ReceiptDraft:
    return ReceiptDraft(session, "read_file", f'{{"n":{number}}}', "ok", "allowed", "low", extra)


async def _log(tmp_path: Path, count: int) -> ReceiptLog:
    log = ReceiptLog(tmp_path / "tool_receipts.log")
    for number in range(count):
        await log.append(_draft(number))
    return log


async def test_a_receipt_has_the_fields_of_the_spec(tmp_path: Path) -> None:
    log = ReceiptLog(tmp_path / "new folder" / "tool_receipts.log", lambda: _NOON)
    receipt = await log.append(
        ReceiptDraft("s1", "shell_exec", '{"command": "ls"}', "a\n", "failed", "medium",
                     {"agent": "root", "rule": "shipped list: ls", "exit": 1})
    )  # fmt: skip

    stored = json.loads(log.path.read_bytes())
    assert set(stored) >= _SPEC_FIELDS
    assert stored["id"] == "receipt-000001"
    assert stored["timestamp"] == "2026-05-12T14:00:00.000Z"
    assert stored["args_hash"] == hashlib.sha256(b'{"command": "ls"}').hexdigest()
    assert stored["result_hash"] == hashlib.sha256(b"a\n").hexdigest()
    assert (stored["status"], stored["risk"]) == ("failed", "medium")
    assert stored["previous_hash"] == FIRST_PREVIOUS_HASH == "0" * 64
    assert (stored["agent"], stored["exit"], stored["number"]) == ("root", 1, 1)
    sealed = {name: value for name, value in stored.items() if name != "receipt_hash"}
    assert stored["receipt_hash"] == hashlib.sha256(rfc8785.dumps(sealed)).hexdigest()
    assert receipt_to_json(receipt) == stored
    assert log.path.stat().st_mode & 0o077 == 0


async def test_blocked_is_written_as_high_with_its_verdict(tmp_path: Path) -> None:
    log = ReceiptLog(tmp_path / "log")
    receipt = await log.append(ReceiptDraft("s", "shell_exec", "{}", "", "denied", "blocked"))

    assert receipt.risk == "high"
    assert receipt.extra == {"verdict": "blocked", "algorithm": "sha256"}
    assert receipt.result_hash == hashlib.sha256(b"").hexdigest()
    assert log.verify().ok


async def test_the_chain_goes_on_in_another_log_object(tmp_path: Path) -> None:
    log = await _log(tmp_path, 2)
    third = await ReceiptLog(log.path).append(_draft(3))

    receipts = log.read()
    assert [receipt.number for receipt in receipts] == [1, 2, 3]
    assert third.previous_hash == receipts[1].receipt_hash
    verification = verify(log.path)
    assert verification.ok
    assert (verification.count, verification.head) == (3, third.receipt_hash)


def test_no_log_yet_is_an_unbroken_chain_of_none(tmp_path: Path) -> None:
    assert verify(tmp_path / "log").ok
    assert verify(tmp_path / "log").count == 0
    assert read(tmp_path / "log") == ()


def test_an_extra_field_cannot_take_the_place_of_a_real_one() -> None:
    with pytest.raises(ValueError, match="status"):
        seal(_draft(status="allowed"), None, _NOON)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
    max_leaves=8,
)


@settings(max_examples=tries(20, 60), deadline=None)
@given(_json, st.text(st.characters(codec=None)))
def test_whatever_it_is_about_a_receipt_is_sealed_and_verified(value: Any, text: str) -> None:
    draft = ReceiptDraft(
        text, text, text, text, "denied", "low", {"what": value, "path": Path("a")}
    )
    receipt = seal(draft, None, _NOON)

    line = receipt_to_line(receipt)
    assert line.count(b"\n") == 1
    assert receipt_from_line(line) == receipt
    assert verify_lines([line]).ok


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (2**53 - 1, 2**53 - 1),
        (1 - 2**53, 1 - 2**53),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (1.5, 1.5),
        (-0.25, -0.25),
        (float(2**53 - 1), float(2**53 - 1)),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (True, True),
        (None, None),
        ((1, "a"), [1, "a"]),
        ({1: {2: "b"}}, {"1": {"2": "b"}}),
        (Path("a"), "a"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_canonical_json_can_hold_is_kept(value: Any, kept: Any) -> None:
    receipt = seal(_draft(what=value), None, _NOON)

    assert receipt.extra["what"] == kept
    assert type(receipt.extra["what"]) is type(kept)
    assert verify_lines([receipt_to_line(receipt)]).ok


def test_a_long_text_is_cut_with_a_count() -> None:
    receipt = seal(_draft(object="x" * 5000), None, _NOON)

    assert receipt.extra["object"] == "x" * 4000 + "… (1000 more characters)"
    assert seal(_draft(object="x" * 4000), None, _NOON).extra["object"] == "x" * 4000


async def test_reading_the_newest_of_a_session(tmp_path: Path) -> None:
    log = ReceiptLog(tmp_path / "log")
    for number in range(30):
        await log.append(_draft(number, "odd" if number % 2 else "even", pad="x" * 9000))

    assert [receipt.number for receipt in log.read(3)] == [28, 29, 30]
    assert [receipt.number for receipt in log.read(3, "even")] == [25, 27, 29]
    assert len(log.read()) == 30
    assert len(log.read(conversation_id="odd")) == 15
    assert log.read(0) == log.read(-1) == ()
    assert log.read(conversation_id="nobody") == ()


async def test_appends_made_at_once_make_one_chain(tmp_path: Path) -> None:
    log = ReceiptLog(tmp_path / "log")
    receipts = await asyncio.gather(*(log.append(_draft(number)) for number in range(40)))

    assert sorted(receipt.number for receipt in receipts) == list(range(1, 41))
    assert log.verify().count == 40


_APPEND = """
import asyncio, sys
from pathlib import Path
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog

async def main():
    log = ReceiptLog(Path(sys.argv[1]))
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        extra = {"pad": "x" * (number * 7919 % 3000)}
        draft = ReceiptDraft("s", "t", "{}", "", "allowed", "low", extra)
        receipt = await log.append(draft)
        print(receipt.number, flush=True)

asyncio.run(main())
"""


def test_several_processes_make_one_chain(tmp_path: Path, child: Callable[..., Any]) -> None:
    path = tmp_path / "log"
    processes = [child(_APPEND, path, 25) for _ in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    numbers = [int(n) for process in processes for n in process.communicate()[0].split()]

    assert sorted(numbers) == list(range(1, 101))
    verification = verify(path)
    assert verification.ok
    assert verification.count == 100


@pytest.mark.parametrize("stop_after", [1, 7, 23])
def test_after_sigkill_the_chain_goes_on(
    tmp_path: Path, child: Callable[..., Any], stop_after: int
) -> None:
    path = tmp_path / "log"
    process = child(_APPEND, path, 100_000)
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(stop_after):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    announced = stop_after + len(process.stdout.read().splitlines())
    process.wait()

    receipt = asyncio.run(ReceiptLog(path).append(_draft()))

    assert receipt.number - 1 - announced in (0, 1)
    verification = verify(path)
    assert (verification.ok, verification.torn) == (True, False)
    assert verification.count == receipt.number


async def test_a_full_disk_writes_no_half_receipt(small_disk: Path) -> None:
    log = ReceiptLog(small_disk / "tool_receipts.log")
    written: list[Receipt] = []

    async def fill() -> None:
        while True:
            written.append(await log.append(_draft(pad="x" * 1500)))

    with pytest.raises(StoreError, match=r"cannot write a receipt to .*\.log: No space"):
        await fill()

    assert log.read() == tuple(written)
    verification = log.verify()
    assert (verification.ok, verification.torn) == (True, False)
    assert verification.count == len(written) > 1


async def test_a_log_moved_away_begins_anew(tmp_path: Path) -> None:
    log = await _log(tmp_path, 3)
    log.path.rename(tmp_path / "old.log")

    assert (await log.append(_draft())).number == 1
    assert len(log.read()) == 1
    assert verify(tmp_path / "old.log").count == 3
    assert log.verify().broken_at == 1  # Until the person says that it was on purpose.


def _times_open(path: Path) -> int:
    """How often this process has a file open."""
    place = Path("/proc/self/fd")
    return sum(link.exists() and link.samefile(path) for link in list(place.iterdir()))


_needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@_needs_proc
async def test_a_log_moved_away_while_an_append_waits_is_left_alone(tmp_path: Path) -> None:
    log = await _log(tmp_path, 3)
    with log.path.open("rb") as held, flocked(held.fileno()):
        waiting = asyncio.create_task(log.append(_draft()))
        while _times_open(log.path) < 2:
            await asyncio.sleep(0)
        log.path.rename(tmp_path / "old.log")

    assert (await waiting).number == 1
    assert verify(tmp_path / "old.log").count == 3


@_needs_proc
async def test_verifying_waits_for_an_append_in_progress(tmp_path: Path) -> None:
    log = await _log(tmp_path, 3)
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[:-30])
    with log.path.open("ab") as held, flocked(held.fileno()):
        waiting = asyncio.create_task(asyncio.to_thread(log.verify))
        while _times_open(log.path) < 2 and not waiting.done():
            await asyncio.sleep(0)
        held.write(whole[-30:])
        held.flush()

    verification = await waiting
    assert (verification.ok, verification.torn, verification.count) == (True, False, 3)


async def test_the_end_is_found_without_reading_the_rest(tmp_path: Path) -> None:
    log = await _log(tmp_path, 1)
    first = log.path.read_bytes()
    # Anything that reads or replays the middle would stumble over it.
    log.path.write_bytes(b"\xff" * 3_000_000 + b"\n" + first)

    assert (await log.append(_draft())).number == 2
    assert [receipt.number for receipt in log.read(2)] == [1, 2]


async def test_an_unusable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()

    with pytest.raises(StoreError, match="folder stands where a file is needed"):
        await ReceiptLog(tmp_path / "log").append(_draft())
    with pytest.raises(StoreError, match="cannot read"):
        verify(tmp_path / "log")
    with pytest.raises(StoreError, match="cannot read"):
        read(tmp_path / "log")


def test_timestamps_are_utc_whatever_the_clock_says() -> None:
    assert seal(_draft(), None, _NOON.astimezone(UTC)).timestamp == "2026-05-12T14:00:00.000Z"

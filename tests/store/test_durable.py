"""The ground the store stands on: whole files, whole records, locks, and the ends of files."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import StoreError
from stormclaw.store.durable import (
    append_record,
    finish,
    flocked,
    make_folder,
    save_atomically,
    store_error,
)
from stormclaw.store.tails import is_torn, lines_backwards, mend_tail


@contextmanager
def _opened(path: Path, flags: int = os.O_RDWR | os.O_CREAT | os.O_APPEND) -> Iterator[int]:
    fd = os.open(path, flags, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


@settings(max_examples=tries(70, 200), deadline=None)
@given(
    st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\0", b"defgh"]), max_size=40).map(b"".join),
    st.integers(min_value=1, max_value=9),
)
def test_lines_are_found_from_the_end(content: bytes, block: int) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(content)
        found = list(lines_backwards(file.fileno(), block))

    expected = content.splitlines(keepends=True)
    assert [line for _, line in reversed(found)] == expected
    assert all(content[offset : offset + len(line)] == line for offset, line in found)


@pytest.mark.parametrize(
    ("line", "torn"),
    [
        (b'{"a":1}\n', False),
        (b'{"a":1}', False),
        (b'{"a":1', True),
        (b"[1]", True),
        (b"12", True),
        (b"word\n", False),
        (b"\0\0\n", True),
        (b"\xff", True),
        (b"[" * 100_000, True),
    ],
    ids=["whole", "without end", "half", "list", "number", "word", "NULs", "byte", "deep"],
)
def test_what_is_torn(line: bytes, torn: bool) -> None:
    assert is_torn(line) is torn


def test_mending_a_whole_or_empty_file_changes_nothing(tmp_path: Path) -> None:
    for content in (b"", b'{"a":1}\n', b"word\n"):
        path = tmp_path / "file.jsonl"
        path.write_bytes(content)
        with _opened(path) as fd:
            assert mend_tail(fd, path) == ""
        assert path.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file.jsonl"]


def test_torn_bytes_are_not_cut_when_they_cannot_be_kept(small_disk: Path) -> None:
    path = small_disk / "file.jsonl"
    torn = b'{"half":"' + b"x" * 40_000
    path.write_bytes(b'{"a":1}\n' + torn)

    with _opened(path) as fd, pytest.raises(OSError, match="No space left"):
        mend_tail(fd, path)

    assert path.read_bytes() == b'{"a":1}\n' + torn
    assert [kept.name for kept in small_disk.iterdir()] == ["file.jsonl"]


def test_a_record_that_does_not_fit_leaves_nothing(small_disk: Path) -> None:
    path = small_disk / "file.jsonl"
    with _opened(path) as fd:
        append_record(fd, b"first\n")
        with pytest.raises(OSError, match="No space left"):
            append_record(fd, b"x" * 100_000)
        append_record(fd, b"second\n")

    assert path.read_bytes() == b"first\nsecond\n"


def test_a_saved_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_atomically(path, b"old" * 1000)
    with _opened(path, os.O_RDONLY) as fd:
        save_atomically(path, b"new")
        assert os.read(fd, 9) == b"oldoldold"  # A reader in the middle keeps what it opened.

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_saving_where_there_is_no_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot save .*gone/file: .*its folder is gone"):
        save_atomically(tmp_path / "gone" / "file", b"x")


def test_folders_are_made_for_this_user_alone(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")

    assert (tmp_path / "a").stat().st_mode & 0o077 == 0
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0


def test_a_lock_held_too_long_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with _opened(path) as mine, _opened(path) as theirs:
        with flocked(theirs):
            with (
                pytest.raises(TimeoutError, match="another process has held its lock") as raised,
                flocked(mine, patience_s=0),
            ):
                pass
            message = str(store_error("write", path, raised.value))
            assert "another process has held its lock for 0 s" in message
        with flocked(mine, patience_s=0):
            pass  # Free again.


def test_readers_share_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with (
        _opened(path) as mine,
        _opened(path) as theirs,
        flocked(theirs, exclusive=False),
        flocked(mine, exclusive=False, patience_s=0),
    ):
        pass


async def test_cancelled_work_is_finished_first(tmp_path: Path) -> None:
    gate = threading.Event()
    done: list[str] = []

    def work() -> None:
        gate.wait()
        done.append("done")

    task = asyncio.create_task(finish(asyncio.to_thread(work)))
    await asyncio.sleep(0)
    for _ in range(3):  # However often it is cancelled.
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["done"]


async def test_an_error_is_heard_even_when_cancelled() -> None:
    gate = threading.Event()

    def work() -> None:
        gate.wait()
        raise StoreError("the disk is full")

    task = asyncio.create_task(finish(asyncio.to_thread(work)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(StoreError, match="the disk is full"):
        await task


async def test_finished_work_gives_its_result() -> None:
    assert await finish(asyncio.to_thread(lambda: 42)) == 42

"""Notes are told to every session; no project can pass another file off as notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stormclaw.errors import StoreError
from stormclaw.store.notes import MAX_BYTES, read_notes


def test_no_notes_are_empty(tmp_path: Path) -> None:
    assert read_notes(tmp_path) == ""
    assert read_notes(tmp_path / "missing") == ""


def test_notes_are_read(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(
        "\ufeff# Notes\n\n- tests run with `make test` ✓\n".encode()
    )

    assert read_notes(tmp_path) == "# Notes\n\n- tests run with `make test` ✓"


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"caf\xe9\n")

    assert read_notes(tmp_path) == "caf\ufffd"


def test_too_long_notes_lose_their_oldest_lines(tmp_path: Path) -> None:
    lines = [f"- note {number:05}\n" for number in range(3000)]
    content = "".join(lines).encode()
    (tmp_path / "MEMORY.md").write_bytes(content)

    first, *kept = read_notes(tmp_path).splitlines()

    assert kept == [line.rstrip() for line in lines[-len(kept) :]]
    kept_bytes = len(kept) * len(lines[0])
    assert kept_bytes <= MAX_BYTES
    assert first == f"[{len(content) - kept_bytes} bytes of older notes left out]"


def test_one_endless_line_is_cut_too(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("x" * (MAX_BYTES + 100))

    assert read_notes(tmp_path) == f"[100 bytes of older notes left out]\n{'x' * MAX_BYTES}"


def test_notes_of_exactly_the_limit_are_whole(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("x" * MAX_BYTES)

    assert read_notes(tmp_path) == "x" * MAX_BYTES


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (tmp_path / "MEMORY.md").symlink_to(tmp_path / "secret")

    with pytest.raises(StoreError, match="must be a plain file, not a link"):
        read_notes(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "MEMORY.md")

    with pytest.raises(StoreError, match="must be a plain file"):
        read_notes(tmp_path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").mkdir()

    with pytest.raises(StoreError, match="must be a plain file"):
        read_notes(tmp_path)


def test_a_folder_of_notes_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("")

    with pytest.raises(StoreError, match="cannot read"):
        read_notes(tmp_path / "memory")

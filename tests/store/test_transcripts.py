"""What was announced as written is read back: after crashes, on full disks, with other writers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.codec import NewerVersion, node_to_line
from stormclaw.store.transcripts import FILE_NAME, Reading, Transcript, read


def _node(number: int, text: str = "hello") -> Node:
    parent = f"n{number - 1}" if number else None
    return Node(f"n{number}", parent, "root", float(number), UserText(text))


def _write(folder: Path, *lines: bytes) -> None:
    (folder / FILE_NAME).write_bytes(b"".join(lines))


async def test_replay_equals_what_was_written(tmp_path: Path) -> None:
    nodes = [_node(number, "line\none\r two \u2028 \x00 \ud800 é") for number in range(20)]
    transcript = Transcript(tmp_path)
    for node in nodes:
        await transcript.append(node)
    transcript.close()

    assert read(tmp_path) == Reading(tuple(nodes))
    assert (tmp_path / FILE_NAME).read_bytes() == b"".join(map(node_to_line, nodes))
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o077 == 0


async def test_appends_made_at_once_stay_whole_and_in_order(tmp_path: Path) -> None:
    nodes = [_node(number, "x" * 5000) for number in range(40)]
    transcript = Transcript(tmp_path)
    await asyncio.gather(*(transcript.append(node) for node in nodes))
    transcript.close()

    assert read(tmp_path).nodes == tuple(nodes)


async def test_a_cancelled_append_is_over_before_the_next_one(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path)
    first = asyncio.create_task(transcript.append(_node(0, "x" * 1_000_000)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await transcript.append(_node(1))
    transcript.close()

    reading = read(tmp_path)
    assert reading.problems == ()
    assert [node.id for node in reading.nodes] in (["n0", "n1"], ["n1"])


def test_no_transcript_yet_is_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path) == Reading(())


async def test_a_closed_transcript_says_so(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path)
    transcript.close()
    transcript.close()

    with pytest.raises(StoreError, match="has been closed"):
        await transcript.append(_node(0))


async def test_a_torn_last_line_is_kept_aside_and_cut(tmp_path: Path) -> None:
    torn = node_to_line(_node(1))[:-20]
    _write(tmp_path, node_to_line(_node(0)), torn)

    before = read(tmp_path)
    assert before.nodes == (_node(0),)
    assert "line 2: torn by a crash" in before.problems[0]

    transcript = Transcript(tmp_path)
    (problem,) = transcript.problems
    await transcript.append(_node(2))
    transcript.close()

    assert "torn by a crash" in problem
    assert "transcript.torn-1" in problem
    assert (tmp_path / "transcript.torn-1").read_bytes() == torn
    assert read(tmp_path) == Reading((_node(0), _node(2)))


async def test_every_torn_line_gets_its_own_file(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with (tmp_path / FILE_NAME).open("ab") as file:
            file.write(b'{"half": %d' % number)
        Transcript(tmp_path).close()

    kept = sorted(path.name for path in tmp_path.glob("*.torn-*"))
    assert kept == ["transcript.torn-1", "transcript.torn-2", "transcript.torn-3"]
    assert (tmp_path / FILE_NAME).read_bytes() == b""


async def test_nuls_of_a_lost_write_are_torn_too(tmp_path: Path) -> None:
    _write(tmp_path, node_to_line(_node(0)), b"\0" * 5000)
    transcript = Transcript(tmp_path)
    transcript.close()

    assert (tmp_path / "transcript.torn-1").read_bytes() == b"\0" * 5000
    assert read(tmp_path) == Reading((_node(0),))


async def test_a_whole_record_without_its_line_end_is_kept(tmp_path: Path) -> None:
    _write(tmp_path, node_to_line(_node(0)), node_to_line(_node(1)).rstrip())
    assert read(tmp_path) == Reading((_node(0), _node(1)))

    transcript = Transcript(tmp_path)
    await transcript.append(_node(2))
    transcript.close()

    assert transcript.problems == ()
    assert read(tmp_path) == Reading((_node(0), _node(1), _node(2)))


async def test_an_unreadable_middle_line_is_named_and_stays(tmp_path: Path) -> None:
    _write(tmp_path, node_to_line(_node(0)), b"{oops}\n", b"\n", node_to_line(_node(1)))
    Transcript(tmp_path).close()

    reading = read(tmp_path)

    assert reading.nodes == (_node(0), _node(1))
    (problem,) = reading.problems
    assert f"{FILE_NAME} line 2: unreadable (not JSON" in problem
    assert b"{oops}\n" in (tmp_path / FILE_NAME).read_bytes()


def test_a_transcript_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    newer = node_to_line(_node(1)).replace(b'"v":2', b'"v":99')
    _write(tmp_path, node_to_line(_node(0)), newer)

    with pytest.raises(NewerVersion, match=r"transcript.jsonl line 2: written by a newer"):
        read(tmp_path)


def test_a_folder_in_the_files_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()

    with pytest.raises(StoreError, match="cannot read"):
        read(tmp_path)
    with pytest.raises(StoreError, match="cannot open"):
        Transcript(tmp_path)

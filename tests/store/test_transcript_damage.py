"""Whatever was done to a transcript by hand, by an editor or by another program: nothing hides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.codec import NewerVersion, node_to_line
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.transcripts import FILE_NAME, Reading, Transcript, read


def _node(number: int, text: str = "hello") -> Node:
    return Node(f"n{number}", None, "root", float(number), UserText(text))


def _write(folder: Path, *lines: bytes) -> None:
    (folder / FILE_NAME).write_bytes(b"".join(lines))


def _lines(count: int) -> list[bytes]:
    return [node_to_line(_node(number)) for number in range(count)]


def test_a_record_glued_to_a_torn_one_is_found(tmp_path: Path) -> None:
    first, second, third = _lines(3)
    _write(tmp_path, first, second[:-30], third)

    reading = read(tmp_path)

    assert reading.nodes == (_node(0), _node(2))
    (problem,) = reading.problems
    assert "line 2: unreadable" in problem
    assert "the beginning was left out here, kept in the file" in problem


def test_text_that_looks_like_a_record_is_none(tmp_path: Path) -> None:
    inner = node_to_line(_node(9)).decode().strip()
    _write(tmp_path, node_to_line(_node(0, f"look: {inner}"))[:-9] + b"\n", node_to_line(_node(1)))

    assert read(tmp_path).nodes == (_node(1),)


def test_a_newer_record_glued_to_a_torn_one_is_refused(tmp_path: Path) -> None:
    first, second = _lines(2)
    _write(tmp_path, first[:-30], second.replace(b'"v":2', b'"v":99'))

    with pytest.raises(NewerVersion, match="newer"):
        read(tmp_path)


@pytest.mark.parametrize(
    "edited",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
        lambda text: b"\n\n" + text.replace(b"\n", b"\n\n"),
        lambda text: text.replace(b"\n", b" \t\n"),
        lambda text: text.rstrip(b"\n"),
    ],
    ids=["CRLF", "BOM", "both", "empty lines", "blanks", "no last end"],
)
async def test_what_editors_do_is_read_and_gone_on_with(
    tmp_path: Path, edited: Callable[[bytes], bytes]
) -> None:
    _write(tmp_path, edited(b"".join(_lines(3))))
    nodes = tuple(map(_node, range(3)))
    assert read(tmp_path) == Reading(nodes)

    transcript = Transcript(tmp_path)
    await transcript.append(_node(3))
    transcript.close()

    assert transcript.problems == ()
    assert read(tmp_path) == Reading((*nodes, _node(3)))


async def test_an_empty_file_is_an_empty_session(tmp_path: Path) -> None:
    _write(tmp_path, b"")
    assert read(tmp_path) == Reading(())
    transcript = Transcript(tmp_path)
    await transcript.append(_node(0))
    transcript.close()
    assert read(tmp_path) == Reading((_node(0),))


async def test_a_huge_line_is_a_line(tmp_path: Path) -> None:
    huge = _node(1, "heron " * 2_000_000)
    transcript = Transcript(tmp_path)
    for node in (_node(0), huge, _node(2)):
        await transcript.append(node)
    transcript.close()

    Transcript(tmp_path).close()  # Its end is found, whatever stands before it.
    assert read(tmp_path) == Reading((_node(0), huge, _node(2)))


def test_one_huge_bad_line_hides_nothing(tmp_path: Path) -> None:
    first, second = _lines(2)
    _write(tmp_path, first, b"[" * 3_000_000 + b"\n", second)

    reading = read(tmp_path)

    assert reading.nodes == (_node(0), _node(1))
    assert len(reading.problems) == 1
    assert len(reading.problems[0]) < 1000


@pytest.mark.parametrize("end", [b"", b'{"v":99,"torn'], ids=["whole", "torn"])
def test_a_newer_transcript_is_not_touched(tmp_path: Path, end: bytes) -> None:
    newer = node_to_line(_node(1)).replace(b'"v":2', b'"v":99')
    _write(tmp_path, node_to_line(_node(0)), newer, end)
    before = (tmp_path / FILE_NAME).read_bytes()

    for _ in range(2):  # The lock is given back each time.
        with pytest.raises(NewerVersion, match=r"transcript\.jsonl.*upgrade StormClaw"):
            Transcript(tmp_path)

    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert not list(tmp_path.glob("*.torn-*"))


async def test_a_clock_set_back_changes_no_order(tmp_path: Path) -> None:
    times = (1_000.0, 900.0, 0.0, -5.0, 2_000.0)
    nodes = [Node(f"n{n}", None, "root", at, UserText(f"heron {n}")) for n, at in enumerate(times)]
    transcript = Transcript(tmp_path)
    for node in nodes:
        await transcript.append(node)
    transcript.close()
    assert read(tmp_path).nodes == tuple(nodes)

    session = SessionInfo("20261122-014359-abcd", Path("/s"), "", 1.0, 1.0, "m", "p")
    memory = Memory(tmp_path / "memory.sqlite")
    for node in nodes:
        memory.index(session, node)
    assert [entry.turn_id for entry in memory.show(session.id)] == [node.id for node in nodes]
    (conversation,) = memory.conversations()
    assert conversation.updated == 2_000.0
    memory.close()


_LIMITED = """
import asyncio, json, resource, sys
from pathlib import Path
from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog
from stormclaw.store.transcripts import Transcript, read

# As a full disk does, but for whoever may not mount one: no file grows beyond 64 KiB.
place = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, resource.RLIM_INFINITY))

async def transcript():
    kept, open_ = [], Transcript(place)
    try:
        for number in range(100):
            node = Node(f"n{number}", None, "root", 0.0, UserText("x" * 3000))
            await open_.append(node)
            kept.append(node)
    except StoreError as error:
        said = str(error)
    open_.close()
    return said, read(place).nodes == tuple(kept), read(place).problems == (), len(kept)

async def receipts():
    log, kept = ReceiptLog(place / "tool_receipts.log"), []
    extra = {"pad": "x" * 3000}
    try:
        for number in range(100):
            kept.append(
                await log.append(ReceiptDraft("s", "t", "{}", "", "allowed", "low", extra))
            )
    except StoreError as error:
        said = str(error)
    found = log.verify()
    return said, log.read() == tuple(kept), found.ok and not found.torn, len(kept)

async def intents():
    log, begun = ReceiptLog(place / "other.log"), 0
    try:
        for number in range(100):
            await log.intend("s", "t", "{}", "low", {"pad": "x" * 3000})
            begun += 1
    except StoreError as error:
        said = str(error)
    log.close()
    return said, len(log.unfinished()) == begun, True, begun

print(json.dumps([asyncio.run(work()) for work in (transcript, receipts, intents)]))
"""


def test_a_file_that_may_not_grow_loses_nothing(tmp_path: Path, child: Callable[..., Any]) -> None:
    output, _ = child(_LIMITED, tmp_path).communicate()

    for said, everything_there, whole, kept in json.loads(output):
        assert "File too large; the file has reached the size this system allows" in said
        assert everything_there
        assert whole
        assert 10 < kept < 30


def test_a_read_only_folder_is_an_error(tmp_path: Path, read_only: Callable[[], None]) -> None:
    _write(tmp_path, *_lines(2))
    (tmp_path / FILE_NAME).chmod(0o400)
    read_only()

    with pytest.raises(StoreError, match="check who owns it and its permissions"):
        Transcript(tmp_path)
    assert len(read(tmp_path).nodes) == 2

"""What was announced as written survives SIGKILL, a full disk, a second writer."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.transcripts import FILE_NAME, Reading, Transcript, read


def _node(number: int, text: str = "hello") -> Node:
    parent = f"n{number - 1}" if number else None
    return Node(f"n{number}", parent, "root", float(number), UserText(text))


_HOLD = """
import sys
from pathlib import Path
from stormclaw.store.transcripts import Transcript
transcript = Transcript(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
"""


def test_one_session_has_one_writer(tmp_path: Path, child: Callable[..., Any]) -> None:
    process = child(_HOLD, tmp_path)
    assert process.stdout.readline() == "open\n"

    with pytest.raises(StoreError, match=rf"already open in another process \({process.pid}\)"):
        Transcript(tmp_path)

    process.send_signal(signal.SIGKILL)
    process.wait()
    transcript = Transcript(tmp_path)  # A dead owner holds nothing.
    with pytest.raises(StoreError, match="already open in this program"):
        Transcript(tmp_path)
    transcript.close()
    Transcript(tmp_path).close()


_ANNOUNCE = """
import asyncio, sys
from pathlib import Path
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.transcripts import Transcript

async def main():
    transcript = Transcript(Path(sys.argv[1]))
    for number in range(100_000):
        text = "x" * (number * 7919 % 60_000)
        await transcript.append(Node(f"n{number}", None, "root", 0.0, UserText(text)))
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("seed", range(6))
def test_after_sigkill_everything_announced_is_there(
    tmp_path: Path, child: Callable[..., Any], seed: int
) -> None:
    wait_for = random.Random(seed).randrange(1, 120)
    process = child(_ANNOUNCE, tmp_path)
    for _ in range(wait_for):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().splitlines()
    process.wait()
    announced = wait_for + len(rest)

    transcript = Transcript(tmp_path)
    transcript.close()
    reading = read(tmp_path)

    assert reading.problems == ()
    assert [node.id for node in reading.nodes[:announced]] == [f"n{n}" for n in range(announced)]
    assert len(reading.nodes) - announced in (0, 1)  # One may be written and not yet announced.


async def test_a_full_disk_loses_nothing_that_was_written(small_disk: Path) -> None:
    transcript = Transcript(small_disk)
    written: list[Node] = []

    async def fill() -> None:
        for number in range(100):
            node = _node(number, "x" * 3000)
            await transcript.append(node)
            written.append(node)

    with pytest.raises(StoreError) as raised:
        await fill()
    message = str(raised.value)
    assert str(small_disk / FILE_NAME) in message
    assert "No space left on device; the disk is full, free some space" in message
    assert 10 < len(written) < 30

    assert read(small_disk) == Reading(tuple(written))  # Nothing torn stayed behind.

    with pytest.raises(StoreError, match="the disk is full"):
        await transcript.append(_node(50, "x" * 60_000))
    while True:  # Small ones go in until it is really full.
        node = _node(len(written), "small")
        try:
            await transcript.append(node)
        except StoreError:
            break
        written.append(node)
    assert read(small_disk) == Reading(tuple(written))
    transcript.close()


_TORN_FOR_GOOD = """
import asyncio, fcntl, os, resource, sys
from pathlib import Path
from stormclaw.errors import StoreError
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.transcripts import FILE_NAME, Transcript, read

# A file that may grow but never shrink: what is torn cannot be taken back.
folder = Path(sys.argv[1])
memory = os.memfd_create("transcript", os.MFD_ALLOW_SEALING)
fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
(folder / FILE_NAME).symlink_to(f"/proc/self/fd/{memory}")

def node(number, text):
    return Node(f"n{number}", None, "root", 0.0, UserText(text))

async def main():
    transcript = Transcript(folder)
    await transcript.append(node(0, "first"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    for number in (1, 2):
        try:
            await transcript.append(node(number, "x" * 5000))
        except StoreError as error:
            print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    await transcript.append(node(3, "third"))
    await transcript.append(node(4, "fourth"))
    reading = read(folder)
    print([node.id for node in reading.nodes], len(reading.problems))

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs sealed memory files (Linux)")
def test_what_cannot_be_taken_back_swallows_no_later_record(
    tmp_path: Path, child: Callable[..., Any]
) -> None:
    process = child(_TORN_FOR_GOOD, tmp_path)
    output, _ = process.communicate()

    *errors, last = output.splitlines()
    assert process.returncode == 0
    assert len(errors) == 2
    assert "File too large" in errors[0]
    assert last == "['n0', 'n3', 'n4'] 1"

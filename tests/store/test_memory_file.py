"""The index may be lost, damaged, shared or full: the record goes on, the index comes back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import StoreError
from stormclaw.protocol.messages import (
    Body,
    Node,
    UserText,
)
from stormclaw.store import sessions
from stormclaw.store.database import Database
from stormclaw.store.memory import Damaged, Memory
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.transcripts import Transcript

_AT = 1_795_311_839.0


def _session(number: int = 1, title: str = "a talk", at: float = _AT) -> SessionInfo:
    session_id = f"20261122-0143{number:02}-abcd"
    return SessionInfo(session_id, Path("/src/here"), title, at, at, "small", "mock")


def _node(number: int, body: Body, at: float = _AT) -> Node:
    return Node(f"n{number}", f"n{number - 1}" if number else None, "root", at + number, body)


def _found(memory: Memory, query: str) -> list[str]:
    return [hit.turn_id for hit in memory.search(query)]


async def _record(home: Path, title: str, *texts: str) -> SessionInfo:
    made = sessions.create(home, Path("/src/here"), "small", "mock", now=_AT)
    info = replace(made, title=title)
    sessions.save(home, info)
    transcript = Transcript(sessions.folder(home, info.id))
    for number, text in enumerate(texts):
        await transcript.append(_node(number, UserText(text)))
    transcript.close()
    return info


def test_it_is_there_in_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "memory.sqlite"
    memory = Memory(path)
    memory.index(_session(), _node(1, UserText("heron")))
    memory.close()
    memory.close()

    assert _found(Memory(path), "heron") == ["n1"]
    assert path.stat().st_mode & 0o077 == 0


def test_preparing_makes_the_file(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")
    assert list(tmp_path.iterdir()) == []

    memory.prepare()

    assert (tmp_path / "memory.sqlite").stat().st_size > 0
    memory.close()


def test_an_index_made_without_fts5_gains_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    plain = Memory(path, full_text=False)
    plain.index(_session(), _node(1, UserText("Dürer drew a heron")))
    plain.close()

    assert _found(Memory(path), "durer heron") == ["n1"]  # Only FTS5 folds the umlaut.


def test_write_ahead_and_full_synchronisation(tmp_path: Path) -> None:
    database = Database(tmp_path / "any.sqlite", (), (), full_text=False)

    def pragma(name: str) -> object:
        return database.run(lambda inside: inside.execute(f"PRAGMA {name}").fetchone()[0])

    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2


def test_a_newer_index_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()

    with pytest.raises(StoreError, match="written by a newer StormClaw") as raised:
        Memory(path).search("heron")
    assert not isinstance(raised.value, Damaged)
    assert path.exists()
    assert not list(tmp_path.glob("*.damaged-*"))


def _ruin_all(content: bytes) -> bytes:
    return b"this is no database" * 300


def _ruin_pages(content: bytes) -> bytes:
    return content[:4096] + b"\xaa" * (len(content) - 4096)


@pytest.mark.parametrize("ruin", [_ruin_all, _ruin_pages])
async def test_a_damaged_index_is_moved_aside_and_rebuilt(
    tmp_path: Path, ruin: Callable[[bytes], bytes]
) -> None:
    info = await _record(tmp_path, "birds", "heron")
    path = tmp_path / "memory.sqlite"
    memory = Memory(path)
    memory.reindex(tmp_path)
    memory.close()
    ruined = ruin(path.read_bytes())
    path.write_bytes(ruined)

    with pytest.raises(Damaged, match=r"moved to memory.sqlite.damaged-1.*memory reindex"):
        memory.index(info, _node(5, UserText("more")))

    assert (tmp_path / "memory.sqlite.damaged-1").read_bytes() == ruined
    memory.index(info, _node(5, UserText("more")))  # The next turn goes on with a new one.
    memory.reindex(tmp_path)
    assert _found(memory, "heron") == ["n0"]


def _cut_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def _cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _remove(path: Path) -> None:
    path.unlink()


def _other_tables(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE conversations (something TEXT)")
    other.execute("PRAGMA user_version = 1")
    other.close()


def _junk(path: Path) -> None:
    path.write_bytes(b"junk" * 4000)


@pytest.mark.parametrize("ruin", [_cut_to_nothing, _cut_in_half, _remove, _other_tables, _junk])
async def test_where_the_transcripts_are_known_it_comes_back_by_itself(
    tmp_path: Path, ruin: Callable[[Path], None]
) -> None:
    info = await _record(tmp_path, "birds", "heron", "egret")
    path = tmp_path / "memory.sqlite"
    before = Memory(path)
    before.reindex(tmp_path)
    before.close()
    ruin(path)
    memory = Memory(path, home=tmp_path)

    assert _found(memory, "heron") == ["n0"]
    assert [entry.turn_id for entry in memory.show(info.id)] == ["n0", "n1"]
    memory.index(info, _node(2, UserText("bittern")))
    assert [conversation.turns for conversation in memory.conversations()] == [3]
    kept = list(tmp_path.glob("memory.sqlite.damaged-*"))
    assert len(kept) == (ruin in (_cut_in_half, _other_tables, _junk))


async def test_a_conversation_is_shown_from_an_index_just_made(tmp_path: Path) -> None:
    info = await _record(tmp_path, "birds", "heron")

    shown = Memory(tmp_path / "memory.sqlite", home=tmp_path).show(info.id)

    assert [entry.content for entry in shown] == ["heron"]


async def test_what_was_forgotten_does_not_come_back_by_itself(tmp_path: Path) -> None:
    info = await _record(tmp_path, "birds", "heron")
    memory = Memory(tmp_path / "memory.sqlite", home=tmp_path)
    memory.clear()

    assert _found(memory, "heron") == []
    memory.index(info, _node(7, UserText("bittern")))
    memory.close()
    assert _found(Memory(tmp_path / "memory.sqlite", home=tmp_path), "heron") == []


async def test_reindexing_mends_a_damaged_index_by_itself(tmp_path: Path) -> None:
    await _record(tmp_path, "birds", "heron")
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"junk" * 4000)
    memory = Memory(path)

    assert memory.reindex(tmp_path).entries == 1
    assert _found(memory, "heron") == ["n0"]
    assert (tmp_path / "memory.sqlite.damaged-1").exists()


def test_a_file_removed_while_open_is_made_anew(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")
    memory.index(_session(), _node(1, UserText("heron")))
    for path in tmp_path.glob("memory.sqlite*"):
        path.unlink()

    memory.index(_session(), _node(2, UserText("heron")))

    assert _found(memory, "heron") == ["n2"]
    assert _found(Memory(tmp_path / "memory.sqlite"), "heron") == ["n2"]


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "memory.sqlite").mkdir()
    with pytest.raises(StoreError, match="a folder stands where a file is needed"):
        Memory(tmp_path / "memory.sqlite").search("heron")


def test_a_full_disk_is_an_error_and_no_damage(small_disk: Path) -> None:
    memory = Memory(small_disk / "memory.sqlite")

    def fill() -> None:
        for number in range(100):
            memory.index(_session(), _node(number, UserText(f"{number} " * 2000)))

    with pytest.raises(StoreError, match=r"cannot use the memory index.*full") as raised:
        fill()
    assert not isinstance(raised.value, Damaged)
    memory.close()
    assert (small_disk / "memory.sqlite").exists()


def test_threads_share_one_index(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")

    def add(number: int) -> int:
        memory.index(_session(number % 5), _node(number, UserText(f"heron {number}")))
        return len(memory.search("heron", limit=1000))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(add, range(60)))

    assert max(seen) == 60
    assert sum(conversation.turns for conversation in memory.conversations()) == 60


_INDEX = """
import sys
from pathlib import Path
from stormclaw.protocol.messages import Node, UserText
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo

memory = Memory(Path(sys.argv[1]))
session = SessionInfo(sys.argv[2], Path("/src"), "", 0.0, 0.0, "m", "p")
sys.stdin.readline()
for number in range(15):
    memory.index(session, Node(f"n{number}", None, "root", 0.0, UserText("heron")))
print("done")
"""


def test_processes_share_one_index(tmp_path: Path, child: Callable[..., Any]) -> None:
    path = tmp_path / "memory.sqlite"
    processes = [child(_INDEX, path, f"20261122-01430{number}-abcd") for number in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["done\n"] * 4

    memory = Memory(path)
    assert [conversation.turns for conversation in memory.conversations()] == [15] * 4
    assert len(memory.search("heron", limit=100)) == 60


async def test_it_can_be_called_from_worker_threads(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")
    node = _node(1, UserText("heron"))
    await asyncio.to_thread(memory.index, _session(), node)

    assert len(await asyncio.to_thread(memory.search, "heron")) == 1

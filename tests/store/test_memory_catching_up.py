"""A session opened again costs the index what is new in it, and nothing is filed twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stormclaw.protocol.messages import Node, Note, UserText
from stormclaw.store.entries import FEW
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo

INFO = SessionInfo("20261122-0143-abcd", Path("/src/here"), "a talk", 1.0, 1.0, "small", "mock")


def nodes(count: int) -> list[Node]:
    return [Node(f"n{at}", None, "root", 10.0 + at, UserText(f"word{at}")) for at in range(count)]


def test_only_what_is_missing_is_added(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")
    some = nodes(3 * FEW)
    memory.index_all(INFO, some[::2])
    memory.index_all(INFO, [*some, Node("note", None, "root", 9.0, Note("info", "x"))])
    memory.index_all(replace(INFO, title="another name"), some)
    (found,) = memory.conversations()
    assert (found.turns, found.title) == (len(some), "another name")
    assert [hit.turn_id for hit in memory.search("word7")] == ["n7"]
    memory.close()


def test_another_session_with_the_same_nodes_has_its_own(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite")
    some = nodes(2 * FEW)
    memory.index_all(INFO, some)
    memory.index_all(replace(INFO, id="20261122-0144-ffff"), some)
    assert [each.turns for each in memory.conversations()] == [len(some)] * 2
    memory.close()

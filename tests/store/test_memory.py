"""Past conversations are found again, whatever is asked, and the index may always be lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import UsageError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Delegation,
    Node,
    Note,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store import sessions
from stormclaw.store.entries import LONGEST_OUTPUT
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.transcripts import Transcript

_DAY = 86_400.0
_AT = 1_795_311_839.0


def _session(number: int = 1, title: str = "a talk", at: float = _AT) -> SessionInfo:
    session_id = f"20261122-0143{number:02}-abcd"
    return SessionInfo(session_id, Path("/src/here"), title, at, at, "small", "mock")


def _node(number: int, body: Body, at: float = _AT) -> Node:
    return Node(f"n{number}", f"n{number - 1}" if number else None, "root", at + number, body)


def _outcome(output: str, obj: str = "a.py") -> ToolOutcome:
    headline = Headline("read", obj, "path")
    return ToolOutcome("c1", "read_file", "done", output, headline, "3 lines", receipt=7)


@pytest.fixture(params=[True, False], ids=["fts5", "no fts5"])
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.sqlite", full_text=request.param)
    yield memory
    memory.close()


def _found(memory: Memory, query: str) -> list[str]:
    return [hit.turn_id for hit in memory.search(query)]


def test_an_empty_index_answers(memory: Memory) -> None:
    assert memory.search("anything") == ()
    assert memory.conversations() == ()
    assert memory.clear() == 0
    with pytest.raises(UsageError, match="stormclaw memory list"):
        memory.show("2026")


def test_case_does_not_matter(memory: Memory) -> None:
    session = _session(title="zoo")
    memory.index(session, _node(1, UserText("Write the Aardvark adapter for ÄRGER.")))

    (hit,) = memory.search("aardvark")
    assert (hit.conversation_id, hit.turn_id, hit.role) == (session.id, "n1", "user")
    assert (hit.title, hit.timestamp) == ("zoo", _AT + 1)
    assert "Aardvark adapter" in hit.snippet
    assert _found(memory, "ADAPTER aard") == ["n1"]
    assert _found(memory, "ärger") == ["n1"]
    assert _found(memory, "giraffe") == []


def test_all_words_beat_some_words(memory: Memory) -> None:
    session = _session()
    memory.index(session, _node(1, UserText("the retry policy of the client")))
    memory.index(session, _node(2, UserText("the jitter of the client")))

    assert _found(memory, "retry client") == ["n1"]
    assert set(_found(memory, "what about jitter and retry")) == {"n1", "n2"}


def test_what_is_no_word_is_found_as_it_stands(memory: Memory) -> None:
    memory.index(_session(), _node(1, UserText("use -> here, never =>; 東京都に行く")))

    for query in ("->", "=>", "京都に", "ever"):
        assert _found(memory, query) == ["n1"], query


def test_newer_talk_is_lifted_and_tool_output_weighs_less(memory: Memory) -> None:
    old, new = _session(1, at=_AT - 400 * _DAY), _session(2)
    memory.index(old, _node(1, UserText("the heron pattern"), at=_AT - 400 * _DAY))
    memory.index(new, _node(2, _outcome("heron heron heron heron")))
    memory.index(new, _node(3, UserText("the heron pattern")))

    assert _found(memory, "heron")[0] == "n3"
    assert _found(memory, "heron pattern") == ["n3", "n1"]


def test_a_snippet_shows_the_place(memory: Memory) -> None:
    text = f"{'before ' * 50}\nthe\tDürer \x1b[31m heron\n{'after ' * 50}"
    memory.index(_session(), _node(1, UserText(text)))

    for query in ("dürer", "heron dürer"):
        (hit,) = memory.search(query)
        assert "Dürer" in hit.snippet
        assert hit.snippet.startswith("…")
        assert hit.snippet.endswith("…")
        assert "\n" not in hit.snippet
        assert len(hit.snippet) < 200


def test_hits_are_limited(memory: Memory) -> None:
    memory.index_all(_session(), [_node(n, UserText(f"heron number {n}")) for n in range(50)])

    assert len(memory.search("heron", limit=7)) == 7
    assert memory.search("heron", limit=0) == ()


@settings(
    max_examples=tries(40, 120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.text(st.characters(codec=None))
    | st.text("\"'*()^:-+{}\0 ANDORNEAR.,;%_\\", max_size=12)
    | st.sampled_from(["", " ", '"', '""', "*", "AND", "NOT NOT", "a" * 5000, "a " * 5000, "NEAR("])
)
def test_no_query_raises(memory: Memory, query: str) -> None:
    memory.index(_session(), _node(1, UserText("AND OR NOT NEAR a")))

    for hit in memory.search(query):
        assert hit.turn_id == "n1"


def test_every_field_of_the_spec_is_kept(memory: Memory) -> None:
    session = _session()
    turn = AssistantTurn(
        "I read it.", "hm", (ToolCall("c1", "Read", '{"p'),), "large", "router", Usage(1, 2)
    )
    delegation = Delegation(_outcome("child says hi"), "root/scout", "look", "done", Usage())
    bodies: list[Body] = [
        UserText("read a.py \ud800\0"),
        turn,
        _outcome("x" * 30_000),
        Note("info", "unsaid"),
        delegation,
    ]
    memory.index_all(session, [_node(n, body) for n, body in enumerate(bodies)])

    user, assistant, tool, child = memory.show(session.id)
    assert (user.role, user.content) == ("user", "read a.py \\ud800␀")
    assert (user.conversation_id, user.turn_id, user.timestamp) == (session.id, "n0", _AT)
    assert (user.provider, user.model) == ("mock", "small")
    assert user.metadata == {"agent": "root", "parent": None}
    assert (assistant.role, assistant.content) == ("assistant", "I read it.")
    assert (assistant.provider, assistant.model) == ("router", "large")
    assert assistant.tool_calls == ({"id": "c1", "name": "Read", "arguments": '{"p'},)
    assert tool.role == "tool"
    assert tool.content.startswith("read a.py\nxxx")
    assert len(tool.content) == LONGEST_OUTPUT
    assert tool.metadata["left_out"] == 30_010 - LONGEST_OUTPUT
    assert tool.tool_results == (
        {"call_id": "c1", "tool": "read_file", "status": "done", "summary": "3 lines",
         "receipt": 7},
    )  # fmt: skip
    assert child.content == "read a.py\nchild says hi"
    assert _found(memory, "unsaid") == []


def test_a_conversation_is_shown_by_the_beginning_of_its_id(memory: Memory) -> None:
    for number in (1, 2, 10):
        memory.index(_session(number), _node(number, UserText("hi")))

    assert memory.show("20261122-014310")[0].turn_id == "n10"
    with pytest.raises(UsageError, match="fits 3"):
        memory.show("2026")
    with pytest.raises(UsageError, match="no session '%'"):
        memory.show("%")


def test_conversations_are_listed_newest_first(memory: Memory) -> None:
    memory.index_all(_session(1, "first"), [_node(n, UserText("hi")) for n in range(3)])
    memory.index(_session(2, "second", _AT + 100), _node(1, UserText("hi"), _AT + 100))
    memory.index(replace(_session(1), title="renamed"), _node(9, UserText("hi"), _AT + 200))

    listed = memory.conversations()
    assert [(c.title, c.turns) for c in listed] == [("renamed", 4), ("second", 1)]
    assert listed[0].updated == _AT + 209
    assert listed[0].workspace == Path("/src/here")


def test_a_node_indexed_twice_is_there_once(memory: Memory) -> None:
    nodes = [_node(n, UserText("heron")) for n in range(3)]
    memory.index_all(_session(), nodes[:2])
    memory.index_all(_session(), nodes)

    assert len(memory.show(_session().id)) == 3
    assert sorted(_found(memory, "heron")) == ["n0", "n1", "n2"]


def test_clearing_forgets_down_to_the_bytes(tmp_path: Path, memory: Memory) -> None:
    memory.index(_session(), _node(1, UserText("xylophone secret")))

    assert memory.clear() == 1

    assert memory.search("xylophone") == ()
    assert memory.conversations() == ()
    memory.index(_session(), _node(2, UserText("heron")))
    assert _found(memory, "heron") == ["n2"]
    memory.close()
    for path in tmp_path.glob("memory.sqlite*"):
        assert b"xylophone" not in path.read_bytes()


async def _record(home: Path, title: str, *texts: str) -> SessionInfo:
    made = sessions.create(home, Path("/src/here"), "small", "mock", now=_AT)
    info = replace(made, title=title)
    sessions.save(home, info)
    transcript = Transcript(sessions.folder(home, info.id))
    for number, text in enumerate(texts):
        await transcript.append(_node(number, UserText(text)))
    transcript.close()
    return info


async def test_reindexing_builds_it_from_the_transcripts(tmp_path: Path, memory: Memory) -> None:
    first = await _record(tmp_path, "birds", "heron one", "heron two")
    second = await _record(tmp_path, "beasts", "aardvark")
    third = await _record(tmp_path, "broken", "lost")
    (sessions.folder(tmp_path, third.id) / "session.json").write_text("{")
    with (sessions.folder(tmp_path, second.id) / "transcript.jsonl").open("ab") as file:
        file.write(b"{oops}\n")
    memory.index(_session(), _node(1, UserText("gone: no transcript has it")))

    reindexed = memory.reindex(tmp_path)

    assert (reindexed.conversations, reindexed.entries) == (2, 3)
    assert len(reindexed.problems) == 2
    assert {c.id: c.turns for c in memory.conversations()} == {first.id: 2, second.id: 1}
    assert memory.search("gone") == ()
    (hit,) = memory.search("aardvark")
    assert (hit.conversation_id, hit.title) == (second.id, "beasts")
    assert memory.reindex(tmp_path) == reindexed

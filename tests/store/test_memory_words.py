"""Names, phrases, scripts without spaces; forks, echoes, places: what a search makes of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    ContextEdit,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo
from stormclaw.store.spelling import parts_of, term

_AT = 1_795_311_839.0


def _session(number: int = 1, workspace: str = "/src/here") -> SessionInfo:
    session_id = f"20261122-0143{number:02}-abcd"
    return SessionInfo(session_id, Path(workspace), "a talk", _AT, _AT, "small", "mock")


def _node(node_id: str, body: Body, at: float = _AT, agent: str = "root") -> Node:
    return Node(node_id, None, agent, at, body)


def _outcome(output: str, tool: str = "read_file") -> ToolOutcome:
    return ToolOutcome("c1", tool, "done", output, Headline("read", "a.py", "path"))


@pytest.fixture(params=[True, False], ids=["fts5", "no fts5"])
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.sqlite", full_text=request.param)
    yield memory
    memory.close()


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.sqlite")
    memory.prepare()
    if not memory._database.full_text:
        pytest.skip("this SQLite has no FTS5")
    yield memory
    memory.close()


def _found(memory: Memory, query: str) -> list[str]:
    return [hit.turn_id for hit in memory.search(query)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain words only", ""),
        ("RetryBudget and RetryBudget", "retry budget"),
        ("retry_budget", "retrybudget"),
        ("re-try", "retry"),
        ("HTTPServerError2", "http server error 2"),
        ("__init__ _x", ""),
        ("MAX_RETRY_COUNT", "maxretrycount"),
        ("myVar_name", "myvarname my var name"),
        ("東京都", "東京 京都"),
        ("水", "水"),
        ("x" * 101 + "Y", ""),
        ("", ""),
    ],
)
def test_what_a_text_is_also_found_by(text: str, parts: str) -> None:
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    "query",
    ["RetryBudget", "retry_budget", "retryBudget", "retry budget", "budget", "RETRYBUD", "try_bud"],
)
def test_a_name_is_found_however_it_is_spelled(words: Memory, query: str) -> None:
    words.index(_session(), _node("camel", UserText("the class RetryBudget is new")))
    words.index(_session(), _node("snake", UserText("set retry_budget to 3")))

    missing = {"budget": set(), "try_bud": {"camel"}}.get(query, set())
    assert set(_found(words, query)) == {"camel", "snake"} - missing


@pytest.mark.parametrize("query", ["東京", "京都", "都に", "東", "東京都に行く", "api東京"])
def test_scripts_without_spaces_are_found_by_the_index(words: Memory, query: str) -> None:
    words.index(_session(), _node("go", UserText("明日、東京都に行く (api)")))
    words.index(_session(), _node("stay", UserText("大阪にいる")))
    asked = term(query, beginning=True)

    assert "parts : " in asked
    rows = words._database.run(
        lambda inside: inside.execute("SELECT rowid FROM words WHERE words MATCH ?", (asked,))
        .fetchall()
    )  # fmt: skip
    assert len(rows) == 1
    assert _found(words, query) == ["go"]


def test_words_in_quotes_stand_together(memory: Memory) -> None:
    memory.index(_session(), _node("apart", UserText("in the north of Germany")))
    memory.index(_session(), _node("near", UserText("they want it so in Germany")))

    assert _found(memory, '"in Germany"') == ["near"]
    assert _found(memory, '"in Germany" they') == ["near"]
    assert set(_found(memory, "in Germany")) == {"apart", "near"}
    assert _found(memory, 'germany "') != []
    assert _found(memory, '""') == []


def test_small_words_do_not_hide_what_is_meant(memory: Memory) -> None:
    memory.index(_session(), _node("yaml", UserText("we take YAML for comments")))
    memory.index(_session(), _node("other", UserText("what did we do about the cat")))

    assert _found(memory, "what was it about yaml") == ["yaml"]


def test_a_fork_does_not_double_the_hits(memory: Memory) -> None:
    node = _node("a1b2c3d4e5f6", UserText("the heron pattern"))
    memory.index(_session(1), node)
    memory.index(_session(2), node)

    assert len(memory.search("heron")) == 1


def test_what_a_search_found_is_no_find(memory: Memory) -> None:
    memory.index(_session(), _node("said", UserText("the heron sleeps"), at=_AT - 90 * 86_400))
    for number in range(5):
        echo = _outcome("heron heron the heron", "memory_search")
        memory.index(_session(), _node(f"echo{number}", echo))

    assert _found(memory, "heron")[0] == "said"


def test_a_hit_says_where_it_is_and_its_place_brings_all_of_it(memory: Memory) -> None:
    text = "first line\nthe heron\n" + "rest " * 200
    memory.index(_session(), _node("n1", UserText(text), agent="root/scout"))

    (hit,) = memory.search("heron")
    assert (hit.agent, hit.workspace, hit.role) == ("root/scout", Path("/src/here"), "user")
    assert hit.place == "20261122-014301-abcd/n1"
    (whole,) = memory.search(f" {hit.place} ")
    assert whole.snippet == text
    assert replace(whole, snippet=hit.snippet) == hit
    assert memory.search("20261122-014301-abcd/none") == ()


def test_one_folder_can_be_searched_alone(memory: Memory) -> None:
    for number in range(40):
        memory.index(_session(number, "/src/there"), _node("far", UserText("heron heron heron")))
    memory.index(_session(50), _node("near", UserText("a heron")))

    assert [hit.turn_id for hit in memory.search("heron", 5, Path("/src/here"))] == ["near"]
    assert memory.search("heron", 5, Path("/src/nowhere")) == ()
    assert [hit.turn_id for hit in memory.search("ero", 5, Path("/src/here"))] == ["near"]
    assert len(memory.search("heron", 5)) == 5


def test_a_session_is_found_by_its_title(memory: Memory) -> None:
    session = replace(_session(), title="moving the Cache to redis")
    memory.index_all(session, [_node("n1", UserText("begin")), _node("n2", UserText("go on"))])

    assert _found(memory, "redis cache") == ["n1"]


def test_a_hit_is_seen_among_its_neighbours(memory: Memory) -> None:
    bodies = [UserText(f"word {number}") for number in range(9)]
    nodes = [_node(f"n{number}", body, _AT + number) for number, body in enumerate(bodies)]
    nodes.insert(5, _node("child", UserText("apart"), agent="root/scout"))
    memory.index_all(_session(1), nodes)
    memory.index_all(_session(2), nodes)
    hit = next(hit for hit in memory.search('"word 4"') if hit.conversation_id[13:15] == "01")

    entries, at = memory.around(hit, before=2, after=3)
    assert [entry.turn_id for entry in entries] == ["n2", "n3", "n4", "n5", "n6", "n7"]
    assert at == 2
    assert memory.around(replace(hit, turn_id="gone")) == ((), 0)
    first = memory.search('"word 0"')[0]
    assert memory.around(first, 3, 1)[1] == 0


def test_summaries_are_found_and_decisions_are_not(memory: Memory) -> None:
    decided: list[Body] = [
        ContextEdit("you", ()), Moved("rewind", "n1"), Label("n1", "heron"), Note("info", "heron"),
    ]  # fmt: skip
    memory.index_all(_session(), [_node(f"d{n}", body) for n, body in enumerate(decided)])
    memory.index(_session(), _node("sum", Summary("of herons and heron", ("n1",), model="large")))
    memory.index(_session(), _node("said", AssistantTurn("of herons and heron")))

    assert _found(memory, "heron") == ["said", "sum"]
    (entry,) = (e for e in memory.show(_session().id) if e.turn_id == "sum")
    assert (entry.role, entry.model, entry.metadata["kind"]) == ("assistant", "large", "summary")


def test_a_session_that_is_forgotten_leaves_the_index_sound(words: Memory) -> None:
    words.index(_session(1), _node("n1", UserText("RetryBudget 東京都 xylophone")))
    words.index(_session(2), _node("n2", UserText("RetryBudget stays")))
    words.forget(_session(1).id)

    def sound(inside: sqlite3.Connection) -> None:
        inside.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")

    words._database.run(sound)
    assert _found(words, "budget") == ["n2"]
    assert _found(words, "京都") == []


@given(st.text(max_size=40), st.booleans())
def test_every_word_can_be_asked_for(word: str, beginning: bool) -> None:
    inside = sqlite3.connect(":memory:")
    try:
        inside.execute("CREATE VIRTUAL TABLE words USING fts5 (content, parts)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no FTS5")
    plain = word.replace("\0", "").encode("utf-8", "ignore").decode()
    inside.execute("INSERT INTO words VALUES (?, ?)", (plain, parts_of(plain)))
    asked = term(plain, beginning=beginning)
    if asked:
        inside.execute("SELECT * FROM words WHERE words MATCH ?", (asked,)).fetchall()
    inside.close()

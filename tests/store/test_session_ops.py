"""A session forked, named and removed as a whole, and never half of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Delegation,
    Moved,
    Node,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store import session_ops, sessions, transcripts
from stormclaw.store.branches import branch, current
from stormclaw.store.codec import node_to_line
from stormclaw.store.memory import Memory
from stormclaw.store.newborn import being_made
from stormclaw.store.sessions import SessionInfo


def node(name: str, parent: str | None, body: Body, agent: str = "root", at: float = 1.0) -> Node:
    return Node(name, parent, agent, at, body)


def delegation(child: str) -> Delegation:
    outcome = ToolOutcome("c", "spawn_agent", "done", "seen", Headline("agent", "look"))
    return Delegation(outcome, child, "look", "done", Usage())


def tree() -> list[Node]:
    """Two branches behind `b`; each delegated once, and an orphan had begun before the second."""
    return [
        node("a", None, UserText("one")),
        node("b", "a", AssistantTurn("first", usage=Usage(5, 6, cost_usd=0.25))),
        node("c", "b", UserText("two")),
        node("x1", None, UserText("look"), "root/left"),
        node("y1", None, UserText("deeper"), "root/left/deep"),
        node("x2", "x1", delegation("root/left/deep"), "root/left"),
        node("d", "c", delegation("root/left")),
        node("o1", None, UserText("never came back"), "root/orphan", at=2.0),
        node("m", "b", Moved("rewind", "d", 1), at=3.0),
        node("e", "m", UserText("three"), at=3.0),
        node("z1", None, UserText("look"), "root/right", at=3.0),
        node("f", "e", delegation("root/right"), at=4.0),
    ]


def kept(home: Path, nodes: list[Node], title: str = "the title") -> SessionInfo:
    with being_made(home, home / "work", "m", "p", now=1_700_000_000.0) as made:
        for entry in nodes:
            made.add(entry)
        made.know(title=title)
    return made.info


def ids(nodes: tuple[Node, ...]) -> str:
    return " ".join(entry.id for entry in nodes)


def read(home: Path, info: SessionInfo) -> tuple[Node, ...]:
    return transcripts.read(sessions.folder(home, info.id)).nodes


def names(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "sessions").iterdir())


def test_a_branch_is_what_led_to_its_end_with_the_agents_it_started() -> None:
    assert ids(current(tree())) == "a b o1 m e z1 f"
    assert ids(current(tree(), "d")) == "a b c x1 y1 x2 d"
    assert ids(current(tree(), "b")) == "a b"
    assert current([]) == ()


def test_a_parent_that_was_lost_is_bridged() -> None:
    nodes = [node("a", None, UserText("1")), node("c", "lost", UserText("2"))]
    assert ids(branch(nodes)) == "a c"
    assert ids(branch([*nodes, node("d", "e", UserText("3")), node("e", "d", UserText("4"))]))


@pytest.mark.parametrize(
    ("at", "said"), [("zz", "no place"), ("x1", "sub-agent root/left"), ("", "")]
)
def test_a_place_that_is_none_is_named(tmp_path: Path, at: str, said: str) -> None:
    info = kept(tmp_path, tree() if at else [])
    before = names(tmp_path)
    with pytest.raises(UsageError, match=said or "nothing was said"):
        session_ops.fork(tmp_path, info.id, at)
    assert names(tmp_path) == before


def test_a_beginning_of_an_id_must_fit_one_place(tmp_path: Path) -> None:
    info = kept(tmp_path, [node("ab1", None, UserText("1")), node("ab2", "ab1", UserText("2"))])
    with pytest.raises(UsageError, match="fits 2 places"):
        session_ops.fork(tmp_path, info.id, "ab")
    assert ids(read(tmp_path, session_ops.fork(tmp_path, info.id, "ab1"))) == "ab1"


def test_a_fork_holds_the_branch_and_leaves_the_other_alone(tmp_path: Path) -> None:
    info = kept(tmp_path, tree())
    before = read(tmp_path, info)
    transcript = transcripts.Transcript(sessions.folder(tmp_path, info.id))  # It may be open.
    forked = session_ops.fork(tmp_path, info.id[:12], "d", now=1_800_000_000.0)
    transcript.close()

    assert ids(read(tmp_path, forked)) == "a b c x1 y1 x2 d"
    assert read(tmp_path, info) == before
    again = sessions.load(tmp_path, forked.id)
    assert (again.origin, again.title, again.turns) == (info.id, "the title (fork)", 2)
    assert again.cost_usd == 0.25
    assert again.created == 1_800_000_000.0
    assert session_ops.fork(tmp_path, forked.id).title == "the title (fork)"


def test_nothing_is_left_of_one_that_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with being_made(tmp_path, tmp_path, "m", "p") as made:
            made.add(tree()[0])
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == []
    assert sessions.list_sessions(tmp_path) == []


def test_what_a_crash_left_half_made_is_cleared_away_by_the_next(tmp_path: Path) -> None:
    import os

    place = tmp_path / "sessions"
    for name in (".making-old", ".making-young", ".removed-20260101-000000-aaaa"):
        (place / name).mkdir(parents=True)
    os.utime(place / ".making-old", (1.0, 1.0))
    info = kept(tmp_path, tree())
    assert names(tmp_path) == [".making-young", info.id]


def test_a_title_is_one_line_and_not_empty(tmp_path: Path) -> None:
    info = kept(tmp_path, tree())
    named = session_ops.rename(tmp_path, info.id, "  the\nother \x1b[31m title " + "x" * 99)
    assert named.title == sessions.load(tmp_path, info.id).title
    assert named.title.startswith("the other [31m title xxx")
    assert len(named.title) == sessions.TITLE_LENGTH
    with pytest.raises(UsageError, match="at least one word"):
        session_ops.rename(tmp_path, info.id, " \n\x07")
    assert sessions.load(tmp_path, info.id).title == named.title


HOLD = """
import sys
from pathlib import Path
from stormclaw.store.transcripts import Transcript
transcript = Transcript(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(
    "change",
    [
        lambda home, session: session_ops.remove(home, session),
        lambda home, session: session_ops.rename(home, session, "new"),
    ],
    ids=["remove", "rename"],
)
def test_one_that_is_open_elsewhere_stays_as_it_is(
    tmp_path: Path,
    child: Callable[..., subprocess.Popen[str]],
    change: Callable[[Path, str], object],
) -> None:
    info = kept(tmp_path, tree())
    holder = child(HOLD, sessions.folder(tmp_path, info.id))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(StoreError, match=f"open in another process .{holder.pid}."):
        change(tmp_path, info.id)
    assert sessions.load(tmp_path, info.id).title == "the title"
    assert len(read(tmp_path, info)) == len(tree())


def test_one_that_is_open_here_can_be_named_but_not_removed(tmp_path: Path) -> None:
    info = kept(tmp_path, tree())
    transcript = transcripts.Transcript(sessions.folder(tmp_path, info.id))
    assert session_ops.rename(tmp_path, info.id, "new").title == "new"
    with pytest.raises(StoreError, match="open in this program"):
        session_ops.remove(tmp_path, info.id)
    transcript.close()
    session_ops.remove(tmp_path, info.id)
    assert names(tmp_path) == []


@pytest.mark.parametrize("full_text", [True, False])
def test_what_is_removed_leaves_the_index_down_to_the_bytes(
    tmp_path: Path, full_text: bool
) -> None:
    memory = Memory(tmp_path / "memory.db", full_text=full_text)
    word = "Quetzalcoatl"
    gone = kept(tmp_path, [node("a", None, UserText(f"about {word}"))])
    stays = kept(tmp_path, [node("a", None, UserText("about gardening"))], "stays")
    for info in (gone, stays):
        memory.index_all(info, read(tmp_path, info))
    assert memory.search(word)

    session_ops.remove(tmp_path, gone.id, memory)

    assert memory.search(word) == ()
    assert [talk.id for talk in memory.conversations()] == [stays.id]
    assert memory.search("gardening")[0].conversation_id == stays.id
    memory.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or word.lower().encode() not in path.read_bytes().lower(), path


def test_an_index_learns_the_new_title(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    info = kept(tmp_path, tree())
    memory.index_all(info, read(tmp_path, info))
    session_ops.rename(tmp_path, info.id, "a better one", memory)
    assert [talk.title for talk in memory.conversations()] == ["a better one"]
    memory.close()


def test_removing_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no session"):
        session_ops.remove(tmp_path, "20260101-000000-aaaa")
    with pytest.raises(UsageError, match="not a session id"):
        session_ops.remove(tmp_path, "../../etc")


def test_one_whose_card_is_broken_can_be_removed(tmp_path: Path) -> None:
    info = kept(tmp_path, tree())
    (sessions.folder(tmp_path, info.id) / sessions.FILE_NAME).write_text("{")
    session_ops.remove(tmp_path, info.id)
    assert names(tmp_path) == []


def test_an_old_session_keeps_its_time(tmp_path: Path) -> None:
    with being_made(tmp_path, tmp_path, "m", "p", now=1_700_000_000.0) as made:
        made.add(Node("a", None, "root", 1_700_000_000.0, UserText("x")))
        made.know(updated=1_700_000_500.0)
    assert sessions.load(tmp_path, made.info.id).updated == 1_700_000_500.0
    path = sessions.folder(tmp_path, made.info.id) / transcripts.FILE_NAME
    assert path.read_bytes() == node_to_line(
        Node("a", None, "root", 1_700_000_000.0, UserText("x"))
    )
    assert path.stat().st_mode & 0o777 == 0o600

"""The turns of a conversation as a tree."""

from __future__ import annotations

from stormclaw.agent.history.tree import cut_off, leaves, newest_move
from stormclaw.agent.history.values import Touched
from stormclaw.protocol.display import Diff, Headline
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Label,
    Moved,
    Node,
    Note,
    ToolCall,
    ToolOutcome,
    UserText,
)


def node(name: str, parent: str | None, body: Body, at: float = 0.0) -> Node:
    return Node(name, parent, "root", at, body)


def edit(call_id: str, path: str) -> ToolOutcome:
    headline = Headline("edit", path, "path")
    return ToolOutcome(call_id, "edit_file", "done", "ok", headline, "+1", Diff(path, (), 1, 0))


TALK = (
    node("u1", None, UserText("first  thing\nof all"), 1.0),
    node("a1", "u1", AssistantTurn("", calls=(ToolCall("c1", "edit_file", "{}"),)), 2.0),
    node("o1", "a1", edit("c1", "src/retry.py"), 3.0),
    node("s1", "o1", UserText("steered", steered=True), 3.5),
    node("b1", "s1", AssistantTurn("done"), 4.0),
    node("u2", "b1", UserText("try tenacity"), 5.0),
    node("a2", "u2", AssistantTurn("no"), 6.0),
    node("u3", "a2", UserText("drop it"), 7.0),
    node("a3", "u3", AssistantTurn("ok"), 8.0),
    node("m1", "b1", Moved("rewind", "a3", 2), 9.0),
)


def shape(nodes: tuple[Node, ...]) -> list[tuple[str, int, bool]]:
    return [(leaf.id, leaf.depth, leaf.current) for leaf in leaves(nodes)]


def test_turns_that_left_stand_beside_the_trunk() -> None:
    assert shape(TALK) == [("u1", 0, True), ("u2", 1, False), ("u3", 1, False)]


def test_what_was_left_stands_before_what_goes_on() -> None:
    onward = (
        *TALK,
        node("u4", "m1", UserText("fix the jitter"), 10.0),
        node("a4", "u4", AssistantTurn("fixed"), 11.0),
        node("m2", "u3", Moved("branch", "a4", 1), 12.0),
        node("u5", "m2", UserText("more of that"), 13.0),
    )
    assert shape(onward) == [
        ("u1", 0, True),
        ("u4", 1, False),
        ("u2", 0, True),
        ("u3", 0, True),
        ("u5", 0, True),
    ]


def test_a_turn_says_what_it_did_and_where_it_ends() -> None:
    first = leaves(TALK)[0]
    assert (first.text, first.did, first.end) == ("first thing of all", "edit retry.py", "b1")
    assert first.files == (Touched("src/retry.py", 1, 0),)
    assert leaves(TALK, {"c1": (Touched("a", 2, 3), Touched("b"))})[0].files == (
        Touched("a", 2, 3),
        Touched("b"),
    )


def test_the_last_label_counts() -> None:
    named = (*TALK, node("l", "m1", Label("o1", "good")), node("k", "l", Label("u2", "bad")))
    assert [leaf.label for leaf in leaves(named)] == ["good", "bad", ""]
    again = (*named, node("j", "k", Label("o1", "")))
    assert [leaf.label for leaf in leaves(again)] == ["", "bad", ""]


def test_an_own_command_is_a_turn() -> None:
    mine = ToolOutcome("p", "shell_exec", "done", "x", Headline("shell", "make"), author="person")
    talk = (node("p1", None, mine), node("u", "p1", UserText("and?")))
    assert [leaf.text for leaf in leaves(talk)] == ["!make", "and?"]


def test_two_beginnings() -> None:
    talk = (
        node("u1", None, UserText("one")),
        node("m", None, Moved("undo", "u1", 1)),
        node("u2", "m", UserText("two")),
    )
    assert shape(talk) == [("u1", 1, False), ("u2", 0, True)]
    assert leaves(()) == ()


def test_a_lost_parent_is_bridged() -> None:
    talk = (
        node("u1", None, UserText("one")),
        node("a2", "gone", AssistantTurn("answer to what was lost")),
        node("u3", "a2", UserText("three")),
    )
    assert [(leaf.id, leaf.parent) for leaf in leaves(talk)] == [("u1", ""), ("u3", "u1")]


def test_a_move_can_be_taken_back_until_something_is_said() -> None:
    moved = node("m", "b1", Moved("undo", "a3"))
    assert newest_move((moved,)) == moved
    assert newest_move((moved, node("r", "m", Moved("redo", "x")))) == moved
    assert newest_move((moved, node("l", "m", Label("m", "x")))) == moved
    assert newest_move((moved, node("u", "m", UserText("go on")))) is None
    assert newest_move(()) is None


def test_a_turn_without_an_end_is_known() -> None:
    asked = node("u", None, UserText("go"))
    calling = node("a", "u", AssistantTurn("", calls=(ToolCall("c1", "edit_file", "{}"),)))
    edited = node("o", "a", edit("c1", "a.py"))
    assert cut_off((asked,))
    assert cut_off((asked, calling))
    assert cut_off((asked, calling, edited))
    assert cut_off((asked, node("l", "u", Label("u", "x"))))
    assert not cut_off((asked, calling, edited, node("b", "o", AssistantTurn("done"))))
    assert not cut_off((asked, node("n", "u", Note("interrupted", "by you"))))
    assert not cut_off(TALK)
    assert not cut_off(())

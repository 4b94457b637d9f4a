"""Whose a change is, and when a turn began, from snapshots and nodes alone."""

from __future__ import annotations

import pytest

from stormclaw.agent.history.moments import at_work, begun
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, Body, Node, ToolCall, ToolOutcome, UserText
from stormclaw.store.checkpoints import Checkpoint


def marks(line: str, at: float = 0.0) -> tuple[Checkpoint, ...]:
    """`A+ a+ A-`: before and after call `A`; small letters looked at named files only."""
    return tuple(
        Checkpoint(
            f"{place:040x}",
            word[0],
            "before" if word[1] == "+" else "after",
            at + place,
            word[0].islower(),
            (),
        )
        for place, word in enumerate(line.split())
    )


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("A+ A- B+ B-", "call other call"),
        ("A+ B+ A- B-", "call call call"),
        ("A+ B+ B- C+", "other call other"),  # A was killed: nobody knows when.
        ("A+ A+ A- A-", "other call other"),  # Killed, and its name used again.
        ("a+ a- b+ b-", "call other call"),
        ("A+ a+ a- A-", "call call call"),
        ("a+ B+ a- B-", "other call call"),  # What B found changed may be anybody's.
        ("a+ B+ B- a-", "other call call"),
        ("A-", ""),
        ("", ""),
    ],
)
def test_whose_a_change_is(line: str, calls: str) -> None:
    said = " ".join("call" if by_call else "other" for by_call in at_work(marks(line)))
    assert said == calls


def node(name: str, body: Body, at: float) -> Node:
    return Node(name, None, "root", at, body)


def call(name: str) -> AssistantTurn:
    return AssistantTurn("", calls=(ToolCall(name, "shell_exec", "{}"),))


OWN = ToolOutcome(
    "O", "shell_exec", "done", "", Headline("shell", "ls", "command"), "", author="person"
)


@pytest.mark.parametrize("clock_s", [-1000.0, 0.0, 1000.0])
def test_when_a_turn_began_is_no_matter_of_the_clock(clock_s: float) -> None:
    nodes = (
        node("u1", UserText("1"), clock_s),
        node("a1", call("A"), clock_s),
        node("u2", UserText("2"), clock_s + 1.5),
        node("a2", call("B"), clock_s + 1.5),
        node("u3", OWN, clock_s + 6.0),
        node("u4", UserText("4"), clock_s + 6.5),
    )
    line = marks("A+ A- B+ B- O+ O-")
    assert [begun(line, nodes[place], nodes) for place in (0, 2, 4, 5)] == [0, 2, 4, 6]


def test_sub_agents_calls_are_told_apart_by_the_clock() -> None:
    nodes = (
        node("u1", UserText("1"), -1.0),
        node("u2", UserText("2"), 1.5),
        node("a2", call("B"), 5.5),
    )
    line = marks("X+ X- Y+ Y- B+ B-")
    assert [begun(line, nodes[place], nodes) for place in (0, 1)] == [0, 2]

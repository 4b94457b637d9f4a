"""The quick way to read a line gives what the codec gives, or leaves the line to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import StoreError
from stormclaw.protocol.display import Diff, DiffLine, Headline, Hunk, Plain
from stormclaw.protocol.messages import AssistantTurn, Body, Node, ToolCall, ToolOutcome, UserText
from stormclaw.store.codec import VERSION, node_from_line, node_from_unusual, node_to_line
from stormclaw.store.quickly import node_from_usual

HUNK = Hunk((DiffLine("+", 'a "display":{"type":"plain"} b', None, 1),))


def a_node(body: Body) -> Node:
    return Node("n1", "n0", "root", 1_790_000_000.25, body)


def an_outcome(**more: Any) -> ToolOutcome:
    return ToolOutcome("c1", "shell_exec", "done", "out", Headline("shell", "ls"), **more)


@settings(max_examples=tries(105, 300), deadline=None)
@given(st.from_type(Node))
def test_a_line_says_the_same_either_way(node: Node) -> None:
    line = node_to_line(node)
    law = node_from_unusual(line)
    assert node_from_usual(line, VERSION) in (None, law)
    assert node_from_line(line) == law


@pytest.mark.parametrize(
    "body",
    [
        UserText('say "body":{"type":"tool"} and "display":{"type":"diff"}'),
        AssistantTurn("text", "thought", (ToolCall("c1", "x", '{"display":{"type":"diff"}}'),)),
        an_outcome(),
        an_outcome(display=Plain("as it is")),
        an_outcome(display=Diff("a.py", (HUNK,), 1, 0)),
    ],
)
def test_what_is_written_every_day_goes_the_quick_way(body: Body) -> None:
    node = a_node(body)
    assert node_from_usual(node_to_line(node), VERSION) == node


def test_words_that_look_like_a_record_decide_nothing() -> None:
    quoted = node_to_line(a_node(UserText("x"))).decode()
    node = a_node(an_outcome(display=Plain(quoted)))
    assert node_from_line(node_to_line(node)) == node


@pytest.mark.parametrize(
    "change",
    [
        {"v": VERSION + 1},
        {"v": 1},
        {"v": True},
        {"id": 5},
        {"body": {"type": "later", "text": "x"}},
        {"body": {"type": "user"}},
        {"body": {"type": "user", "text": None}},
    ],
)
def test_what_is_not_as_usual_is_left_to_the_codec(change: dict[str, Any]) -> None:
    stored = json.loads(node_to_line(a_node(UserText("x")))) | change
    line = json.dumps(stored, separators=(",", ":")).encode() + b"\n"
    assert node_from_usual(line, VERSION) is None


def test_a_version_said_twice_is_refused_as_the_codec_refuses_it() -> None:
    line = node_to_line(a_node(UserText("x"))).replace(b',"body"', b',"v":99,"body"')
    assert node_from_usual(line, VERSION) is None
    with pytest.raises(StoreError, match="newer"):
        node_from_line(line)

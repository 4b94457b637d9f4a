"""A node comes back as it was written; what cannot be read is named, never dropped."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import StoreError
from stormclaw.protocol.display import (
    Checklist,
    Diff,
    DiffLine,
    Display,
    Headline,
    Hunk,
    Patch,
    Plain,
    Shell,
    Table,
)
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store.codec import (
    VERSION,
    NewerVersion,
    body_from_json,
    display_from_json,
    display_to_json,
    node_from_json,
    node_from_line,
    node_to_json,
    node_to_line,
    upgrade,
)

_finite = st.floats(allow_nan=False, allow_infinity=False)
_count = st.integers(min_value=0, max_value=2**53)


def _joined(text: str) -> str:
    """Two surrogates side by side are one character: JSON cannot tell them apart."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_text = st.text(st.characters(codec=None), max_size=20).map(_joined)  # lone surrogates included


_SIMPLE: dict[object, st.SearchStrategy[Any]] = {
    str: _text,
    float: _finite,
    int: _count,
    bool: st.booleans(),
    type(None): st.none(),
}


def _any(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type hint, every field of every dataclass filled at random."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{part.name: _any(hints[part.name]) for part in fields(hint)})
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        return st.lists(_any(get_args(hint)[0]), max_size=3).map(tuple)
    return st.one_of(*map(_any, get_args(hint)))


_node = _any(Node)
_display = _any(Display)


def test_every_kind_of_body_and_display_is_known() -> None:
    assert set(get_args(Body)) == {
        UserText,
        AssistantTurn,
        ToolOutcome,
        Delegation,
        Note,
        Summary,
        ContextEdit,
        Moved,
        Label,
    }
    assert set(get_args(Display)) == {Diff, Patch, Plain, Table, Shell, Checklist}


@settings(max_examples=tries(50, 150), deadline=None)
@given(_node)
def test_a_node_comes_back_as_it_was(node: Node) -> None:
    line = node_to_line(node)

    assert line.isascii()
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert node_from_line(line) == node
    assert node_from_json(node_to_json(node)) == node


def test_a_record_of_version_1_is_read_as_it_is() -> None:
    node = Node("n", "m", "root", 1.5, UserText("hi", steered=True))
    older = node_to_line(node).replace(b'"v":2', b'"v":1')
    assert older != node_to_line(node)
    assert node_from_line(older) == node


def test_a_full_outcome_keeps_its_types() -> None:
    diff = Diff(
        "a.py", (Hunk((DiffLine("-", "x", 1, None), DiffLine("+", "y", None, 1)), 3),), 1, 1
    )
    outcome = ToolOutcome(
        "c1", "edit_file", "done", "ok", Headline("edit", "a.py", "path"), "+1 -1", diff
    )
    body = Delegation(outcome, "root/scout-1", "look", "done", Usage(1, 2, 3, 0.5, False))
    node = Node("n1", None, "root", 5.0, body)

    again = node_from_line(node_to_line(node))

    assert again == node
    assert isinstance(again.body, Delegation)
    assert type(again.body.outcome) is ToolOutcome
    assert type(again.body.outcome.display) is Diff


def test_a_lone_surrogate_survives() -> None:
    node = Node("n1", None, "root", 1.0, UserText("half \ud800 and \udc00"))

    assert node_from_line(node_to_line(node)) == node


@given(_display)
@settings(max_examples=tries(20, 50), deadline=None)
def test_a_display_comes_back_as_it_was(display: Display) -> None:
    assert display_from_json(display_to_json(display)) == display


def _stored(**changes: object) -> dict[str, object]:
    return node_to_json(Node("n1", None, "root", 1.0, UserText("hi"))) | changes


def test_a_newer_record_is_refused() -> None:
    with pytest.raises(
        NewerVersion, match=f"version {VERSION + 1}.*reads up to {VERSION}.: upgrade"
    ):
        node_from_json(_stored(v=VERSION + 1))


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (_stored(v=None), "no version"),
        (_stored(v=True), "no version"),
        (_stored(v=0), "version 0 is not known"),
        (_stored(id=7), "id"),
        (_stored(at="noon"), "at"),
        (_stored(body={"type": "song", "text": "la"}), "unknown kind of body 'song'"),
        (_stored(body={"text": "la"}), "has no type"),
        (_stored(body=None), "has no type"),
        (_stored(body={"type": "user"}), "text"),
        (_stored(body={"type": "user", "text": 3}), "text"),
        (_stored(body={"type": "tool", "call_id": "c"}), "tool"),
        (_stored(body={"type": "delegation", "outcome": {}, "child": "c", "task": "t"}), "reason"),
        ([], "not a JSON object"),
    ],
)
def test_what_is_no_node_is_named(stored: object, said: str) -> None:
    with pytest.raises(StoreError, match=said) as raised:
        node_from_json(stored)
    assert not isinstance(raised.value, NewerVersion)


def test_an_unknown_display_is_named() -> None:
    outcome = ToolOutcome("c", "t", "done", "", Headline("t", "o"), display=Plain("x"))
    stored = node_to_json(Node("n", None, "root", 1.0, outcome))
    stored["body"]["display"]["type"] = "hologram"

    with pytest.raises(StoreError, match="unknown kind of display 'hologram'"):
        node_from_json(stored)
    with pytest.raises(StoreError, match="has no type"):
        display_from_json(None)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"nope", b'{"v":1,"id":"\\ud8', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "brace", "word", "half escape", "not UTF-8", "too deep"],
)
def test_a_broken_line_is_a_store_error(line: bytes) -> None:
    with pytest.raises(StoreError):
        node_from_line(line)


def test_fields_of_later_minor_changes_are_passed_over() -> None:
    stored = json.loads(node_to_line(Node("n1", None, "root", 1.0, UserText("hi"))))
    stored["mood"] = "calm"
    stored["body"]["mood"] = "calm"

    assert node_from_json(stored).body == UserText("hi")
    assert body_from_json({"type": "note", "kind": "info", "text": "x"}) == Note("info", "x")


def test_an_older_record_climbs_the_steps_one_by_one() -> None:
    steps = {
        1: lambda old: {"said": old["text"]},
        2: lambda old: {"said": old["said"].upper()},
    }

    assert upgrade({"v": 1, "text": "hi"}, key="v", current=3, steps=steps) == {"said": "HI"}
    assert upgrade({"v": 2, "said": "hi"}, key="v", current=3, steps=steps) == {"said": "HI"}
    assert upgrade({"v": 3, "said": "hi"}, key="v", current=3, steps=steps) == {
        "v": 3,
        "said": "hi",
    }


def test_long_conversations_keep_every_field() -> None:
    calls = tuple(ToolCall(f"c{n}", "read_file", '{"path": "a"}') for n in range(3))
    turn = AssistantTurn(
        "text", "thought", calls, "m", "p", Usage(9, 8, 7, None), 1.5, '{"sig": 1}'
    )
    nodes = [Node(f"n{n}", f"n{n - 1}" if n else None, "root", float(n), turn) for n in range(1500)]

    assert [node_from_line(node_to_line(node)) for node in nodes] == nodes

"""What we write for Claude Code keeps the rules of its server, whatever happened in the session."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from any_nodes import NASTY, trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.agent.context.window import window
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    Body,
    Delegation,
    Node,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import Message
from stormclaw.store.branches import branch
from stormclaw.store.export.claude import install, project_folder, stamped, to_claude
from stormclaw.store.export.claude_tools import here, there
from stormclaw.store.imports.claude import from_claude
from stormclaw.store.sessions import SessionInfo

SESSION = uuid.UUID("12345678-1234-5678-1234-567812345678")
QUICK = settings(max_examples=tries(20, 60), deadline=None, suppress_health_check=list(HealthCheck))
HEAD = Headline("x", "y")


def info(model: str = "m-1") -> SessionInfo:
    return SessionInfo("20261122-014359-k3f9", Path("/w"), "T", 1.0, 1.0, model, "p")


def rows_of(messages: tuple[Message, ...], **more: Any) -> list[dict[str, Any]]:
    text = to_claude(info(**more), [(message, 5.0) for message in messages], SESSION, Path("/w"))
    assert text.isascii()
    return [json.loads(line, parse_constant=_refuse) for line in text.splitlines()]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def outcome(call_id: str, output: str = "out", tool: str = "read_file", **more: Any) -> ToolOutcome:
    return ToolOutcome(call_id, tool, more.pop("status", "done"), output, HEAD, **more)


def turn(*calls: ToolCall, text: str = "", model: str = "") -> AssistantTurn:
    return AssistantTurn(text, calls=calls, model=model)


def read(call_id: str, arguments: str = '{"path": "a"}', name: str = "read_file") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def check(rows: list[dict[str, Any]]) -> None:
    """The rules of the wire, and what the program itself needs of a row."""
    spoken = [row for row in rows if row["type"] != "summary"]
    roles = [row["message"]["role"] for row in spoken]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    parent, ids = None, set()
    wanted: list[str] = []
    for row in spoken:
        assert row["parentUuid"] == parent
        assert row["sessionId"] == str(SESSION)
        assert row["type"] == row["message"]["role"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["timestamp"])
        parent = str(uuid.UUID(row["uuid"]))
        content = row["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert given == wanted, "each call has its result in the next message, and no other"
        kinds = [block["type"] for block in blocks]
        assert kinds == sorted(kinds, key=("tool_result", "text", "tool_use").index)
        if row["type"] == "assistant":
            message = row["message"]
            assert message["model"]
            assert "<" not in message["model"]
            assert message["id"].startswith("msg_")
            assert all(value >= 0 for value in message["usage"].values())
        for block in blocks:
            if block["type"] == "tool_result":
                assert block.get("content") or not block.get("is_error")
        wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for block in (one for one in blocks if one["type"] == "tool_use"):
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["id"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["name"])
            assert isinstance(block["input"], dict)
            assert block["id"] not in ids
            ids.add(block["id"])
    assert not wanted, "the last call has its result"
    json.dumps(rows, ensure_ascii=False).encode("utf-8")


texts = st.one_of(NASTY, st.just(" \n"), st.text(max_size=5))
ids = st.sampled_from(["c1", "c2", "c 3", "", "ü", "x" * 90])
tools = st.sampled_from(["read_file", "shell_exec", "spawn_agent", "todo", "strange tool!", ""])
DEEP = '{"a":' * 700 + "1" + "}" * 700
arguments = st.one_of(
    st.sampled_from(['{"path": "a"}', "", "[1]", "{broken", "null", "[" * 5000, DEEP]),
    st.sampled_from(['{"timeout": 1e999}', '{"a": NaN}', '{"steps": [{"text": "x"}]}']),
    st.just('{"\\ud800": "\\ud800"}'),
    NASTY,
)
calls = st.builds(ToolCall, ids, tools, arguments)
messages = st.lists(
    st.one_of(
        st.builds(UserText, texts),
        st.builds(AssistantTurn, texts, calls=st.lists(calls, max_size=3).map(tuple), model=texts),
        st.builds(
            lambda i, text, tool, status: outcome(i, text, tool, status=status),
            ids,
            texts,
            tools,
            st.sampled_from(["done", "failed", "denied", "interrupted"]),
        ),
        ids.map(lambda i: Delegation(outcome(i, "c"), "root/x", "t", "done", NO_USAGE)),
    ),
    max_size=12,
).map(tuple)


@QUICK
@given(messages)
def test_any_messages_become_rows_by_the_rules(some: tuple[Message, ...]) -> None:
    try:
        rows = rows_of(some, model="")
    except UsageError:
        speaks = [one for one in some if isinstance(one, UserText | AssistantTurn)]
        assert not any(isinstance(one, UserText) or one.calls or one.text.strip() for one in speaks)
        return
    check(rows)


@settings(QUICK, max_examples=40)
@given(trees())
def test_any_session_becomes_rows_by_the_rules_and_can_be_brought_back(
    tmp_path_factory: pytest.TempPathFactory, tree: tuple[Node, ...]
) -> None:
    trunk = branch([node for node in tree if node.agent == ROOT])
    some = window(trunk)
    if not some:
        return
    text = to_claude(info(), stamped(some, trunk), SESSION, Path("/w"))
    check([json.loads(line) for line in text.splitlines()])
    path = tmp_path_factory.mktemp("back") / f"{SESSION}.jsonl"
    path.write_text(text)
    list(from_claude(path))


words = st.text("abc \n`<é𝒳", min_size=1, max_size=8).map(lambda text: f"w{text}w")
plain_calls = st.lists(
    st.tuples(
        st.sampled_from(["read_file", "shell_exec", "grep", "spawn_agent", "other"]),
        st.dictionaries(st.sampled_from(["path", "timeout", "task", "x"]), words, max_size=2),
        words,
    ),
    max_size=3,
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Body, ...]:
    """Well-formed ones, as sessions mostly are."""
    bodies: list[Body] = []
    for number in range(draw(st.integers(1, 4))):
        bodies.append(UserText(draw(words)))
        made = draw(plain_calls)
        found = [
            ToolCall(f"c{number}-{at}", name, json.dumps(given, ensure_ascii=False))
            for at, (name, given, _) in enumerate(made)
        ]
        bodies.append(AssistantTurn(draw(words), calls=tuple(found), model="m-2"))
        bodies += [
            outcome(call.id, output, call.name)
            for call, (_, _, output) in zip(found, made, strict=True)
        ]
    return tuple(bodies)


@settings(QUICK, max_examples=40)
@given(conversations())
def test_what_was_said_and_done_survives_the_way_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, bodies: tuple[Body, ...]
) -> None:
    parents = [None, *(f"n{at}" for at in range(len(bodies)))]
    nodes = [
        Node(f"n{at}", parents[at], ROOT, 1_795_000_000.0 + at, body)
        for at, body in enumerate(bodies)
    ]
    text = to_claude(info(), stamped(window(nodes), nodes), SESSION, Path("/w"))
    path = tmp_path_factory.mktemp("back") / f"{SESSION}.jsonl"
    path.write_text(text)
    back = tuple(from_claude(path))

    assert [_gist(node.body) for node in back] == [_gist(body) for body in window(nodes)]
    assert [node.at for node in back] == _times(nodes)
    again = to_claude(info(), stamped(window(back), back), SESSION, Path("/w"))
    assert [json.loads(line) for line in again.splitlines()] == [
        json.loads(line) for line in text.splitlines()
    ]


def _times(nodes: list[Node]) -> list[float]:
    """Results of one message share a row, and so its time: that of the last."""
    times = [node.at for node in nodes]
    for at in range(len(nodes) - 2, -1, -1):
        both = (nodes[at].body, nodes[at + 1].body)
        if isinstance(both[0], ToolOutcome) and not isinstance(both[1], AssistantTurn):
            times[at] = times[at + 1]
    return times


def _gist(body: Body) -> object:
    match body:
        case UserText(text=text):
            return text
        case AssistantTurn(text=text):
            return (text, [(c.name, json.loads(c.arguments)) for c in body.calls], body.model)
        case ToolOutcome():
            return (body.tool, body.status, body.output)
        case _:
            raise AssertionError(body)


# Case by case ------------------------------------------------------------------------------


def test_calls_and_results_are_put_in_order_and_words_after_them() -> None:
    _, _, first, results = rows_of(
        (
            UserText("go"),
            turn(read("a"), read("b")),
            UserText("and hurry"),
            outcome("b", "B"),
            outcome("stray"),
            outcome("a", "A", status="failed"),
            outcome("a", "once more"),
        )
    )
    assert [block["id"] for block in first["message"]["content"]] == ["a", "b"]
    content = results["message"]["content"]
    assert [block.get("content", block.get("text")) for block in content] == ["A", "B", "and hurry"]
    assert [block.get("is_error") for block in content] == [True, None, None]


def test_ids_that_come_twice_are_told_apart() -> None:
    twice = (turn(read("a"), read("a")), outcome("a", "1"), outcome("a", "2"))
    rows = rows_of((UserText("x"), *twice, turn(read("a"))))
    check(rows)
    results = rows[3]["message"]["content"]
    assert [block["content"] for block in results] == ["1", "2"]


def test_a_model_that_would_stop_claude_is_not_named() -> None:
    rows = rows_of((UserText("x"), turn(text="a", model="<synthetic>")), model="")
    assert rows[2]["message"]["model"] == "unknown"


def test_thinking_stays_here() -> None:
    said = replace(turn(text="a"), thinking="SECRET THOUGHT", echo='{"signature": "s"}')
    assert "SECRET THOUGHT" not in json.dumps(rows_of((UserText("x"), said)))


def test_tools_are_called_as_they_are_there_and_come_home_again() -> None:
    for name, sent in (
        ("read_file", {"path": "a", "offset": 3}),
        ("edit_file", {"path": "a", "old_string": "x", "new_string": "y", "replace_all": True}),
        ("shell_exec", {"command": "ls", "timeout": 30}),
        ("spawn_agent", {"task": "look", "name": "scout"}),
        ("todo", {"steps": [{"text": "one", "state": "doing"}]}),
        ("mcp__x__y", {"path": "a"}),
    ):
        assert here(*there(name, sent)) == (name, sent)
    assert there("shell_exec", {"timeout": 30}) == ("Bash", {"timeout": 30_000})
    assert here("Task", {"prompt": "p"}) == ("spawn_agent", {"task": "p"})
    assert here("TodoWrite", {"todos": "all"}) == ("todo", {"steps": "all"})


@pytest.mark.parametrize("said", [(), (turn(),), (outcome("a"),)])
def test_nothing_said_is_nothing_to_go_on_with(said: tuple[Message, ...]) -> None:
    with pytest.raises(UsageError, match="nothing was said"):
        rows_of(said)


def test_it_is_put_where_claude_looks_and_never_over_another(tmp_path: Path) -> None:
    path = install(tmp_path / ".claude", Path("/a/b_c.d é/𝒳"), SESSION, "{}\n")
    assert path == tmp_path / ".claude/projects/-a-b-c-d-----" / f"{SESSION}.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="is there already"):
        install(tmp_path / ".claude", Path("/a/b_c.d é/𝒳"), SESSION, "other\n")
    assert path.read_text() == "{}\n"
    with pytest.raises(UsageError, match="too long"):
        project_folder(tmp_path, Path("/" + "x" * 200))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        install(tmp_path / "file", Path("/a"), SESSION, "{}\n")

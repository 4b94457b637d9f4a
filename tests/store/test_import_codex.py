"""Rollouts of Codex, old and new, as nodes of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.agent.context.window import window
from stormclaw.protocol.display import Patch
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store.branches import branch
from stormclaw.store.imports.codex import from_codex
from stormclaw.store.imports.report import Report

Row = dict[str, Any]
PATCH = """*** Begin Patch
*** Add File: new.txt
+one
*** Update File: a.txt
@@
-alpha
+beta
 gamma
*** Delete File: old.txt
*** End Patch"""


def row(kind: str, **payload: Any) -> Row:
    return {"timestamp": "2026-11-22T08:00:00.500Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> Row:
    return row("response_item", **{"type": kind, **payload})


def event(kind: str, **payload: Any) -> Row:
    return row("event_msg", **{"type": kind, **payload})


def said(role: str, *texts: str) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def call(call_id: str, name: str, **given: Any) -> Row:
    return item("function_call", name=name, arguments=json.dumps(given), call_id=call_id)


def output(call_id: str, text: Any) -> Row:
    return item("function_call_output", call_id=call_id, output=text)


META = row("session_meta", id="01a2", cwd="/src/tide", model_provider="openai")
CONTEXT = row("turn_context", cwd="/src/tide", model="gpt-x")


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(*rows: Row, report: Report | None = None) -> list[Node]:
        path = tmp_path / "rollout-x.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return list(from_codex(path, report))

    return read


def outcomes(nodes: list[Node]) -> list[ToolOutcome]:
    return [node.body for node in nodes if isinstance(node.body, ToolOutcome)]


def test_a_turn_as_codex_writes_it(read: Any) -> None:
    report = Report()
    usage = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20}
    nodes = read(
        META,
        event("task_started"),
        said("developer", "<permissions instructions>x"),
        said("user", "<environment_context>\n  <cwd>/x</cwd>", "# AGENTS.md instructions for /x"),
        CONTEXT,
        row("world_state", full=True),
        said("user", "please look"),
        event("user_message", message="please look"),
        event("agent_reasoning", text="hm"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], content=None),
        said("assistant", "I look."),
        call("c1", "exec_command", cmd="ls; exit 3"),
        call("c2", "shell", command=["bash", "-lc", "cat /src/tide/a.py"]),
        row("token_usage_record", usage=usage),
        output("c1", "Wall time: 0 seconds\nProcess exited with code 3\nOutput:\nx"),
        output("c2", json.dumps({"output": "alpha", "metadata": {"exit_code": 0}})),
        event("token_count", info={"last_token_usage": usage}),
        said("assistant", "Done."),
        event("task_complete", last_agent_message="Done."),
        report=report,
    )
    words, turn, first, second, done = (node.body for node in nodes)
    assert words == UserText("please look")
    assert isinstance(turn, AssistantTurn)
    assert (turn.text, turn.thinking, turn.model, turn.provider) == (
        "I look.", "hm", "gpt-x", "openai",
    )  # fmt: skip
    assert turn.usage == Usage(100, 20, 40)
    assert [json.loads(one.arguments) for one in turn.calls] == [
        {"command": "ls; exit 3"},
        {"command": "cat /src/tide/a.py"},
    ]
    assert isinstance(first, ToolOutcome)
    assert isinstance(second, ToolOutcome)
    assert (first.tool, first.status, first.summary) == ("shell_exec", "failed", "exit 3, 4 lines")
    assert (second.status, second.output, second.summary) == ("done", "alpha", "exit 0, 1 line")
    assert isinstance(done, AssistantTurn)
    assert tuple(nodes) == branch(nodes)
    assert (report.turns, report.model, report.skipped) == (1, "gpt-x", {})
    assert nodes[0].at == 1_795_334_400.5


@pytest.mark.parametrize(
    "asked",
    [
        item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"),
        call("c1", "apply_patch", input=PATCH),
        call("c1", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]),
        call("c1", "exec_command", cmd=f'apply_patch <<"X"\n{PATCH}\nX'),
    ],
    ids=["custom", "function", "shell", "exec"],
)
def test_a_patch_is_a_patch_however_it_was_called(read: Any, asked: Row) -> None:
    answered = item("custom_tool_call_output", call_id="c1", output="Exit code: 0\nSuccess.")
    (outcome,) = outcomes(read(META, said("user", "go"), asked, answered))
    assert (outcome.tool, outcome.status, outcome.summary) == ("apply_patch", "done", "+2 −1")
    assert outcome.headline.object == "new.txt, a.txt, old.txt"
    assert isinstance(outcome.display, Patch)
    assert [(diff.path, diff.created) for diff in outcome.display.files] == [
        ("new.txt", True), ("a.txt", False), ("old.txt", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given_back", "status"),
    [
        ("Exit code: 0\nfine", "done"),
        ("Exit code: 7\nbad", "failed"),
        ({"content": "no", "success": False}, "failed"),
        ({"content": [{"type": "input_text", "text": "yes"}]}, "done"),
        ("exec command rejected by user", "denied"),
        ("aborted by user after 3.2s", "interrupted"),
        ("failed to parse function arguments: x", "failed"),
        ("unsupported call: x", "failed"),
        (json.dumps({"output": "x", "metadata": {"exit_code": 1}}), "failed"),
        ('{"output":broken', "done"),
        (None, "done"),
    ],
)
def test_how_a_call_ended(read: Any, given_back: Any, status: str) -> None:
    asked = call("c1", "shell_command", command="make")
    (outcome,) = outcomes(read(META, said("user", "go"), asked, output("c1", given_back)))
    assert outcome.status == status


def test_the_other_kinds_of_calls(read: Any) -> None:
    nodes = read(
        META,
        said("user", "go"),
        item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls", "a b"]}),
        output("c1", "x"),
        call("c2", "update_plan", plan=[{"step": "one", "status": "in_progress"}]),
        output("c2", "Plan updated"),
        item("web_search_call", id="w1", action={"type": "search", "query": "herons"}),
        said("assistant", "found"),
        item("function_call", name="mcp__x", arguments="{broken", call_id="c3"),
        output("c3", [{"type": "input_image", "image_url": "data:"}]),
    )
    made = [
        (one.name, json.loads(one.arguments))
        for node in nodes
        if isinstance(node.body, AssistantTurn)
        for one in node.body.calls
    ]
    assert made == [
        ("shell_exec", {"command": "ls 'a b'"}),
        ("todo", {"steps": [{"text": "one", "state": "doing"}]}),
        ("web_search", {"query": "herons"}),
        ("mcp__x", {"arguments": "{broken"}),
    ]
    assert outcomes(nodes)[-1].output == "[a picture was here; it is not imported]"


def test_interruptions_errors_and_going_back(read: Any) -> None:
    nodes = read(
        META,
        said("user", "one"),
        said("assistant", "first"),
        said("user", "two"),
        call("c1", "shell_command", command="sleep 9"),
        event("turn_aborted", reason="interrupted"),
        said("user", "<turn_aborted>\nThe user interrupted\n</turn_aborted>"),
        event("error", message="quota exceeded"),
        event("thread_rolled_back", num_turns=1),
        said("user", "three"),
        event("thread_name_updated", thread_name="A name"),
    )
    found: list[Body] = [node.body for node in nodes]
    assert Note("interrupted", "interrupted by you") in found
    assert Note("failed", "quota exceeded") in found
    assert outcomes(nodes)[0].status == "interrupted"
    assert any(isinstance(body, Moved) and body.kind == "rewind" for body in found)
    wire = [body.text for body in window(branch(nodes)) if isinstance(body, UserText)]
    assert wire == ["one", "three"]


def test_a_compaction_keeps_the_words_of_the_person(read: Any) -> None:
    nodes = read(
        META,
        said("user", "one"),
        said("assistant", "first"),
        row("compacted", message="THE SUMMARY"),
        said("user", "two"),
    )
    assert any(isinstance(node.body, Summary) for node in nodes)
    wire = [body.text for body in window(branch(nodes)) if isinstance(body, UserText)]
    assert wire == ["one", "THE SUMMARY", "two"]


def test_old_rollouts_have_bare_items(read: Any) -> None:
    bare = {"id": "01a2", "timestamp": "2025-05-01T00:00:00.000Z", "instructions": None}
    message = said("user", "hello")["payload"]
    answer = said("assistant", "hi")["payload"]
    nodes = read(bare, message, {"record_type": "state"}, answer)
    assert [getattr(node.body, "text", None) for node in nodes] == ["hello", "hi"]
    assert nodes[0].at == 1_746_057_600.0


def test_what_is_not_known_is_counted(read: Any) -> None:
    report = Report()
    read(META, row("hologram"), item("song"), output("c9", "x"), report=report)
    assert report.skipped == {
        "rows of kind 'hologram'": 1, "items of kind 'song'": 1, "results without a call": 1,
    }  # fmt: skip


leaves = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=4))
keys = st.sampled_from(
    ["type", "role", "content", "text", "name", "arguments", "call_id", "output", "action",
     "command", "plan", "summary", "message", "info", "last_token_usage", "num_turns", "usage"]
)  # fmt: skip
junk = st.recursive(
    leaves | st.sampled_from(["message", "user", "assistant", "c1", '{"cmd": 3}', PATCH]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=10,
)
kinds = st.sampled_from(
    ["message", "reasoning", "function_call", "function_call_output", "local_shell_call",
     "custom_tool_call", "web_search_call", "token_count", "thread_rolled_back", "turn_aborted"]
)  # fmt: skip
outer = st.sampled_from(["response_item", "event_msg", "compacted", "turn_context"])
junk_rows = st.lists(
    st.builds(
        lambda kind, inner, payload: {"type": kind, "payload": {**payload, "type": inner}},
        outer,
        kinds,
        st.dictionaries(keys, junk, max_size=6),
    ),
    max_size=8,
)


@settings(max_examples=tries(50, 150), deadline=None, suppress_health_check=list(HealthCheck))
@given(junk_rows)
def test_no_shape_of_rows_is_a_fault(
    tmp_path_factory: pytest.TempPathFactory, some: list[Row]
) -> None:
    path = tmp_path_factory.mktemp("junk") / "x.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in some))
    nodes = list(from_codex(path))
    known: set[str | None] = {None}
    for node in nodes:
        assert node.parent in known
        known.add(node.id)
    window(branch(nodes))

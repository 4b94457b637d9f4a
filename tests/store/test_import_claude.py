"""Session files of Claude Code, old and new, whole and odd, as nodes of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.agent.context.window import window
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.display import Diff
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Delegation,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store.branches import branch
from stormclaw.store.imports import rows as rows_module
from stormclaw.store.imports.claude import from_claude
from stormclaw.store.imports.report import Report
from stormclaw.store.imports.talk import NEVER_CAME

SESSION = "0b222b9d-d797-4fe3-ba81-b19031369070"
Row = dict[str, Any]


class Book:
    """Writes rows as Claude Code does: each behind the one before, unless told otherwise."""

    def __init__(self, **shared: Any) -> None:
        self.rows: list[Row] = []
        self.last: str | None = None
        self._shared = shared

    def row(self, kind: str, name: str = "", **fields: Any) -> str:
        name = name or f"u{len(self.rows)}"
        row = {
            "type": kind,
            "uuid": name,
            "parentUuid": self.last,
            "isSidechain": False,
            "sessionId": SESSION,
            "cwd": "/src/tide",
            "timestamp": f"2026-11-22T08:00:{len(self.rows):02d}.000Z",
            **self._shared,
            **fields,
        }
        self.rows.append(row)
        self.last = name
        return name

    def you(self, content: Any, name: str = "", **fields: Any) -> str:
        return self.row("user", name, message={"role": "user", "content": content}, **fields)

    def claude(self, *blocks: Row, key: str = "", name: str = "", **fields: Any) -> str:
        message = {
            "id": key or f"msg_{len(self.rows)}",
            "model": "claude-x",
            "role": "assistant",
            "content": list(blocks),
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 4,
                "cache_read_input_tokens": 5,
                "output_tokens": 6,
            },
        }
        return self.row("assistant", name, message=message, **fields)

    def result(self, call_id: str, content: Any, result: Any = None, **fields: Any) -> str:
        failed = fields.pop("failed", False)
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        block |= {"is_error": True} if failed else {}
        return self.you([block], toolUseResult=result, **fields)


def text(said: str) -> Row:
    return {"type": "text", "text": said}


def use(call_id: str, name: str, **given: Any) -> Row:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(book: Book, report: Report | None = None) -> list[Node]:
        path = tmp_path / f"{SESSION}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in book.rows))
        return list(from_claude(path, report))

    return read


def bodies(nodes: list[Node], agent: str = "root") -> list[Body]:
    return [node.body for node in nodes if node.agent == agent]


def test_pieces_of_an_answer_become_one_with_its_results_behind(read: Any) -> None:
    book = Book()
    book.row("mode", parentUuid=None)
    book.last = None
    book.you("please look")
    book.claude({"type": "thinking", "thinking": "hm", "signature": "s"}, key="m1")
    book.claude(text("I look."), key="m1")
    first = book.claude(use("t1", "Read", file_path="/src/tide/a.py", limit=3), key="m1")
    second = book.claude(use("t2", "Bash", command="exit 3", timeout=5000), key="m1")
    book.result("t1", "1\talpha", {"type": "text"}, parentUuid=first)
    book.result("t2", "Exit code 3\nbad", "Error: Exit code 3", parentUuid=second, failed=True)
    book.claude(text("Done."))

    report = Report()
    nodes = read(book, report)
    said, turn, seen, ran, done = (node.body for node in nodes)
    assert said == UserText("please look")
    assert isinstance(turn, AssistantTurn)
    assert (turn.text, turn.thinking, turn.model, turn.provider) == (
        "I look.", "hm", "claude-x", "anthropic",
    )  # fmt: skip
    assert (turn.usage.input_tokens, turn.usage.cached_tokens) == (12, 5)
    assert (turn.usage.cache_write_tokens, turn.usage.output_tokens) == (4, 6)
    assert [(call.name, json.loads(call.arguments)) for call in turn.calls] == [
        ("read_file", {"path": "/src/tide/a.py", "limit": 3}),
        ("shell_exec", {"command": "exit 3", "timeout": 5}),
    ]
    assert isinstance(seen, ToolOutcome)
    assert isinstance(ran, ToolOutcome)
    assert (seen.tool, seen.status, seen.output, seen.receipt) == (
        "read_file", "done", "1\talpha", 0,
    )  # fmt: skip
    assert (seen.headline.verb, seen.headline.object, seen.summary) == ("read", "a.py", "1 line")
    assert (ran.status, ran.headline.object, ran.summary) == (
        "failed", "exit 3", "exit 3, 2 lines",
    )  # fmt: skip
    assert isinstance(done, AssistantTurn)
    assert tuple(nodes) == branch(nodes)
    assert nodes[0].at == 1_795_334_401.0
    assert (report.turns, report.model, report.first_prompt) == (1, "claude-x", "please look")
    assert not report.skipped


def test_edits_bring_their_difference(read: Any) -> None:
    book = Book()
    book.you("go")
    book.claude(use("t1", "Edit", file_path="/src/tide/a.py", old_string="a", new_string="b"))
    hunk = {"oldStart": 7, "newStart": 7, "lines": [" x", "-a", "+b", "\\ No newline"]}
    book.result("t1", "updated", {"filePath": "/src/tide/a.py", "structuredPatch": [hunk]})
    book.claude(use("t2", "Write", file_path="/src/tide/n.py", content="1\n2\n"))
    made = {"type": "create", "filePath": "/src/tide/n.py", "content": "1\n2\n" * 500}
    book.result("t2", "created", made)
    found = [body for body in bodies(read(book)) if isinstance(body, ToolOutcome)]
    changed, created = (body.display for body in found)
    assert isinstance(changed, Diff)
    assert isinstance(created, Diff)
    lines = [(line.sign, line.text, line.old, line.new) for line in changed.hunks[0].lines]
    assert lines[:3] == [(" ", "x", 7, 7), ("-", "a", 8, None), ("+", "b", None, 8)]
    assert (changed.path, changed.added, changed.removed) == ("a.py", 1, 1)
    assert (created.created, created.added, created.cut) == (True, 1000, 600)
    assert [body.summary for body in found] == ["+1 −1", "+1000 −0"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            "denied",
        ),
        ("Claude requested permissions to write to /x, but you haven't granted it", "denied"),
        ("Permission to use Bash has been denied.", "denied"),
        ("[Request interrupted by user for tool use]", "interrupted"),
        ("<tool_use_error>File not found</tool_use_error>", "failed"),
    ],
)
def test_how_a_call_ended_is_told_as_it_was(read: Any, content: str, status: str) -> None:
    book = Book()
    book.you("go")
    book.claude(use("t1", "Write", file_path="/x", content="y"))
    book.result("t1", content, failed=True)
    book.you([text("[Request interrupted by user for tool use]")])
    outcome, note = bodies(read(book))[-2:]
    assert isinstance(outcome, ToolOutcome)
    assert (outcome.status, outcome.output) == (status, content)
    assert note == Note("interrupted", "interrupted by you")


def test_an_interrupted_command_is_not_called_done(read: Any) -> None:
    book = Book()
    book.you("go")
    book.claude(use("t1", "Bash", command="sleep 9"))
    book.result("t1", "", {"stdout": "", "interrupted": True})
    outcome = bodies(read(book))[-1]
    assert isinstance(outcome, ToolOutcome)
    assert outcome.status == "interrupted"


def test_what_the_program_wraps_is_unwrapped(read: Any) -> None:
    book = Book()
    book.you("<local-command-caveat>Caveat: x</local-command-caveat>", isMeta=True)
    book.you(
        "<command-name>/model</command-name>\n<command-message>model</command-message>\n"
        "<command-args>opus</command-args>"
    )
    book.you("<local-command-stdout>Set to \x1b[1mopus\x1b[22m</local-command-stdout>")
    book.you("<bash-input>ls -l</bash-input>")
    book.you("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>")
    book.you("hello<system-reminder>psst</system-reminder>")
    book.you([{"type": "image", "source": {"data": "QQ=="}}, text("what is that?")])
    book.you("<task-notification>done</task-notification>")
    book.row("system", subtype="local_command", content="<command-name>/cost</command-name>")
    notes = bodies(read(book))
    assert notes[:2] == [Note("info", "/model opus"), Note("info", "Set to opus")]
    assert isinstance(notes[2], ToolOutcome)
    assert (notes[2].author, notes[2].headline.object, notes[2].output) == (
        "person",
        "ls -l",
        "a.txt",
    )
    assert notes[3:] == [
        UserText("hello"),
        UserText("[a picture was here; it is not imported]\n\nwhat is that?"),
        Note("info", "/cost"),
    ]


def test_going_back_in_the_file_is_going_back_here(read: Any) -> None:
    book = Book()
    book.you("one", "a")
    book.claude(text("first"), name="b")
    book.row("attachment", "att")
    book.you("two", "c")
    book.claude(use("t1", "Bash", command="ls"), name="d")
    book.result("t1", "x", name="e")
    book.claude(text("second"), name="f")
    book.you("another two", "g", parentUuid="att")
    book.claude(text("third"), name="h")
    nodes = read(book)
    assert [type(node.body).__name__ for node in nodes if isinstance(node.body, Moved)] == ["Moved"]
    told = [
        body.text for body in window(branch(nodes)) if isinstance(body, UserText | AssistantTurn)
    ]
    assert told == ["one", "first", "another two", "third"]
    (moved,) = (node for node in nodes if isinstance(node.body, Moved))
    assert moved.body == Moved("branch", nodes[nodes.index(moved) - 1].id)


def test_a_beginning_anew_leaves_the_rest_behind(read: Any) -> None:
    book = Book()
    book.you("one")
    book.claude(text("first"))
    book.you("other", parentUuid=None)
    told = [body for body in window(branch(read(book))) if isinstance(body, UserText)]
    assert told == [UserText("other")]


def test_a_compaction_stands_for_what_was_before_but_for_what_was_kept(read: Any) -> None:
    book = Book()
    book.you("old words")
    book.claude(text("old answer"))
    book.claude(use("t1", "Bash", command="ls"), name="kept1")
    book.result("t1", "kept output", name="kept2")
    last = book.claude(text("kept answer"), name="kept3")
    book.row(
        "system",
        "boundary",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=last,
        compactMetadata={"preservedMessages": {"uuids": ["kept1", "kept2", "kept3", 7]}},
    )
    book.you("THE SUMMARY", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    book.you("go on")
    nodes = read(book)
    (summary,) = (node.body for node in nodes if isinstance(node.body, Summary))
    assert len(summary.replaces) == 2
    assert not any(isinstance(node.body, Moved) for node in nodes)
    wire = [getattr(body, "text", getattr(body, "output", "")) for body in window(branch(nodes))]
    assert wire[0] == "THE SUMMARY"
    assert wire[-3:] == ["kept output", "kept answer", "go on"]
    assert "old words" not in wire


def test_a_file_that_begins_with_a_summary_says_it_as_words(read: Any) -> None:
    book = Book()
    book.you("THE SUMMARY", isCompactSummary=True)
    assert bodies(read(book)) == [UserText("THE SUMMARY")]


def test_sub_agents_among_the_rows_are_found_by_what_they_were_told(read: Any) -> None:
    book = Book()
    book.you("go")
    book.claude(use("t1", "Task", prompt="count", description="Count Things"))
    parent = book.last
    book.last = None
    book.you("count", isSidechain=True)
    book.claude(use("s1", "Bash", command="wc"), isSidechain=True)
    book.result("s1", "17", isSidechain=True)
    book.claude(text("seventeen"), isSidechain=True)
    book.last = parent
    book.result("t1", [text("seventeen")])
    book.claude(text("It is 17."))
    nodes = read(book)
    (sent,) = (node.body for node in nodes if isinstance(node.body, Delegation))
    assert (sent.child, sent.task, sent.reason) == ("root/count-things", "count", "done")
    assert sent.outcome.output == "seventeen"
    theirs = bodies(nodes, "root/count-things")
    assert [type(body).__name__ for body in theirs] == [
        "UserText", "AssistantTurn", "ToolOutcome", "AssistantTurn",
    ]  # fmt: skip
    assert tuple(node for node in nodes if node.agent == "root") == branch(
        [node for node in nodes if node.agent == "root"]
    )


def test_sub_agents_with_files_of_their_own_are_read_too(read: Any, tmp_path: Path) -> None:
    def agent(name: str, book: Book) -> None:
        folder = tmp_path / SESSION / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(row) + "\n" for row in book.rows)
        (folder / f"agent-{name}.jsonl").write_text(lines)

    below = Book(isSidechain=True, agentId="a2")
    below.you("deeper")
    below.claude(text("deep answer"))
    agent("a2", below)
    child = Book(isSidechain=True, agentId="a1")
    child.you("look")
    child.claude(use("c1", "Agent", prompt="deeper", description="deep"))
    child.result("c1", [text("x")], {"agentId": "a2", "status": "completed"})
    child.claude(text("looked"))
    agent("a1", child)
    book = Book()
    book.you("go")
    book.claude(use("t1", "Agent", prompt="look", description="scout"))
    content = [text("looked"), text("agentId: a1 (use SendMessage)")]
    usage = {"input_tokens": 1, "output_tokens": 2}
    book.result("t1", content, {"agentId": "a1", "content": [text("looked")], "usage": usage})
    book.claude(use("t2", "Agent", prompt="gone", description="../../x"))
    book.result("t2", "x", {"agentId": "../../../etc/passwd"})

    nodes = read(book)
    assert {node.agent for node in nodes} == {"root", "root/scout", "root/scout/deep"}
    first, second = (body for body in bodies(nodes) if isinstance(body, Delegation | ToolOutcome))
    assert isinstance(first, Delegation)
    assert (first.outcome.output, first.usage.output_tokens, first.usage.reported) == (
        "looked", 2, False,
    )  # fmt: skip
    assert isinstance(second, ToolOutcome)


def test_a_call_that_never_ended_gets_an_end(read: Any) -> None:
    book = Book()
    book.you("go")
    book.claude(use("t1", "Bash", command="a"), use("t2", "Bash", command="b"))
    book.result("t2", "B")
    book.you("never mind")
    book.claude(text("ok"))
    report = Report()
    book.result("t1", "too late")
    nodes = read(book, report)
    _, _, first, second, words, _ = (node.body for node in nodes)
    assert isinstance(first, ToolOutcome)
    assert isinstance(second, ToolOutcome)
    assert (first.status, first.output) == ("interrupted", NEVER_CAME)
    assert (second.status, second.output) == ("done", "B")
    assert words == UserText("never mind", steered=True)
    assert report.skipped == {"results without a call": 1}


def test_errors_of_the_server_are_notes_and_fillers_are_nothing(read: Any) -> None:
    book = Book()
    book.you("go")
    book.claude(text("API Error: 529 overloaded"), isApiErrorMessage=True)
    book.claude(text("No response requested."))
    book.rows[-1]["message"]["model"] = "<synthetic>"
    assert bodies(read(book)) == [UserText("go"), Note("failed", "API Error: 529 overloaded")]


def test_titles_are_taken_best_first_and_only_of_this_session(read: Any) -> None:
    report = Report()
    book = Book()
    book.row("summary", summary="of another session", leafUuid="elsewhere")
    book.last = None
    leaf = book.you("hello")
    read(book, report)
    assert report.title == ""
    book.row("summary", summary="of this one", leafUuid=leaf)
    read(book, report)
    assert report.title == "of this one"
    book.row("ai-title", aiTitle="made up")
    book.row("custom-title", customTitle="chosen")
    book.row("custom-title", customTitle="chosen later")
    read(book, report)
    assert report.title == "chosen later"


def test_what_is_not_known_is_counted(read: Any) -> None:
    report = Report()
    book = Book()
    first = book.you("hello")
    book.row("hologram")
    book.row("hologram")
    book.claude(text("hi"), {"type": "server_tool_use", "id": "x"}, parentUuid=book.last)
    nodes = read(book, report)
    assert first
    assert tuple(nodes) == branch(nodes)
    assert report.skipped == {"rows of kind 'hologram'": 2, "parts of kind 'server_tool_use'": 1}


# Bad files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"type":"user"}\n{broken\n{"type":"user"}\n', "line 2: not JSON: .*column 2"),
        (b'{"type":"user"}\n[1]\n', "line 2: not a JSON object but list"),
        (b'{"type":"user"}\n"x"\n', "line 2: not a JSON object but str"),
        (b'{"type":"user"}\n\xff\xfe\n', "line 2: not JSON"),
        (b"[" * 100_000 + b"\n", "line 1: not JSON: nested too deeply"),
        (b"{broken", "line 1: not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=f"x.jsonl {said}"):
        list(from_claude(path))


def test_a_last_line_still_being_written_is_left_out(tmp_path: Path) -> None:
    book = Book()
    book.you("hello")
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(book.rows[0]) + '\n{"type":"user","mess')
    assert bodies(list(from_claude(path))) == [UserText("hello")]


def test_a_line_too_long_is_passed_over_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "LONGEST_LINE", 4000)
    book = Book()
    book.you("one")
    book.you("x" * 9000)
    book.you("two")
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in book.rows))
    report = Report()
    assert bodies(list(from_claude(path, report))) == [UserText("one"), UserText("two")]
    assert report.skipped == {"lines that are too long": 1}


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_no_file_is_a_matter_of_usage(tmp_path: Path, what: str) -> None:
    path = tmp_path if what == "folder" else tmp_path / "none.jsonl"
    with pytest.raises(UsageError, match=r"is no plain file|does not exist"):
        list(from_claude(path))


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=4),
    st.sampled_from(["a", "b", "c", "text", "tool_use", "tool_result", "t1", "user", "assistant"]),
)  # fmt: skip
keys = st.sampled_from(
    ["type", "uuid", "parentUuid", "message", "content", "id", "role", "model", "usage", "text",
     "tool_use_id", "name", "input", "isSidechain", "agentId", "toolUseResult", "structuredPatch",
     "filePath", "lines", "timestamp", "subtype", "logicalParentUuid", "isCompactSummary",
     "compactMetadata", "preservedMessages", "uuids", "prompt", "todos"]
)  # fmt: skip
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
kinds = st.sampled_from(["user", "assistant", "system", "summary", "attachment", "x"])
junk_rows = st.lists(
    st.builds(
        lambda row, kind: {**row, "type": kind}, st.dictionaries(keys, junk, max_size=8), kinds
    ),
    max_size=8,
)


@settings(max_examples=tries(50, 150), deadline=None, suppress_health_check=list(HealthCheck))
@given(junk_rows)
def test_no_shape_of_rows_is_a_fault(
    tmp_path_factory: pytest.TempPathFactory, some: list[Row]
) -> None:
    path = tmp_path_factory.mktemp("junk") / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in some))
    nodes = list(from_claude(path))
    assert len({node.id for node in nodes}) == len(nodes)
    known: set[str | None] = {None}
    for node in nodes:
        assert node.parent in known
        known.add(node.id)
    window(branch([node for node in nodes if node.agent == "root"]))

"""Claude's calls in our words and back, and their ends as our own tools would word them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_lines import WORKSPACE, events, recorded

from stormclaw.protocol.display import Checklist, Diff
from stormclaw.protocol.provider import Observed
from stormclaw.providers._claude.outcomes import observed
from stormclaw.providers._claude.tools import COUNTERPARTS, given_back, translated
from stormclaw.providers._programs.events import ToolResult, ToolUse
from stormclaw.tools import registry
from stormclaw.tools.schema import parse


def ends(*, denied: str = "deny me") -> dict[str, Observed]:
    """The ends of the recorded calls, by what was called, in order."""
    told = events(*recorded("tools"))
    uses = {event.id: event for event in told if isinstance(event, ToolUse)}
    results = {event.id: event for event in told if isinstance(event, ToolResult)}
    return {
        f"{use.name} {at}": observed(
            use, results[id_], WORKSPACE, denied=use.input.get("command") == denied
        )
        for at, (id_, use) in enumerate(uses.items())
    }


def test_ends_are_worded_as_our_tools_word_them() -> None:
    said = {name: (end.status, end.output, end.summary) for name, end in ends().items()}
    assert said["Bash 0"] == ("denied", "NO: the policy forbids it", "denied")
    assert said["Bash 1"] == ("done", "out\nerr\n[exit 0]", "exit 0, 2 lines")
    assert said["Bash 2"] == ("failed", "bad\n[exit 3]", "exit 3, 1 line")
    assert said["Bash 3"] == ("done", "(no output)\n[exit 0]", "exit 0, no output")
    assert said["Bash 4"][1].startswith("Command running in background")
    assert said["Nonsense 5"] == ("failed", "Error: No such tool available: Nonsense", "failed")
    assert said["Write 6"] == ("done", "Created a.txt: +4 −0", "+4 −0")
    assert said["Read 7"] == ("done", "1\tone\n2\ttwo\n3\tthree\n4\ttwo", "4 lines")
    assert said["Read 8"][1].startswith("2\ttwo\n3\tthree\n… lines 4-")
    assert said["Read 9"][0] == "failed"
    assert said["Glob 10"] == ("done", "a.txt", "1 file")
    assert said["Glob 11"] == ("done", "no file below . matches *.none", "0 files")
    assert said["Grep 12"] == ("done", "a.txt", "1 file")
    assert said["Grep 13"] == ("done", "a.txt\n1-one\n2:two\n3-three\n4:two", "2 in 1 file")
    assert said["Grep 14"] == ("done", "no match in .", "0 matches")
    assert said["Edit 15"] == ("done", "Edited a.txt in 2 places: +2 −2", "+2 −2")
    assert said["Write 16"] == ("done", "Wrote a.txt: +1 −2", "+1 −2")
    assert said["Edit 17"] == (
        "failed", "String to replace not found in file.\nString: absent", "failed"
    )  # fmt: skip
    assert said["TodoWrite 18"] == ("done", "Plan noted: 1 of 2 done; now: b", "1 of 2 done")


def test_what_was_changed_can_be_seen() -> None:
    shown = {name: end.display for name, end in ends().items()}
    edit, plan = shown["Edit 15"], shown["TodoWrite 18"]
    assert isinstance(edit, Diff)
    lines = [(line.sign, line.text, line.old, line.new) for line in edit.hunks[0].lines]
    assert lines[:3] == [(" ", "one", 1, 1), ("-", "two", 2, None), ("+", "TWO", None, 2)]
    assert isinstance(plan, Checklist)
    assert [step.state for step in plan.steps] == ["done", "doing"]


def test_a_line_that_took_too_long() -> None:
    use = ToolUse("t", "Bash", {"command": "x", "timeout": 1000})
    result = ToolResult("t", "Exit code 143\nCommand timed out after 1s\nso far", is_error=True)
    end = observed(use, result, WORKSPACE, denied=False)
    assert (end.status, end.summary) == ("failed", "timeout after 1 s, 1 line")
    assert end.output == "so far\n[timeout after 1 s]"


@pytest.mark.parametrize("name", sorted(COUNTERPARTS))
def test_a_result_of_another_shape_stands_as_it_is(name: str) -> None:
    use = ToolUse("t", name, {"x": 1})
    for details in ({}, {"file": 3}, {"structuredPatch": None}, {"filenames": "x", "mode": 1}):
        end = observed(use, ToolResult("t", "what came", False, details), WORKSPACE, denied=False)
        assert end.output.startswith("what came")
        assert end.status == "done"


CALLS = [
    ("Bash", {"command": "ls", "description": "look", "timeout": 2500},
     "shell_exec", {"command": "ls", "timeout": 2}),
    ("Read", {"file_path": "/ws/src/a.py", "offset": 3, "limit": 5},
     "read_file", {"path": "src/a.py", "offset": 3, "limit": 5}),
    ("Read", {"file_path": "/etc/hosts"}, "read_file", {"path": "/etc/hosts"}),
    ("Write", {"file_path": "/ws/ä.txt", "content": "x"},
     "write_file", {"path": "ä.txt", "content": "x"}),
    ("Edit", {"file_path": "/ws/a", "old_string": "1", "new_string": "2", "replace_all": False},
     "edit_file", {"path": "a", "old_string": "1", "new_string": "2"}),
    ("Edit", {"file_path": "/ws/a", "old_string": "1", "new_string": "2", "replace_all": True},
     "edit_file", {"path": "a", "old_string": "1", "new_string": "2", "replace_all": True}),
    ("Glob", {"pattern": "*.py", "path": "/ws"}, "glob", {"pattern": "*.py", "path": "."}),
    ("Grep", {"pattern": "x", "-i": True, "head_limit": 0}, "grep",
     {"pattern": "x", "ignore_case": True, "files_only": True}),
    ("Grep", {"pattern": "x", "output_mode": "content", "-C": 2, "glob": "*.c"}, "grep",
     {"pattern": "x", "glob": "*.c", "context": 2}),
    ("WebFetch", {"url": "https://example.org", "prompt": "sum up"},
     "http", {"url": "https://example.org"}),
    ("TodoWrite", {"todos": [{"content": "a", "status": "in_progress", "activeForm": "b"}]},
     "todo", {"steps": [{"text": "a", "state": "doing"}]}),
    ("NotebookEdit", {"notebook_path": "/ws/n"}, "claude:NotebookEdit", {"notebook_path": "/ws/n"}),
    ("mcp__x__y", {}, "claude:mcp__x__y", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "tool", "ours"), CALLS)
def test_a_call_in_our_words(
    name: str, given: dict[str, object], tool: str, ours: dict[str, object]
) -> None:
    call = translated("id", name, given, WORKSPACE)
    assert (call.name, json.loads(call.arguments)) == (tool, ours)
    if not tool.startswith("claude:"):
        assert parse(registry.discover_tools().tools[tool], call.arguments) is not None


@pytest.mark.parametrize(("name", "given", "tool", "ours"), CALLS)
def test_a_call_in_our_words_is_the_same_call_in_claudes(
    name: str, given: dict[str, object], tool: str, ours: dict[str, object]
) -> None:
    call = translated("id", name, given, WORKSPACE)
    back = given_back(name, given, call.arguments, WORKSPACE)
    assert back is not None
    again = translated("id", name, back, WORKSPACE)
    assert again == call


def test_an_edited_call_keeps_what_we_have_no_word_for() -> None:
    given = {"command": "rm x", "description": "why", "timeout": 5000}
    back = given_back("Bash", given, '{"command": "ls"}', WORKSPACE)
    assert back == {"command": "ls", "description": "why"}
    path = given_back("Write", {}, '{"path": "src/b", "content": ""}', WORKSPACE)
    assert path == {"file_path": "/ws/src/b", "content": ""}


@pytest.mark.parametrize("arguments", ["not json", "[]", '{"command": "ls", "sudo": true}'])
def test_what_cannot_be_told_to_claude_is_refused(arguments: str) -> None:
    assert given_back("Bash", {"command": "x"}, arguments, Path("/ws")) is None

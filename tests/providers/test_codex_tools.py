"""Codex' calls in our words, and a person's changes back in its."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stormclaw.protocol.display import Diff, Patch
from stormclaw.protocol.messages import ToolCall
from stormclaw.providers._codex.tools import (
    MOST_CHARS,
    changed_input,
    hooked_call,
    item_call,
    observed,
    unwrapped,
)

WS = Path("/ws")
PATCH = "*** Begin Patch\n*** Update File: /ws/src/a.py\n@@\n-old\n+new\n*** End Patch"
OURS = PATCH.replace("/ws/", "")


def arguments(call: ToolCall) -> object:
    return json.loads(call.arguments)


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("/bin/bash -lc 'ls -la; echo \"a b\"'", 'ls -la; echo "a b"'),
        ("bash -c ls", "ls"),
        ("/usr/bin/zsh -lc 'echo '\\''x'\\'''", "echo 'x'"),
        ("python3 -c 'print(1)'", "python3 -c 'print(1)'"),
        ("bash -lc 'unbalanced", "bash -lc 'unbalanced"),
        ("bash script.sh", "bash script.sh"),
    ],
)
def test_the_shell_around_a_script_is_taken_off(line: str, script: str) -> None:
    assert unwrapped(line) == script


@pytest.mark.parametrize(
    ("tool", "given", "cwd", "name", "wanted"),
    [
        ("Bash", {"command": "ls"}, "/ws", "shell_exec", {"command": "ls"}),
        ("Bash", {"command": "ls"}, "/ws/sub", "shell_exec", {"command": "cd sub && ls"}),
        ("Bash", {"command": "ls"}, "/etc", "shell_exec", {"command": "cd /etc && ls"}),
        ("apply_patch", {"command": PATCH}, "/ws", "apply_patch", {"patch": OURS}),
        (
            "Bash",
            {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
            "/ws",
            "apply_patch",
            {"patch": OURS},
        ),
        ("mcp__web__get", {"url": "u"}, "/ws", "codex:mcp__web__get", {"url": "u"}),
    ],
)
def test_what_the_hook_tells(
    tool: str, given: dict[str, object], cwd: str, name: str, wanted: dict[str, object]
) -> None:
    call = hooked_call("c", tool, given, cwd, WS)
    assert (call.id, call.name, arguments(call)) == ("c", name, wanted)


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch <<'EOF'\nx\nEOF\nrm -rf ~",
        "cd /etc && apply_patch <<'EOF'\nx\nEOF",
        "true; apply_patch <<'EOF'\nx\nEOF",
    ],
)
def test_a_line_that_is_more_than_a_patch_stays_a_line(command: str) -> None:
    assert hooked_call("c", "Bash", {"command": command}, "/ws", WS).name == "shell_exec"


def test_a_patch_in_another_folder_stays_a_line() -> None:
    command = "apply_patch <<'EOF'\nx\nEOF"
    call = hooked_call("c", "Bash", {"command": command}, "/ws/sub", WS)
    assert (call.name, arguments(call)) == ("shell_exec", {"command": f"cd sub && {command}"})


def test_what_an_item_tells_where_there_was_no_hook() -> None:
    changes = [
        {"path": "/ws/n.txt", "kind": {"type": "add"}, "diff": "one\ntwo\n"},
        {"path": "/ws/a", "kind": {"type": "update", "move_path": "/ws/b"},
         "diff": "@@ -1,2 +1,2 @@\n-old\n+new\n rest\n"},
        {"path": "/else/gone", "kind": {"type": "delete"}, "diff": "x\n"},
    ]  # fmt: skip
    call = item_call({"type": "fileChange", "id": "f", "changes": changes}, WS)
    assert arguments(call) == {
        "patch": "*** Begin Patch\n*** Add File: n.txt\n+one\n+two\n*** Update File: a\n"
        "*** Move to: b\n@@\n-old\n+new\n rest\n*** Delete File: /else/gone\n*** End Patch"
    }
    mcp = {"type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "arguments": {"a": 1}}
    call = item_call(mcp, WS)
    assert (call.name, arguments(call)) == ("codex:mcp__s__t", {"a": 1})
    call = item_call({"type": "webSearch", "id": "w", "query": "q", "status": "completed"}, WS)
    assert (call.name, arguments(call)) == ("codex:webSearch", {"query": "q"})


def test_changed_files_are_shown_as_differences() -> None:
    call = hooked_call("c", "apply_patch", {"command": PATCH}, "/ws", WS)
    diff = "@@ -3,2 +3,2 @@\n-old\n+new\n rest\n@@ -9 +9,2 @@\n kept\n+more\n"
    change = {"path": "/ws/src/a.py", "kind": {"type": "update", "move_path": None}, "diff": diff}
    end = observed(call, {"type": "fileChange", "status": "completed", "changes": [change]}, WS)
    assert end.output == "Patched 1 file:\nM src/a.py +2 −1"
    assert isinstance(end.display, Patch)
    [shown] = end.display.files
    assert isinstance(shown, Diff)
    assert [(line.sign, line.old, line.new) for line in shown.hunks[0].lines] == [
        ("-", 3, None), ("+", None, 3), (" ", 4, 4)
    ]  # fmt: skip
    assert [hunk.skipped for hunk in shown.hunks] == [2, 4]


@pytest.mark.parametrize(
    ("item", "status", "output", "summary"),
    [
        ({"exitCode": 0, "status": "completed", "aggregatedOutput": "a\nb\n"},
         "done", "a\nb\n[exit 0]", "exit 0, 2 lines"),
        ({"exitCode": 0, "status": "completed"}, "done", "(no output)\n[exit 0]",
         "exit 0, no output"),
        ({"exitCode": 2, "status": "failed", "aggregatedOutput": "\x1b[31mred\x1b[0m"},
         "failed", "red\n[exit 2]", "exit 2, 1 line"),
        ({"status": "declined"}, "denied", "not permitted", ""),
    ],
)  # fmt: skip
def test_the_end_of_a_line(item: dict[str, object], status: str, output: str, summary: str) -> None:
    call = hooked_call("c", "Bash", {"command": "x"}, "/ws", WS)
    end = observed(call, {"type": "commandExecution", **item}, WS)
    assert (end.status, end.output, end.summary) == (status, output, summary)


def test_of_a_long_output_the_middle_is_left_out() -> None:
    call = hooked_call("c", "Bash", {"command": "x"}, "/ws", WS)
    item = {"exitCode": 0, "status": "completed", "aggregatedOutput": "a" * MOST_CHARS + "end\n"}
    end = observed(call, {"type": "commandExecution", **item}, WS)
    assert len(end.output) < MOST_CHARS + 100
    assert "… 4 characters in the middle left out …" in end.output
    assert end.output.endswith("end\n[exit 0]")


def test_what_an_mcp_server_says() -> None:
    call = hooked_call("c", "mcp__s__t", {}, "/ws", WS)
    item = {"type": "mcpToolCall", "status": "completed"}
    good = observed(call, {**item, "result": {"content": [{"type": "text", "text": "hi"}]}}, WS)
    assert (good.status, good.output) == ("done", "hi")
    bad = observed(call, {**item, "status": "failed", "error": {"message": "no"}}, WS)
    assert (bad.status, bad.output) == ("failed", "no")


@pytest.mark.parametrize(
    ("tool", "ours", "cwd", "theirs"),
    [
        ("Bash", {"command": "pwd"}, "/ws", {"command": "pwd"}),
        ("Bash", {"command": "cd sub && pwd"}, "/ws/sub", {"command": "pwd"}),
        ("Bash", {"command": "pwd"}, "/ws/sub", {"command": "cd /ws && pwd"}),
        ("apply_patch", {"patch": "P"}, "/ws", {"command": "P"}),
        ("Bash", {"patch": "P"}, "/ws",
         {"command": "apply_patch <<'END_OF_PATCH'\nP\nEND_OF_PATCH"}),
        ("view_image", {"path": "b.png"}, "/ws", {"path": "b.png"}),
        ("apply_patch", {"content": "?"}, "/ws", None),
    ],
)  # fmt: skip
def test_a_changed_call_goes_back(
    tool: str, ours: dict[str, object], cwd: str, theirs: dict[str, object] | None
) -> None:
    assert changed_input(tool, json.dumps(ours), cwd, WS) == theirs
    assert changed_input(tool, "no json", cwd, WS) is None

"""Codex' calls in our words, their ends in the words of our own tools, and an edited call back."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.messages import Status, ToolCall
from stormclaw.protocol.provider import Observed
from stormclaw.providers._codex.patch import (
    diffs_of,
    display,
    localized,
    patch_in,
    patch_of,
)
from stormclaw.providers._programs.hands import counted, local

PROGRAM: Final = "codex"
SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})
SCRIPT_FLAGS: Final = frozenset({"-c", "-lc", "-ic", "-lic"})
STATUSES: Final[Mapping[str, Status]] = {"completed": "done", "declined": "denied"}
TERMINAL: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\r(?=\n)"
)
MOST_CHARS: Final = 30_000
NO_WORD: Final = "(codex does not tell what came of this call)"


def unwrapped(command: str) -> str:
    """The script in `/bin/bash -lc 'script'`; any other line as it is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and Path(words[0]).name in SHELLS and words[1] in SCRIPT_FLAGS:
        return words[2]
    return command


def hooked_call(
    call_id: str, tool: str, given: Mapping[str, Any], cwd: str, workspace: Path
) -> ToolCall:
    """A call codex is about to make, as its hook tells of it."""
    command = given.get("command")
    if isinstance(command, str) and tool in ("Bash", "apply_patch"):
        line = in_folder(command, cwd, workspace)
        patch = command if tool == "apply_patch" else patch_in(line)
        if patch is not None:
            return _patching(call_id, localized(patch, workspace))
        return _running(call_id, line)
    return _foreign(call_id, tool, given)


def item_call(item: Mapping[str, Any], workspace: Path) -> ToolCall:
    """A call as an item tells of it: one that no hook told of before."""
    call_id, kind = str(item.get("id") or ""), str(item.get("type") or "?")
    match kind:
        case "commandExecution":
            command = unwrapped(str(item.get("command") or ""))
            return _running(call_id, in_folder(command, str(item.get("cwd") or ""), workspace))
        case "fileChange":
            return _patching(call_id, patch_of(changes_in(item), workspace))
        case "mcpToolCall":
            tool = f"mcp__{item.get('server')}__{item.get('tool')}"
            given = item.get("arguments")
            return _foreign(call_id, tool, given if isinstance(given, Mapping) else {})
        case _:
            left_out = {"id", "type", "status", "startedAtMs", "completedAtMs"}
            told = {key: value for key, value in item.items() if key not in left_out}
            return _foreign(call_id, kind, told)


def in_folder(command: str, cwd: str, workspace: Path) -> str:
    """A line as it would be written in the workspace."""
    if not cwd or Path(cwd) == workspace:
        return command
    return f"cd {shlex.quote(local(cwd, workspace))} && {command}"


def _from_folder(command: str, cwd: str, workspace: Path) -> str:
    """A line for the workspace as it is to be written for another folder."""
    there = in_folder("", cwd, workspace)
    if command.startswith(there):
        return command.removeprefix(there)
    return f"cd {shlex.quote(str(workspace))} && {command}"


def outside_call(call_id: str, command: str, reason: str) -> ToolCall:
    """Codex asks to run a line without its sandbox, or with more than was asked before."""
    return _foreign(f"{call_id}.more", "run_with_more_rights", {"command": command, "why": reason})


def changed_input(tool: str, arguments: str, cwd: str, workspace: Path) -> dict[str, Any] | None:
    """A person's arguments as codex' tool takes them; None if they cannot be told to it.

    Args:
        tool: Codex' name of the tool.
        arguments: JSON text, in our words.
        cwd: Where codex will run a command.
        workspace: Where the person takes it to run.
    """
    try:
        given = json.loads(arguments)
    except ValueError:
        return None
    if not isinstance(given, Mapping):
        return None
    match given:
        case {"command": str(command)} if tool == "Bash":
            return {"command": _from_folder(command, cwd, workspace)}
        case {"patch": str(patch)} if tool == "apply_patch":
            return {"command": patch}
        case {"patch": str(patch)} if tool == "Bash":
            return {"command": f"apply_patch <<'END_OF_PATCH'\n{patch}\nEND_OF_PATCH"}
    return dict(given) if tool not in ("Bash", "apply_patch") else None


def observed(call: ToolCall, item: Mapping[str, Any], workspace: Path) -> Observed:
    """The end of a call, worded as our own tool words it."""
    status = STATUSES.get(str(item.get("status")), "failed")
    match item.get("type"):
        case "commandExecution":
            return _ran(call, item, status)
        case "fileChange" if status == "done":
            return _patched(call, item, workspace)
        case "fileChange":
            output = str(item.get("aggregatedOutput") or "the patch was not applied")
            return Observed(call.id, status, output, "not applied")
        case "mcpToolCall":
            return _answered(call, item, status)
        case _:
            done: Status = "failed" if item.get("status") == "failed" else "done"
            said = item.get("result") or item.get("output")
            return Observed(call.id, done, json.dumps(said) if said else NO_WORD)


def patch_told(call: ToolCall) -> str:
    """The patch a call of ours consists of, "" if it is none."""
    given = json.loads(call.arguments)
    return str(given.get("patch", ""))


def bounded(text: str) -> str:
    """As much of a long output as our own shell keeps."""
    if len(text) <= MOST_CHARS:
        return text
    head, tail = text[: MOST_CHARS // 3], text[MOST_CHARS // 3 - MOST_CHARS :]
    gone = len(text) - len(head) - len(tail)
    return f"{head}\n… {gone:,} characters in the middle left out …\n{tail}"


def changes_in(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The changed files in an item."""
    changes = item.get("changes")
    return (
        [each for each in changes if isinstance(each, Mapping)] if isinstance(changes, list) else []
    )


def _ran(call: ToolCall, item: Mapping[str, Any], status: Status) -> Observed:
    whole = TERMINAL.sub("", str(item.get("aggregatedOutput") or ""))
    text = bounded(whole)
    code = item.get("exitCode")
    if status == "denied":
        return Observed(call.id, "denied", text or "not permitted")
    if not isinstance(code, int):
        return Observed(call.id, status, text or "the command did not end", "not ended")
    words = f"exit {code}" if code >= 0 else f"killed by signal {-code}"
    lines = counted(len(whole.splitlines()), "line") if whole else "no output"
    body = text.rstrip("\n") or "(no output)"
    done: Status = "done" if code == 0 else "failed"
    return Observed(call.id, done, f"{body}\n[{words}]", f"{words}, {lines}")


def _patched(call: ToolCall, item: Mapping[str, Any], workspace: Path) -> Observed:
    if not any(change.get("diff") for change in changes_in(item)):
        names = [local(str(change.get("path")), workspace) for change in changes_in(item)]
        count = counted(len(names), "file")
        return Observed(call.id, "done", "\n".join([f"Patched {count}:", *names]), count)
    diffs = diffs_of(changes_in(item), workspace, patch_told(call))
    rows = [f"{mark} {diff.path} +{diff.added} −{diff.removed}" for mark, diff in diffs]
    count = counted(len(rows), "file")
    added = sum(diff.added for _, diff in diffs)
    removed = sum(diff.removed for _, diff in diffs)
    return Observed(
        call.id,
        "done",
        "\n".join([f"Patched {count}:", *rows]),
        f"{count}, +{added} −{removed}",
        display(diffs),
    )


def _answered(call: ToolCall, item: Mapping[str, Any], status: Status) -> Observed:
    error = item.get("error")
    if isinstance(error, Mapping) and error.get("message"):
        return Observed(call.id, "failed", str(error["message"]), "failed")
    result = item.get("result")
    content = result.get("content") if isinstance(result, Mapping) else None
    texts = _texts(content) if isinstance(content, list) else []
    return Observed(call.id, status, "\n".join(texts) or NO_WORD)


def _texts(content: Sequence[object]) -> list[str]:
    return [
        str(part["text"])
        for part in content
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]


def _running(call_id: str, command: str) -> ToolCall:
    return ToolCall(call_id, "shell_exec", _json({"command": command}))


def _patching(call_id: str, patch: str) -> ToolCall:
    return ToolCall(call_id, "apply_patch", _json({"patch": patch}))


def _foreign(call_id: str, tool: str, given: Mapping[str, Any]) -> ToolCall:
    return ToolCall(call_id, f"{PROGRAM}:{tool}", _json(given))


def _json(given: Mapping[str, Any]) -> str:
    return json.dumps(given, ensure_ascii=False)

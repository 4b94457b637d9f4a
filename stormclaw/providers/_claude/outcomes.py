"""The ends of claude's calls, worded as our own tools word them.

What claude tells beside the text its model read (`tool_use_result`) makes it exact; where that is
missing or of another shape, the text stands as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from stormclaw.protocol.display import Checklist, Diff, DiffLine, Hunk, Progress, Step
from stormclaw.protocol.messages import Status
from stormclaw.protocol.provider import Observed
from stormclaw.providers._claude.tools import STATES
from stormclaw.providers._programs.events import ToolResult, ToolUse
from stormclaw.providers._programs.hands import counted, local

EXIT: Final = re.compile(r"(?:Error: )?Exit code (\d+)\n?(.*)", re.S)
TIMEOUT: Final = re.compile(r"Command timed out after ([\d.]+ ?m?s?)\S*(?: [\d.]+s)?\n?(.*)", re.S)
WRAPPED: Final = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.S)
NOTHING: Final = frozenset({"", "(Bash completed with no output)"})
REFUSED: Final = re.compile(
    r"Claude requested permissions|The user doesn't want to proceed|Permission to use .{1,60} has"
)
"""Where it was not our gate that said no but claude's own."""
HIT: Final = re.compile(r"(?P<file>.+?)(?P<sign>[:-])(?P<line>\d+)(?P=sign)(?P<text>.*)")
MOST_LINES: Final = 400
"""Changed lines the record of a difference keeps."""

Wording: TypeAlias = Callable[[ToolUse, ToolResult, Path], Observed | None]


def observed(use: ToolUse, result: ToolResult, workspace: Path, *, denied: bool) -> Observed:
    """The end of a call.

    Args:
        use: The call as claude made it.
        result: What claude tells of its end.
        workspace: Where paths are told from.
        denied: Whether our gate said no to it.
    """
    text = WRAPPED.sub(r"\1", result.content)
    if denied or (result.is_error and REFUSED.match(text)):
        return Observed(use.id, "denied", text, "denied")
    worded = WORDINGS.get(use.name)
    if worded is not None and (end := worded(use, result, workspace)) is not None:
        return end
    status: Status = "failed" if result.is_error else "done"
    return Observed(use.id, status, text, "failed" if result.is_error else "")


def _ran(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    code, text = 0, result.content
    if result.details.get("backgroundTaskId"):
        return None  # It has not ended.
    if result.is_error:
        found = EXIT.match(text)
        if found is None:
            return None
        code, text = int(found.group(1)), found.group(2)
    words = f"exit {code}"
    if code and (timeout := TIMEOUT.match(text)):
        limit = use.input.get("timeout")
        words = f"timeout after {limit / 1000:g} s" if isinstance(limit, int | float) else "timeout"
        text = timeout.group(2)
    body = "" if text.strip() in NOTHING else text.rstrip("\n")
    lines = counted(len(body.splitlines()), "line") if body else "no output"
    status: Status = "failed" if code else "done"
    return Observed(use.id, status, f"{body or '(no output)'}\n[{words}]", f"{words}, {lines}")


def _read(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    match result.details.get("file"):
        case {"content": str(text), "startLine": int(first), "totalLines": int(total)}:
            pass
        case _:
            return None
    name = local(str(use.input.get("file_path", "")), workspace)
    lines = text.split("\n")
    if lines[-1] == "":
        # Claude counts what comes after the last line end as a line.
        total -= first + len(lines) - 1 == total
        del lines[-1]
    if not lines:
        return Observed(use.id, "done", f"{name} is empty", "empty")
    last = first + len(lines) - 1
    body = [f"{number}\t{line}" for number, line in enumerate(lines, first)]
    if last < total:
        body.append(f"… lines {last + 1}-{total} not shown; read on with offset={last + 1}")
    whole = first == 1 and last >= total
    summary = counted(total, "line") if whole else f"lines {first}-{last} of {total:,}"
    return Observed(use.id, "done", "\n".join(body), summary)


def _wrote(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    details = result.details
    if details.get("type") not in ("create", "update"):
        return None
    created = details["type"] == "create"
    diff = _diff(str(use.input.get("file_path", "")), details, workspace, created=created)
    did = "Created" if created else "Wrote"
    return Observed(use.id, "done", f"{did} {diff.path}: {_sizes(diff)}", _sizes(diff), diff)


def _edited(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    if not isinstance(result.details.get("structuredPatch"), list):
        return None
    path = str(use.input.get("file_path", ""))
    created = not use.input.get("old_string") and not result.details.get("originalFile")
    diff = _diff(path, result.details, workspace, created=created)
    if created:
        return Observed(use.id, "done", f"Created {diff.path}: {_sizes(diff)}", _sizes(diff), diff)
    added = (line.new for hunk in diff.hunks for line in hunk.lines if line.sign == "+")
    first = next(added, None)
    old = str(use.input.get("old_string", ""))
    places = str(result.details.get("originalFile") or "").count(old) if old else 1
    if use.input.get("replace_all") and places > 1:
        at = f" in {counted(places, 'place')}"
    else:
        at = f" from line {first}" if first else " in 1 place"
    return Observed(use.id, "done", f"Edited {diff.path}{at}: {_sizes(diff)}", _sizes(diff), diff)


def _found(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    names = result.details.get("filenames")
    if not isinstance(names, list):
        return None
    if not names:
        base = local(str(use.input.get("path") or workspace), workspace)
        pattern = use.input.get("pattern", "")
        return Observed(use.id, "done", f"no file below {base} matches {pattern}", "0 files")
    paths = [local(str(name), workspace) for name in names]
    more = ["… more files not shown; narrow the pattern"] if result.details.get("truncated") else []
    return Observed(use.id, "done", "\n".join([*paths, *more]), counted(len(paths), "file"))


def _searched(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    details = result.details
    mode, names = details.get("mode"), details.get("filenames")
    glob = use.input.get("glob")
    where = local(str(use.input.get("path") or workspace), workspace) + (f", {glob}" * bool(glob))
    if mode == "files_with_matches" and isinstance(names, list):
        paths = [local(str(name), workspace) for name in names]
        output = "\n".join(paths) or f"no match in {where}"
        return Observed(use.id, "done", output, counted(len(paths), "file"))
    content = details.get("content")
    if mode != "content" or not isinstance(content, str):
        return None
    if not content:
        return Observed(use.id, "done", f"no match in {where}", "0 matches")
    grouped = _grouped(content.split("\n"), workspace)
    if grouped is None:
        return None
    lines, hits, files = grouped
    return Observed(use.id, "done", "\n".join(lines), f"{hits:,} in {counted(files, 'file')}")


def _grouped(rows: Sequence[str], workspace: Path) -> tuple[list[str], int, int] | None:
    """Matches under the name of their file, how many they are, and in how many files."""
    lines: list[str] = []
    current, hits, files = "", 0, 0
    for row in rows:
        if row == "--":
            lines.append(row)
            continue
        found = HIT.fullmatch(row)
        if found is None:
            return None
        if (name := local(found["file"], workspace)) != current:
            current, files = name, files + 1
            lines.append(name)
        hits += found["sign"] == ":"
        lines.append(f"{found['line']}{found['sign']}{found['text']}")
    return lines, hits, files


def _planned(use: ToolUse, result: ToolResult, workspace: Path) -> Observed | None:
    todos = use.input.get("todos")
    if result.is_error or not isinstance(todos, list):
        return None
    steps = tuple(_steps(todos))
    if not steps:
        return Observed(use.id, "done", "The plan is empty now", "cleared", Checklist(()))
    closed = sum(step.state == "done" for step in steps)
    doing = next((step.text for step in steps if step.state == "doing"), "")
    said = f"{closed} of {len(steps)} done"
    output = f"Plan noted: {said}{f'; now: {doing}' if doing else ''}"
    return Observed(use.id, "done", output, said, Checklist(steps))


def _steps(todos: Sequence[object]) -> Iterator[Step]:
    states: Mapping[str, Progress] = {"open": "open", "doing": "doing", "done": "done"}
    for item in todos:
        if isinstance(item, Mapping):
            state = STATES.get(str(item.get("status")), "open")
            yield Step(" ".join(str(item.get("content", "")).split()), states[state])


WORDINGS: Final[Mapping[str, Wording]] = {
    "Bash": _ran,
    "Read": _read,
    "Write": _wrote,
    "Edit": _edited,
    "Glob": _found,
    "Grep": _searched,
    "TodoWrite": _planned,
}


def _sizes(diff: Diff) -> str:
    return f"+{diff.added} −{diff.removed}"


def _diff(path: str, details: Mapping[str, Any], workspace: Path, *, created: bool) -> Diff:
    """The difference claude tells of, at most `MOST_LINES` changed lines of it."""
    patches = details.get("structuredPatch")
    hunks = [_hunk(each) for each in patches] if isinstance(patches, list) else []
    if created and not hunks:
        text = str(details.get("content") or details.get("newString") or "")
        numbered = enumerate(text.splitlines(), 1)
        hunks = [Hunk(tuple(DiffLine("+", line, None, number) for number, line in numbered))]
    signs = [line.sign for hunk in hunks for line in hunk.lines]
    added, removed = signs.count("+"), signs.count("-")
    kept: list[Hunk] = []
    room = MOST_LINES
    for hunk in hunks:
        if room > 0:
            kept.append(Hunk(hunk.lines[:room], hunk.skipped))
            room -= len(hunk.lines)
    shown = sum(line.sign != " " for hunk in kept for line in hunk.lines)
    name = local(path, workspace)
    return Diff(name, tuple(kept), added, removed, created, added + removed - shown)


def _hunk(patch: object) -> Hunk:
    given = patch if isinstance(patch, Mapping) else {}
    old, new = int(given.get("oldStart") or 1), int(given.get("newStart") or 1)
    lines: list[DiffLine] = []
    for row in given.get("lines") or ():
        text = str(row)[1:]
        match str(row)[:1]:
            case "+":
                lines.append(DiffLine("+", text, None, new))
                new += 1
            case "-":
                lines.append(DiffLine("-", text, old, None))
                old += 1
            case " ":
                lines.append(DiffLine(" ", text, old, new))
                old, new = old + 1, new + 1
            case _:
                pass  # `\\ No newline at end of file`
    return Hunk(tuple(lines))

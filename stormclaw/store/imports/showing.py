"""How an imported call looks here: its headline, its few words, its diff."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stormclaw.protocol.display import (
    Diff,
    DiffLine,
    Display,
    Headline,
    Hunk,
    ObjectKind,
    Patch,
    Sign,
)
from stormclaw.protocol.messages import Status
from stormclaw.store.imports.rows import Row, number, objects, text

MOST_CHANGED = 400
"""Changed lines of a diff that are kept, as of our own ones."""
_LONGEST = 400
_EXIT = re.compile(r"(?:Exit code:?|Process exited with code) (-?\d+)")
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_NO_PATH = ("", ".")

_HEADS: Mapping[str, tuple[str, str, ObjectKind]] = {
    "read_file": ("read", "path", "path"),
    "write_file": ("write", "path", "path"),
    "edit_file": ("edit", "path", "path"),
    "list_files": ("list", "path", "path"),
    "shell_exec": ("shell", "command", "command"),
    "grep": ("grep", "pattern", "text"),
    "glob": ("glob", "pattern", "text"),
    "http": ("fetch", "url", "text"),
    "web_search": ("search", "query", "text"),
    "spawn_agent": ("agent", "task", "text"),
    "apply_patch": ("patch", "patch", "path"),
    "todo": ("plan", "steps", "text"),
}
"""Canonical tool -> verb, the argument that names its object, how that is shown."""


def headline(tool: str, given: Mapping[str, Any], cwd: str) -> Headline:
    """What the card of a call is called.

    Args:
        tool: Canonical name, or a foreign one.
        given: Its arguments, in our words.
        cwd: The folder it worked in; paths below it are shown from there.
    """
    verb, key, kind = _HEADS.get(tool, ("tool", "", "text"))
    value = given.get(key)
    thing = value if isinstance(value, str) else ""
    if tool == "apply_patch":
        thing = ", ".join(path for _, path in _SECTION.findall(thing))
    elif tool == "todo":
        thing = f"{len(value)} steps" if isinstance(value, list) else ""
    elif kind == "path" and cwd not in ("", "/"):
        thing = thing.removeprefix(f"{cwd}/")
    elif tool == "grep" and (place := given.get("path")) and place not in _NO_PATH:
        thing = f"{thing} in {place}"
    if tool != "shell_exec":
        thing = " ".join(thing.split())
    return Headline(verb, thing[:_LONGEST] or tool[:_LONGEST] or "?", kind)


def few_words(tool: str, status: Status, output: str, display: Display | None) -> str:
    """What came of it, for the card."""
    diffs = display.files if isinstance(display, Patch) else (display,)
    changed = [diff for diff in diffs if isinstance(diff, Diff)]
    if status == "done" and changed:
        return f"+{sum(d.added for d in changed)} −{sum(d.removed for d in changed)}"
    lines = output.count("\n") + 1 if output else 0
    counted = f"{lines} line{'' if lines == 1 else 's'}"
    if status == "denied":
        return "denied"
    if tool == "shell_exec" and status in ("done", "failed"):
        code = 0 if status == "done" else exit_code(output)
        return counted if code is None else f"exit {code}, {counted}"
    if status == "done":
        return counted
    first = " ".join(output.partition("\n")[0].split())
    return first if len(first) <= 60 else f"{first[:59]}…"


def exit_code(output: str) -> int | None:
    """The exit code a result names at its beginning."""
    found = _EXIT.search(output[:400])
    return int(found[1][:10]) if found else None


def edit_diff(result: Row, cwd: str) -> Diff | None:
    """The difference Claude Code kept with an edit (`structuredPatch`), or a whole new file."""
    path = text(result, "filePath").removeprefix(f"{cwd}/" if cwd not in ("", "/") else "\0")
    if not path:
        return None
    if text(result, "type") == "create":
        lines = text(result, "content").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        return _diff(path, [_hunk((f"+{line}" for line in lines), 0, 1)], created=True)
    hunks = [
        _hunk(
            (line for line in one["lines"] if isinstance(line, str)),
            number(one, "oldStart"),
            number(one, "newStart"),
        )
        for one in objects(result.get("structuredPatch"))
        if isinstance(one.get("lines"), list)
    ]
    return _diff(path, hunks) if hunks else None


def patch_diff(patch: str) -> Patch | None:
    """The files of a `*** Begin Patch` text; lines have no numbers, for it names none."""
    files: list[Diff] = []
    name, kind = "", ""
    lines: list[str] = []

    def end() -> None:
        if name:
            files.append(_diff(name, [_hunk(iter(lines), None, None)], created=kind == "Add"))
        lines.clear()

    for line in patch.split("\n"):
        if section := _SECTION.fullmatch(line):
            end()
            kind, name = section[1], section[2].strip()
        elif line[:1] in ("+", "-", " ") and not line.startswith("*** "):
            lines.append(line)
    end()
    return Patch(tuple(files)) if files else None


_STEPS: Mapping[Sign, tuple[int, int]] = {" ": (1, 1), "-": (1, 0), "+": (0, 1)}


def _hunk(lines: Iterable[str], old: int | None, new: int | None) -> Hunk:
    found: list[DiffLine] = []
    for line in lines:
        sign = _sign(line)
        ahead_old, ahead_new = _STEPS[sign]
        shown = line[1:] if line[:1] == sign else line
        found.append(DiffLine(sign, shown, old if ahead_old else None, new if ahead_new else None))
        old = None if old is None else old + ahead_old
        new = None if new is None else new + ahead_new
    return Hunk(tuple(found))


def _sign(line: str) -> Sign:
    return "+" if line.startswith("+") else "-" if line.startswith("-") else " "


def _diff(path: str, hunks: list[Hunk], *, created: bool = False) -> Diff:
    count: Callable[[str], int] = lambda sign: sum(  # noqa: E731
        line.sign == sign for hunk in hunks for line in hunk.lines
    )
    added, removed = count("+"), count("-")
    room, kept = MOST_CHANGED, []
    for hunk in hunks:
        lines: list[DiffLine] = []
        for line in hunk.lines:
            if room <= 0:
                break
            room -= line.sign != " "
            lines.append(line)
        if lines:
            kept.append(Hunk(tuple(lines)))
    return Diff(path, tuple(kept), added, removed, created, max(0, added + removed - MOST_CHANGED))

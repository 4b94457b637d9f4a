"""Reads the `*** Begin Patch` format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stormclaw.errors import ToolFailure
from stormclaw.tools._patch import Action, Change, Part, Row, Sign, fenced, mistake

_HEADER = re.compile(r"\s*\*\*\* (Add|Update|Delete) File:\s*(.*?)\s*$")
_MOVE = re.compile(r"\s*\*\*\* Move(?: File)? to:\s*(.*?)\s*$")
_EDGE = re.compile(r"\s*\*\*\* (Begin|End) Patch\s*$")
_END_OF_FILE = re.compile(r"\s*\*\*\* End of File\s*$")
_ENVIRONMENT = re.compile(r"\s*\*\*\* Environment ID:")
_PLACE = re.compile(r"-(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$")
_ACTIONS: dict[str, Action] = {"Add": "add", "Update": "update", "Delete": "delete"}
_SIGNS: dict[str, Sign] = {" ": " ", "+": "+", "-": "-"}


@dataclass(slots=True)
class _Draft:
    """A hunk being read."""

    line: int
    anchors: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    start: int | None = None
    at_end: bool = False
    opened: bool = False


def parse_begin(lines: list[str]) -> tuple[Change, ...]:
    """The changes, in order.

    Raises:
        ToolFailure: A line that belongs nowhere, a section without content, or no section at all.
    """
    first, last = _bounds(lines)
    changes: list[Change] = []
    at = first
    while at < last:
        line = lines[at]
        header = _HEADER.match(line)
        if header is None:
            if line.strip() and not (fenced(line) or _EDGE.match(line) or _ENVIRONMENT.match(line)):
                raise mistake(
                    at + 1,
                    f"{line[:80]!r} is no section; one begins with `*** Add File: PATH`, "
                    "`*** Update File: PATH` or `*** Delete File: PATH`",
                )
            at += 1
            continue
        change, at = _section(lines, at, last, _ACTIONS[header[1]], header[2])
        changes.append(change)
    if not changes:
        raise ToolFailure("the patch is empty; nothing changed", summary="empty patch")
    return tuple(changes)


def _bounds(lines: list[str]) -> tuple[int, int]:
    """Where the patch begins and ends; what is around it (a shell line, a fence) is left out."""
    edges = [at for at, line in enumerate(lines) if _EDGE.match(line) and line[:1] not in "+-"]
    begins = [at for at in edges if "Begin" in lines[at]]
    first = begins[0] + 1 if begins else 0
    if not begins:
        while first < len(lines) and not _HEADER.match(lines[first]):
            first += 1
    last = len(lines)
    while last > first and (not lines[last - 1].strip() or fenced(lines[last - 1])):
        last -= 1
    ends = [at for at in edges if "End" in lines[at] and not lines[at].startswith(" ")]
    if ends and ends[-1] >= first:
        last = ends[-1]
    elif last > first and _EDGE.match(lines[last - 1]):
        last -= 1
    return first, last


def _section(lines: list[str], at: int, last: int, action: Action, path: str) -> tuple[Change, int]:
    """One file's section, and the line after it."""
    begin = at + 1
    if not path:
        raise mistake(begin, "the section names no file")
    at += 1
    if action == "delete":
        return Change("delete", path, begin), at
    if action == "add":
        rows, at = _added(lines, at, last)
        return Change("add", path, begin, (Part(1, begin, rows),)), at
    target = ""
    if at < last and (move := _MOVE.match(lines[at])):
        target, at = move[1], at + 1
        if not target:
            raise mistake(at, "the move names no file")
    parts, at = _parts(lines, at, last)
    if not parts and not target:
        raise mistake(begin, f"the update of {path} holds no hunk")
    return Change("update", path, begin, parts, target), at


def _added(lines: list[str], at: int, last: int) -> tuple[tuple[Row, ...], int]:
    """The lines of a new file; an empty one without its sign counts if more follow."""
    rows: list[Row] = []
    while at < last:
        line = lines[at]
        if line.startswith("+"):
            rows.append(Row("+", line[1:].removesuffix("\r")))
        elif line.strip() or not _more_follows(lines, at, last):
            break
        else:
            rows.append(Row("+", ""))
        at += 1
    return tuple(rows), at


def _more_follows(lines: list[str], at: int, last: int) -> bool:
    """Whether the next line that is not blank is one more of the new file."""
    return next((line for line in lines[at:last] if line.strip()), "").startswith("+")


def _parts(lines: list[str], at: int, last: int) -> tuple[tuple[Part, ...], int]:
    """The hunks of an update."""
    parts: list[Part] = []
    draft = _Draft(at + 1)
    names = [line[:4] for line in lines[at : at + 3]]
    if names[:2] == ["--- ", "+++ "] and names[2:] and names[2].startswith("@@"):
        at += 2  # the header of a unified diff, within a section that has its own
    while at < last and not _stops(lines[at], draft):
        line = lines[at]
        if line.startswith("@@"):
            draft = _next(parts, draft, at)
            _place(draft, line)
        elif _END_OF_FILE.match(line) and line[:1] != " ":
            draft.at_end = True
        elif line.startswith("\\"):
            pass  # `\ No newline at end of file`: this format keeps the file's own
        elif draft.at_end and line.strip():
            raise mistake(at + 1, "a hunk goes on after `*** End of File`")
        elif not line.strip("\r") or line[0] in _SIGNS:
            sign: Sign = _SIGNS[line[:1].strip("\r") or " "]
            draft.rows.append(Row(sign, line[1:].removesuffix("\r")))
        elif fenced(line):
            break
        else:
            raise mistake(
                at + 1,
                f"{line[:80]!r} is no line of a hunk; each begins with a space (context), - or +",
            )
        at += 1
    _keep(parts, draft)
    return tuple(parts), at


def _stops(line: str, draft: _Draft) -> bool:
    """Whether another section begins here; set in, it does so only where no hunk is open."""
    if line.startswith(" ") and (draft.rows or draft.opened):
        return False
    return bool(_HEADER.match(line) or _EDGE.match(line))


def _next(parts: list[Part], draft: _Draft, at: int) -> _Draft:
    """A new hunk, or one more anchor of this one while it has no lines."""
    if draft.rows:
        _keep(parts, draft)
        return _Draft(at + 1)
    return draft


def _place(draft: _Draft, line: str) -> None:
    """What follows `@@`: a line to pass, or line numbers as a unified diff has them."""
    draft.opened = True
    words = line.strip().removeprefix("@@").strip()
    if stated := _PLACE.match(words):
        draft.start = int(stated[1])
        return
    words = words.removesuffix("@@").strip()
    if words:
        draft.anchors.append(words)


def _keep(parts: list[Part], draft: _Draft) -> None:
    rows = draft.rows
    while rows and rows[-1] == Row(" ", "") and not draft.at_end:
        rows = rows[:-1]  # blank lines between sections; as context they say nothing
    if not any(row.sign != " " for row in rows):
        if not rows and (draft.anchors or draft.at_end):
            raise mistake(draft.line, "the hunk changes nothing; mark lines with - and +")
        return
    number = len(parts) + 1
    parts.append(
        Part(number, draft.line, tuple(rows), tuple(draft.anchors), draft.start, draft.at_end)
    )

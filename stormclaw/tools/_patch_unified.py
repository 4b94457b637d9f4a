"""Reads unified diffs: of git, of diff, and as models write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from stormclaw.tools._patch import Action, Change, Part, Row, Sign, mistake
from stormclaw.tools._patch_names import NOWHERE, git_names, header_name, never, plain, unquoted

_STATED = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SIGNS: dict[str, Sign] = {" ": " ", "+": "+", "-": "-"}
_FOOT = re.compile(r"-- ?\r?$")
_REFUSED = (
    (re.compile(r"GIT binary patch|Binary files .* differ"), "binary files cannot be patched"),
    (re.compile(r"diff --(?:cc|combined) |@@@ "), "a combined diff of a merge cannot be applied"),
    (re.compile(r"\*{15}\s*$"), "context diffs are not understood; send a unified diff"),
)


@dataclass(slots=True)
class _Draft:
    """A file's section being read."""

    line: int
    git: bool = False
    old: str = ""
    new: str = ""
    absent: tuple[bool, bool] = (False, False)
    notes: dict[str, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)


_NOTE = re.compile(
    r"(new file mode|deleted file mode|old mode|new mode|rename from|rename to|copy from|copy to) "
    r"(.*?)\r?$"
)


def parse_unified(lines: list[str]) -> tuple[Change, ...]:
    """The changes, in order; none if there is no diff in the text.

    Raises:
        ToolFailure: Something in it cannot be applied.
    """
    changes: list[Change] = []
    draft: _Draft | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        for pattern, words in _REFUSED:
            if pattern.match(line):
                raise mistake(at + 1, words)
        if line.startswith("diff --git "):
            changes += _finished(draft)
            draft = _Draft(at + 1, True, *git_names(line[11:]))
        elif _headed(lines, at):
            if draft is None or draft.parts or not draft.git:
                changes += _finished(draft)
                draft = _Draft(at + 1)
            draft.old, draft.new = header_name(line[4:]), header_name(lines[at + 1][4:])
            draft.absent = (never(line), never(lines[at + 1]))
            at += 1
        elif line.startswith("@@"):
            if draft is None:
                raise mistake(at + 1, "a hunk before any `--- a/file` and `+++ b/file` lines")
            at = _hunk(lines, at, draft)
            continue
        elif draft is not None and draft.git and (note := _NOTE.match(line)):
            draft.notes[note[1]] = note[2]
        elif draft is not None and draft.parts and line[:1] in ("+", "-") and not _FOOT.match(line):
            raise mistake(at + 1, "changed lines without a `@@ -1,3 +1,4 @@` line before them")
        at += 1
    changes += _finished(draft)
    return tuple(changes)


def _headed(lines: list[str], at: int) -> bool:
    """Whether the two lines name the files of a section."""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _hunk(lines: list[str], at: int, draft: _Draft) -> int:
    """Reads one hunk into the draft; the line after it."""
    begin = at
    stated = _STATED.match(lines[at])
    stop = _counted(lines, at + 1, stated) if stated else 0
    if not stop:
        stop = _to_next(lines, at + 1)
    rows: list[Row] = []
    for at in range(begin + 1, stop):
        line = lines[at]
        if line.startswith("\\"):
            if rows:
                rows[-1] = replace(rows[-1], end="")
            continue
        text = line[1:]
        end = "\r\n" if text.endswith("\r") else "\n"
        sign = _SIGNS[line[:1].strip("\r") or " "]
        rows.append(Row(sign, text.removesuffix("\r"), end))
    if not any(row.sign != " " for row in rows):
        raise mistake(begin + 1, "the hunk changes nothing; mark lines with - and +")
    start = int(stated[1]) if stated else None
    if start is not None and not any(row.sign != "+" for row in rows):
        start += 1  # with no old line, the number is that of the line before
    draft.parts.append(Part(len(draft.parts) + 1, begin + 1, tuple(rows), start=start))
    return stop


def _counted(lines: list[str], at: int, stated: re.Match[str]) -> int:
    """The line after a hunk whose counts are right, 0 if they are not."""
    old = int(stated[2]) if stated[2] else 1
    new = int(stated[4]) if stated[4] else 1
    while (old > 0 or new > 0) and at < len(lines):
        sign = lines[at][:1].strip("\r") or " "
        if sign == "\\":
            at += 1
            continue
        if sign not in _SIGNS or (at == len(lines) - 1 and not lines[at]):
            return 0
        old -= sign != "+"
        new -= sign != "-"
        at += 1
    if old or new:
        return 0
    while at < len(lines) and lines[at].startswith("\\"):
        at += 1
    rest = lines[at] if at < len(lines) else ""
    goes_on = rest[:1] in _SIGNS and rest.strip() and not _FOOT.match(rest)
    return 0 if goes_on and not _headed(lines, at) else at


def _to_next(lines: list[str], at: int) -> int:
    """The line after a hunk without counts: where its lines end."""
    while at < len(lines) and not _headed(lines, at) and not _FOOT.match(lines[at]):
        line = lines[at].removesuffix("\r")
        if line and line[0] not in " +-\\":
            break
        at += 1
    while not lines[at - 1].strip("\r"):
        at -= 1  # blank lines between sections are no context
    return at


def _finished(draft: _Draft | None) -> list[Change]:
    """What a section says to do."""
    if draft is None:
        return []
    notes = draft.notes
    for mode in ("new file mode", "deleted file mode", "old mode", "new mode"):
        if notes.get(mode, "100")[:3] != "100":
            raise mistake(draft.line, "symbolic links and submodules cannot be patched")
    old, new = plain(draft.old, draft.new)
    moved = "rename from" in notes or "copy from" in notes
    if moved:
        kind = "rename" if "rename from" in notes else "copy"
        old, new = unquoted(notes[f"{kind} from"]), unquoted(notes.get(f"{kind} to", ""))
    old = NOWHERE if "new file mode" in notes or draft.absent[0] else old
    new = NOWHERE if "deleted file mode" in notes or draft.absent[1] else new
    if not old or not new or old == new == NOWHERE:
        raise mistake(draft.line, "the section names no file")
    bare = not draft.parts and not notes
    if bare and NOWHERE not in (old, new):
        raise mistake(draft.line, f"the section of {new} holds no hunk")
    mode = notes.get("new mode", notes.get("new file mode", ""))
    executable = mode.endswith("755") if mode else None
    parts = tuple(draft.parts)
    usual = Change("update", new, draft.line, parts, "", executable, draft.git)
    if old == NOWHERE:
        return [replace(usual, action="add", parts=_whole(parts, draft.line))]
    if new == NOWHERE:
        return [replace(usual, action="delete", path=old)]
    if moved:
        action: Action = "copy" if "copy from" in notes else "update"
        return [replace(usual, action=action, path=old, target=new if new != old else "")]
    return [usual]


def _whole(parts: tuple[Part, ...], line: int) -> tuple[Part, ...]:
    """All lines of a new file as one hunk."""
    rows = tuple(row for part in parts for row in part.rows)
    if any(row.sign == "-" for row in rows):
        raise mistake(line, "a new file has no lines to remove")
    return (Part(1, line, tuple(replace(row, sign="+") for row in rows)),)

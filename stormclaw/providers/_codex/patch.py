"""The files codex changes: as a patch in our words, and as differences a person can judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.display import Diff, DiffLine, Hunk, Patch
from stormclaw.providers._programs.hands import local

HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
NAMED: Final = re.compile(
    r"^(\*\*\* (?:Add File|Update File|Delete File|Move to): )(.+?)[ \t]*$", re.M
)
"""The lines of a patch that name a file."""
HEREDOC: Final = re.compile(
    r"\s*(?:apply_patch|applypatch)\s+<<-?\s*(['\"]?)(\w+)\1[ \t]*\n(.*?)\n\2\s*", re.S
)
"""A shell line that is nothing but a patch; codex applies it without a shell."""
MOST_LINES: Final = 400
"""Changed lines the record of a difference keeps."""
MARKS: Final[Mapping[str, str]] = {"add": "A", "delete": "D", "update": "M"}


def patch_in(command: str) -> str | None:
    """The patch a shell line consists of, None if it is anything else."""
    found = HEREDOC.fullmatch(command)
    return found.group(3) if found else None


def localized(patch: str, workspace: Path) -> str:
    """A patch whose files in the workspace are named from there."""
    return NAMED.sub(lambda found: found.group(1) + local(found.group(2), workspace), patch)


def patch_of(changes: Sequence[Mapping[str, Any]], workspace: Path) -> str:
    """The changes codex tells of as a patch, for where its own was not seen."""
    lines = ["*** Begin Patch"]
    for change in changes:
        kind, target = _kind(change)
        name = local(str(change.get("path")), workspace)
        body = str(change.get("diff") or "")
        match kind:
            case "add":
                lines += [f"*** Add File: {name}", *(f"+{line}" for line in body.splitlines())]
            case "delete":
                lines.append(f"*** Delete File: {name}")
            case _:
                lines.append(f"*** Update File: {name}")
                lines += [f"*** Move to: {local(target, workspace)}"] if target else []
                lines += [HUNK.sub("@@", line) for line in body.splitlines()]
    return "\n".join([*lines, "*** End Patch"])


def diffs_of(
    changes: Sequence[Mapping[str, Any]], workspace: Path, patch: str
) -> list[tuple[str, Diff]]:
    """Each file's mark (A, M, D, R) and difference, in the order in which `patch` names them."""
    order = [found.group(2) for found in NAMED.finditer(patch)]
    found = [_diff(change, workspace) for change in changes]
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    return sorted(found, key=lambda each: places.get(each[1].path.split(" → ")[0], len(order)))


def display(diffs: Sequence[tuple[str, Diff]]) -> Patch:
    """What a card shows."""
    return Patch(tuple(diff for _, diff in diffs))


def _diff(change: Mapping[str, Any], workspace: Path) -> tuple[str, Diff]:
    kind, target = _kind(change)
    name, body = local(str(change.get("path")), workspace), str(change.get("diff") or "")
    if kind in ("add", "delete"):
        sign = "+" if kind == "add" else "-"
        hunks = _whole(body, added=kind == "add")
        count = len(body.splitlines())
        added, removed = (count, 0) if sign == "+" else (0, count)
        diff = Diff(name, hunks, added, removed, kind == "add", max(0, count - MOST_LINES))
        return MARKS[kind], diff
    hunks = tuple(_hunks(body))
    signs = [line.sign for hunk in hunks for line in hunk.lines]
    shown = f"{name} → {local(target, workspace)}" if target else name
    diff = Diff(shown, hunks, signs.count("+"), signs.count("-"))
    return ("R" if target else "M"), diff


def _whole(body: str, *, added: bool) -> tuple[Hunk, ...]:
    lines = body.splitlines()[:MOST_LINES]
    if added:
        rows = [DiffLine("+", text, None, number) for number, text in enumerate(lines, 1)]
    else:
        rows = [DiffLine("-", text, number, None) for number, text in enumerate(lines, 1)]
    return (Hunk(tuple(rows)),) if rows else ()


def _hunks(body: str) -> Iterator[Hunk]:
    rows: list[DiffLine] = []
    old = new = reached = skipped = 0
    for text in body.splitlines():
        if found := HUNK.match(text):
            if rows:
                yield Hunk(tuple(rows), skipped)
            old, new = int(found.group(1)), int(found.group(2))
            rows, skipped, reached = [], max(0, old - 1 - reached), 0
        elif text[:1] == "+":
            rows.append(DiffLine("+", text[1:], None, new))
            new += 1
        elif text[:1] == "-":
            rows.append(DiffLine("-", text[1:], old, None))
            old += 1
        elif not text.startswith("\\"):
            rows.append(DiffLine(" ", text[1:], old, new))
            old, new = old + 1, new + 1
        reached = old - 1
    if rows:
        yield Hunk(tuple(rows), skipped)


def _kind(change: Mapping[str, Any]) -> tuple[str, str]:
    """(add, delete or update; where it is moved to), in either wire's shape."""
    kind = change.get("kind")
    if isinstance(kind, Mapping):
        return str(kind.get("type")), str(kind.get("move_path") or "")
    return str(kind), ""

"""What a patch says, whichever way it is written, and which way that is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.errors import ToolFailure

Sign: TypeAlias = Literal[" ", "+", "-"]
Action: TypeAlias = Literal["add", "update", "delete", "copy"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a hunk; `end` as in the patch, "" where it says that there is no newline."""

    sign: Sign
    text: str
    end: str = "\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One hunk.

    Attributes:
        number: Of this hunk within its file, from 1.
        line: Line of the patch it begins at, from 1.
        rows: Its lines.
        anchors: Lines to be passed, one after the other, before it.
        start: First old line as stated, from 1; None if nothing is stated.
        at_end: Its last old line is the last of the file.
    """

    number: int
    line: int
    rows: tuple[Row, ...]
    anchors: tuple[str, ...] = ()
    start: int | None = None
    at_end: bool = False

    def side(self, sign: Sign) -> tuple[Row, ...]:
        """The lines as they were ("-") or as they will be ("+")."""
        return tuple(row for row in self.rows if row.sign in (" ", sign))


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one file.

    Attributes:
        action: `update` with a `target` is a move.
        path: The file, as the patch names it.
        line: Line of the patch it begins at, from 1.
        parts: Hunks; of an added file one with its lines, of a deleted one what was in it or none.
        target: Where it is moved or copied to, "" if it stays.
        executable: The mode the patch gives it; None if it says nothing.
        at_once: All of the patch's files are named as they were before any of it.
    """

    action: Action
    path: str
    line: int
    parts: tuple[Part, ...] = ()
    target: str = ""
    executable: bool | None = None
    at_once: bool = False


def parse_patch(text: str) -> tuple[Change, ...]:
    """The changes of a patch in either format; at least one.

    Raises:
        ToolFailure: It is no patch, or one with a mistake; names the line.
    """
    from stormclaw.tools._patch_begin import parse_begin
    from stormclaw.tools._patch_unified import parse_unified

    lines = text.removeprefix("\ufeff").split("\n")
    heads = [line for line in lines if _HEAD.match(line)]
    if heads and heads[0].endswith("\r"):  # the patch itself came with such endings
        lines = [line.removesuffix("\r") for line in lines]
    unified = _first_unified(lines)
    begun = any(_BEGIN.match(line) for line in lines[:unified])
    if begun and (unified == len(lines) or any(map(_SECTION.match, lines))):
        return parse_begin(lines)
    changes = parse_unified([line for line in lines if not (begun and _EDGE.match(line))])
    if not changes:
        raise ToolFailure(
            "this is no patch; nothing changed. A patch begins with `*** Begin Patch`, or is a "
            "unified diff with `--- a/file`, `+++ b/file` and `@@ -1,3 +1,4 @@` lines",
            summary="no patch",
        )
    return changes


def mistake(line: int, words: str) -> ToolFailure:
    """The answer to a patch that cannot be read."""
    return ToolFailure(
        f"the patch cannot be read at its line {line}: {words}; nothing changed",
        summary=f"patch line {line}",
    )


def fenced(line: str) -> bool:
    """Whether a line only wraps a patch: a code fence, a here-document's end."""
    return bool(_FENCE.match(line))


_BEGIN = re.compile(r"\s*\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File:)")
_SECTION = re.compile(r"\*\*\* (?:Add|Update|Delete) File:")
_EDGE = re.compile(r"\*\*\* (?:Begin|End) Patch\s*$")
_HEAD = re.compile(r"\s*\*\*\* \w+|diff --git |--- |\+\+\+ |Index: ")
_UNIFIED = re.compile(r"diff --git |--- |Index: ")
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*$|(?:EOF|PATCH|END|'EOF')\s*$")


def _first_unified(lines: list[str]) -> int:
    """Where a unified diff begins, the end if nowhere."""
    return next((at for at, line in enumerate(lines) if _UNIFIED.match(line)), len(lines))

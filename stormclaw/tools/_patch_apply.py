"""Makes the new text of a file from its old one and hunks whose places are known."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.errors import ToolFailure
from stormclaw.tools._fold import dressed
from stormclaw.tools._indent import indents, near, reindent
from stormclaw.tools._patch import Part, Row
from stormclaw.tools._patch_seek import INDENTATION, LADDER, Placed, Seeker
from stormclaw.tools._text import Lines, split_at_feeds, split_everywhere

Record = tuple[str, str]
"""A line and its ending."""


def patched(text: str, parts: Sequence[Part], name: str) -> tuple[str, tuple[str, ...]]:
    """The new text, and what had to be overlooked for it, hunk by hunk.

    Raises:
        ToolFailure: A hunk has no place, or more than one.
    """
    lines = split_at_feeds(text)
    try:
        placed = Seeker(lines, name).place(parts)
    except ToolFailure:
        if not any("\r" in line for line in lines.texts):
            raise
        lines = split_everywhere(text)
        placed = Seeker(lines, name).place(parts)
    notes = tuple(
        f"hunk {one.part.number} apart from {LADDER[one.level][0]}"
        for one in placed
        if LADDER[one.level][0]
    )
    return _joined(lines, placed), notes


def new_text(parts: Sequence[Part]) -> str:
    """The text of a new file."""
    rows = [row for part in parts for row in part.rows]
    return "".join(row.text + (row.end if row is rows[-1] else row.end or "\n") for row in rows)


def _joined(lines: Lines, placed: list[Placed]) -> str:
    """The text with the hunks in it; only a last line may be without an ending."""
    records: list[Record] = list(zip(lines.texts, [*lines.ends, ""], strict=True))[: lines.count]
    result: list[Record] = []
    reached = 0
    for one in placed:
        first = next(at for at, row in enumerate(one.part.rows) if row.sign != " ")
        result += records[reached : one.at + first]
        reached = max(reached, one.at + first)
        reached = _fill(result, records, lines.usual_end, one, first, reached)
    added_last = reached == len(records) and bool(placed) and placed[-1].part.rows[-1].sign == "+"
    result += records[reached:]
    usual = lines.usual_end
    if added_last and result and not result[-1][1]:
        last = placed[-1].part.rows[-1]
        result[-1] = (result[-1][0], usual if last.end else "")
    whole = [(text, end or usual) for text, end in result[:-1]] + result[-1:]
    return "".join(map("".join, whole))


def _fill(
    result: list[Record], records: list[Record], usual: str, one: Placed, first: int, at: int
) -> int:
    """Add the lines of a hunk from its first change to its last; the old line reached."""
    rows = one.part.rows
    last = max(at for at, row in enumerate(rows) if row.sign != " ")
    block = first
    while block <= last:
        stop = block
        while stop <= last and rows[stop].sign != " ":
            stop += 1
        gone = [row for row in rows[block:stop] if row.sign == "-"]
        come = [row for row in rows[block:stop] if row.sign == "+"]
        taken = records[at : at + len(gone)]
        for step, row in enumerate(come):
            pair = step if step < len(gone) else None
            text = _fitted(one, records, row, gone, pair, at)
            result.append((text, _ending(one, row, taken, pair, usual)))
        at += len(gone)
        while stop <= last and rows[stop].sign == " ":
            result.append(records[at])
            at, stop = at + 1, stop + 1
        block = stop
    return at


def _ending(one: Placed, row: Row, taken: list[Record], pair: int | None, usual: str) -> str:
    """The line ending of a new line: the patch's where it is the file's, else as around it."""
    if one.level == 0 and one.old:
        return row.end
    if not row.end or (not one.old and row.end == "\r\n"):
        return row.end
    return (taken[pair][1] if pair is not None else "") or usual


def _fitted(
    one: Placed, records: list[Record], row: Row, gone: list[Row], pair: int | None, at: int
) -> str:
    """A new line in the indentation and with the signs that the file has there."""
    if one.level < INDENTATION or not one.old:
        return row.text
    written = [line.text for line in one.old]
    there = [text for text, _ in records[one.at : one.at + len(written)]]
    beside = at - one.at + (pair or 0)
    known = indents(written, there) or near(written, there, max(0, min(beside, len(written) - 1)))
    text = reindent(row.text, known)
    if pair is None or len(gone) <= pair:
        return text
    return dressed(reindent(gone[pair].text, known), text, there[beside])

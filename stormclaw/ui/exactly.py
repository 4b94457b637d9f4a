"""What a person allows, in full: every character of it, and no room for what is to be overlooked.

Nothing is shortened. Only emptiness is: a long stretch of blanks, or of empty lines, with which
the part that matters could be pushed out of sight, is told with its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stormclaw.ui.rows import Row, Run, beginning
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import cells, count, inert

FAR = 24
"""Blanks in a row from which they are told rather than shown, unless they indent a line."""
INDENT = 60
"""And from which they are at the beginning of a line."""
EMPTY = 4
"""Empty lines in a row from which they are told."""

_BLANKS = re.compile(f" {{{FAR},}}")


def exact_rows(
    text: str, width: int, signs: Signs, *, first: str = "", more: str = ""
) -> list[Row]:
    """The whole text in rows of at most `width` cells, after leads as wide as `first`.

    Args:
        text: Foreign.
        width: Cells.
        signs: For the mark before what is told.
        first: Lead of the first line.
        more: Lead of every line after a newline; a line that is only too long goes on after blanks.
    """
    room = max(8, width - cells(first))
    rows: list[Row] = []
    lead, empty = first, 0
    for line in (*inert(text).split("\n"), None):
        if line is not None and not line.strip() and len(line) < FAR and rows:
            empty += 1
            continue
        if empty >= EMPTY:
            rows.append(Row((Run(more, "muted"), _told(count(empty, "empty line"), signs))))
        else:
            rows += [Row((Run(more, "muted"),))] * empty
        empty = 0
        if line is None:
            break
        for runs in _folded(_pieces(line, signs), room):
            rows.append(Row((Run(lead, "muted"), *runs)))
            lead = " " * cells(first)
        lead = more
    return rows


def _told(words: str, signs: Signs) -> Run:
    return Run(f"{signs.elided}{words}{signs.elided}", "attention")


def _pieces(line: str, signs: Signs) -> Iterator[Run]:
    """The line in runs: what stands there, and how many blanks are between."""
    reached = 0
    for blanks in _BLANKS.finditer(line):
        if blanks.start() == 0 and len(blanks[0]) < INDENT and blanks.end() < len(line):
            continue
        yield Run(line[reached : blanks.start()])
        yield _told(count(len(blanks[0]), "space"), signs)
        reached = blanks.end()
    yield Run(line[reached:])


def _folded(pieces: Iterator[Run], width: int) -> Iterator[list[Run]]:
    """Rows of runs that fit; broken after a space where there is one, and nothing left out."""
    row: list[Run] = []
    used = 0
    for piece in pieces:
        text, at = piece.text, 0
        while at < len(text):
            taken = beginning(text, at, max(1, width - used))
            part = text[at : at + taken]
            if used + cells(part) > width and row:
                yield row
                row, used = [], 0
                continue
            if at + taken < len(text) and part[: (space := part.rfind(" ") + 1)].strip():
                part = part[:space]
            row.append(piece._replace(text=part))
            used += cells(part)
            at += len(part)
            if at < len(text):
                yield row
                row, used = [], 0
    yield row

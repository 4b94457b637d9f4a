"""Tables without lines: a muted header, columns as wide as their share, cells that wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from stormclaw.protocol.display import Table
from stormclaw.ui.render.lines import PLAIN, Row, Run, wrap
from stormclaw.ui.render.look import Look
from stormclaw.ui.text import cells, inert

GAP = 2
"""Cells between two columns."""

Align: TypeAlias = Literal["left", "center", "right"]
Cell: TypeAlias = Sequence[Run]


def table_rows(
    header: Sequence[Cell], body: Sequence[Sequence[Cell]], aligns: Sequence[Align], width: int
) -> list[Row]:
    """A table in at most `width` cells; columns that find no room are wrapped, never lost."""
    columns = max((len(row) for row in (header, *body)), default=0)
    if not columns:
        return []
    grid = [list(row) + [()] * (columns - len(row)) for row in (header, *body)]
    widths = column_widths(
        [max(_natural(row[column]) for row in grid) for column in range(columns)],
        [max(_longest_word(row[column]) for row in grid) for column in range(columns)],
        width - GAP * (columns - 1),
    )
    sides = [aligns[column] if column < len(aligns) else "left" for column in range(columns)]
    return [line for row in grid for line in _grid_row(row, widths, sides)]


def display_table(table: Table, look: Look, width: int) -> list[Row]:
    """A tool's or command's table."""
    palette = look.palette
    return table_rows(
        [[(inert(name, prose=True), palette.muted)] for name in table.columns],
        [[[(inert(cell, prose=True), palette.text)] for cell in row] for row in table.rows],
        (),
        width,
    )


def column_widths(natural: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Cells for each column.

    Args:
        natural: What each would take on one line.
        words: Its longest word, below which it is cut.
        room: Cells for all together.
    """
    room = max(room, len(natural))
    total = sum(natural)
    if total <= room:
        return _shares(natural, room)
    floors = [max(1, min(want, word)) for want, word in zip(natural, words, strict=True)]
    if sum(floors) > room:
        return _shares(floors, room)
    widths = list(natural)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda at: (widths[at] > floors[at], widths[at]))
        widths[widest] -= 1
    return widths


def _shares(weights: Sequence[int], room: int) -> list[int]:
    """`room` divided in proportion to `weights`, each at least 1, nothing left over."""
    total = sum(weights) or 1
    result = [max(1, room * weight // total) for weight in weights]
    while sum(result) > room:
        result[result.index(max(result))] -= 1
    if sum(result) < room:
        result[-1] += room - sum(result)
    return result


def _natural(cell: Cell) -> int:
    text = "".join(piece for piece, _ in cell)
    return max((cells(line) for line in text.split("\n")), default=0)


def _longest_word(cell: Cell) -> int:
    text = "".join(piece for piece, _ in cell)
    return max((cells(word) for word in text.split()), default=0)


def _grid_row(row: Sequence[Cell], widths: Sequence[int], sides: Sequence[Align]) -> list[Row]:
    columns = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines: list[Row] = []
    for index in range(max(len(column) for column in columns)):
        runs: list[Run] = []
        last = len(columns) - 1
        for number, (column, width, side) in enumerate(zip(columns, widths, sides, strict=True)):
            piece = list(column[index].runs) if index < len(column) else []
            free = max(0, width - sum(cells(text) for text, _ in piece))
            before = {"left": 0, "center": free // 2, "right": free}[side]
            after = 0 if number == last else free - before + GAP
            runs += [(" " * before, PLAIN), *piece, (" " * after, PLAIN)]
        lines.append(Row([run for run in runs if run[0]]))
    return lines

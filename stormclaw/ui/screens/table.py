"""What a command answered, when it is more than a note: text, and a table under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from stormclaw.protocol.display import Table
from stormclaw.ui.rows import Row, Run, wrap
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import cells, inert, one_line
from stormclaw.ui.widgets.picker import Picker


class TableScreen(Page[None]):
    """Scrolls through the lines of an answer."""

    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "line"), ("y", "copy"))
    BINDINGS: ClassVar = [("y", "copy", "")]

    def __init__(self, name: str, text: str, table: Table | None) -> None:
        super().__init__(name)
        self._text, self._table = text, table
        self._rows: list[Row] = []

    def trail(self) -> tuple[Run, ...]:
        """The command."""
        return (Run(self.argument, "text", "b"),)

    def body(self) -> Iterable[Widget]:
        """One list of all lines."""
        self.picker = Picker(self._draw)
        yield self.picker

    def on_screen_resume(self) -> None:
        """Fill it for this width."""
        self._fill()

    def on_resize(self) -> None:
        """Fill it for another width."""
        self._fill()

    def _fill(self) -> None:
        width = max(20, self.size.width - 6)
        lines = [line for part in inert(self._text).split("\n") for line in wrap(part, width)]
        self._rows = [Row((Run(line),)) for line in lines] if self._text else []
        if self._table is not None:
            self._rows += [Row()] if self._rows else []
            self._rows += rows_of(self._table, width, self.storm.signs.elided)
        self.picker.fill(len(self._rows))
        self.picker.focus()

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        return self._rows[index].runs, ()

    def action_copy(self) -> None:
        """Copy everything."""
        import os

        from stormclaw.ui.clipboard import copy

        text = "\n".join(row.text.rstrip() for row in self._rows)
        self.say(copy(self.app, text, os.environ), "success")


def rows_of(table: Table, width: int, elided: str) -> list[Row]:
    """A table in `width` cells: every column as wide as it needs, the widest gives way."""
    lines = [table.columns, *table.rows]
    shown = [[one_line(cell) for cell in line] for line in lines]
    sizes = [max(cells(line[at]) for line in shown) for at in range(len(table.columns))]
    over = sum(sizes) + 2 * (len(sizes) - 1) - width
    if over > 0 and sizes:
        widest = sizes.index(max(sizes))
        sizes[widest] = max(8, sizes[widest] - over)
    rows = []
    for number, line in enumerate(shown):
        runs = []
        for at, (cell, size) in enumerate(zip(line, sizes, strict=True)):
            role = "muted" if number == 0 or at == len(sizes) - 1 > 0 else "text"
            fits = cell if cells(cell) <= size else cell[: size - 1].rstrip() + elided
            runs.append(Run(fits + " " * (size - cells(fits) + 2), role))
        rows.append(Row(tuple(runs)))
    return rows

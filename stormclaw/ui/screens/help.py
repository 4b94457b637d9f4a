"""Every key and every command, from the tables that make them work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from stormclaw.ui.keymap import HEADINGS, Place, help_rows
from stormclaw.ui.rows import BLANK, Row, Run
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import cells
from stormclaw.ui.widgets.picker import Picker

PREFIXES = (
    ("/", "commands"),
    ("@", "a file of the project"),
    ("!", "a command of yours, through the gate"),
)


class HelpScreen(Page[None]):
    """One long list.

    Args:
        first: Places whose keys come first: those of the screen it was opened from.
    """

    NAME = "Help"
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("↑ ↓", "line"), ("pgdn", "page"))

    def __init__(self, argument: str = "", first: Sequence[Place] = ()) -> None:
        super().__init__(argument)
        self._first = first

    def body(self) -> Iterable[Widget]:
        """The list."""
        self.picker = Picker(self._draw)
        yield self.picker

    def on_mount(self) -> None:
        """Fill it."""
        super().on_mount()
        self._rows = help_lines(self._commands(), self._first)
        self.picker.fill(len(self._rows))
        self.picker.focus()

    def _commands(self) -> list[tuple[str, str]]:
        completer = self.storm.main.composer.completer
        known = completer.commands if completer is not None else {}
        return [
            (f"/{name} {usage}".rstrip(), summary)
            for name, (usage, summary) in sorted(known.items())
        ]

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        return self._rows[index].runs, ()


def help_lines(commands: Sequence[tuple[str, str]], first: Sequence[Place] = ()) -> list[Row]:
    """Sections, each a bold head and its lines; those of the places `first` at the top."""
    sections: list[tuple[str, Sequence[tuple[str, str]]]] = [
        *((HEADINGS[place], help_rows(place)) for place in first),
        ("First letters", PREFIXES),
        ("Commands", commands),
    ]
    sections += [
        (heading, help_rows(place)) for place, heading in HEADINGS.items() if place not in first
    ]
    rows: list[Row] = []
    for heading, pairs in sections:
        if not pairs:
            continue
        rows += [BLANK] if rows else []
        rows.append(Row((Run(heading, "text", "b"),)))
        width = max(cells(key) for key, _ in pairs)
        rows += [
            Row((Run(f"{key}{' ' * (width - cells(key) + 3)}"), Run(label, "muted")))
            for key, label in pairs
        ]
    return rows

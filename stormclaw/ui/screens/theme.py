"""Colours, tried while the cursor moves; Esc brings the old ones back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from stormclaw.ui.rows import Row, Run
from stormclaw.ui.screens.page import Page
from stormclaw.ui.theme import THEMES
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.picker import Picker


class ThemeScreen(Page[None]):
    """Ours first, then all that Textual ships."""

    NAME = "Theme"
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("enter", "keep it"), ("↑ ↓", "try"))

    def body(self) -> Iterable[Widget]:
        """The names, and a sample under them."""
        self.picker, self.sample = Picker(self._draw), Detail()
        yield from (self.picker, self.sample)

    def on_mount(self) -> None:
        """A name given with the command is taken at once."""
        super().on_mount()
        self._before = self.app.theme
        ours = [theme.name for theme in THEMES]
        others = sorted(name for name in self.app.available_themes if name not in ours)
        self._names = [*ours, *(name for name in others if name != "textual-ansi")]
        at = self._names.index(self._before) if self._before in self._names else 0
        if self.argument in self._names:
            at = self._names.index(self.argument)
        self.picker.fill(len(self._names), at)
        self.picker.focus()
        self.sample.styles.height = len(SAMPLE)
        self.sample.set_class(True, "-flat")
        self.sample.show(SAMPLE)

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        name = self._names[index]
        now = [Run("in use", "muted")] if name == self._before else []
        return [Run(name)], now

    def on_picker_moved(self) -> None:
        """Try it."""
        self.app.theme = self._names[self.picker.cursor]
        self.picker.redraw()

    def on_picker_taken(self) -> None:
        """Keep it for this run, and say how to keep it for good."""
        name = self._names[self.picker.cursor]
        self.dismiss()
        self.storm.main.say(f"{name}; ui.theme: {name} in config.yaml keeps it", "success")

    def action_leave(self) -> None:
        """The colours from before."""
        self.app.theme = self._before
        self.dismiss()


SAMPLE = (
    Row(
        (
            Run("✓ ", "muted"),
            Run("edit   ", "muted"),
            Run("src/tide/", "muted"),
            Run("retry.py"),
            Run("  +2 −2", "muted"),
        )
    ),
    Row((Run("   42 ", "muted"), Run("−", "del"), Run(" for n in range(3):")), "del-bg"),
    Row((Run("   42 ", "muted"), Run("+", "add"), Run(" for n in range(self.tries):")), "add-bg"),
    Row(
        (
            Run("? fixer", "attention"),
            Run(" wants to edit  "),
            Run("◇ low  ", "risk-low"),
            Run("◆ medium  ", "risk-medium"),
            Run("▲ high  ", "risk-high"),
            Run("■ blocked", "risk-blocked"),
        )
    ),
)

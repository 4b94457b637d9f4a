"""The app as its widgets see it: signs, colours, clock. Kept apart so that widgets can be tested
in an app of three lines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter

from stormclaw.config.settings import UiSettings
from stormclaw.ui.clipboard import pasteable
from stormclaw.ui.harmless import Harmless
from stormclaw.ui.palette import Palette
from stormclaw.ui.signs import ASCII, Signs, choose_signs
from stormclaw.ui.theme import derived_variables, palette, register


class Frame(App[object], inherit_bindings=False):
    """An app in our themes.

    Attributes:
        signs: The symbols of this terminal.
        clock: Monotonic seconds; tests pass their own.
        wall: Unix time.
        calm: Nothing moves (`ui.motion: reduced`).
    """

    def __init__(
        self,
        ui: UiSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        register(self)
        self.signs: Signs = choose_signs(ascii_only=ui.ascii, environ=os.environ)
        self.clock = clock
        self.wall = wall
        self.set_class(self.signs is ASCII, "-ascii")
        self.calm = ui.motion == "reduced"
        self.stray_output: Path | None = None
        self._palettes: dict[str, Palette] = {}
        self._harmless = Harmless()
        self._begin_with(self._first_theme(ui.theme))
        if self.calm:
            self.animation_level = "none"

    def _first_theme(self, wanted: str) -> str:
        """The configured theme; on a terminal with 16 colours the one made for it."""
        few = self.console.color_system == "standard"
        if few and wanted == UiSettings().theme:
            return "stormclaw-ansi"
        return wanted if wanted in self.available_themes else UiSettings().theme

    def _begin_with(self, name: str) -> None:
        """Take the first theme; one of our own without the second pass over all CSS."""
        theme = self.get_theme(name)
        if theme is None or theme.ansi:
            self.theme = name
            return
        self.set_reactive(App.theme, name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.add_class(f"-theme-{name}", "-dark-mode" if theme.dark else "-light-mode")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, and at the end ours: nothing foreign leaves as it came."""
        return [*super().get_line_filters(), self._harmless]

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what can be pasted anywhere without doing anything."""
        super().copy_to_clipboard(pasteable(text))

    @property
    def palette(self) -> Palette:
        """The colours of the current theme."""
        if self.theme not in self._palettes:
            self._palettes[self.theme] = palette(self)
        return self._palettes[self.theme]

    def get_css_variables(self) -> dict[str, str]:
        """Textual's variables and our roles, whatever the theme."""
        return {**super().get_css_variables(), **derived_variables(self.current_theme)}

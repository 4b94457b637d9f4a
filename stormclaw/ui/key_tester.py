"""Shows each key as the app would receive it: what a terminal keeps for itself never arrives."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import App, ComposeResult
from textual.events import Key, Paste
from textual.widgets import RichLog, Static

from stormclaw.protocol.inert import inert
from stormclaw.ui.driver import StormDriver

WORTH_TRYING: Mapping[str, str] = {
    "shift+enter": "a new line; if it arrives as enter, use ctrl+j or alt+enter",
    "alt+enter": "a new line",
    "ctrl+j": "a new line; arrives everywhere",
    "escape": "interrupts",
    "shift+tab": "the next autonomy level",
    "ctrl+s": "if nothing arrives and the screen freezes: `stty -ixon`, ctrl+q thaws it",
    "ctrl+z": "suspends",
}
"""Key -> what it is for, or what to do if it does not arrive."""


class KeyTester(App[None]):
    """A log of keys."""

    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        """The keys worth trying, and the log."""
        width = max(map(len, WORTH_TRYING))
        rows = "\n".join(f"  {key:<{width}}  {why}" for key, why in WORTH_TRYING.items())
        yield Static(f"Press keys; q leaves. Worth trying:\n{rows}\n", markup=False)
        yield RichLog(markup=False)

    async def on_event(self, event: object) -> None:
        """See keys before any binding of Textual's own does."""
        if isinstance(event, Key):
            self._show(event)
            return
        if isinstance(event, Paste):
            self.query_one(RichLog).write(f"a paste of {len(event.text)} characters")
            return
        await super().on_event(event)  # type: ignore[arg-type]

    def _show(self, event: Key) -> None:
        if event.key == "q":
            self.exit()
            return
        typed = (
            f"types {inert(event.character)!r}" if event.character and event.is_printable else ""
        )
        self.query_one(RichLog).write(f"{event.key:<24} {typed}".rstrip())


def test_keys() -> int:
    """Run it until q is pressed; returns the exit code."""
    KeyTester(driver_class=StormDriver).run(mouse=False)
    return 0

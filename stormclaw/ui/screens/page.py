"""A screen over the chat: its name at the top, keys at the bottom, Esc goes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from stormclaw.ui.keymap import Place
from stormclaw.ui.rows import Run
from stormclaw.ui.widgets.footer import Costs, Footer
from stormclaw.ui.widgets.header import Header, Where
from stormclaw.ui.widgets.picker import Picker

if TYPE_CHECKING:
    from stormclaw.ui.app import StormApp

T = TypeVar("T")


class Page(Screen[T], Generic[T]):
    """Header, body, footer.

    Attributes:
        NAME: Stands in the header, bold.
        HINTS: Keys of the footer; the bindings of the screen.
        PLACES: Whose keys the help, opened from here, begins with.
    """

    NAME: ClassVar[str] = ""
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = ()
    PLACES: ClassVar[tuple[Place, ...]] = ()
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]
    DEFAULT_CSS = """
    Page { layout: vertical; background: $sc-bg; }
    Page #page { height: 1fr; margin: 1 0 1 0; }
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__()
        self.argument = argument
        self._waiting: tuple[str, ...] = ()
        self._said: tuple[str, str] = ("", "muted")
        self._unsaying: Timer | None = None

    @property
    def storm(self) -> StormApp:
        """The app."""
        return cast("StormApp", self.app)

    def body(self) -> Iterable[Widget]:
        """What stands between header and footer."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The three parts."""
        self.header = Header(self.where())
        self.footer = Footer(self.costs())
        yield self.header
        yield Body(*self.body(), id="page")
        yield self.footer

    def where(self) -> Where:
        """What the header says; estop comes first on every screen."""
        return Where(self.NAME, stopped=self.storm.stopped, trail=self.trail(), right=self.right())

    def trail(self) -> tuple[Run, ...]:
        """The name, and what it is about."""
        return (Run(self.NAME, "text", "b"),)

    def right(self) -> tuple[Run, ...]:
        """What stands at the right of the header."""
        return ()

    def costs(self) -> Costs:
        """What the footer says."""
        asking = ", ".join(dict.fromkeys(self._waiting))
        words, role = self._said
        shown = Costs(hints=self.HINTS, right_hints=(("esc", "back"),), asking=asking)
        return shown.saying(words, role)

    def refresh_facts(self) -> None:
        """Header and footer say what is true now."""
        self.header.show(self.where())
        self.footer.show(self.costs())

    def say(self, words: str, role: str = "muted") -> None:
        """Say in the footer what just happened, for a few seconds."""
        self._said = (words, role)
        self.refresh_facts()
        if self._unsaying is not None:
            self._unsaying.stop()
        self._unsaying = self.set_timer(4.0, lambda: self.say("")) if words else None

    def show_waiting(self, agents: list[str]) -> None:
        """Questions wait on the chat screen."""
        self._waiting = tuple(agents)
        self.refresh_facts()

    def on_mount(self) -> None:
        """Questions may have been open before."""
        self.show_waiting(self.storm.asking)

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close it, once: a key that is held, or pressed twice, closes nothing below it."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def action_leave(self) -> None:
        """Back."""
        self.dismiss()

    def on_picker_left(self, message: Picker.Left) -> None:
        """Back."""
        message.stop()
        self.action_leave()


class Body(Widget):
    """Holds what a page is about."""

    DEFAULT_CSS = "Body { layout: vertical; }"

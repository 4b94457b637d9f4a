"""Which model answers: all there are, searched as you type, with what they take, can and cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from stormclaw.protocol.command import Answer, SwitchModel
from stormclaw.ui.keymap import bindings
from stormclaw.ui.model_lines import (
    OfferLine,
    Section,
    effort_row,
    facts_of,
    fitting,
    sections_of,
)
from stormclaw.ui.rows import Run
from stormclaw.ui.screens.model_list import ModelList
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import count, one_line
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.footer import Costs
from stormclaw.ui.widgets.picker import Picker

if TYPE_CHECKING:
    from stormclaw.providers.models import ModelBook
    from stormclaw.ui.app import StormApp

AIRY_FROM = 30
"""Rows of the screen from which providers stand apart."""


class ModelScreen(Page[None]):
    """Enter goes on with the picked model; one that is not connected leads to its key."""

    NAME = "Model"
    PLACES = ("models",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("models")]
    DEFAULT_CSS = """
    ModelScreen Input {
        height: 1; border: none; margin: 0 2 1 2; padding: 0 1;
        background: $sc-surface; color: $sc-text; border-left: outer $sc-accent;
        &:focus {
            border: none; border-left: outer $sc-accent; background: $sc-surface;
            background-tint: $sc-surface 0%;
        }
        & .input--placeholder { color: $sc-muted; }
    }
    ModelScreen.-short Input { margin: 0 2 0 2; }
    ModelScreen Detail { margin: 1 2 0 2; padding: 0 2 0 1; height: 3; }
    ModelScreen.-short Detail { margin: 0 2 0 2; }
    """

    def __init__(
        self,
        argument: str = "",
        book: ModelBook | None = None,
        places: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        """A list that is read when it is shown.

        Args:
            argument: What to search for at first.
            book: The registry; None for a new one.
            places: (preset, base_url) of model servers on this machine; None for the usual ones.
        """
        super().__init__(argument)
        self._book, self._asked = book, places
        self.picker, self.facts = ModelList(), Detail()
        self.field = Input(select_on_focus=False, placeholder="type to search")
        self.field.cursor_blink = False
        self.picker.empty = "reading what there is"
        self._sections: tuple[Section, ...] = ()
        self._number = 0
        self._read = False
        self._effort = ""

    def body(self) -> Iterable[Widget]:
        """What is searched, the models, the picked one."""
        yield from (self.field, self.picker, self.facts)

    # What header and footer say ------------------------------------------------------------

    def trail(self) -> tuple[Run, ...]:
        """What answers now."""
        runtime = self.storm.runtime
        now = runtime.way if runtime is not None else None
        words = f"now {now.name}/{now.model}".rstrip("/") if now is not None else ""
        return (Run(self.NAME, "text", "b"), Run(f"  {one_line(words)}", "muted"))

    def right(self) -> tuple[Run, ...]:
        """How many there are."""
        words = count(self._number, "model") if self._read else "reading what there is"
        return (Run(words, "muted"),)

    def costs(self) -> Costs:
        """The keys that mean something for the picked line."""
        line = self.picker.line
        known = line is None or line.offer.key
        hints: tuple[tuple[str, str], ...] = (
            ("enter", "go on with it" if known else "connect it"),
        )
        if len(self._efforts) > 1:
            hints = (*hints, ("← →", "effort"))
        out = "all models" if self.field.value else "back"
        return replace(super().costs(), hints=hints, right_hints=(("esc", out),))

    # Filling it ----------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The list is read beside the screen."""
        super().on_mount()
        runtime = self.storm.runtime
        if runtime is not None:
            self._effort = runtime.way.settings.reasoning
        self.field.value = self.argument
        self.field.focus()
        self.on_resize()
        self.run_worker(self._survey(), group="models", exit_on_error=False)

    def on_resize(self) -> None:
        """Another size."""
        self.set_class(self.size.height < AIRY_FROM, "-short")
        if self._read:
            self._fill(self._picked)

    async def _survey(self) -> None:
        from stormclaw.providers.models import ModelBook
        from stormclaw.providers.offers import survey

        runtime = self.storm.runtime
        if runtime is None:
            return
        place = runtime.place
        book = self._book or ModelBook(place.settings.providers.models, place.home)
        groups = await survey(place.settings, place.env, place.home, book, places=self._asked)
        way = runtime.way
        self._sections = sections_of(groups, way.name, way.model)
        self._number = sum(len(section.lines) for section in self._sections)
        self._read = True
        self._fill(self._current)
        if book.problems:
            more = len(book.problems) - 1
            rest = f", and {more} more" if more else ""
            self.say(f"{one_line(str(book.problems[0]))}{rest}", "attention")

    @property
    def _current(self) -> str | None:
        lines = (line for section in self._sections for line in section.lines)
        return next((line.offer.target for line in lines if line.current), None)

    @property
    def _picked(self) -> str | None:
        line = self.picker.line
        return line.offer.target if line is not None else None

    def _fill(self, to: str | None = None) -> None:
        from stormclaw.providers.offers import words_in

        words = words_in(self.field.value)
        lines = fitting(self._sections, words, airy=self.size.height >= AIRY_FROM)
        self.picker.empty = "no model fits" if words else "no model is known"
        self.picker.put(lines, to)
        self.refresh_facts()

    @on(Input.Changed)
    def _searched(self) -> None:
        """A letter more."""
        if self._read:
            self._fill(None if self.field.value else self._current)

    def on_picker_moved(self) -> None:
        """The pane follows the cursor."""
        self._describe()
        self.refresh_facts()

    def _describe(self) -> None:
        line, width = self.picker.line, max(20, self.size.width - 8)
        if line is None:
            self.facts.show(())
            return
        rows = facts_of(line, width)
        arrows = f"{self.storm.signs.left} {self.storm.signs.right}"
        if line.offer.key:
            rows.append(effort_row(self._efforts, self._chosen, width, arrows))
        self.facts.show(rows)

    # How hard to think -----------------------------------------------------------------------

    @property
    def _efforts(self) -> Sequence[str]:
        from stormclaw.providers.offers import efforts_of

        line = self.picker.line
        return efforts_of(line.offer.card) if line is not None and line.offer.key else ("",)

    @property
    def _chosen(self) -> str:
        return self._effort if self._effort in self._efforts else ""

    def action_effort(self, by: int) -> None:
        """Think harder, or less hard."""
        efforts = self._efforts
        at = efforts.index(self._chosen) + by
        if len(efforts) > 1:
            self._effort = efforts[max(0, min(at, len(efforts) - 1))]
            self._describe()

    # Keys ------------------------------------------------------------------------------------

    def action_cursor(self, by: int) -> None:
        """A model up or down."""
        self.picker.action_cursor(by)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        self.picker.action_page(by)

    def action_edge(self, at: int) -> None:
        """The first, the last."""
        self.picker.move_to(0 if at == 0 else self.picker.count - 1)

    def action_take(self) -> None:
        """Go on with the picked model."""
        self.picker.action_pick()

    @on(Picker.Taken)
    def _taken(self) -> None:
        line = self.picker.line
        if line is None:
            return
        self.dismiss()
        self.storm.call_next(_go, self.storm, line, self._chosen)

    def action_leave(self) -> None:
        """Drop the search before the screen is left."""
        if self.field.value:
            self.field.value = ""
        else:
            super().action_leave()


async def _go(app: StormApp, line: OfferLine, effort: str) -> None:
    """Go on with a model, or to the screen that connects its provider."""
    from stormclaw.ui.deeds import show

    offer = line.offer
    if not offer.key:
        await show(app, f"/connect {offer.provider}", Answer(screen="connect"))
        return
    target = f"{offer.target}:{effort}" if effort else offer.target
    await show(app, "/model", Answer(change=SwitchModel(target)))

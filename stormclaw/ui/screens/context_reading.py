"""A page of long text over the context screen: scrolled, searched, copied."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from stormclaw.errors import StormClawError
from stormclaw.ui.context_text import Section, lay_out
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import Run
from stormclaw.ui.screens.context_working import FAULT
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import count, one_line, share
from stormclaw.ui.widgets.entry import Entry
from stormclaw.ui.widgets.footer import Costs
from stormclaw.ui.widgets.reading import Reading

LOG = logging.getLogger(__name__)

MARGINS = 4


class ReadingPage(Page[None]):
    """Lays out `sections`, beside the event loop, for the width of the screen."""

    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("/", "search"),
        ("[ ]", "part"),
        ("y", "copy all"),
        ("Y", "copy part"),
    )
    PLACES = ("reading",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("reading")]

    def __init__(self) -> None:
        super().__init__()
        self._sections: Sequence[Section] = ()
        self._width = 0
        self.reading, self.entry = Reading(), Entry()

    def sections(self) -> Sequence[Section]:
        """What is to be read; runs beside the event loop.

        Raises:
            StormClawError: It cannot be had.
        """
        raise NotImplementedError

    def begin_at(self) -> str:
        """Name of the section shown first, "" for the beginning."""
        return ""

    def body(self) -> Iterable[Widget]:
        """The text, and the line to search with."""
        yield from (self.reading, self.entry)

    def right(self) -> tuple[Run, ...]:
        """How far it goes, and where one is in it."""
        reading = self.reading
        if reading.sought:
            if not reading.hits:
                return (Run(f'no "{one_line(reading.sought)}" here', "attention"),)
            found = f"{reading.hit + 1} of {count(len(reading.hits), 'place')}"
            return (Run(found),)
        if not reading.last:
            return ()
        return (Run(share(min(1.0, reading.first / reading.last)), "muted"),)

    def costs(self) -> Costs:
        """While something is searched, how to go on."""
        costs = super().costs()
        if not self.reading.sought:
            return costs
        hints = (("n", "next"), ("N", "previous"), ("/", "search"))
        return replace(costs, hints=hints)

    def on_mount(self) -> None:
        """Read it."""
        super().on_mount()
        self.reading.focus()
        self.run_worker(self._read(), group="layout", exit_on_error=False)

    async def _read(self) -> None:
        try:
            self._sections = await asyncio.to_thread(self.sections)
        except StormClawError as error:
            self.say(str(error), "error")
            return
        except Exception:
            LOG.exception("the text cannot be shown")
            self.say(FAULT, "error")
            return
        await self._lay_out()
        wanted = [at for at, part in enumerate(self._sections) if part.name == self.begin_at()]
        if wanted:
            self.reading.go(self.reading.paper.heads[wanted[0]])

    async def _lay_out(self) -> None:
        width = self._width = max(20, self.size.width - MARGINS)
        paper = await asyncio.to_thread(lay_out, self._sections, width)
        if width == self._width and self.is_attached:
            self.reading.put(paper)
            self.refresh_facts()

    def on_resize(self) -> None:
        """Another width is laid out anew."""
        if self._sections and max(20, self.size.width - MARGINS) != self._width:
            self.run_worker(self._lay_out(), group="layout", exit_on_error=False)

    def on_reading_moved(self) -> None:
        """The header says where one is."""
        self.refresh_facts()

    def on_reading_left(self) -> None:
        """Back; from a search, to the text."""
        self.action_leave()

    def action_leave(self) -> None:
        """Drop the search first, then go back."""
        if self.reading.sought:
            self.entry.load_text("")
            self.reading.seek("")
            self.refresh_facts()
        else:
            self.dismiss()

    # Keys ----------------------------------------------------------------------------------

    def action_seek(self) -> None:
        """Type what to look for."""
        self.entry.load_text(self.reading.sought)
        self.entry.display = True
        self.entry.focus()

    def on_text_area_changed(self) -> None:
        """Search while it is typed."""
        if self.entry.display:
            self.reading.seek(self.entry.text.strip("\n"))
            self.refresh_facts()

    def on_entry_done(self) -> None:
        """To the text; n goes on."""
        self.entry.display = False
        self.reading.focus()

    def on_entry_left(self) -> None:
        """No search."""
        self.reading.seek("")
        self.on_entry_done()
        self.refresh_facts()

    def action_again(self, by: int) -> None:
        """The next place, or the one before."""
        if self.reading.sought:
            self.reading.again(by)
        else:
            self.say("/ searches")

    def action_section(self, by: int) -> None:
        """The next part, or the one before."""
        self.reading.to_section(by)

    def action_copy(self) -> None:
        """Copy everything."""
        self._copy("\n".join(section.plain for section in self._sections))

    def action_copy_part(self) -> None:
        """Copy the part at the top."""
        if self._sections:
            at = self.reading.paper.section_at(self.reading.first)
            section = self._sections[at]
            self._copy(section.text or section.plain)

    def _copy(self, text: str) -> None:
        from stormclaw.ui.clipboard import copy

        self.say(copy(self.app, text, os.environ), "success")

"""The part of a chat that looks for something in its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from stormclaw.ui.screens.outward import OutwardScreen

if TYPE_CHECKING:
    from stormclaw.ui.measures import Column
    from stormclaw.ui.widgets.find_bar import FindBar
    from stormclaw.ui.widgets.transcript import Transcript


class FindingScreen(OutwardScreen):
    """Opens a line above the composer, hands its words to the transcript, shows the count.

    Attributes:
        transcript: None until the first paint is over.
        find_bar: None until something is looked for.
    """

    transcript: Transcript | None
    find_bar: FindBar | None = None
    _came_from: Widget | None = None

    def column(self) -> Column:
        """Where the transcript and the composer stand."""
        raise NotImplementedError

    async def open_find(self, words: str = "") -> None:
        """Look for something, or for something else."""
        from stormclaw.ui.widgets.find_bar import FindBar

        transcript = self.transcript
        if transcript is None:
            return
        if self.find_bar is None:
            self.find_bar = FindBar()
            await self.query_one("#stage").mount(self.find_bar, before=self.composer)
            self.watch(transcript, "found", self._show_count, init=False)
        if not transcript.finding:
            self._came_from = self.focused
        self.place_find()
        self.find_bar.open(words)
        self.refresh_facts()

    def close_find(self) -> bool:
        """Look for nothing any more; False if nothing was looked for."""
        bar, transcript = self.find_bar, self.transcript
        if bar is None or transcript is None or not (bar.display or transcript.finding):
            return False
        bar.display = False
        transcript.end_find()
        (transcript if self._came_from is transcript else self.composer).focus()
        self.refresh_facts()
        return True

    def place_find(self) -> None:
        """Put the line above the composer, as wide as it."""
        if self.find_bar is not None:
            place = self.column()
            self.find_bar.styles.margin = (0, place.right, 0, place.left)

    @property
    def find_shown(self) -> bool:
        """Whether the line is there."""
        return self.find_bar is not None and bool(self.find_bar.display)

    @property
    def find_typing(self) -> bool:
        """Whether words are being typed."""
        return self.find_bar is not None and self.find_bar.entry.has_focus

    def _show_count(self) -> None:
        if self.find_bar is not None and self.transcript is not None:
            self.find_bar.count.show(self.transcript.found)

    def on_find_bar_wanted(self, message: FindBar.Wanted) -> None:
        """Other words; nothing is looked for before the line has taken its row."""
        message.stop()
        bar = self.find_bar
        if bar is not None and bar.is_on_screen:
            self._look()
        else:
            self.call_after_refresh(self._look)

    def _look(self) -> None:
        """Look for the words in the line, once the transcript knows its height."""
        if self.transcript is not None:
            self.transcript.call_later(self._find)

    def _find(self) -> None:
        if self.transcript is not None and self.find_bar is not None and self.find_bar.display:
            self.transcript.find(self.find_bar.entry.value)
            self._show_count()

    def on_find_bar_step_wanted(self, message: FindBar.StepWanted) -> None:
        """The next one, or the one before."""
        message.stop()
        if self.transcript is not None:
            self.transcript.call_later(self.transcript.find_step, message.direction)

    def on_find_bar_leave_wanted(self) -> None:
        """Read on; n and N go from place to place."""
        if self.transcript is not None:
            self.transcript.focus()

    def on_find_bar_closed(self) -> None:
        """Enough was found."""
        self.close_find()

    async def on_transcript_find_wanted(self) -> None:
        """`/` in the transcript."""
        await self.open_find()

    def on_transcript_find_over(self) -> None:
        """Esc in the transcript."""
        self.close_find()

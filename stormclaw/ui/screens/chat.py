"""A conversation on the screen: what the main screen and an agent's own have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import DescendantBlur, DescendantFocus, Resize
from textual.timer import Timer

from stormclaw.protocol.messages import ROOT
from stormclaw.ui.keymap import Situation, bindings
from stormclaw.ui.measures import MARGIN, SHEET, Column, column
from stormclaw.ui.screens.finding import FindingScreen
from stormclaw.ui.widgets.composer import Composer
from stormclaw.ui.widgets.footer import Costs, Footer
from stormclaw.ui.widgets.header import Header

if TYPE_CHECKING:
    from stormclaw.protocol.events import Event
    from stormclaw.ui.widgets.transcript import Transcript

SAID_S = 4.0
"""How long the footer says what just happened."""
ARMED_S = 2.0
"""How long a second ctrl+c quits."""


class Chat(FindingScreen):
    """Header, transcript, composer, footer; a sheet over them while something is asked.

    Attributes:
        agent: Whose conversation it is.
        transcript: None until the first paint is over.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("chat")]
    AUTO_FOCUS = "Composer"

    def __init__(self, agent: str, composer: Composer, header: Header, footer: Footer) -> None:
        super().__init__(composer)
        self.agent = agent
        self.header = header
        self.footer = footer
        self.transcript: Transcript | None = None
        self._said: tuple[str, str] = ("", "muted")
        self._unsaying: Timer | None = None
        self._armed_at = float("-inf")

    @property
    def stage(self) -> Vertical:
        """What holds transcript and composer."""
        return self.query_one("#stage", Vertical)

    # What is shown -------------------------------------------------------------------------

    async def furnish(self) -> None:
        """Mount what the first paint did without."""
        from stormclaw.ui.widgets.sheet import Sheet
        from stormclaw.ui.widgets.transcript import Transcript

        self.transcript = Transcript(
            self.agent, signs=self.storm.signs, clock=self.storm.clock, wall=self.storm.wall
        )
        self.sheet = Sheet()
        await self.stage.mount(self.transcript, before=0)
        await self.mount(self.sheet)
        self.watch(self.transcript, "new_below", self.refresh_facts, init=False)
        self.settle()

    def take(self, event: Event) -> None:
        """Show an event."""
        if self.transcript is not None:
            self.transcript.handle(event)

    def tick(self, phase: int) -> None:
        """The dots move."""
        if self.transcript is not None:
            self.transcript.tick(phase)
            self.footer.tick(phase, self.worked_s())

    def refresh_facts(self) -> None:
        """Header and footer say what is true now; before there is a board, what they began with."""
        if self.transcript is not None:
            self.footer.show(self.costs())

    def costs(self) -> Costs:
        """What the footer says."""
        from stormclaw.ui.facts import costs_of

        words, role = self._said
        below = self.transcript.new_below if self.transcript is not None else 0
        facts = costs_of(self.storm, self.situation(), below)
        return replace(facts.saying(words, role), worked_s=self.worked_s())

    def worked_s(self) -> int | None:
        """Whole seconds the running turn has taken, None where its agent rests or asks."""
        agent = self.storm.board.agents.get(self.agent)
        if agent is None or agent.state != "running" or agent.since is None:
            return None
        return int(self.storm.clock() - agent.since)

    def situation(self) -> Situation:
        """What a key would mean now; picks the footer's hints."""
        storm, sheet = self.storm, self.sheet
        completer = self.composer.completer
        cases: tuple[tuple[bool, Situation], ...] = (
            (self._armed, "armed"),
            (sheet is not None and bool(sheet.display), self._asked_about()),
            (completer is not None and completer.open, "popup"),
            (self.find_typing, "find"),
            (self._reads and self.find_shown, "found"),
            (self._reads, "transcript"),
            (storm.stopped != "", "stopped"),
            (storm.session is None, "starting"),
            (storm.board.busy or (storm.session is not None and storm.session.busy), "busy"),
            (storm.failed and not self.composer.text, "failed"),
        )
        return next((situation for holds, situation in cases if holds), "idle")

    @property
    def _reads(self) -> bool:
        return self.transcript is not None and self.transcript.has_focus

    def _asked_about(self) -> Situation:
        return self.sheet.view.situation if self.sheet is not None else "idle"

    def say(self, words: str, role: str = "muted") -> None:
        """Say in the footer what just happened, for a few seconds."""
        self._said = (words, role)
        self.refresh_facts()
        if self._unsaying is not None:
            self._unsaying.stop()  # It would take these words for the ones before.
        self._unsaying = self.set_timer(SAID_S, self.unsay)

    def unsay(self) -> None:
        """Say what is true at all times again."""
        self._said = ("", "muted")
        self.refresh_facts()

    # Where it stands -----------------------------------------------------------------------

    def column(self) -> Column:
        """Where the transcript and the composer stand."""
        return column(self.size.width, panel=False)

    def on_resize(self, event: Resize) -> None:
        """Another size: everything is put where it belongs."""
        self.settle()

    def sheet_left(self) -> int:
        """Where the composer begins, on a screen with room to spare; else at the margin."""
        return self.column().left if self.size.width > SHEET + 2 * MARGIN else MARGIN

    def settle(self) -> None:
        """Put everything where it belongs on a screen of this size."""
        place = self.column()
        self.composer.set_class(self.size.height >= 30, "-roomy")
        self.composer.styles.margin = (0, place.right, 0, place.left)
        self.place_find()
        self.place_sheet()

    # Keys ----------------------------------------------------------------------------------

    @property
    def _armed(self) -> bool:
        return self.storm.clock() - self._armed_at < ARMED_S

    def interrupt(self) -> None:
        """ctrl+c: copy what is selected, else clear the draft, else stop the turn, else quit."""
        selected = self.composer.selected_text or self.get_selected_text()
        if selected:
            self.copy(selected)
            self.clear_selection()
        elif self.composer.text:
            self.composer.take()
        elif self.storm.stop(self.agent):
            self.say("stopped")
        elif self._armed:
            self.storm.leave()
        else:
            self._armed_at, self._said = self.storm.clock(), ("", "muted")
            self.refresh_facts()
            self.set_timer(ARMED_S, self.refresh_facts)

    def action_escape(self) -> None:
        """Back to the composer; from there, stop the turn. The draft stays."""
        if not self.composer.has_focus:
            self.composer.focus()
        elif self.close_find():
            pass
        elif self.storm.stop(self.agent):
            self.say("stopped")

    def action_cycle_autonomy(self) -> None:
        """readonly, supervised, full; not while a question is open, so that no key answers it."""
        from stormclaw.ui.deeds import cycle_autonomy

        if self.sheet is None or not self.sheet.display:
            cycle_autonomy(self.storm)

    def action_steer(self) -> None:
        """Say it to the running turn."""
        from stormclaw.ui.deeds import steer

        if self.composer.has_focus and (text := self.composer.take().strip()):
            steer(self.storm, text, self.agent)

    def action_fold_all(self) -> None:
        """Fold or open all cards."""
        if self.transcript is not None:
            self.transcript.toggle_all()

    def action_context(self) -> None:
        """What the model sees; with a selection in the composer, the key cuts as everywhere."""
        if self.composer.has_focus and self.composer.selected_text:
            self.composer.action_cut()
            return
        if self.agent != ROOT:
            self.say("a sub-agent's context is its own; ctrl+x in root's chat shows root's")
            return
        if self.storm.session is None:
            self.say("not ready yet")
            return
        from stormclaw.ui.screens.context import ContextScreen

        self.storm.push_screen(ContextScreen())

    def action_scroll(self, direction: int, by_page: bool) -> None:
        """Scroll the transcript."""
        if self.transcript is None:
            return
        rows = max(1, self.transcript.size.height - 2) if by_page else 3
        self.transcript.scroll_relative(y=direction * rows, animate=False)

    def on_composer_end_wanted(self) -> None:
        """Jump to the newest."""
        if self.transcript is not None:
            self.transcript.follow_end()

    def on_composer_left_up(self) -> None:
        """The transcript may have the focus; a letter there is a key."""
        if self.transcript is not None:
            self.transcript.focus()

    def on_transcript_leave_wanted(self) -> None:
        """Down past the last card."""
        self.composer.focus()

    def on_composer_help_wanted(self) -> None:
        """`?` in an empty composer."""
        self.storm.action_help()

    def on_composer_leave_wanted(self) -> None:
        """ctrl+d."""
        self.storm.leave()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Other keys count now."""
        self.refresh_facts()

    def on_descendant_blur(self, event: DescendantBlur) -> None:
        """Other keys count now."""
        self.call_next(self.refresh_facts)

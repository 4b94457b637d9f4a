"""The main screen: the chat with root, its agents beside it, what waits above the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widgets import TextArea

from stormclaw.ui.keymap import Situation
from stormclaw.ui.measures import Column, column, panel_width
from stormclaw.ui.screens.chat import Chat
from stormclaw.ui.start import ROOT, Start
from stormclaw.ui.widgets.composer import PLACEHOLDER, Composer
from stormclaw.ui.widgets.footer import Costs, Footer
from stormclaw.ui.widgets.header import Header, Where

if TYPE_CHECKING:
    from stormclaw.protocol.events import Event
    from stormclaw.protocol.messages import Node
    from stormclaw.ui.widgets.panel import Panel

GO_ON = "Enter goes on from here, or say something else"
STOPPED = "You can still ask; no tool will run"


class MainScreen(Chat):
    """The chat with root."""

    def __init__(self, start: Start) -> None:
        where = Where(
            start.workspace.name or str(start.workspace),
            branch=start.branch,
            title=start.title,
            model=start.model_label,
            provider=start.provider_label,
            scripted=start.scripted,
        )
        footer = Footer(Costs(autonomy=start.autonomy))
        super().__init__(ROOT, Composer(id="composer"), Header(where), footer)
        self._start = start
        self._panel_shown = False
        self._escaped = (float("-inf"), "")

    def compose(self) -> ComposeResult:
        """What the first paint needs: where you are, where you type, what you may do."""
        yield self.header
        with Horizontal(id="body"), Vertical(id="stage"):
            yield self.composer
        yield self.footer

    def on_mount(self) -> None:
        """The rest comes after the first paint."""
        self.call_after_refresh(self.storm.painted)

    async def furnish(self) -> None:
        """Mount everything else."""
        from stormclaw.ui.completer import Completer
        from stormclaw.ui.deeds import take_back
        from stormclaw.ui.widgets.completion import Completion
        from stormclaw.ui.widgets.firstrun import FirstRun
        from stormclaw.ui.widgets.panel import Panel
        from stormclaw.ui.widgets.queue import AgentsLine, Queue

        with self.app.batch_update():
            self.panel = Panel(self.storm.board)
            self.agents_line, self.queue = AgentsLine(), Queue()
            self.popup, self.first_run = Completion(), FirstRun()
            await self.stage.mount(self.agents_line, self.queue, before=self.composer)
            await self.query_one("#body").mount(self.panel)
            await self.mount(self.popup, self.first_run)
            await super().furnish()
        self.composer.completer = Completer(
            self.composer,
            self.popup,
            self._start.workspace,
            self.storm.clock,
            self.storm.wall,
        )
        self.composer.take_back = lambda: take_back(self.storm)

    @property
    def furnished(self) -> bool:
        """Whether everything is mounted."""
        return self.composer.completer is not None

    def refresh_facts(self) -> None:
        """Header, panel, queue, footer say what is true now."""
        from stormclaw.ui.facts import where_of

        super().refresh_facts()
        if not self.furnished:
            return
        self.header.show(where_of(self.storm))
        board = self.storm.board
        if self.panel.board is not board:
            self.panel.board, self._panel_shown = board, False
        shown = self._panel_shown or len(board.agents) > 1 or bool(board.changed or board.plan)
        if shown != self._panel_shown:
            self._panel_shown = shown
            self.settle()
        self.panel.redraw()
        self.agents_line.agents = board.tree()
        self._show_agents_line()
        self.agents_line.redraw()
        self.queue.show(self.storm.queued)
        self.composer.placeholder = self._placeholder()

    def _placeholder(self) -> str:
        if self.storm.stopped:
            return STOPPED
        return GO_ON if self.storm.failed else PLACEHOLDER

    def situation(self) -> Situation:
        """See `Chat.situation`."""
        usual = super().situation()
        if self.furnished and self.panel.has_focus and usual not in ("armed", "question"):
            return "panel"
        return "first" if usual == "idle" and self.furnished and self.first_run.display else usual

    def tick(self, phase: int) -> None:
        """The dots move."""
        super().tick(phase)
        if self.furnished:
            self.panel.tick(phase)
            self.agents_line.tick(phase)

    def begin(self, nodes: tuple[Node, ...]) -> None:
        """Show a session; an empty one of the demo begins with the first-run text."""
        if self.transcript is not None:
            self.transcript.show(nodes)
        self._panel_shown = False
        self.first_run.display = False
        runtime = self.storm.runtime
        if not nodes and runtime is not None and runtime.scripted:
            from stormclaw.ui.welcome import welcome_of

            self.first_run.show(welcome_of(runtime))
        self.settle()

    def take(self, event: Event) -> None:
        """Show an event; the first-run text makes way for the first line there is."""
        self.end_first_run()
        super().take(event)

    def end_first_run(self) -> None:
        """Something was said: the first-run text never returns."""
        if self.furnished and self.first_run.display:
            self.first_run.display = False
            self.refresh_facts()

    def show_receipt(self, number: int) -> None:
        """Bring the card with this receipt into view."""
        if self.transcript is not None:
            self.transcript.go_to_receipt(number)
            self.transcript.focus()

    # Where it stands -----------------------------------------------------------------------

    def column(self) -> Column:
        """Where the transcript and the composer stand."""
        return column(self.size.width, panel=self._panel_shown)

    def settle(self) -> None:
        """Put everything where it belongs."""
        super().settle()
        if not hasattr(self, "panel"):
            return
        place, width = self.column(), self.size.width
        wide = bool(panel_width(width))
        self.panel.display = self._panel_shown and wide
        self.panel.set_class(width >= 150, "-wide")
        self._show_agents_line()
        for widget in (self.agents_line, self.queue):
            widget.styles.margin = (0, place.right, 0, place.left)
        self.first_run.place(place, self.size.height, self.composer.outer_size.height)
        self.place_popup()

    def _show_agents_line(self) -> None:
        wide = bool(panel_width(self.size.width))
        self.agents_line.display = not wide and len(self.storm.board.agents) > 1

    def place_popup(self) -> None:
        """Put the completions directly above the composer."""
        if not hasattr(self, "popup") or not self.popup.display:
            return
        place, rows = self.column(), self.popup.rows
        self.popup.styles.width, self.popup.styles.height = place.measure, rows
        self.popup.styles.offset = (place.left, max(1, self.composer.region.y - rows))

    def on_completion_shown(self) -> None:
        """The popup opened, closed or grew."""
        self.place_popup()
        self.refresh_facts()

    def on_completion_taken(self) -> None:
        """A row was clicked."""
        if self.composer.completer is not None:
            self.composer.completer.take()
        self.composer.focus()

    def on_composer_resize(self, event: Resize) -> None:
        """The composer grew: what lies above it moves."""
        self.place_popup()

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        """The draft changed: offer what fits it."""
        if message.text_area is not self.composer:
            return
        if self.composer.completer is not None:
            self.composer.completer.refresh()
            if self.popup.display:
                self.call_after_refresh(self.place_popup)

    # What a person does --------------------------------------------------------------------

    def on_composer_sent(self, message: Composer.Sent) -> None:
        """Enter."""
        from stormclaw.ui.deeds import send

        message.stop()
        self.unsay()  # What was said of the draft, or of the turn before, is over.
        send(self.storm, message.text)

    def on_composer_left_down(self) -> None:
        """In an empty first session `down` picks a prompt to try."""
        if self.furnished and self.first_run.display:
            self.composer.put(self.first_run.next_prompt())

    def action_escape(self) -> None:
        """See `Chat`; where nothing is to be stopped, twice clears the draft or opens the tree."""
        from stormclaw.ui.tree_deeds import NEVER, second_escape

        session = self.storm.session
        busy = session is not None and session.busy
        if not self.composer.has_focus or busy or self.find_shown:
            super().action_escape()
            self._escaped = NEVER
        else:
            self._escaped = second_escape(self.storm, self._escaped)

    def action_panel(self) -> None:
        """Into the agents; on a narrow screen, into the one that works."""
        if not self.furnished or (self.sheet is not None and self.sheet.display):
            return
        if self.panel.display:
            self.panel.focus()
        elif len(self.storm.board.agents) > 1:
            from stormclaw.ui.visits import first_child

            first_child(self.storm)
        else:
            self.say("no agents yet")

    def on_panel_picked(self, message: Panel.Picked) -> None:
        """A key on an agent."""
        from stormclaw.ui.visits import visit

        message.stop()
        visit(self.storm, message.key, message.agent)

    def on_panel_left(self) -> None:
        """Back to the composer."""
        self.composer.focus()

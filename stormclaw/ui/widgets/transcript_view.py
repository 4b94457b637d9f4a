"""The conversation on screen: one widget that draws lines, whatever the length of the session.

Work per event is bounded by the screen: deltas are merged per frame, only the part of an answer
that still grows is drawn again, and what nobody looks at is a height and a source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.reactive import var
from textual.theme import Theme
from textual.timer import Timer
from textual.widget import Widget

from stormclaw.protocol.events import Event
from stormclaw.protocol.messages import ROOT, Node
from stormclaw.ui.column import Column
from stormclaw.ui.markdown import Markdown
from stormclaw.ui.render.cards import Moment
from stormclaw.ui.render.code import Lexers
from stormclaw.ui.render.look import MARGIN, Look, centred
from stormclaw.ui.render.scrollbar import ThinBar
from stormclaw.ui.signs import UNICODE, Signs
from stormclaw.ui.theme import palette
from stormclaw.ui.timeline import Timeline
from stormclaw.ui.widgets.transcript_lines import TranscriptLines
from stormclaw.ui.window import Window

FRAME = 1 / 20
"""Seconds between two paints: text lands at most 20 times a second."""
BREATH = 3
"""A frame that was dear is followed by a pause of so many times its cost."""
SHORT = 30
"""Rows of the screen below which nothing has inner padding."""


class TranscriptView(TranscriptLines, can_focus=True):
    """Draws the blocks of one agent and keeps the end in view. `Transcript` adds the keys.

    Args:
        agent: Whose conversation.
        signs: Symbols of this terminal; the app's if None.
        clock: Monotonic seconds, for what the screen says about time; the app's if None.
        wall: Unix time, for notices.
        lexers: Shared between transcripts, or own ones.
    """

    DEFAULT_CSS = """
    TranscriptView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        background: $sc-bg;
    }
    """
    FOCUS_ON_CLICK = False

    new_below: var[int] = var(0)
    """Lines that arrived below the window since the person scrolled up; 0 at the end."""

    def __init__(
        self,
        agent: str = ROOT,
        *,
        signs: Signs | None = None,
        clock: Callable[[], float] | None = None,
        wall: Callable[[], float] = time.time,
        lexers: Lexers | None = None,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._signs: Signs | None = signs
        self._own_clock = clock
        self._lexers = lexers or Lexers()
        self._lexers.on_ready = self._colours_ready
        self.markdown = Markdown(self._lexers)
        self._phase = 2
        self.column = Column(self.markdown, self._moment)
        self.timeline = Timeline(agent, self.column, self.markdown, self._clock, wall)
        self._window = Window(self.column)
        self._frame: Timer | None = None
        self._fold_timer: Timer | None = None
        self._next_frame = 0.0

    @property
    def agent(self) -> str:
        """Path of the agent shown."""
        return self.timeline.agent

    @property
    def following(self) -> bool:
        """True while the end is kept in view."""
        return self._window.following

    def show(self, nodes: Sequence[Node]) -> None:
        """Replace everything by these nodes; only the last screen of them is drawn."""
        self.timeline.show(nodes)
        self.cursor = None
        self._window.follow(True)
        self.flush()

    def handle(self, event: Event) -> None:
        """Take one live event; painting is left to the next frame."""
        self.timeline.handle(event)
        if self._frame is not None:
            return
        wait = self._next_frame - time.perf_counter()
        if wait <= 0 or not self.is_mounted:
            self.flush()
        else:
            self._frame = self.set_timer(wait, self.flush)

    def flush(self) -> None:
        """Bring the screen up to date with everything that was handled."""
        begun = time.perf_counter()
        if self._frame is not None:
            self._frame.stop()
            self._frame = None
        self.timeline.stream.flush()
        self.timeline.stream.redraw()
        self._place()
        self._plan_folds()
        now = time.perf_counter()
        self._next_frame = now + max(FRAME, BREATH * (now - begun))

    def tick(self, phase: int) -> None:
        """One frame of the running dots and clocks; repaints only lines that look different."""
        self._phase = phase
        if self.column.look is None:
            return
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        for block in self.timeline.running():
            index = self.column.index_of(block)
            line = self.column.top(index) + block.gap
            if self.column.refresh_head(index) and top <= line < top + height:
                self._repaint(line - top, 1)

    def fold_due(self) -> None:
        """Fold what has been open long enough."""
        self._fold_timer = None
        if self.timeline.calls.fold_due(self._clock()) is not None:
            self._plan_folds()
        self._place()

    def follow_end(self) -> None:
        """Go to the newest line and stay there."""
        self._window.follow(True)
        self._place(everything=True)

    def relayout(self, look: Look | None = None) -> None:
        """Count all lines anew, for another look or because much of what is shown has changed."""
        look = look or self.column.look
        if look is not None:
            self.column.lay_out(look)
            self.timeline.stream.redraw()
            self._window.laid_out(self.new_below)

    def lines(self) -> list[str]:
        """Everything as plain text, drawn for the purpose; for tests and exports."""
        return self.column.text_lines()

    def _clock(self) -> float:
        if self._own_clock is None:
            self._own_clock = getattr(self.app, "clock", time.monotonic)
        return self._own_clock()

    def _moment(self) -> Moment:
        return Moment(self._clock(), self._phase)

    def _colours_ready(self) -> None:
        self.column.forget_code()
        if self.is_mounted:
            self._place()

    def _plan_folds(self) -> None:
        if self._fold_timer is not None or not self.is_mounted:
            return
        due = self.timeline.calls.fold_due(self._clock())
        if due is not None:
            wait = max(0.01, due - self._clock())
            self._fold_timer = self.set_timer(wait, self.fold_due)

    def _place(self, *, everything: bool = False) -> None:
        """Draw what is in view, put the window where it belongs, repaint what changed."""
        if self.column.look is None:
            return
        height = self.scrollable_content_region.height
        before = self.scroll_offset.y
        top = self._window.settle(before, height)
        changed = self.column.take_change()
        total = self.column.total
        shown = self.show_vertical_scrollbar
        size = Size(self.column.look.width, total)
        if (total > height) != shown:
            self.virtual_size = size  # the bar comes or goes: the one case for a layout
        elif size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = total
        if top != before:
            self.set_reactive(Widget.scroll_y, float(top))
            self.set_reactive(Widget.scroll_target_y, float(top))
            self.vertical_scrollbar.position = top
        if everything or top != before:
            self._repaint(0, height)
        elif changed is not None and changed < top + height:
            first = max(0, changed - top)
            self._repaint(first, height - first)
        self._window.keep(top)
        self.new_below = self._window.new_below

    def _look_again(self) -> None:
        """The room, the theme or the screen changed: everything may look different."""
        width = self.scrollable_content_region.width
        if width < 1:
            return
        if self._signs is None:
            self._signs = getattr(self.app, "signs", UNICODE)
        look = centred(
            palette(self.app),
            self._signs,
            width,
            short=self.screen.size.height < SHORT,
            margin=0 if self.styles.padding.width else MARGIN,
        )
        if look != self.column.look:
            self.relayout(look)
        self._place(everything=True)

    def on_mount(self) -> None:
        """Follow the theme; take the thin scrollbar."""
        super().on_mount()  # type: ignore[no-untyped-call]
        self.vertical_scrollbar.renderer = ThinBar  # type: ignore[misc]  # meant to be set
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _theme: Theme) -> None:
        self._look_again()

    def on_resize(self) -> None:
        """Another width: all heights are estimated anew, what is in view is drawn."""
        self._look_again()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled, or the window grew: follow if the end of what was drawn is in view.

        Lines that wait for the next frame do not count: nobody has seen them.
        """
        super().watch_scroll_y(old_value, new_value)
        if self.column.look is None or round(old_value) == round(new_value):
            return
        height = self.scrollable_content_region.height
        self._window.let_go()
        self._window.follow(round(new_value) >= self.virtual_size.height - height)
        self._place(everything=True)

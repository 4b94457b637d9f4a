"""What moves by itself: the running dots while something runs, and numbers, but not too often."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stormclaw.ui.app import StormApp

FRAME_S = 0.4
"""One frame of the running dot."""
CALM_S = 5.0
"""How often clocks go on where motion is reduced."""
PACE_S = 0.5
"""Numbers change at most this often."""
STILL = 2
"""The frame that stands for a dot at rest."""


class Heart:
    """One timer for the whole app; it beats only while an agent works."""

    def __init__(self, app: StormApp) -> None:
        self._app = app
        self._phase = STILL
        self._refreshed_at = float("-inf")
        self._due = False
        self.pace_s = PACE_S

    def start(self) -> None:
        """Make the timer; it does not beat yet."""
        every = CALM_S if self._app.calm else FRAME_S
        self._timer = self._app.set_interval(every, self.beat, pause=True)

    def follow(self, *, busy: bool) -> None:
        """Beat, or rest."""
        if busy:
            self._timer.resume()
        else:
            self._timer.pause()

    def beat(self) -> None:
        """The next frame of every dot, all in phase."""
        self._phase = STILL if self._app.calm else self._phase + 1
        for chat in self._app.chats:
            chat.tick(self._phase)

    def refresh_soon(self, *, at_once: bool = False) -> None:
        """Renew header, panel and footer: now, or when half a second has passed since last time."""
        rest = 0.0 if at_once else self._refreshed_at + self.pace_s - self._app.clock()
        if rest <= 0:
            self.refresh()
        elif not self._due:
            self._due = True
            self._app.set_timer(rest, self.refresh)

    def refresh(self) -> None:
        """Renew them now."""
        self._refreshed_at, self._due = self._app.clock(), False
        for chat in self._app.chats:
            chat.refresh_facts()

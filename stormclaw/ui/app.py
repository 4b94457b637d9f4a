"""The app: paints at once, opens the runtime behind that, then listens and forwards.

What the first paint does not need is imported inside functions, here and in the screens it shows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.driver import Driver
from textual.events import Event as MessageEvent
from textual.events import Key

from stormclaw.protocol.effects import Autonomy
from stormclaw.ui.beside import load
from stormclaw.ui.frame import Frame
from stormclaw.ui.heart import Heart
from stormclaw.ui.keymap import bindings
from stormclaw.ui.screens.chat import Chat
from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.start import ROOT, Start

if TYPE_CHECKING:
    from textual.command import Provider

    from stormclaw.agent.session import Session
    from stormclaw.protocol.asks import Reply
    from stormclaw.runtime import Runtime
    from stormclaw.ui.board import Board


BREATH_S = 0.03
"""Between the first paint and everything else."""


def _palette() -> type[Provider]:
    """The palette's commands, imported when it is first opened."""
    from stormclaw.ui.screens.palette import SlashCommands

    return SlashCommands


class StormApp(Frame):
    """The terminal app.

    Attributes:
        start: What was known before the first paint.
        runtime: None until it is open; typing works before, Enter queues.
        board: What header, panel and footer say; made after the first paint.
        branch: The git branch, read again after every turn.
        failed: The last turn of root stopped with an error.
        stopped: Since when everything is stopped, "" when it is not.
        chain: Whether the receipts' chain holds, None before it was looked at.
        after_paint: Called when the first screen is painted, and again when its conversation is.
    """

    CSS_PATH = "storm.tcss"
    COMMANDS: ClassVar = {_palette}
    board: Board
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("everywhere")]

    def __init__(
        self,
        start: Start,
        opener: Callable[[], Awaitable[Runtime]],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(start.ui, clock=clock, wall=wall, driver_class=driver_class)
        self.start, self.opener = start, opener
        self.stray_output = start.home / "logs" / "stray-output.log"
        self.runtime: Runtime | None = None
        self.session: Session | None = None
        self.autonomy: Autonomy = start.autonomy
        self.branch, self.stopped = start.branch, ""
        self.configured_theme = start.ui.theme
        self.failed = False
        self.chain: bool | None = None
        self.early: list[str] = []
        self.after_paint: Callable[[], None] = lambda: None
        self.heart = Heart(self)
        self._ahead: list[Key] | None = []

    def get_default_screen(self) -> MainScreen:
        """The chat with root."""
        self.main = MainScreen(self.start)
        return self.main

    async def on_event(self, event: MessageEvent) -> None:
        """Keep keys that come before the composer has the focus; no key ever falls to nobody."""
        if isinstance(event, Key) and not event.is_forwarded:
            if self._ahead is not None:
                self._ahead.append(event)
                return
            self.app_focus = True
            if isinstance(self.screen, Chat) and self.focused is None:
                self.screen.take_focus()
        await super().on_event(event)

    def painted(self) -> None:
        """The first screen is there and takes keys; the rest waits until those typed are seen."""
        ahead, self._ahead = self._ahead or [], None
        for key in ahead:
            self.post_message(key)
        self.heart.start()
        self.after_paint()
        self.set_timer(BREATH_S, self._go_on)

    async def _go_on(self) -> None:
        """The rest of the first screen, imported beside the keys, and the runtime."""
        await asyncio.to_thread(load)
        from stormclaw.ui.board import Board
        from stormclaw.ui.opening import open_up

        self.board = Board(self.clock)
        await self.main.furnish()
        self.run_worker(open_up(self), group="opening", exit_on_error=False)

    @property
    def chats(self) -> list[Chat]:
        """The conversations on the screen, the lowest first."""
        return [screen for screen in self.screen_stack if isinstance(screen, Chat)]

    @property
    def asking(self) -> list[str]:
        """Names of the agents whose questions wait, the oldest first."""
        board: Board | None = getattr(self, "board", None)
        return [ask.agent.rpartition("/")[2] for ask in board.asks] if board else []

    def show_asks(self) -> None:
        """Put the next question on the screen that is up; other screens say that one waits."""
        if isinstance(self.screen, Chat):
            self.screen.show_asks()
        elif show := getattr(self.screen, "show_waiting", None):
            show(self.asking)

    def refresh_facts(self) -> None:
        """Renew header, panel and footer now."""
        self.heart.refresh()

    def role_of(self, agent: str) -> str:
        """The colour of an agent."""
        from stormclaw.ui.widgets.panel import agent_role

        return agent_role(self.board.agent(agent).number)

    def tell(self, text: str, *, ok: bool = True) -> None:
        """One muted line in the transcript, an error with a red sign."""
        from stormclaw.protocol.events import Notice

        self.main.take(Notice(ROOT, "info" if ok else "error", text))

    @property
    def queued(self) -> tuple[str, ...]:
        """What waits for the running turn to end, or for the runtime to open."""
        return (*(self.session.queued if self.session is not None else ()), *self.early)

    def reply(self, ask_id: str, reply: Reply) -> None:
        """The person's answer to a question."""
        if self.session is not None:
            self.session.answer(ask_id, reply)

    def stop(self, agent: str) -> bool:
        """Interrupt an agent and all below it; False if it does nothing."""
        return self.session is not None and self.session.interrupt(agent)

    def leave(self) -> None:
        """Quit; everything is on disk already."""
        self.exit(return_code=0)

    async def on_unmount(self) -> None:
        """Close the session: what runs is interrupted and answered as such."""
        if self.runtime is not None:
            await self.runtime.close()

    def action_help(self) -> None:
        """Keys and commands."""
        from stormclaw.ui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(first=getattr(self.screen, "PLACES", ())))

    def action_interrupt(self) -> None:
        """ctrl+c, wherever one is."""
        if isinstance(self.screen, Chat):
            self.screen.interrupt()
        elif len(self.screen_stack) > 1:
            self.pop_screen()

    def action_repaint(self) -> None:
        """Draw everything again."""
        self.refresh(layout=True)
        self.screen.refresh()

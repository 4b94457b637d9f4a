"""A page on which things are done one after the other, and one that takes a while shows life."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from textual.timer import Timer
from textual.worker import Worker

from stormclaw.errors import StormClawError
from stormclaw.ui.heart import CALM_S, FRAME_S, STILL
from stormclaw.ui.rows import Run, wrap_runs
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import duration, inert, one_line
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.picker import Picker

LOG = logging.getLogger(__name__)

TROUBLE_ROWS = 4
FAULT = "a fault of ours; it is in the log"

Deed: TypeAlias = Callable[[], Awaitable[str]]
"""Does something and gives the words that say what was done."""


@dataclass(slots=True)
class Work:
    """Something a model is at.

    Attributes:
        words: What it is: `summing up grep "tok"`.
        node_id: The node it is about, "" for the whole conversation.
        since: Reading of the app's clock when it began.
        worker: Stops it.
    """

    words: str
    node_id: str
    since: float
    worker: Worker[Any] | None = None

    def stop(self) -> None:
        """Interrupt it; what it asked the model is given up."""
        if self.worker is not None:
            self.worker.cancel()


class WorkingPage(Page[None]):
    """A page whose list shows what is being worked on.

    Attributes:
        picker: The list.
        trouble: Says what went wrong until something else is done.
        work: What a model is at, None for nothing.
    """

    picker: Picker
    trouble: Detail
    work: Work | None = None

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._phase = STILL
        self._turn = asyncio.Lock()
        self._beat: Timer | None = None

    def refresh_sheet(self) -> None:
        """Read again what is shown."""
        raise NotImplementedError

    def at_work(self) -> tuple[Run, ...]:
        """What a model is at and for how long, for the header; empty for nothing."""
        if self.work is None:
            return ()
        took = duration(self.storm.clock() - self.work.since)
        sign = self.storm.signs.phase(self._phase)
        words = Run(one_line(self.work.words))
        return (Run(f"  {sign} ", "accent"), words, Run(f"  {took}", "muted"))

    def tell_trouble(self, words: str) -> None:
        """Say what went wrong, until the next key does something."""
        rows = wrap_runs(inert(words), max(20, self.size.width - 8), "error")[:TROUBLE_ROWS]
        self.trouble.set_class(True, "-flat")
        self.trouble.styles.height = len(rows)
        self.trouble.styles.margin = (1, 2, 0, 2)
        self.trouble.display = True
        self.trouble.show(rows)

    def do(self, deed: Deed) -> None:
        """Do it after what was asked before; say what was done, or why it was not."""
        self.trouble.display = False
        self.run_worker(self._done(deed), group="deeds", exit_on_error=False)

    async def _done(self, deed: Deed) -> None:
        async with self._turn:
            try:
                words = await deed()
            except StormClawError as error:
                self.tell_trouble(str(error))
                return
            except Exception:
                LOG.exception("a decision about the context failed")
                self.tell_trouble(FAULT)
                return
            self.refresh_sheet()
            self.say(words)

    def work_on(self, words: str, node_id: str, deed: Deed) -> None:
        """Do what a model is needed for, showing that it lives."""
        if self.work is not None:
            self.say(f"{self.work.words}; esc stops it", "text")
            return
        self.trouble.display = False
        self.work = Work(one_line(words), node_id, self.storm.clock())
        every = CALM_S if self.storm.calm else FRAME_S
        self._beat = self.set_interval(every, self._tick)
        self.work.worker = self.run_worker(self._worked(deed), group="model", exit_on_error=False)
        self._tick()

    async def _worked(self, deed: Deed) -> None:
        try:
            said = await deed()
        except asyncio.CancelledError:
            self._rest("stopped")
            raise
        except StormClawError as error:
            self._failed(str(error))
        except Exception:
            LOG.exception("summing up failed")
            self._failed(FAULT)
        else:
            self._rest(said)

    def _failed(self, why: str) -> None:
        self._rest("")
        self.tell_trouble(f"{why}\nNothing was changed; the same key tries again.")

    def _rest(self, said: str) -> None:
        self.work = None
        if self._beat is not None:
            self._beat.stop()
        if self.is_attached:
            self.picker.redraw()
            self.refresh_sheet()
            self.say(said)

    def _tick(self) -> None:
        self._phase = STILL if self.storm.calm else self._phase + 1
        self.picker.redraw()
        self.refresh_facts()

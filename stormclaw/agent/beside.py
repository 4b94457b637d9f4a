"""What goes on beside a session, and who is told when something around it has changed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from stormclaw.agent.facts import Facts
from stormclaw.agent.session import Session
from stormclaw.errors import StormClawError
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import ROOT

LOG = logging.getLogger(__name__)


class Beside(Facts):
    """The open session, its listeners, and work that ends with the run at the latest."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._listeners: list[Callable[[], None]] = []
        self._background: set[asyncio.Task[None]] = set()

    @property
    def session(self) -> Session:
        """The open session.

        Raises:
            LookupError: None has been opened.
        """
        if self._session is None:
            raise LookupError("no session is open")
        return self._session

    def tell(self, level: Literal["info", "warning", "error"], text: str, detail: str = "") -> None:
        """A line for the person, and more where there is more, through the open session."""
        if self._session is None:
            LOG.log(logging.INFO if level == "info" else logging.WARNING, "%s", text)
        else:
            self._session.kit.hub.publish(Notice(ROOT, level, text, detail))

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever something shown around the session may have changed."""
        self._listeners.append(listener)

    def changed(self) -> None:
        """Tell every listener."""
        for listener in self._listeners:
            listener()

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the session; it ends with the runtime at the latest."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def warm_up(self, wait_s: float = 0.0) -> None:
        """Load what the first request needs; that it fails is told by the first request."""
        await asyncio.sleep(wait_s)
        with contextlib.suppress(StormClawError):
            await self._shop.provider.warm_up()

    async def recover(self) -> None:
        """Say what earlier runs had begun and never ended; their receipts are written now."""
        receipts = self.receipts
        try:
            closed = await receipts.recover() if receipts is not None else ()
        except StormClawError as error:
            self.tell("error", str(error))
            return
        for receipt in closed:
            self.tell("warning", f"r{receipt.number}: {receipt.tool} of an earlier run never ended")

    async def prepare_snapshots(self, after_s: float) -> None:
        """The first, long snapshot of the workspace, and a broom for old ones, beside all else.

        That it cannot be taken is told by the first call that would need it.
        """
        kept = self._shop.checkpoints
        await asyncio.sleep(after_s)
        with contextlib.suppress(StormClawError):
            if kept is not None and not await asyncio.to_thread(kept.problem):
                await asyncio.to_thread(kept.warm)
                await asyncio.to_thread(kept.sweep)

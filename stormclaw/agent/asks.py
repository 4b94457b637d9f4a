"""Open questions to a person. The one place where the core waits for somebody."""

from __future__ import annotations

import asyncio
import secrets

from stormclaw.agent.hub import Hub
from stormclaw.protocol.asks import DENIED, Ask, Reply
from stormclaw.protocol.events import Answered, Asked

NOBODY = Reply("deny", "nobody is here to answer")


class Asks:
    """Questions and the futures that wait for their answers.

    Args:
        hub: Told when a question opens and closes.
        attended: False when no person listens: every question is then denied at once, and
            still published, so that a machine reading the events knows what was refused.
    """

    def __init__(self, hub: Hub, *, attended: bool) -> None:
        self._hub = hub
        self.attended = attended
        self._open: dict[str, tuple[Ask, asyncio.Future[Reply]]] = {}

    @staticmethod
    def new_id() -> str:
        """An id no other question has."""
        return f"ask-{secrets.token_hex(4)}"

    @property
    def open(self) -> tuple[Ask, ...]:
        """Everything still to be answered, oldest first."""
        return tuple(ask for ask, _ in self._open.values())

    async def put(self, ask: Ask) -> Reply:
        """Ask, and wait for the answer; a cancelled wait closes the question as denied."""
        self._hub.publish(Asked(ask.agent, ask))
        reply = NOBODY
        try:
            if self.attended:
                future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
                self._open[ask.id] = (ask, future)
                reply = DENIED
                reply = await future
        finally:
            self._open.pop(ask.id, None)
            self._hub.publish(Answered(ask.agent, ask.id, reply))
        return reply

    def answer(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question; False when it is not open (any more)."""
        _, future = self._open.get(ask_id, (None, None))
        if future is None or future.done():
            return False
        future.set_result(reply)
        return True

    def deny_all(self) -> None:
        """Close every question as denied: a front end left, or everything was stopped."""
        for ask_id in list(self._open):
            self.answer(ask_id, DENIED)

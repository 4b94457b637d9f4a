"""The bytes of one answer as events, watched for silence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stormclaw.errors import ProviderError
from stormclaw.providers._anthropic.answer import Answer
from stormclaw.providers._anthropic.client import Reader
from stormclaw.providers._failures import broken_connection
from stormclaw.providers._openai.client import is_transport_error
from stormclaw.providers._sse import DONE

if TYPE_CHECKING:
    import httpx2

SLICE_S: Final = 0.004
"""How long a burst of events may hold the event loop before others get their turn."""
DRAIN_S: Final = 0.05
"""How long to wait for the end of the body after the last event, to keep the connection."""
GRACE_S: Final = 5.0
"""How long to wait for the last event after the server said why it stopped."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One answer on its way.

    Attributes:
        response: Where its bytes come from.
        reader: What they mean.
        answer: What is made of them; tells how much longer to wait.
        place: Where we are talking to.
        name: Our name for the provider.
        idle_s: Seconds without a byte before it is given up; 0 waits for ever.
    """

    response: httpx2.Response
    reader: Reader
    answer: Answer
    place: str
    name: str
    idle_s: float

    async def events(self) -> AsyncGenerator[Any, None]:
        """Parsed events; a burst lets the event loop breathe.

        Raises:
            ProviderError: The connection broke or fell silent, or what came is no answer.
        """
        async with aclosing(self._blocks()) as blocks:
            async for block in blocks:
                began = time.monotonic()
                for event in self.reader.feed(block):
                    if event is not DONE:
                        yield event
                    if time.monotonic() - began > SLICE_S:
                        await asyncio.sleep(0)
                        began = time.monotonic()
        if not self.answer.ended:
            for event in self.reader.close():
                if event is not DONE:
                    yield event
            if self.reader.whole:
                self.answer.end()

    async def _blocks(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self.response.aiter_bytes()) as blocks:
            while True:
                try:
                    async with asyncio.timeout(self._patience_s()):
                        block = await anext(blocks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if self.answer.finished:
                        return
                    raise silence(self.name, self.idle_s) from None
                except Exception as error:
                    if not is_transport_error(error):
                        raise
                    if self.answer.finished:
                        return
                    partial = self.answer.text
                    raise broken_connection(error, self.place, partial=partial) from error
                if not self.answer.ended:
                    yield block

    def _patience_s(self) -> float | None:
        if self.answer.ended:
            return DRAIN_S
        return GRACE_S if self.answer.finished else self.idle_s or None


def silence(name: str, idle_s: float) -> ProviderError:
    """The error for a server that says nothing."""
    hint = f"send it again; providers.models.{name}.idle_timeout_s waits longer"
    return ProviderError("timeout", f"{name} sent nothing for {idle_s:g}s", hint=hint)

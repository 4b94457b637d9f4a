"""One HTTP exchange with a model server: a body out, an answer in, watched for silence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import Delta
from stormclaw.providers._failures import broken_connection
from stormclaw.providers._openai.answer import Answer
from stormclaw.providers._openai.client import OpenAIClient, is_transport_error
from stormclaw.providers._sse import DONE, EventReader

if TYPE_CHECKING:
    import httpx2

SLICE_S: Final = 0.004
"""How long a burst of chunks may hold the event loop before others get their turn."""
DRAIN_S: Final = 0.05
"""How long to wait for the end of the body after `[DONE]`, so that the connection can be kept."""
GRACE_S: Final = 5.0
"""How long to wait for usage and `[DONE]` after a finish reason."""


class Exchange:
    """Sends bodies over one client.

    Args:
        name: Our name of the provider, for what goes wrong.
        settings: Where it is and how long to wait for it.
        client: Connected to it.
    """

    def __init__(self, name: str, settings: ModelSettings, client: OpenAIClient) -> None:
        self._name = name
        self._settings = settings
        self._client = client

    async def say(self, content: bytes, answer: Answer) -> AsyncGenerator[Delta, None]:
        """Send a body and yield what comes while `answer` takes it in.

        Raises:
            ProviderError: With what had arrived.
        """
        response = await self._post(content)
        try:
            async with aclosing(self._chunks(response, answer)) as chunks:
                async for chunk in chunks:
                    if chunk is DONE:
                        answer.end()
                        continue
                    for delta in answer.feed(chunk):
                        yield delta
            for delta in answer.close():
                yield delta
        except ProviderError as error:
            error.partial = error.partial or answer.text
            raise
        finally:
            # Not read to its end, the response takes its connection with it: the server notices.
            await response.aclose()

    async def _post(self, content: bytes) -> httpx2.Response:
        # The first time this imports the SDK, which is no silence of the server's.
        await self._client.ready()
        try:
            async with asyncio.timeout(self._settings.idle_timeout_s or None):
                return await self._client.post(content)
        except TimeoutError:
            raise self._silence() from None

    async def _chunks(self, response: httpx2.Response, answer: Answer) -> AsyncGenerator[Any, None]:
        """Parsed events; a burst lets the event loop breathe."""
        reader = EventReader()
        async with aclosing(self._blocks(response, answer)) as blocks:
            async for block in blocks:
                began = time.monotonic()
                for chunk in reader.feed(block):
                    yield chunk
                    if chunk is DONE:
                        break
                    if time.monotonic() - began > SLICE_S:
                        await asyncio.sleep(0)
                        began = time.monotonic()
        if not answer.ended:
            for chunk in reader.close():
                yield chunk
            if reader.whole:
                yield DONE

    async def _blocks(
        self, response: httpx2.Response, answer: Answer
    ) -> AsyncGenerator[bytes, None]:
        """The bytes as they come, watched for silence."""
        async with aclosing(response.aiter_bytes()) as blocks:
            while True:
                try:
                    async with asyncio.timeout(self._patience_s(answer)):
                        block = await anext(blocks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if answer.finished:
                        return
                    raise self._silence() from None
                except Exception as error:
                    if not is_transport_error(error):
                        raise
                    if answer.finished:
                        return
                    place = self._settings.base_url
                    raise broken_connection(error, place, partial=answer.text) from error
                if not answer.ended:
                    yield block

    def _patience_s(self, answer: Answer) -> float | None:
        if answer.ended:
            return DRAIN_S
        return GRACE_S if answer.finished else self._settings.idle_timeout_s or None

    def _silence(self) -> ProviderError:
        waited = f"{self._settings.idle_timeout_s:g}s"
        hint = f"send it again; providers.models.{self._name}.idle_timeout_s waits longer"
        return ProviderError("timeout", f"{self._name} sent nothing for {waited}", hint=hint)

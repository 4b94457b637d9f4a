"""Any server that speaks OpenAI's chat completions, OpenRouter first: requests, retries, streams.

The SDK builds and sends the request and names the errors (`_openai_client`); the stream is read as
raw bytes (`_sse`), since typed chunks cost 25 times as much.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem, ProviderError
from stormclaw.protocol.messages import AssistantTurn
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Retrying,
    Text,
    Thinking,
)
from stormclaw.providers._answer import Answer
from stormclaw.providers._dialect import adapted
from stormclaw.providers._failures import broken_connection
from stormclaw.providers._openai_client import OpenAIClient, Target, is_transport_error, model_ids
from stormclaw.providers._retry_after import wait_before_retry
from stormclaw.providers._sse import DONE, EventReader
from stormclaw.providers._wire import Body, Wire
from stormclaw.providers.presets import Dialect, by_name, by_url, known_window
from stormclaw.providers.recovery import with_hint

if TYPE_CHECKING:
    import httpx2

SLICE_S: Final = 0.004
"""How long a burst of chunks may hold the event loop before others get their turn."""
DRAIN_S: Final = 0.05
"""How long to wait for the end of the body after `[DONE]`, so that the connection can be kept."""
GRACE_S: Final = 5.0
"""How long to wait for usage and `[DONE]` after a finish reason."""


class OpenAICompatible(Provider):
    """One server, one key, one default model.

    Args:
        name: Our name for it.
        settings: Where it is and what to send.
        key: The API key; None sends none.
        backoff_s: First wait before a retry.
        dialect: How the server speaks; None for what its address is known for.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        key: str | None,
        *,
        backoff_s: float = 0.5,
        dialect: Dialect | None = None,
    ) -> None:
        self.name = name
        self.model = settings.model
        self._settings = settings
        self._backoff_s = backoff_s
        preset = by_url(settings.base_url)
        self._dialect = dialect or (preset.dialect if preset else Dialect())
        headers = {**(preset.headers if preset else {}), **settings.headers}
        is_openai = preset is not None and preset.name == "openai"
        key = (key or "").strip() or None
        self._key_problem = ""
        if key is not None and not (key.isascii() and key.isprintable()):
            self._key_problem = f"the key for {name} holds characters that no key has"
        elif preset is not None and key is None and "authorization" not in map(str.lower, headers):
            self._key_problem = f"there is no key for {name}"
        self._client = OpenAIClient(Target(settings.base_url, key, headers, is_openai))
        self._wire = Wire(name, settings)

    def capabilities(self) -> Capabilities:
        """From the settings, else from a table of well-known models."""
        window = self._settings.context_window or known_window(self.model)
        thinks = self._settings.reasoning not in ("", "none")
        return Capabilities(thinking=thinks, context_window=window)

    def preload(self) -> None:
        """Import the SDK and build the client; for a loader thread, safe to call again."""
        self._client.preload()

    async def warm_up(self) -> None:
        """`preload` without blocking the event loop."""
        await asyncio.to_thread(self.preload)

    async def close(self) -> None:
        """Give back the connections."""
        await self._client.close()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One answer; as long as nothing was shown, what passes by itself is tried again.

        Raises:
            ProviderError: With class, hint and what had arrived.
        """
        tries = 0
        while True:
            shown = False
            try:
                async with aclosing(self._speak(request)) as items:
                    async for item in items:
                        shown = shown or isinstance(item, Text | Thinking)
                        yield item
                return
            except ProviderError as error:
                limit = 0 if shown else self._settings.max_retries
                wait_s = wait_before_retry(error, tries, limit, self._backoff_s)
                if wait_s is None:
                    raise with_hint(error) from None
                reason = str(error)
            tries += 1
            yield Retrying(reason, wait_s)
            await asyncio.sleep(wait_s)

    async def _speak(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One try; a field the server does not know is left out and the rest said again."""
        if self._key_problem:
            raise ProviderError("auth", self._key_problem, hint="/connect takes one")
        model = request.model or self.model or await self._first_model()
        while True:
            dialect = self._dialect
            body = self._wire.body(request, model, dialect)
            try:
                async with aclosing(self._answer(request, model, body)) as items:
                    async for item in items:
                        yield item
                return
            except ProviderError as error:
                other = adapted(dialect, error, body.fields, echoed=body.echoed, marked=body.marked)
                if other is None:
                    raise
                # Sub-agents share this provider: one of them may have learnt something meanwhile.
                if self._dialect is dialect:
                    self._dialect = other

    async def _answer(
        self, request: ChatRequest, model: str, body: Body
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One HTTP exchange."""
        answer = Answer(model, self.name)
        response = await self._post(body)
        try:
            async with aclosing(self._chunks(response, answer)) as chunks:
                async for chunk in chunks:
                    if chunk is DONE:
                        answer.end()
                        continue
                    for delta in answer.feed(chunk):
                        yield delta
        except ProviderError as error:
            error.partial = error.partial or answer.text
            raise
        finally:
            # Not read to its end, the response takes its connection with it: the server notices.
            await response.aclose()
        yield answer.response(sent_bytes=len(body.content), taken=_call_ids(request))

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

    async def _post(self, body: Body) -> httpx2.Response:
        # The first time this imports the SDK, which is no silence of the server's.
        await self._client.ready()
        try:
            async with asyncio.timeout(self._settings.idle_timeout_s or None):
                return await self._client.post(body.content)
        except TimeoutError:
            raise self._silence() from None

    def _silence(self) -> ProviderError:
        waited = f"{self._settings.idle_timeout_s:g}s"
        hint = f"send it again; providers.models.{self.name}.idle_timeout_s waits longer"
        return ProviderError("timeout", f"{self.name} sent nothing for {waited}", hint=hint)

    async def _first_model(self) -> str:
        """What a server without a configured model has to offer; asked once."""
        names = model_ids(await self._client.models())
        if not names:
            place = self._settings.base_url
            raise ProviderError(
                "not_found", f"{place} has no model", hint="load one in the server first"
            )
        self.model = names[0]
        return self.model


def connect(name: str, settings: ModelSettings, key: str | None) -> OpenAICompatible:
    """The provider called `name`; named like a preset, it may leave address and model out.

    Raises:
        ConfigError: There is no usable address.
    """
    preset = by_name(name)
    if preset is not None and not settings.base_url:
        settings = replace(settings, base_url=preset.base_url, model=settings.model or preset.model)
    if not _is_address(settings.base_url):
        wanted = "must be an address that begins with http:// or https://; it usually ends in /v1"
        place = f"providers.models.{name}.base_url"
        raise ConfigError([Problem("configuration", place, settings.base_url, wanted)])
    return OpenAICompatible(name, settings, key)


def _is_address(text: str) -> bool:
    try:
        address = urlsplit(text)
        whole = bool(address.hostname) and address.port != 0
    except ValueError:
        return False
    return whole and address.scheme in ("http", "https") and not re.search(r"\s", text)


def _call_ids(request: ChatRequest) -> Iterator[str]:
    turns = (message for message in request.messages if isinstance(message, AssistantTurn))
    return (call.id for turn in turns for call in turn.calls)

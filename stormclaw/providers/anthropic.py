"""Anthropic's Messages API: requests, retries, streams.

The SDK builds and sends the request and names the errors (`_anthropic/client.py`); the stream is
read as raw bytes, since typed events cost more than twice as much.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem, ProviderError
from stormclaw.protocol.messages import AssistantTurn
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Provider,
    Remark,
    Retrying,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._anthropic.answer import Answer
from stormclaw.providers._anthropic.client import (
    OFFICIAL,
    AnthropicClient,
    Client,
    Target,
    is_address,
)
from stormclaw.providers._anthropic.errors import classed
from stormclaw.providers._anthropic.models import plain_name, row_of
from stormclaw.providers._anthropic.stream import Stream, silence
from stormclaw.providers._anthropic.talk import LEAST_ROOM, Talk, learnt, room_left
from stormclaw.providers._anthropic.wire import Body, Wire
from stormclaw.providers._openai.client import model_ids
from stormclaw.providers._retry_after import wait_before_retry
from stormclaw.providers.presets import known_window
from stormclaw.providers.recovery import with_hint

if TYPE_CHECKING:
    import httpx2

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
"""For Anthropic itself, where none is configured."""


class Messages(Provider):
    """One server that speaks the Messages API, one default model.

    Args:
        name: Our name for it.
        settings: What to send.
        client: How to reach it.
        backoff_s: First wait before a retry.
        key_problem: Why nothing can be sent, "" if it can.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        client: Client,
        *,
        backoff_s: float = 0.5,
        key_problem: str = "",
    ) -> None:
        self.name = name
        self.model = settings.model
        self._settings = settings
        self._client = client
        self._backoff_s = backoff_s
        self._key_problem = key_problem
        self._wire = Wire(name, settings)
        self._talks: dict[str, Talk] = {}

    def capabilities(self) -> Capabilities:
        """From the settings, else from tables of well-known models."""
        effort, model = self._settings.reasoning, plain_name(self.model)
        window = self._settings.context_window or known_window(model)
        thinks = row_of(model).thinks if not effort else effort != "none"
        return Capabilities(thinking=thinks, context_window=window)

    def preload(self) -> None:
        """Import the SDK and build the client; for a loader thread, safe to call again.

        Raises:
            ProviderError: The client cannot be built.
        """
        self._client.preload()

    async def warm_up(self) -> None:
        """`preload` without blocking the event loop; what is wrong is told by the first request."""
        try:
            await asyncio.to_thread(self.preload)
        except ProviderError:
            pass

    async def close(self) -> None:
        """Give back the connections."""
        await self._client.close()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One answer; what passes by itself is tried again, what was shown is withdrawn first.

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
                limit = self._settings.max_retries
                wait_s = wait_before_retry(error, tries, limit, self._backoff_s)
                if wait_s is None:
                    raise with_hint(error) from None
                reason = str(error)
            tries += 1
            if shown:
                yield Withdrawn(reason)
            yield Retrying(reason, wait_s)
            await asyncio.sleep(wait_s)

    async def _speak(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One try; what the server does not take is said otherwise."""
        if self._key_problem:
            raise ProviderError("auth", self._key_problem, hint="/connect takes one")
        model = request.model or self.model or await self._first_model()
        effort = request.effort or self._settings.reasoning
        room: int | None = None
        while True:
            talk = self._talks.get(model, Talk())
            body = self._wire.body(request, model, talk, room)
            try:
                async with aclosing(self._answer(request, body)) as items:
                    async for item in items:
                        yield item
                return
            except ProviderError as error:
                left = room_left(error)
                if left is not None and LEAST_ROOM <= left < (room or body.max_tokens):
                    room = left
                    continue
                if left is not None:
                    raise ProviderError("context_length", str(error)) from None
                lesson = learnt(talk, error, body, effort)
                if lesson is None:
                    raise
            # Sub-agents share this provider: one of them may have learnt something meanwhile.
            if self._talks.get(model, Talk()) == talk:
                self._talks[model] = lesson.talk
                if lesson.remark:
                    yield Remark(lesson.remark)

    async def _answer(
        self, request: ChatRequest, body: Body
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One HTTP exchange."""
        answer = Answer(body.model, self.name)
        response = await self._post(body)
        reader, idle_s = self._client.reader(), self._settings.idle_timeout_s
        stream = Stream(response, reader, answer, self._client.place, self.name, idle_s)
        try:
            async with aclosing(stream.events()) as events:
                async for event in events:
                    for delta in answer.feed(event):
                        yield delta
        except ProviderError as error:
            error.partial = error.partial or answer.text
            raise classed(error) from None
        finally:
            # Not read to its end, the response takes its connection with it: the server notices.
            await response.aclose()
        sent_bytes = sum(map(len, body.parts.values()))
        finished = answer.response(sent_bytes=sent_bytes, taken=_call_ids(request))
        for remark in answer.remarks():
            yield remark
        yield finished

    async def _post(self, body: Body) -> httpx2.Response:
        # The first time this imports the SDK, which is no silence of the server's.
        await self._client.ready()
        idle_s = self._settings.idle_timeout_s
        try:
            async with asyncio.timeout(idle_s or None):
                return await self._client.post(body)
        except TimeoutError:
            raise silence(self.name, idle_s) from None

    async def _first_model(self) -> str:
        """What a server without a configured model has to offer; asked once."""
        listed: Any = await self._client.models()
        names = model_ids(listed)
        if not names:
            hint = f"providers.models.{self.name}.model names one, or /model"
            raise ProviderError("not_found", f"there is no model chosen for {self.name}", hint=hint)
        self.model = names[0]
        return self.model


def connect(name: str, settings: ModelSettings, key: str | None) -> Messages:
    """The provider called `name`: Anthropic's own API, or whatever speaks it at `base_url`.

    Raises:
        ConfigError: The address is none.
    """
    address = (settings.base_url or OFFICIAL).rstrip("/").removesuffix("/v1")
    if not is_address(address):
        wanted = "must be an address that begins with http:// or https://, without /v1/messages"
        place = f"providers.models.{name}.base_url"
        raise ConfigError([Problem("configuration", place, settings.base_url, wanted)])
    official = address == OFFICIAL
    settings = replace(settings, model=settings.model or DEFAULT_MODEL * official)
    key = (key or "").strip() or None
    problem = ""
    own = {header.lower() for header in settings.headers} & {"authorization", "x-api-key"}
    if key is not None and not (key.isascii() and key.isprintable()):
        problem = f"the key for {name} holds characters that no key has"
    elif official and key is None and not own:
        problem = f"there is no key for {name}"
    client = AnthropicClient(Target(address, key, settings.headers))
    return Messages(name, settings, client, key_problem=problem)


def _call_ids(request: ChatRequest) -> Iterator[str]:
    turns = (message for message in request.messages if isinstance(message, AssistantTurn))
    return (call.id for turn in turns for call in turn.calls)

"""Any server that speaks OpenAI's chat completions, OpenRouter first: requests, retries, streams.

The SDK builds and sends the request and names the errors (`_openai/client.py`); the stream is read
as raw bytes (`_sse`), since typed chunks cost 25 times as much.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
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
    Remark,
    Retrying,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._openai.answer import Answer
from stormclaw.providers._openai.client import OpenAIClient, Target, model_ids
from stormclaw.providers._openai.exchange import Exchange
from stormclaw.providers._openai.mends import mended
from stormclaw.providers._openai.own_quirks import own_quirks
from stormclaw.providers._openai.printed_calls import amended
from stormclaw.providers._openai.routing import check_routing
from stormclaw.providers._openai.wire import Body, Wire
from stormclaw.providers._retry_after import wait_before_retry
from stormclaw.providers.presets import by_address, by_name, by_url, known_window
from stormclaw.providers.quirks import Quirks, quirks_of
from stormclaw.providers.recovery import with_hint


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One way a request is said.

    Attributes:
        model: Who is asked.
        quirks: How.
        body: What goes out.
    """

    model: str
    quirks: Quirks
    body: Body


class OpenAICompatible(Provider):
    """One server, one key, one default model.

    Args:
        name: Our name for it.
        settings: Where it is and what to send.
        key: The API key; None sends none.
        backoff_s: First wait before a retry.
        quirks: How the server speaks; None for what its address and its models are known for.

    Raises:
        ConfigError: There are quirks nobody knows, or a routing nobody heeds.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        key: str | None,
        *,
        backoff_s: float = 0.5,
        quirks: Quirks | None = None,
    ) -> None:
        self.name = name
        self.model = settings.model
        self._settings = settings
        self._backoff_s = backoff_s
        self._quirks = quirks
        self._own = own_quirks(settings.quirks, name)
        self._learnt: dict[str, Quirks] = {}
        known = by_address(name, settings.base_url)
        self._server = known.name if known else ""
        check_routing(name, settings, routes=self._speech(self.model).routing)
        preset = by_url(settings.base_url)
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
        self._exchange = Exchange(name, settings, self._client)

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
        """One answer; what was refused is said otherwise, what passes by itself is tried again.

        Text of an answer that broke off is withdrawn before another one begins.

        Raises:
            ProviderError: With class, hint and what had arrived.
        """
        tries = 0
        attempt = await self._attempt(request)
        while True:
            shown = False
            try:
                async with aclosing(self._answer(request, attempt)) as items:
                    async for item in items:
                        shown = shown or isinstance(item, Text | Thinking)
                        yield item
                return
            except ProviderError as error:
                # Nothing can be said otherwise in the middle of an answer.
                other = None if shown else self._otherwise(request, attempt, error)
                if other is None:
                    wait_s = wait_before_retry(
                        error, tries, self._settings.max_retries, self._backoff_s
                    )
                    if wait_s is None:
                        raise with_hint(error) from None
                reason = str(error)
            if other is not None:
                attempt, remark = other
                if remark:
                    yield Remark(remark)
                continue
            tries += 1
            if shown:
                yield Withdrawn("the answer broke off")
            yield Retrying(reason, wait_s or 0.0)
            await asyncio.sleep(wait_s or 0.0)

    async def _attempt(self, request: ChatRequest) -> _Attempt:
        if self._key_problem:
            raise ProviderError("auth", self._key_problem, hint="/connect takes one")
        model = request.model or self.model or await self._first_model()
        quirks = self._speech(model)
        return _Attempt(model, quirks, self._wire.body(request, model, quirks))

    def _speech(self, model: str) -> Quirks:
        """How to speak to a model: as learnt, as told, or as it is known for."""
        learnt = self._learnt.get(model) or self._quirks
        return learnt or quirks_of(self._server, model, self._own)

    def _otherwise(
        self, request: ChatRequest, attempt: _Attempt, error: ProviderError
    ) -> tuple[_Attempt, str] | None:
        """The same request in other words, and what to tell of it; None when no other is known."""
        found = mended(attempt.quirks, error, attempt.body)
        if found is None:
            return None
        body = self._wire.body(request, attempt.model, found.quirks)
        if body.content == attempt.body.content:
            return None
        # Sub-agents share this provider: one of them may have learnt something meanwhile.
        if self._speech(attempt.model) == attempt.quirks:
            self._learnt[attempt.model] = found.quirks
        return _Attempt(attempt.model, found.quirks, body), found.remark

    async def _answer(
        self, request: ChatRequest, attempt: _Attempt
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One HTTP exchange, its calls under their own names."""
        body = attempt.body
        answer = Answer(attempt.model, self.name)
        async with aclosing(self._exchange.say(body.content, answer)) as deltas:
            async for delta in deltas:
                yield delta
        taken = tuple(_call_ids(request))
        response = answer.response(sent_bytes=len(body.content), taken=taken)
        if self._fell_back(attempt.model, response.model):
            response = replace(response, echo="")
        calls = tuple(map(body.toolbox.returned, response.tool_calls))
        for item in amended(replace(response, tool_calls=calls), request, taken):
            yield item

    def _fell_back(self, asked: str, served: str) -> bool:
        """Whether a fallback answered: what it signed is worth nothing to the model asked for."""
        others = (name for name in self._settings.routing.models if name != asked)
        return any(served.startswith(name) for name in others)

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

"""The anthropic SDK behind two verbs, send a request and list the models.

Importing it takes seconds, so that happens when it is first used, in a thread.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from stormclaw import __version__
from stormclaw.errors import ProviderError
from stormclaw.providers._anthropic.errors import anthropic_error
from stormclaw.providers._anthropic.wire import Body
from stormclaw.providers._failures import broken_connection
from stormclaw.providers._openai.client import is_transport_error
from stormclaw.providers._sse import EventReader
from stormclaw.providers.presets import LOOPBACK

if TYPE_CHECKING:
    import httpx2
    from anthropic import APIStatusError, AsyncAnthropic, AsyncAnthropicBedrock, Omit
    from anthropic._types import RequestOptions

    Sdk: TypeAlias = AsyncAnthropic | AsyncAnthropicBedrock

CONNECT_TIMEOUT_S: Final = 15.0
KEEPALIVE_S: Final = 60.0
MAX_ERROR_BYTES: Final = 256 * 1024
SHORTEST_KEY: Final = 8
"""Anything shorter is no secret, and may be a part of any word."""
OFFICIAL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"
"""The version of the protocol all servers know; the newer one only takes away `temperature`."""


class Reader(Protocol):
    """Turns the bytes of an answer into events."""

    @property
    def whole(self) -> bool:
        """True when the answer is one JSON text and no stream."""

    def feed(self, block: bytes) -> Iterator[Any]:
        """Take the next bytes and yield what is complete."""

    def close(self) -> Iterator[Any]:
        """The bytes have ended: yield what is left."""


class Client(ABC):
    """One SDK client, built when first needed.

    Attributes:
        place: Where it talks to.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._client: Sdk | None = None
        self._building = threading.Lock()

    @abstractmethod
    def _build(self) -> Sdk:
        """The SDK's client; in a thread."""

    @abstractmethod
    def _addressed(self, body: Body) -> tuple[str, bytes, dict[str, str | Omit]]:
        """(path, content, headers) of a request."""

    @abstractmethod
    def reader(self) -> Reader:
        """For the bytes of one answer."""

    def _refusal(self, error: APIStatusError) -> ProviderError:
        response = error.response
        return anthropic_error(response.status_code, response.headers, self._said(error))

    def _foreign(self, error: Exception) -> ProviderError | None:
        """The error for what else the SDK raises; None where it is a bug."""
        return None

    def preload(self) -> None:
        """Import the SDK and build the client; blocks for seconds the first time."""
        with self._building:
            if self._client is None:
                self._client = self._build()

    async def ready(self) -> Sdk:
        """The client; the first time in a thread."""
        while (client := self._client) is None:
            await asyncio.to_thread(self.preload)
        return client

    async def close(self) -> None:
        """Give back the connections; a later request builds a new client."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def post(self, body: Body) -> httpx2.Response:
        """Send a body; returns when the head of the answer is there, to be closed by the caller.

        `post` instead of `messages.create`: that would walk every message of the history.

        Raises:
            ProviderError: No connection, or an HTTP status from 300 on.
        """
        client = await self.ready()
        from anthropic import AsyncStream

        path, content, headers = self._addressed(body)
        with self._named_errors():
            stream = await client.post(
                path,
                cast_to=object,
                content=content,
                options={"headers": {"Content-Type": "application/json", **headers}},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        return stream.response

    async def models(self) -> object:
        """What the server says of its models, parsed; None where it cannot be asked.

        Raises:
            ProviderError: As `post`.
        """
        return None

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from anthropic import APIConnectionError, APIStatusError

        try:
            yield
        except APIStatusError as error:
            raise self._refusal(error) from None
        except APIConnectionError as error:
            raise broken_connection(error, self.place) from error
        except Exception as error:
            if (known := self._foreign(error)) is not None:
                raise known from None
            if not is_transport_error(error):
                raise
            raise broken_connection(error, self.place) from error

    def _said(self, error: APIStatusError, secret: str = "") -> str:
        said = error.response.content[:MAX_ERROR_BYTES].decode("utf-8", "replace")
        return said.replace(secret, "[the key]") if len(secret) >= SHORTEST_KEY else said


def transport(place: str) -> httpx2.AsyncClient:
    """The HTTP client under the SDK's: patient, without redirects, without a proxy on loopback."""
    import httpx2
    from anthropic import DefaultAioHttpClient

    address = urlsplit(place)
    return DefaultAioHttpClient(
        # Reading the certificate store takes 50 ms; plain http has no use for it.
        verify=address.scheme == "https",
        trust_env=address.hostname not in LOOPBACK,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(keepalive_expiry=KEEPALIVE_S),
    )


@dataclass(frozen=True, slots=True)
class Target:
    """Who is talked to.

    Attributes:
        base_url: Without `/v1`.
        key: None sends no key.
        headers: Sent with every request.
    """

    base_url: str
    key: str | None
    headers: Mapping[str, str]


class AnthropicClient(Client):
    """Anthropic's own API, or a server that speaks it."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.base_url)
        self._target = target

    def reader(self) -> EventReader:
        """Server-sent events."""
        return EventReader()

    async def models(self) -> object:
        """What `/v1/models` says, parsed.

        Raises:
            ProviderError: As `post`.
        """
        client = await self.ready()
        headers = self._withheld()
        options: RequestOptions = {"headers": headers, "timeout": CONNECT_TIMEOUT_S}
        with self._named_errors():
            return await client.get("/v1/models", cast_to=object, options=options)

    def _build(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic

        key = self._target.key
        # Servers differ in which of the two headers they look at.
        keyed = {"X-Api-Key": key, "Authorization": f"Bearer {key}"} if key else {}
        ours = {"User-Agent": f"stormclaw/{__version__}", "anthropic-version": VERSION}
        return AsyncAnthropic(
            api_key=key or "none",  # Given one, it does not look for another.
            base_url=self.place,
            default_headers=_merged(keyed, ours, self._target.headers),
            http_client=transport(self.place),
            max_retries=0,
        )

    def _addressed(self, body: Body) -> tuple[str, bytes, dict[str, str | Omit]]:
        headers = self._withheld()
        if body.betas:
            own = _lower(self._target.headers).get("anthropic-beta")
            headers["anthropic-beta"] = ",".join(filter(None, (own, *body.betas)))
        return "/v1/messages", body.content(model=body.model, stream=True), headers

    def _withheld(self) -> dict[str, str | Omit]:
        """Headers that are not ours to send: without a key, and from Anthropic's environment."""
        from anthropic import Omit

        names = [] if self._target.key else ["Authorization", "X-Api-Key"]
        if self.place != OFFICIAL:
            custom = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
            names += [line.partition(":")[0].strip() for line in custom]
        ours = _lower(self._target.headers).keys() | {"user-agent", "anthropic-version"}
        ours |= {"authorization", "x-api-key"} if self._target.key else set()
        return {name: Omit() for name in names if name and name.lower() not in ours}

    def _refusal(self, error: APIStatusError) -> ProviderError:
        response = error.response
        said = self._said(error, self._target.key or "")
        return anthropic_error(response.status_code, response.headers, said)


def is_address(text: str) -> bool:
    """Whether it can be a base_url."""
    try:
        address = urlsplit(text)
        whole = bool(address.hostname) and address.port != 0
    except ValueError:
        return False
    return whole and address.scheme in ("http", "https") and not re.search(r"\s", text)


def _merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Headers by their name whatever its case; the later ones count."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(merged.values())


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}

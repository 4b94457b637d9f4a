"""The openai SDK behind two verbs, send a request and list the models: its only home.

Importing it costs a second, so that happens when it is first used, in a thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from stormclaw import __version__
from stormclaw.errors import ProviderError
from stormclaw.providers._errors import error_from_status
from stormclaw.providers._failures import broken_connection

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI, Omit
    from openai._types import RequestOptions

CONNECT_TIMEOUT_S: Final = 15.0
KEEPALIVE_S: Final = 60.0
MAX_ERROR_BYTES: Final = 256 * 1024
SHORTEST_KEY: Final = 8
"""Anything shorter is no secret, and may be a part of any word."""
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Target:
    """Who is talked to.

    Attributes:
        base_url: Without the path of a call.
        key: None sends no key.
        headers: Sent with every request.
        is_openai: Whether what the SDK finds in the environment for OpenAI may be sent.
    """

    base_url: str
    key: str | None
    headers: Mapping[str, str]
    is_openai: bool = False


class OpenAIClient:
    """One SDK client, built when first needed."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._client: AsyncOpenAI | None = None
        self._transport: httpx2.AsyncClient
        self._url: httpx2.URL
        self._headers: httpx2.Headers
        self._building = threading.Lock()

    def preload(self) -> None:
        """Import the SDK and build the client; blocks about a second the first time."""
        with self._building:
            if self._client is None:
                self._client = self._build()

    async def close(self) -> None:
        """Give back the connections; a later request builds a new client."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def post(self, content: bytes) -> httpx2.Response:
        """Send a body; returns when the head of the answer is there, to be closed by the caller.

        Over the SDK's transport and with its headers, but not through `chat.completions.create`:
        that walks every message of the history, 1.7 s for a long one; nor through its `post`,
        which builds for 1 ms what is the same each time.

        Raises:
            ProviderError: No connection, or an HTTP status from 300 on.
        """
        await self.ready()
        with self._named_errors():
            request = self._transport.build_request(
                "POST", self._url, headers=self._headers, content=content
            )
            response = await self._transport.send(request, stream=True)
            if response.status_code >= 300:
                try:
                    said = await response.aread()
                finally:
                    await response.aclose()
                raise self._refusal(response, said)
        return response

    async def models(self) -> object:
        """What `/models` says, parsed.

        Raises:
            ProviderError: As `post`.
        """
        client = await self.ready()
        options: RequestOptions = {"headers": self._withheld(), "timeout": CONNECT_TIMEOUT_S}
        with self._named_errors():
            return await client.get("/models", cast_to=object, options=options)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        from openai import APIConnectionError, APIStatusError

        try:
            yield
        except APIStatusError as error:
            raise self._refusal(error.response, error.response.content) from None
        except ProviderError:
            raise
        except APIConnectionError as error:
            raise broken_connection(error, self._target.base_url) from error
        except Exception as error:
            # The SDK does not know all of the transport's errors: no HTTP at all is one of them.
            if not is_transport_error(error):
                raise
            raise broken_connection(error, self._target.base_url) from error

    async def ready(self) -> AsyncOpenAI:
        """The client; the first time this takes a second, in a thread."""
        while (client := self._client) is None:
            await asyncio.to_thread(self.preload)
        return client

    def _build(self) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        address = urlsplit(self._target.base_url)
        self._transport = DefaultAioHttpClient(
            # Reading the certificate store takes 50 ms; plain http has no use for it.
            verify=address.scheme == "https",
            trust_env=address.hostname not in LOOPBACK,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(keepalive_expiry=KEEPALIVE_S),
        )
        client = AsyncOpenAI(
            api_key=self._target.key or "",
            base_url=self._target.base_url,
            default_headers={"User-Agent": f"stormclaw/{__version__}", **self._target.headers},
            http_client=self._transport,
            max_retries=0,
            _enforce_credentials=False,
        )
        self._url = httpx2.URL(f"{self._target.base_url.rstrip('/')}/chat/completions")
        self._headers = self._heading(client)
        return client

    def _heading(self, client: AsyncOpenAI) -> httpx2.Headers:
        """What the SDK would send with a body."""
        import httpx2

        withheld = {name.lower() for name in self._withheld()}
        headers = {"Authorization": f"Bearer {self._target.key}"} if self._target.key else {}
        for name, value in client.default_headers.items():
            if isinstance(value, str) and name.lower() not in withheld:
                headers[name] = value
        return httpx2.Headers({**headers, "Content-Type": "application/json"})

    def _withheld(self) -> dict[str, Omit]:
        """Headers the SDK takes from the environment for OpenAI, which no other server may get."""
        from openai import Omit

        names = [] if self._target.key else ["Authorization"]
        if not self._target.is_openai:
            custom = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
            names += ["OpenAI-Organization", "OpenAI-Project"]
            names += [line.partition(":")[0].strip() for line in custom]
        ours = {name.lower() for name in self._target.headers}
        return {name: Omit() for name in names if name and name.lower() not in ours}

    def _refusal(self, response: httpx2.Response, body: bytes) -> ProviderError:
        said = body[:MAX_ERROR_BYTES].decode("utf-8", "replace")
        if self._target.key and len(self._target.key) >= SHORTEST_KEY:
            said = said.replace(self._target.key, "[the key]")
        return error_from_status(response.status_code, response.headers, said)


def is_transport_error(error: Exception) -> bool:
    """Whether reading a body failed because of the network: three libraries raise for it."""
    import aiohttp
    import httpx2

    return isinstance(error, httpx2.HTTPError | httpx2.StreamError | aiohttp.ClientError | OSError)


def model_ids(listed: object) -> list[str]:
    """The ids in an answer of `/models`; models that only embed are left out."""
    entries: Any = listed.get("data") if isinstance(listed, Mapping) else None
    ids = [entry.get("id") for entry in entries or () if isinstance(entry, Mapping)]
    return [name for name in ids if isinstance(name, str) and name and "embed" not in name.lower()]

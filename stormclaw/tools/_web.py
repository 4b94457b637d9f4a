"""Talks HTTP with one host, at addresses that were checked. The only home of aiohttp in tools.

Imported where the first request is made: aiohttp takes a tenth of a second to load.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from stormclaw import __version__
from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._address import host_and_port
from stormclaw.tools._fetching import Answer, Request
from stormclaw.tools._inflate import ACCEPTED, Inflater

Lookup: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Host and port -> its IP addresses; raises OSError."""

USER_AGENT = f"StormClaw/{__version__}"
MAX_FIELD = 32_768
"""Bytes of one header."""
MAX_HEADERS = 128
PIECE = 65_536
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")

_FAILURES: tuple[tuple[type[Exception], str, str], ...] = (
    (aiohttp.ClientSSLError, "{where} cannot be trusted: {why}", "not trusted"),
    (aiohttp.ClientConnectorError, "cannot connect to {where}: {why}", "no connection"),
    (aiohttp.ServerDisconnectedError, "{where} hung up without an answer", "no answer"),
    (aiohttp.ClientPayloadError, "the answer of {where} broke off: {why}", "broke off"),
    (aiohttp.ClientResponseError, "{where} does not answer in proper HTTP: {why}", "no HTTP"),
    (aiohttp.ClientError, "the exchange with {where} failed: {why}", "failed"),
    (OSError, "the exchange with {where} failed: {why}", "failed"),
    (ValueError, "the answer of {where} cannot be read: {why}", "unreadable"),
)
"""What went wrong -> what is said, and in a few words; the first that fits."""


async def exchange(
    request: Request, ctx: ToolContext, accept_bytes: int, lookup: Lookup | None = None
) -> Answer:
    """One request and its answer, no redirect followed; the caller limits the time.

    The host is looked up once, every address of it must be allowed, and the connection goes to
    one of those. No proxy, no cookies, no stored passwords; certificates are verified.

    Args:
        request: Its address canonical.
        ctx: Says which addresses may be reached.
        accept_bytes: Most bytes of the body, unpacked; the rest is cut off.
        lookup: Instead of the system's.

    Raises:
        ToolFailure: The address is refused or there is no usable answer.
    """
    host, port = host_and_port(request.url)
    url = _agreed(request.url, host, port)
    addresses = await _checked(host, port, ctx, lookup or look_up)
    try:
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=_Pinned(host, addresses), use_dns_cache=False, force_close=True
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
                max_line_size=MAX_FIELD,
                max_field_size=MAX_FIELD,
                max_headers=MAX_HEADERS,
            ) as session,
            session.request(
                request.method,
                url,
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPTED, **request.headers},
                data=request.body or None,
                allow_redirects=False,
            ) as response,
        ):
            return await _answer(request.url, response, accept_bytes)
    except (aiohttp.ClientError, OSError, ValueError) as problem:
        raise _failure(problem, f"{host}:{port}", ctx) from problem


def _agreed(address: str, host: str, port: int) -> URL:
    """The address as aiohttp reads it, which must be as it was judged."""
    try:
        url = URL(address)
        if url.raw_host == host and url.port == port:
            return url
    except ValueError:
        pass
    raise ToolFailure(f"{address} is read in two ways; write it plainly", summary="refused")


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """The system's answer: all addresses of a host, each once.

    Raises:
        OSError: There is none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


async def _checked(host: str, port: int, ctx: ToolContext, lookup: Lookup) -> tuple[str, ...]:
    """The addresses of a host; all of them may be talked to, or none is."""
    try:
        addresses = await lookup(host, port)
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or "no such host"
        raise ToolFailure(
            f"{host} has no address: {why}{_proxy_hint(ctx)}", summary="no such host"
        ) from problem
    if not addresses:
        raise ToolFailure(f"{host} has no address", summary="no such host")
    for address in addresses:
        if refusal := ctx.reachable(host, address):
            raise ToolFailure(
                f"refused: {refusal}. The person can allow it with "
                f"`security.allowed_hosts: [{host}]` in the configuration",
                summary="address refused",
            )
    return addresses


@dataclass(frozen=True, slots=True)
class _Pinned(AbstractResolver):
    """Answers with the addresses that were checked, and for no other host."""

    host: str
    addresses: tuple[str, ...]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host.rstrip(".").lower() != self.host:
            raise OSError(None, f"{host} was not checked")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in self.addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


async def _answer(url: str, response: aiohttp.ClientResponse, most: int) -> Answer:
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        headers.setdefault(_plain(name).lower(), _plain(value))
    inflater = Inflater(headers.get("content-encoding", "") if response.method != "HEAD" else "")
    body = bytearray()
    taken = 0
    cut = False
    async for piece in response.content.iter_chunked(PIECE):
        taken += len(piece)
        body += inflater.feed(piece, most + 1 - len(body))
        if len(body) > most or taken > most:
            cut = True
            response.close()  # Not drained: there may be no end.
            break
    return Answer(
        url=url,
        status=response.status,
        reason=_plain(response.reason or ""),
        headers=headers,
        body=bytes(body[:most]),
        cut=cut or not inflater.complete,
    )


def _failure(problem: Exception, where: str, ctx: ToolContext) -> ToolFailure:
    said, summary = next((said, few) for kind, said, few in _FAILURES if isinstance(problem, kind))
    why = " ".join(_plain(_cause(problem)).split())[:300]
    hint = _proxy_hint(ctx) if summary == "no connection" else ""
    return ToolFailure(said.format(where=where, why=why) + hint, summary=summary)


def _proxy_hint(ctx: ToolContext) -> str:
    """For whoever reaches the world through a proxy only: how it can be done all the same."""
    name = next((name for name in PROXIES if ctx.key(name)), "")
    return f". {name} is set, but this tool uses no proxy; try curl through shell_exec" * bool(name)


def _plain(text: str) -> str:
    """Text of a header without the half letters that stand for bytes which are no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _cause(problem: Exception) -> str:
    """What the library says, without the address that stands before it already."""
    if isinstance(problem, aiohttp.ClientConnectorError):
        inner = problem.os_error
        if isinstance(inner, ssl.SSLError):
            return getattr(inner, "verify_message", "") or inner.reason or str(inner)
        if inner.errno is not None and inner.errno in errno.errorcode:
            return os.strerror(inner.errno).lower()
        return str(inner) or type(inner).__name__
    if isinstance(problem, aiohttp.ClientResponseError):
        return problem.message or str(problem.status)
    return str(problem) or type(problem).__name__

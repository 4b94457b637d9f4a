"""Serves one connection of a walled-in program: to a listed host and to no other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from stormclaw.security.walls.client_hello import Greeting, is_tls
from stormclaw.security.walls.proxy_head import END, MAX_HEAD, USUAL, Refusal, Wish, read_head
from stormclaw.security.walls.proxy_rules import judge_addresses, judge_wish

LOG = logging.getLogger(__name__)

HEAD_S = 20.0
"""The longest a program may take to say where it wants to go, or to greet by TLS."""
CONNECT_S = 15.0
NEXT_S = 4.0
"""The longest for an address that is not the last of its host."""
IDLE_S = 300.0
"""Without a byte either way; git servers are silent for minutes while they count."""
FLUSH_S = 5.0
CHUNK = 65_536
MOST_ADDRESSES = 8

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> its addresses, best first; raises OSError if there are none."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one command may have.

    Attributes:
        hosts: Patterns of the hosts it may talk to.
        resolve: Looks addresses up.
        refuse: Told what the person could list to let a refused wish pass.
        head_s: Seconds it may take to say what it wants.
        idle_s: Seconds of silence after which a connection is given up.
    """

    hosts: tuple[str, ...]
    resolve: Resolve
    refuse: Callable[[str], None]
    head_s: float = HEAD_S
    idle_s: float = IDLE_S


@dataclass(frozen=True, slots=True)
class Wire:
    """Both ends of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the system knows them.

    Raises:
        OSError: There are none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))[:MOST_ADDRESSES]


async def attend(client: Wire, terms: Terms) -> None:
    """Serve one connection to its end; what goes wrong ends it."""
    async with _closing(client.writer):
        try:
            wish = await _wish(client.reader, terms)
            upstream = await _reach(wish, terms)
        except Refusal as refusal:
            if refusal.offer:
                terms.refuse(refusal.offer)
            await _say(client, refusal.status)
            return
        except (OSError, EOFError):
            return
        with suppress(OSError, EOFError, TimeoutError, ValueError):
            async with _closing(upstream.writer):
                await (_tunnel if wish.tunnel else _ask)(client, upstream, wish, terms)


async def _wish(reader: asyncio.StreamReader, terms: Terms) -> Wish:
    try:
        async with asyncio.timeout(terms.head_s):
            head = await reader.readuntil(END)
    except TimeoutError:
        raise Refusal("408 request timeout") from None
    except asyncio.LimitOverrunError:
        raise Refusal("431 request header fields too large") from None
    wish = read_head(head)
    judge_wish(wish, terms.hosts)
    return wish


async def _reach(wish: Wish, terms: Terms) -> Wire:
    """Connect to where the host is, and to no place that was not judged."""
    problem: Exception | None = None
    try:
        async with asyncio.timeout(CONNECT_S):
            addresses = tuple(await terms.resolve(wish.host, wish.port))[:MOST_ADDRESSES]
    except (OSError, TimeoutError, UnicodeError):
        raise Refusal("502 this host has no address") from None
    judge_addresses(wish.host, addresses, terms.hosts)
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_S if address == addresses[-1] else NEXT_S):
                return Wire(*await asyncio.open_connection(address, wish.port, limit=MAX_HEAD))
        except (OSError, TimeoutError) as failure:
            problem = failure
    LOG.debug("no connection to %s: %s", wish.place, problem)
    raise Refusal("502 this host cannot be reached")


async def _tunnel(client: Wire, upstream: Wire, wish: Wish, terms: Terms) -> None:
    client.writer.write(b"HTTP/1.1 200 connected" + END)
    async with asyncio.timeout(terms.idle_s) as silence:

        async def outward() -> None:
            async with asyncio.timeout(terms.head_s if wish.usual else None):
                upstream.writer.write(await greeting(client.reader, wish))
            await _pump(client.reader, upstream.writer, silence, terms.idle_s)

        inward = _pump(upstream.reader, client.writer, silence, terms.idle_s)
        await _together(outward(), inward)


async def greeting(reader: asyncio.StreamReader, wish: Wish) -> bytes:
    """The first bytes of a program, if they are for the host it asked for.

    At the usual port that is TLS; at a port the person named it may be anything else.

    Raises:
        ValueError: It greets another host, or not by TLS.
    """
    sent, greets = bytearray(), Greeting()
    while chunk := await reader.read(CHUNK):
        sent += chunk
        if wish.port != USUAL[True] and not is_tls(sent):
            return bytes(sent)
        named = greets.hear(chunk)
        if named is None:
            continue
        if named != wish.host and not (named == "" and _is_address(wish.host)):
            LOG.info("a connection to %s was for %r and was cut", wish.place, named)
            raise ValueError("it greets another host than it asked for")
        return bytes(sent)
    if sent:
        raise ValueError("a greeting that was cut off")
    return b""


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


async def _ask(client: Wire, upstream: Wire, wish: Wish, terms: Terms) -> None:
    """One request, one answer: what comes after it goes nowhere."""
    upstream.writer.write(wish.head)
    async with asyncio.timeout(terms.idle_s) as silence:

        async def outward() -> None:
            await _pump(client.reader, upstream.writer, silence, terms.idle_s, wish.length)
            while await client.reader.read(CHUNK):
                continue

        inward = _pump(upstream.reader, client.writer, silence, terms.idle_s)
        await _together(outward(), inward, until=asyncio.FIRST_COMPLETED)


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    silence: asyncio.Timeout,
    idle_s: float,
    length: int | None = None,
) -> None:
    """Carry bytes over, `length` of them or all until the end, which is then passed on."""
    left = length
    loop = asyncio.get_running_loop()
    while left != 0 and (chunk := await reader.read(CHUNK if left is None else min(left, CHUNK))):
        left = None if left is None else left - len(chunk)
        writer.write(chunk)
        await writer.drain()
        silence.reschedule(loop.time() + idle_s)
    if length is None:
        writer.write_eof()


async def _together(
    *pumps: Coroutine[Any, Any, None], until: str = asyncio.FIRST_EXCEPTION
) -> None:
    """Until all have ended, or one failed; or as soon as one has ended."""
    tasks = [asyncio.create_task(pump) for pump in pumps]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=until)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _say(client: Wire, status: str) -> None:
    """Answer with a status; what the program still sends is read, so that it sees the answer."""
    text = f"stormclaw: {status}\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}"
    with suppress(OSError, TimeoutError):
        client.writer.write(f"{head}\r\nConnection: close\r\n\r\n{text}".encode())
        client.writer.write_eof()
        async with asyncio.timeout(1):
            while await client.reader.read(CHUNK):
                continue


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Let what was written go out, then close; at once if something failed."""
    try:
        yield
    except BaseException:
        writer.transport.abort()
        raise
    writer.close()
    try:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await writer.wait_closed()
    finally:
        writer.transport.abort()

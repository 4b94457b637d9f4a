"""A web site on loopback that answers with exactly the bytes a test says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Heard:
    """A request as it came: header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Play: TypeAlias = Callable[[Heard, asyncio.StreamWriter], Awaitable[None]]
Page: TypeAlias = bytes | Play


@dataclass
class Site:
    """A running site.

    Attributes:
        pages: Path without its query -> the whole answer, or what plays it.
        port: Where it listens.
        heard: The requests so far.
    """

    pages: dict[str, Page]
    port: int = 0
    heard: list[Heard] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of a page."""
        return f"http://{host}:{self.port}{path}"


def page(
    body: bytes | str = b"",
    kind: str = "text/plain",
    status: str = "200 OK",
    *more: str,
    length: bool = True,
) -> bytes:
    """An answer with a status line, a type, further header lines and a body."""
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), *more]
    lines += [f"Content-Length: {len(raw)}"] if length else []
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + raw


def away(location: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return page(b"gone", "text/plain", status, f"Location: {location}")


@asynccontextmanager
async def site(pages: dict[str, Page] | None = None) -> AsyncIterator[Site]:
    """A site with these pages until the end of the block; `pages` may be changed on the way."""
    there = Site(pages if pages is not None else {})
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await _answer(there, reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    there.port = server.sockets[0].getsockname()[1]
    try:
        yield there
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


async def _answer(there: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    named = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): text.strip() for name, _, text in named}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    heard = Heard(method, target, headers, body)
    there.heard.append(heard)
    found = there.pages.get(target.partition("?")[0], page("nothing here", status="404 Not Found"))
    if callable(found):
        await found(heard, writer)
    else:
        writer.write(found)
    await writer.drain()

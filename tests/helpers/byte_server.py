"""A model server that plays byte scripts: exactly these bytes, cut exactly there, ended so."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

End: TypeAlias = Literal["done", "reset", "eof", "hold"]


@dataclass(frozen=True)
class Reply:
    """An answer.

    Attributes:
        body: Pieces, written one by one with a turn of the event loop between them.
        status: HTTP status.
        headers: Besides the usual ones.
        end: `done` ends the body well, `reset` breaks the connection in its middle, `eof` has no
            length and ends with the connection, `hold` stays silent until the client goes.
        gate: The end waits until this is set.
    """

    body: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = "done"
    gate: asyncio.Event | None = None


def stream(*chunks: object, done: bool = True, end: End = "done") -> Reply:
    """An event stream of JSON chunks."""
    lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    if done:
        lines.append(b"data: [DONE]\n\n")
    return Reply(tuple(lines), headers={"Content-Type": "text/event-stream"}, end=end)


def raw(*pieces: bytes | str, end: End = "done") -> Reply:
    """An event stream of these bytes."""
    body = tuple(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    return Reply(body, headers={"Content-Type": "text/event-stream"}, end=end)


def answer(body: object, status: int = 200, **headers: str) -> Reply:
    """A JSON body (or text as it is) with a status; `Retry_After` becomes `Retry-After`."""
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply((text.encode(),), status, {"Content-Type": "application/json", **named})


def delta(content: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    fields = {} if content is None else {"content": content}
    return {
        "id": "x",
        "model": "served-model",
        "choices": [{"index": 0, "delta": {**fields, **more}, "finish_reason": finish}],
    }


def fragment(name: str | None = None, arguments: object = None, **more: Any) -> dict[str, Any]:
    """A piece of a tool call, in a chunk."""
    function: dict[str, Any] = {}
    if name is not None:
        function["name"] = name
    if arguments is not None:
        function["arguments"] = arguments
    return delta(tool_calls=[{"type": "function", "function": function, **more}])


HELLO = (delta("Hel"), delta("lo"), delta(finish="stop"))


@dataclass(frozen=True)
class Request:
    """What came in; `body` is `content` parsed."""

    path: str
    headers: Mapping[str, str]
    body: Any
    content: bytes = b""


class ByteServer:
    """Answers each request with the next reply, then with status 418."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.requests: list[Request] = []
        self.gone = asyncio.Event()
        self.waiting = asyncio.Event()
        self.url = ""
        self.open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def will(self, *replies: Reply) -> None:
        """Add replies."""
        self.replies.extend(replies)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.open[task] = writer
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            del self.open[task]

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
        headers = {name.lower(): value for name, value in pairs}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        parsed = json.loads(content) if content else None
        self.requests.append(Request(head[0].split(" ")[1], headers, parsed, content))
        reply = self.replies.popleft() if self.replies else Reply((b"no reply left",), 418)
        chunked = reply.end != "eof" and head[0].endswith("1.1")
        lines = [f"HTTP/1.1 {reply.status} Whatever"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        lines.append("Transfer-Encoding: chunked" if chunked else "Connection: close")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for piece in filter(None, reply.body):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            await asyncio.sleep(0)
        if reply.gate is not None:
            self.waiting.set()
            await reply.gate.wait()
        if reply.end == "hold":
            self.waiting.set()
            await reader.read(1)
            self.gone.set()
            return False
        if reply.end == "done" and chunked:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        elif reply.end == "reset":
            writer.transport.abort()
        return reply.end == "done" and chunked


@asynccontextmanager
async def serving() -> AsyncIterator[ByteServer]:
    """A server on a free port of loopback."""
    server = ByteServer()
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=2**24)
    host, port = listening.sockets[0].getsockname()
    server.url = f"http://{host}:{port}/v1"
    try:
        yield server
    finally:
        listening.close()
        left = dict(server.open)
        for writer in left.values():
            writer.transport.abort()
        await asyncio.gather(*left)

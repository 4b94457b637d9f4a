"""A model server that answers at once, by script, and notes when each byte came and went.

It runs in a process of its own (`python -m benchmarks.server` prints its port). Times are
`time.monotonic`, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.script import Order, answer_tokens, order_in

MODEL: Final = "scripted"
CHUNKED: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
FILE_PATTERN: Final = "part-{:03}.txt"
MAX_REQUEST: Final = 64 * 1024 * 1024


@dataclass
class Exchange:
    """One request and its answer; moments in monotonic seconds.

    Attributes:
        arrived: The first byte of the request was read.
        first_byte: Before the first chunk was written.
        last_byte: The kernel had taken the last chunk.
        request_bytes: Length of the request's body.
        prompt_bytes: The part of it that is the system prompt.
        tools_bytes: The part of it that is the schemas of the tools.
    """

    arrived: float
    first_byte: float = 0.0
    last_byte: float = 0.0
    request_bytes: int = 0
    prompt_bytes: int = 0
    tools_bytes: int = 0


class Server:
    """Answers chat completions; `GET /log` gives the exchanges and forgets them."""

    def __init__(self) -> None:
        self._log: list[Exchange] = []

    async def serve(self) -> None:
        """Listen on a free port of the loopback, say which, answer until cancelled."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=MAX_REQUEST)
        port: int = server.sockets[0].getsockname()[1]
        print(port, flush=True)
        async with server:
            await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)
        try:
            while first := await reader.read(1):
                arrived = time.monotonic()
                head = first + await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                await self._answer(head, body, arrived, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, head: bytes, body: bytes, arrived: float, writer: asyncio.StreamWriter
    ) -> None:
        if head.startswith(b"GET /log "):
            said = [asdict(exchange) for exchange in self._log]
            self._log.clear()
            writer.write(_whole(said))
        elif head.startswith(b"POST"):
            exchange = Exchange(arrived, request_bytes=len(body))
            self._log.append(exchange)
            await _stream(body, exchange, writer)
        else:
            writer.write(_whole({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))
        await writer.drain()


async def _stream(body: bytes, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
    asked = json.loads(body)
    messages: list[Mapping[str, Any]] = asked["messages"]
    system = [message for message in messages if message["role"] in ("system", "developer")]
    exchange.prompt_bytes = sum(len(_text(message).encode()) for message in system)
    exchange.tools_bytes = len(json.dumps(asked.get("tools", []), separators=(",", ":")))
    order, results = _state(messages)
    writer.write(CHUNKED)
    exchange.first_byte = time.monotonic()
    async for block in _blocks(order, results):
        writer.write(block)
        await writer.drain()
    exchange.last_byte = time.monotonic()
    writer.write(b"0\r\n\r\n")


def _state(messages: list[Mapping[str, Any]]) -> tuple[Order, int]:
    """The order of the last prompt, and how many results of tools have come since."""
    results = 0
    for message in reversed(messages):
        if message["role"] == "tool":
            results += 1
        elif message["role"] == "user" and (order := order_in(_text(message))):
            return order, results
    return Order("burst", 20, 0, "unasked"), 0


async def _blocks(order: Order, results: int) -> AsyncIterator[bytes]:
    """The answer: one HTTP chunk a token."""
    if order.manner == "rounds" and results < order.count:
        yield _event({"tool_calls": [_call(results)]}) + _ending("tool_calls")
        return
    count = order.count if order.manner != "rounds" else 20
    tokens = [_event({"content": token}) for token in answer_tokens(count, order.marker)]
    if not order.rate:
        yield b"".join(tokens) + _ending("stop")
        return
    began = time.monotonic()
    for number, token in enumerate(tokens):
        await asyncio.sleep(began + number / order.rate - time.monotonic())
        yield token
    yield _ending("stop")


def _call(number: int) -> dict[str, Any]:
    arguments = json.dumps({"path": FILE_PATTERN.format(number)})
    function = {"name": "read_file", "arguments": arguments}
    return {"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}


def _event(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [choice],
        **more,
    }
    line = b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
    return _chunk(line)


def _ending(finish: str) -> bytes:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return _event({}, finish, usage=usage) + _chunk(b"data: [DONE]\n\n")


def _chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _whole(value: object) -> bytes:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


if __name__ == "__main__":
    try:
        asyncio.run(Server().serve())
    except KeyboardInterrupt:
        sys.exit(130)

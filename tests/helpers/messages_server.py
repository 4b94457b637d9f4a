"""A stand-in for Anthropic's Messages API on loopback that plays scripted turns."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

End: TypeAlias = Literal["whole", "cut", "hang"]

Block: TypeAlias = Mapping[str, Any]

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
USAGE: Mapping[str, int] = {
    "input_tokens": 20,
    "output_tokens": 25,
    "cache_creation_input_tokens": 1_500,
    "cache_read_input_tokens": 9_000,
}
"""What a turn costs unless it says otherwise."""


def say(text: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": text}


def think(text: str, signature: str = "sig-of-thought") -> Block:
    """A block of shown reasoning."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def use(name: str, arguments: Mapping[str, Any], call_id: str = "") -> Block:
    """A tool call; without an id it gets one of its own."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}


@dataclass(frozen=True)
class Turn:
    """An answer.

    Attributes:
        blocks: What it says, in order.
        status: HTTP status; anything but 200 sends an error.
        message: Of the error.
        kind: The error's `type`, "" for the usual one of its status.
        headers: Besides the usual ones.
        end: `cut` breaks the connection in the middle of the last block, `hang` stays silent there
            until the client goes.
        stop: The stop reason, "" for what follows from the blocks.
        usage: Tokens.
        events: Raw events sent in place of the blocks: `("error", {...})`.
        gate: The body waits until this is set.
    """

    blocks: tuple[Block, ...] = ()
    status: int = 200
    message: str = ""
    kind: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = "whole"
    stop: str = ""
    usage: Mapping[str, int] = field(default_factory=lambda: USAGE)
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    gate: asyncio.Event | None = None


def turn(*blocks: Block | str, **more: Any) -> Turn:
    """An answer of these blocks; a string is text."""
    made = tuple(say(block) if isinstance(block, str) else block for block in blocks)
    return Turn(made, **more)


def fails(status: int, message: str = "", kind: str = "", **headers: str) -> Turn:
    """An error; `Retry_After` becomes `Retry-After`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn(status=status, message=message or f"status {status}", kind=kind, headers=named)


@dataclass(frozen=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class MessagesServer:
    """Answers each request for a message with the next turn, then with a 400."""

    def __init__(self) -> None:
        self.turns: deque[Turn] = deque()
        self.asked: list[Asked] = []
        self.others: list[Asked] = []
        self.waiting = asyncio.Event()
        self.gone = asyncio.Event()
        self.url = ""
        self._ids = itertools.count(1)
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def will(self, *turns: Turn) -> None:
        """Add turns."""
        self.turns.extend(turns)

    @property
    def bodies(self) -> list[Any]:
        """What was asked, oldest first."""
        return [request.body for request in self.asked]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            del self._open[task]

    async def close(self) -> None:
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        pairs = (line.split(": ", 1) for line in head[1:] if ": " in line)
        headers = {name.lower(): value for name, value in pairs}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Asked(method, path, headers, json.loads(content) if content else None)
        if not (method == "POST" and path.split("?")[0].endswith("/v1/messages")):
            self.others.append(request)
            answer = {"input_tokens": 10} if path.split("?")[0].endswith("count_tokens") else {}
            await _send_json(writer, 200, answer, {}, head_only=method == "HEAD")
            return True
        self.asked.append(request)
        scripted = self.turns.popleft() if self.turns else fails(400, "no turn left in the script")
        if scripted.gate is not None:
            self.waiting.set()
            await scripted.gate.wait()
        if scripted.status != 200:
            kind = scripted.kind or ERROR_TYPES.get(scripted.status, "api_error")
            error = {"type": "error", "error": {"type": kind, "message": scripted.message}}
            await _send_json(writer, scripted.status, error, scripted.headers)
            return True
        scripted = replace(scripted, blocks=tuple(self._named(scripted.blocks)))
        if request.body.get("stream"):
            return await self._stream(scripted, request, reader, writer)
        await _send_json(writer, 200, self._message(scripted, request), scripted.headers)
        return True

    def _named(self, blocks: tuple[Block, ...]) -> Iterator[Block]:
        for block in blocks:
            if block["type"] == "tool_use" and not block["id"]:
                yield {**block, "id": f"toolu_{next(self._ids):08d}"}
            else:
                yield block

    def _message(self, scripted: Turn, request: Asked) -> dict[str, Any]:
        return {
            "id": f"msg_{next(self._ids):08d}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "served-model"),
            "content": list(scripted.blocks),
            "stop_reason": _stop_reason(scripted),
            "stop_sequence": None,
            "usage": dict(scripted.usage),
        }

    async def _stream(
        self,
        scripted: Turn,
        request: Asked,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in scripted.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        events = list(self._events(scripted, request))
        if scripted.end != "whole":
            # Without the end of the last block and of the message.
            events = events[:-3]
        for name, payload in events:
            text = f"event: {name}\ndata: {json.dumps({'type': name, **payload})}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(text), text))
            await writer.drain()
            await asyncio.sleep(0)
        match scripted.end:
            case "whole":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            case "cut":
                writer.transport.abort()
            case "hang":
                self.waiting.set()
                await reader.read(1)
                self.gone.set()
        return False

    def _events(self, scripted: Turn, request: Asked) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if scripted.events:
            yield from scripted.events
            return
        message = self._message(scripted, request)
        usage = {**scripted.usage, "output_tokens": 1}
        opened = {**message, "content": [], "stop_reason": None, "usage": usage}
        yield "message_start", {"message": opened}
        for index, block in enumerate(scripted.blocks):
            yield from _block_events(index, block)
        counted = {"output_tokens": scripted.usage.get("output_tokens", 0)}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"delta": ended, "usage": {**scripted.usage, **counted}}
        yield "message_stop", {}


def _stop_reason(scripted: Turn) -> str:
    calls = any(block["type"] == "tool_use" for block in scripted.blocks)
    return scripted.stop or ("tool_use" if calls else "end_turn")


def _block_events(index: int, block: Block) -> Iterator[tuple[str, Mapping[str, Any]]]:
    empty: dict[str, Any]
    match block["type"]:
        case "text":
            empty = {**block, "text": ""}
            pieces = [{"type": "text_delta", "text": text} for text in _pieces(block["text"])]
        case "thinking":
            empty = {**block, "thinking": "", "signature": ""}
            pieces = [
                {"type": "thinking_delta", "thinking": text} for text in _pieces(block["thinking"])
            ]
            pieces.append({"type": "signature_delta", "signature": block["signature"]})
        case _:
            empty = {**block, "input": {}}
            whole = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": text} for text in _pieces(whole)]
    yield "content_block_start", {"index": index, "content_block": empty}
    for piece in pieces:
        yield "content_block_delta", {"index": index, "delta": piece}
    yield "content_block_stop", {"index": index}


def _pieces(text: str) -> Iterator[str]:
    """A text in two or three pieces, as it would come."""
    size = max(1, -(-len(text) // 3))
    return (text[at : at + size] for at in range(0, len(text), size))


async def _send_json(
    writer: asyncio.StreamWriter,
    status: int,
    body: object,
    headers: Mapping[str, str],
    *,
    head_only: bool = False,
) -> None:
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines.append(f"Content-Length: {len(content)}")
    writer.write("\r\n".join([*lines, "", ""]).encode() + (b"" if head_only else content))
    await writer.drain()


@asynccontextmanager
async def serving() -> AsyncIterator[MessagesServer]:
    """A server on loopback, gone at the end with all its connections."""
    server = MessagesServer()
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listening.close()
        await server.close()

"""What our client adds to the first token, beside a bare socket that reads the same answer."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

from benchmarks.rows import Beside, Limit, Row, middle
from benchmarks.script import Order
from benchmarks.server import MODEL
from benchmarks.world import World
from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.protocol.provider import ChatRequest, Message, Text, ToolSpec
from stormclaw.providers._openai.wire import Wire
from stormclaw.providers.openai_compatible import OpenAICompatible
from stormclaw.providers.quirks import Quirks

ASKED = 60
WARM = 5
MOST_ADDED_MS = 3
EXCHANGES = (0, 200)
"""How much was said before: nothing, and much."""
TOKENS_A_SECOND = 500
WORDS = "word " * 100
Took: TypeAlias = tuple[float, float]
"""Milliseconds of the clock, and of this process's processor time."""


def first(world: World) -> list[Row]:
    """From the request in hand to the first piece of text, by turns over kept connections."""
    return [row for said in EXCHANGES for row in asyncio.run(_compared(world, said))]


async def _compared(world: World, exchanges: int) -> list[Row]:
    settings = ModelSettings("openai-compatible", model=MODEL, base_url=world.server.base_url)
    provider = OpenAICompatible("bench", settings, None)
    wire = Wire("bench", settings)
    base = _request(exchanges)
    ours: list[Took] = []
    bare: list[Took] = []
    socket = await _Socket.to(world.server.port)
    try:
        for turn in range(world.runs(ASKED) + WARM):
            order = Order("stream", 3, TOKENS_A_SECOND, f"first{turn}")
            request = replace(base, messages=(*base.messages, UserText(order.prompt())))
            body = wire.body(request, MODEL, Quirks()).content
            for measured, found in ((_ours(provider, request), ours), (socket.ask(body), bare)):
                took = await measured
                if turn >= WARM:
                    found.append(took)
    finally:
        socket.close()
        await provider.close()
    what = f"first token after {exchanges} exchanges, added"
    limit = Limit(MOST_ADDED_MS)
    return [_added(what, 0, ours, bare, limit), _added(f"{what} CPU", 1, ours, bare, None)]


def _added(what: str, of: int, ours: list[Took], bare: list[Took], limit: Limit | None) -> Row:
    floor = middle([took[of] for took in bare])
    added = tuple(took[of] - floor for took in ours)
    return Row(what, middle(added), "ms", Beside("bare socket", floor), limit, added)


def _request(exchanges: int) -> ChatRequest:
    """A conversation so far, with tools."""
    said: list[Message] = []
    for number in range(exchanges):
        said += [UserText(f"question {number}"), AssistantTurn(f"answer {number} {WORDS}")]
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools = tuple(ToolSpec(f"tool_{number}", "It does it. " * 20, schema) for number in range(20))
    return ChatRequest("be brief. " * 200, tuple(said), tools, MODEL)


async def _ours(provider: OpenAICompatible, request: ChatRequest) -> Took:
    """Until our client gives the first text; the answer is read to its end."""
    watch = _Watch()
    async with aclosing(provider.stream(request)) as items:
        async for item in items:
            if isinstance(item, Text):
                watch.stop()
    return watch.took


class _Watch:
    """Milliseconds of the clock and of the processor, until it is first stopped."""

    def __init__(self) -> None:
        self._began = (time.perf_counter(), time.process_time())
        self.took: Took = (0.0, 0.0)

    def stop(self) -> None:
        if not self.took[0]:
            clock, processor = self._began
            took = (time.perf_counter() - clock, time.process_time() - processor)
            self.took = (took[0] * 1000, took[1] * 1000)


class _Socket:
    """The least that can read a streamed answer, over one kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> _Socket:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=2**20))

    async def ask(self, body: bytes) -> Took:
        """Until the first line with text is there; reads on to the end."""
        watch = _Watch()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
        self._writer.write(head.encode() + b"\r\n\r\n" + body)
        while (line := await self._reader.readline()) != b"0\r\n":
            if line.startswith(b"data: {"):
                watch.stop()
        await self._reader.readline()
        return watch.took

    def close(self) -> None:
        self._writer.close()

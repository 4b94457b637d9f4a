"""The least a client of a model server can be: asyncio and json, for the floors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator


async def tokens(port: int, prompt: str) -> AsyncIterator[str]:
    """Send a prompt to the server on this port of the loopback, yield the pieces of its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]}
    body = json.dumps(asked).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        while line := await reader.readline():
            if line.startswith(b"data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                if token := delta.get("content"):
                    yield token
            elif line.startswith(b"data: [DONE]"):
                return
    finally:
        writer.close()


async def _print(port: int, prompt: str) -> None:
    print("".join([token async for token in tokens(port, prompt)]))


def main(port: int, prompt: str) -> None:
    """Print one answer: the floor of a run without a screen."""
    asyncio.run(_print(port, prompt))

"""One question to a model server on this machine, without an HTTP library.

Importing one takes longer than the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

MAX_REPLY_BYTES: Final = 256 * 1024


class Loaded(NamedTuple):
    """A model a server has.

    Attributes:
        model: Its name.
        context_window: What it takes in tokens, 0 if that is not said.
        more: Whether `loaded_window` may know more.
    """

    model: str
    context_window: int
    more: bool


async def first_model(base_url: str) -> Loaded | None:
    """The first model that can chat; None where no model server answers.

    Raises:
        OSError: Nobody answers.
        ValueError: Somebody else does.
        asyncio.IncompleteReadError: The answer broke.
    """
    listed = await get_json(base_url, "/models")
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(name, str) and name and "embed" not in name.lower():
            window = listed_window(entry)
            return Loaded(name, window, not window and entry.get("owned_by") == "llamacpp")
    return None


async def loaded_window(base_url: str) -> int:
    """The loaded context of an older llama.cpp, which does not tell it in its list; 0 if unknown.

    Raises:
        OSError: Nobody answers.
        ValueError: Somebody else does.
        asyncio.IncompleteReadError: The answer broke.
    """
    props = await get_json(base_url.removesuffix("/v1"), "/props")
    loaded = props.get("default_generation_settings") if isinstance(props, Mapping) else None
    return _whole(loaded.get("n_ctx")) if isinstance(loaded, Mapping) else 0


def listed_window(entry: Mapping[str, Any]) -> int:
    """What the model takes, as vLLM or llama.cpp say it beside the model's name."""
    meta = entry.get("meta")
    loaded = meta.get("n_ctx") if isinstance(meta, Mapping) else None
    return _whole(entry.get("max_model_len")) or _whole(loaded)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


async def get_json(base_url: str, path: str) -> object:
    address = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(
        address.hostname, address.port, limit=MAX_REPLY_BYTES
    )
    try:
        # HTTP/1.0: the answer ends with the connection and never comes in chunks.
        writer.write(
            f"GET {address.path}{path} HTTP/1.0\r\nHost: {address.netloc}\r\n"
            "Accept: application/json\r\n\r\n".encode()
        )
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            raise ValueError("no such page")
        parsed: object = json.loads(await _body(head, reader))
        return parsed
    finally:
        writer.close()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    """As many bytes as the head names, else all until the connection ends."""
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return await reader.readexactly(min(int(value), MAX_REPLY_BYTES))
    return await reader.read(MAX_REPLY_BYTES)

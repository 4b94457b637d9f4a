"""Writes small GGUF files: a head as one wants it, and as much of the weights as one wants."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

FACTS: Mapping[str, object] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 4_096,
    "llama.block_count": 10,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["a", "<|im_end|>", "<|im|>"],
    "tokenizer.ggml.token_type": [1, 3, 3],
}


def write_gguf(path: Path, facts: Mapping[str, object] | None = None, *, missing: int = 0) -> Path:
    """A file with these facts over `FACTS` and one tensor of 64 numbers.

    Args:
        path: Where.
        facts: Name -> value; whole numbers, texts, and lists of either.
        missing: Bytes left out at the end.
    """
    entries = {**FACTS, **(facts or {})}
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(entries))
    for name, value in entries.items():
        kind, raw = _value(value)
        head += _text(name) + struct.pack("<I", kind) + raw
    head += _text("weights") + struct.pack("<IQIQ", 1, 64, 0, 0)
    head += b"\0" * (-len(head) % 32)
    whole = head + b"\0" * 256
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(whole[: len(whole) - missing])
    return path


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: object) -> tuple[int, bytes]:
    if isinstance(value, str):
        return 8, _text(value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    assert isinstance(value, list)
    kind, _ = _value(value[0])
    raw = b"".join(_value(item)[1] for item in value)
    return 9, struct.pack("<IQ", kind, len(value)) + raw

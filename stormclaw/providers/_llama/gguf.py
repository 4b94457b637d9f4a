"""Reads the head of a GGUF file: what model it is, what it needs, and whether it is whole.

The library's own word on a bad file is "failed"; a person wants to know which and why. The weights
themselves are never read here.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MOST_ENTRIES: Final = 10_000_000
"""More than any vocabulary has; a larger count is no count."""
MOST_TEXT: Final = 16_000_000
_SCALARS: Final = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_TEXT: Final = 8
_LIST: Final = 9
_CONTROL: Final = 3
"""The type of a token that is never said, only obeyed: `<|im_start|>`."""
_ALIGNMENT: Final = 32

_BLOCKS: Final = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}
"""Tensor type -> (numbers in a block, bytes of a block); of others only the start is checked."""


class BadModelFile(Exception):
    """It is no GGUF file, or not a whole one; the message says which."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of a file says.

    Attributes:
        name: The model's own name, "" if it has none.
        architecture: `llama`, `qwen2`, ...
        context: Tokens it was trained to take, 0 if it does not say.
        cache_bytes: What one token of context takes in memory.
        control_tokens: Texts with a meaning of their own, longest first.
    """

    name: str
    architecture: str
    context: int
    cache_bytes: int
    control_tokens: tuple[str, ...] = ()


def read_window(path: Path) -> int:
    """Tokens the model was trained to take; reads only as far as that, 0 if it is not said.

    Raises:
        BadModelFile: It is no GGUF file.
        OSError: It cannot be read.
    """
    with _opened(path) as walk:
        for key, value in walk.entries():
            if key.endswith(".context_length") and isinstance(value, int):
                return value
    return 0


def read_head(path: Path) -> Head:
    """The whole head, and a look at whether the file holds every tensor it names.

    Raises:
        BadModelFile: It is no GGUF file, or a part of one.
        OSError: It cannot be read.
    """
    with _opened(path) as walk:
        facts = dict(walk.entries(_TOKENS))
        walk.check_tensors(facts.get("general.alignment", _ALIGNMENT))
    architecture = str(facts.get("general.architecture", ""))
    return Head(
        name=str(facts.get("general.name", "")),
        architecture=architecture,
        context=_whole(facts.get(f"{architecture}.context_length")),
        cache_bytes=_cache_bytes(facts, architecture),
        control_tokens=_control(facts),
    )


_TOKENS: Final = frozenset({"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"})


class _Walk:
    """A position in the file, and what can be read there."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self._at = 24
        if view[:4] != b"GGUF":
            raise BadModelFile("this is no GGUF file")
        version, self._tensors, self._entries = struct.unpack_from("<IQQ", view, 4)
        if version not in (2, 3):
            raise BadModelFile(f"GGUF version {version} is not known here")
        if self._tensors > MOST_ENTRIES or self._entries > MOST_ENTRIES:
            raise BadModelFile("its head is damaged")

    def entries(self, lists: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any]]:
        """Every fact with its name; of long lists only those named in `lists` are kept."""
        for _ in range(self._entries):
            key = self._text()
            yield key, self._value(self._number("<I"), keep=key in lists)

    def check_tensors(self, alignment: int) -> None:
        """Whether the last byte of every tensor is there; to be called after all entries."""
        ends = [0]
        for _ in range(self._tensors):
            self._text()
            dimensions = self._number("<I")
            if dimensions > 8:
                raise BadModelFile("its list of tensors is damaged")
            numbers = 1
            for _ in range(dimensions):
                numbers *= self._number("<Q")
            kind, offset = self._number("<I"), self._number("<Q")
            block, size = _BLOCKS.get(kind, (1, 0))
            ends.append(offset + numbers // block * size)
        start = -(-self._at // max(alignment, 1)) * alignment
        missing = start + max(ends) - len(self._view)
        if missing > 0:
            raise BadModelFile(f"the file is not whole: at least {missing:,} bytes are missing")

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._view, self._at)
        self._at += struct.calcsize(form)
        return value  # type: ignore[no-any-return]

    def _text(self) -> str:
        return self._bytes().decode("utf-8", "replace")

    def _bytes(self) -> bytes:
        length = self._number("<Q")
        if length > MOST_TEXT or self._at + length > len(self._view):
            raise BadModelFile("its head is damaged or cut off")
        self._at += length
        return self._view[self._at - length : self._at]

    def _value(self, kind: int, *, keep: bool) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            return self._list(keep=keep)
        if kind not in _SCALARS:
            raise BadModelFile("its head is damaged")
        return self._number(_SCALARS[kind])

    def _list(self, *, keep: bool) -> Any:
        kind, count = self._number("<I"), self._number("<Q")
        if count > MOST_ENTRIES:
            raise BadModelFile("its head is damaged")
        if kind in _SCALARS:
            form = f"<{count}{_SCALARS[kind][1]}"
            values = struct.unpack_from(form, self._view, self._at)
            self._at += struct.calcsize(form)
            return values
        if kind != _TEXT:
            raise BadModelFile("its head is damaged")
        texts = [self._bytes() for _ in range(count)]
        return texts if keep else ()


@contextmanager
def _opened(path: Path) -> Iterator[_Walk]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            yield _Walk(view)
    except struct.error:
        raise BadModelFile("its head is cut off") from None
    except ValueError:
        raise BadModelFile("the file is empty") from None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _cache_bytes(facts: dict[str, Any], architecture: str) -> int:
    """Bytes of keys and values for one token, two for each number."""

    def fact(name: str) -> Any:
        return facts.get(f"{architecture}.{name}")

    layers, heads = _whole(fact("block_count")), fact("attention.head_count")
    most_heads = max(heads, default=0) if isinstance(heads, tuple) else _whole(heads)
    key_heads = fact("attention.head_count_kv")
    if isinstance(key_heads, tuple):
        all_heads = sum(key_heads)
    else:
        all_heads = layers * (_whole(key_heads) or most_heads)
    width = _whole(fact("embedding_length")) // max(most_heads, 1)
    keys = _whole(fact("attention.key_length")) or width
    values = _whole(fact("attention.value_length")) or width
    return int(all_heads * (keys + values) * 2)


def _control(facts: dict[str, Any]) -> tuple[str, ...]:
    tokens = facts.get("tokenizer.ggml.tokens", ())
    kinds = facts.get("tokenizer.ggml.token_type", ())
    marks = {
        token.decode("utf-8", "replace")
        for token, kind in zip(tokens, kinds, strict=False)
        if kind == _CONTROL and len(token) > 2
    }
    return tuple(sorted(marks, key=lambda mark: (-len(mark), mark)))

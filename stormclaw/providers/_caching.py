"""Where a provider's prompt cache is told to keep what it has read, and which models want that."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.protocol.provider import Message

MARK: Final = {"type": "ephemeral"}
FIELD: Final = "cache_control"
_TOOL_MARK: Final = f',"{FIELD}":{json.dumps(MARK, separators=(",", ":"))}}}]'.encode()
BYTES_PER_TOKEN: Final = 3
"""Fewer than text has, so that a beginning that may just be long enough is marked."""


@dataclass(frozen=True, slots=True)
class Caching:
    """How the models whose name begins so take markers: a row of a dialect's table.

    Attributes:
        models: Beginning of the model's name as the server spells it.
        least: Tokens under which their cache keeps nothing.
        tools: Whether the last tool may carry a marker.
        results: Whether the result of a call may; else only words do.
    """

    models: str
    least: int = 1024
    tools: bool = True
    results: bool = True


OPENROUTER: Final[tuple[Caching, ...]] = (
    Caching("anthropic/claude-haiku-4.5", 4096),
    Caching("anthropic/claude-opus-4.5", 4096),
    Caching("anthropic/claude-opus-4.6", 4096),
    Caching("anthropic/claude-3.5-haiku", 2048),
    Caching("anthropic/claude-3-haiku", 2048),
    Caching("anthropic/"),
    Caching("qwen/", tools=False),
)
"""Models that keep nothing unless told to, the closest name first.

Gemini's explicit cache is left alone: it costs storage and only the last marker counts, so one that
moves with the conversation would buy it anew each time; its implicit cache needs no marker.
"""


def caching_of(rows: Iterable[Caching], model: str) -> Caching | None:
    """The row for a model; None when it is to get no markers."""
    name = model.lower().removeprefix("~")
    return next((row for row in rows if name.startswith(row.models)), None)


def less(rows: tuple[Caching, ...]) -> tuple[Caching, ...]:
    """What is tried after a server refused a marker: words alone, then nothing."""
    if any(row.results or row.tools for row in rows):
        return tuple(replace(row, tools=False, results=False) for row in rows)
    return ()


def breakpoints(messages: Sequence[Message], *, results: bool = True) -> tuple[int, ...]:
    """Which messages are to carry a marker: at most two, the older one first. A pure function.

    The newest one, so that the next request finds all of this one; and the one this request's
    answer before last was given to, which is where the last request had its newest: a cache looks
    only some 20 blocks back from a marker, and one round of calls may be longer than that.

    Args:
        messages: As they are sent.
        results: Whether the result of a call may carry one.
    """
    newest = _last(messages, len(messages), results)
    if newest < 0:
        return ()
    answers = (at for at in range(len(messages) - 1, -1, -1) if _is_answer(messages[at]))
    stable = _last(messages, next(answers, 0), results)
    return (stable, newest) if 0 <= stable < newest else (newest,)


def _last(messages: Sequence[Message], end: int, results: bool) -> int:
    """The last one before `end` that can carry a marker, -1 if none can."""
    fitting = (at for at in range(end - 1, -1, -1) if _can_carry(messages[at], results))
    return next(fitting, -1)


def _can_carry(message: Message, results: bool) -> bool:
    if isinstance(message, UserText | AssistantTurn):
        return bool(message.text.strip())  # An empty block is refused, marked or not.
    return results


def _is_answer(message: Message) -> bool:
    return isinstance(message, AssistantTurn) and bool(message.text.strip() or message.calls)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a request as JSON, in the order in which a cache reads it.

    Attributes:
        tools: The list of tools, b"" if there is none.
        system: The system message, b"" if there is none.
        messages: The others.
    """

    tools: bytes
    system: bytes
    messages: Sequence[bytes]


def mark(prefix: Prefix, row: Caching, messages: Sequence[Message], ends: Sequence[int]) -> Prefix:
    """The same with at most four markers: last tool, system message, and the two `breakpoints`.

    What is too short to be kept gets none.

    Args:
        prefix: As it would be sent without.
        row: How the model takes them.
        messages: What `prefix.messages` was made of.
        ends: For each of `prefix.messages` the last of `messages` in it.
    """
    least = row.least * BYTES_PER_TOKEN
    before = len(prefix.tools) + len(prefix.system)
    tools, system, wired = prefix.tools, prefix.system, list(prefix.messages)
    if row.tools and tools.endswith(b"}]") and len(tools) >= least:
        tools = tools[:-2] + _TOOL_MARK
    if system and before >= least:
        system = marked(system)
    lengths = list(accumulate(map(len, wired), initial=before))
    for at in breakpoints(messages, results=row.results):
        piece = bisect_left(ends, at)
        if lengths[piece + 1] >= least:
            wired[piece] = marked(wired[piece])
    return Prefix(tools, system, wired)


def marked(message: bytes) -> bytes:
    """A message's JSON with a marker on its text; as it is when it has no text.

    The marker goes on a part of the content: beside `content` some servers wait for ever.
    """
    wired: dict[str, Any] = json.loads(message)
    text = wired.get("content")
    if not isinstance(text, str) or not text:
        return message
    wired["content"] = [{"type": "text", "text": text, FIELD: MARK}]
    return json.dumps(wired, ensure_ascii=False, separators=(",", ":")).encode()

"""What one server has taught us of how it wants to be spoken to, and how it teaches it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from stormclaw.errors import ProviderError
from stormclaw.providers._anthropic.thinking import next_way

if TYPE_CHECKING:
    from stormclaw.providers._anthropic.wire import Body

LEAST_ROOM: Final = 1_024
"""Tokens an answer must have at least; where less fits, the conversation is too long."""
_SLACK: Final = 64

_FOREIGN: Final = re.compile(r"bound to a different conversation|prefix_mismatch_behavior")
_ECHO: Final = re.compile(
    r"signature|thinking.{0,3} blocks|expected .{0,3}(redacted_)?thinking|found .{0,3}tool_use",
    re.IGNORECASE,
)
_THINKING: Final = re.compile(
    r"thinking|\beffort\b|output_config|budget_tokens|adaptive", re.IGNORECASE
)
_MARKER: Final = re.compile(r"cache[_ ]?control|prompt caching", re.IGNORECASE)
_TOO_MUCH: Final = re.compile(r"\bmax_tokens\b|maximum tokens you requested", re.IGNORECASE)
_NO_ROOM: Final = re.compile(r"exceed context limit: (\d+) \+ (\d+) > (\d+)")
_REFUSAL: Final = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed|recogni[sz]ed)"
    r"|does(n't| not) (support|accept)|deprecated|extra (inputs|fields)|removed|cannot be",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Talk:
    """How a server takes one model.

    Attributes:
        rungs: By effort, how far down the ways to think it has sent us.
        most_tokens: The most it lets one answer have, where it said so.
        markers: Whether it takes markers for its cache.
        drop_foreign: Whether it must be told to drop earlier thinking it does not accept.
        muted: What is not sent back of earlier thinking.
        refused: Further fields it does not take.
    """

    rungs: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    most_tokens: int | None = None
    markers: bool = True
    drop_foreign: bool = False
    muted: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal teaches.

    Attributes:
        talk: How to speak from now on.
        remark: What the person should know of it, "" for nothing.
    """

    talk: Talk
    remark: str = ""


def learnt(talk: Talk, error: ProviderError, body: Body, effort: str) -> Lesson | None:
    """What to do otherwise; None when the error is about something else. A pure function.

    Args:
        talk: How the refused request was spoken.
        error: What the server said.
        body: The refused request.
        effort: How hard it asked to think.
    """
    if error.kind not in ("bad_request", "not_found"):
        return None
    said = str(error)
    lessons = (_about_echoes, _about_tokens, _about_markers, _about_fields)
    found = next(filter(None, (lesson(talk, said, body) for lesson in lessons)), None)
    return found or _about_thinking(talk, said, body, effort)


def room_left(error: ProviderError) -> int | None:
    """How many tokens fit beside the conversation, where a server said so; None otherwise."""
    found = _NO_ROOM.search(str(error))
    if found is None:
        return None
    sent, _, window = map(int, found.groups())
    return max(0, window - sent - _SLACK)


def _about_echoes(talk: Talk, said: str, body: Body) -> Lesson | None:
    if not body.echoed:
        return None
    if _FOREIGN.search(said) and body.ladder[body.rung].active and not talk.drop_foreign:
        return Lesson(replace(talk, drop_foreign=True))
    if _FOREIGN.search(said) or _ECHO.search(said):
        remark = "earlier thinking was not accepted any more and is left out from now on"
        return Lesson(replace(talk, muted=talk.muted | body.echoed), remark)
    return None


def _about_tokens(talk: Talk, said: str, body: Body) -> Lesson | None:
    """`max_tokens: 128000 > 64000, which is the maximum ...` and its relatives."""
    if not _TOO_MUCH.search(said) or _NO_ROOM.search(said) or "budget_tokens" in said:
        return None
    numbers = (int(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*\d", said))
    most = max((number for number in numbers if LEAST_ROOM <= number < body.max_tokens), default=0)
    return Lesson(replace(talk, most_tokens=most)) if most else None


def _about_markers(talk: Talk, said: str, body: Body) -> Lesson | None:
    if body.marked and _MARKER.search(said):
        return Lesson(replace(talk, markers=False))
    return None


def _about_fields(talk: Talk, said: str, body: Body) -> Lesson | None:
    needed = {"max_tokens", "messages", "system", "tools", "thinking", "output_config"}
    named = [
        (found.start(), name)
        for name in body.parts.keys() - needed
        if (found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said))
    ]
    if not named or not _REFUSAL.search(said):
        return None
    name = min(named)[1]
    remark = f"{body.model} does not take {name}: it is left out"
    return Lesson(replace(talk, refused=talk.refused | {name}), remark)


def _about_thinking(talk: Talk, said: str, body: Body, effort: str) -> Lesson | None:
    if not _THINKING.search(said):
        return None
    rung = next_way(body.ladder, body.rung, said)
    if rung < 0:
        return None
    remark = f"{body.model} does not think the way it was asked to: it now {body.ladder[rung]}"
    return Lesson(replace(talk, rungs={**talk.rungs, effort: rung}), remark)

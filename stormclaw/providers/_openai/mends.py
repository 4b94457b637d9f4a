"""How the next request differs from one that was refused: what a server taught us it cannot take.

`RECOVERY` says for which class of error which of these is tried; the order there is the order here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.providers import _caching
from stormclaw.providers._openai import effort
from stormclaw.providers._openai.wire import Body
from stormclaw.providers.quirks import Quirks, TokenField
from stormclaw.providers.recovery import RECOVERY, Mend

_REFUSAL: Final = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed|recogni[sz]ed)"
    r"|does not support|is not available|extra (inputs|fields)|cannot find field|no such field"
    r"|forbidden|invalid (field|param|argument name)",
    re.IGNORECASE,
)
_OTHER_LIMIT: Final[Mapping[str, TokenField]] = MappingProxyType(
    {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
)
_ECHOED: Final = ("reasoning_details", "reasoning_content", "reasoning_text", "reasoning")
_MARKER: Final = re.compile(r"cache[_ ]?control|cache point|prompt caching", re.IGNORECASE)
_WANTS_TEXT: Final = re.compile(r"content\b.{0,80}\bstring", re.IGNORECASE | re.DOTALL)
_NEEDED: Final = frozenset({"model", "messages", "tools", "stream"})
_DEVELOPER: Final = re.compile(
    r"developer.{0,40}(is not one of|not supported|invalid|unknown)|role.{0,40}developer",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM: Final = re.compile(
    r"system (role|message|prompt|instruction)s?.{0,30}not (supported|enabled|allowed)"
    r"|developer instruction is not enabled",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"must alternate|alternate (between )?user|unexpected role|roles? .{0,40}after role"
    r"|(last|first) message must|should not be followed by",
    re.IGNORECASE,
)
_IDS: Final = re.compile(
    r"tool[_ ]call[_ ]?ids?\b.{0,160}(length|alphanumeric|a-z)|tool_calls\[\d+\]\.id"
    r"|tool_use\.id",
    re.IGNORECASE | re.DOTALL,
)
_SCHEMA: Final = re.compile(
    r"function_?declarations|input_schema|json ?schema|invalid schema|schema for function"
    r"|tools?[\[.]\d+.{0,40}(parameters|schema)|function\.parameters|failed to parse grammar"
    r"|error (parsing|converting).{0,20}grammar|pattern must start",
    re.IGNORECASE,
)
_STRICT: Final = re.compile(r"\bstrict\b", re.IGNORECASE)
_NO_REASONING: Final = re.compile(
    r"missing.{0,80}reasoning_content|reasoning_content.{0,80}(missing|must be|is required)",
    re.IGNORECASE | re.DOTALL,
)
_WANTS_TOOLS: Final = re.compile(r"expects the `?tools=?`? param", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mended:
    """What is tried instead.

    Attributes:
        quirks: How to speak from now on.
        remark: What the person should know of it, "" for nothing.
    """

    quirks: Quirks
    remark: str = ""


_Way: TypeAlias = Callable[[Quirks, Body, str], Mended | None]


def mended(quirks: Quirks, error: ProviderError, body: Body) -> Mended | None:
    """The way of speaking that avoids what was refused; None when the error is about another thing.

    Args:
        quirks: How the refused request was spoken.
        error: What the server said.
        body: What was refused.
    """
    said = str(error)
    for mend in RECOVERY[error.kind].mends:
        found = _WAYS[mend](quirks, body, said)
        if found is not None and found.quirks != quirks:
            return found
    return None


def _markers(quirks: Quirks, body: Body, said: str) -> Mended | None:
    """The marker is meant, or that content came in parts because of it."""
    if body.marked and (_MARKER.search(said) or _WANTS_TEXT.search(said)):
        return Mended(replace(quirks, cache=_caching.less(quirks.cache)))
    return None


def _thinking(quirks: Quirks, body: Body, said: str) -> Mended | None:
    if body.echoed and any(_place(said, name) for name in _ECHOED[:3]):
        return None
    if not (body.effort and effort.FIELDS.intersection(body.fields)):
        return None
    if not (_REFUSAL.search(said) or effort.ABOUT_VALUE.search(said)):
        return None
    found = effort.less(quirks, body.effort, said)
    return found and Mended(*found)


def _roles(quirks: Quirks, _: Body, said: str) -> Mended | None:
    if quirks.system_role == "developer" and _DEVELOPER.search(said):
        return Mended(replace(quirks, system_role="system"))
    if _NO_SYSTEM.search(said):
        return Mended(replace(quirks, system_role="user"))
    if _TURNS.search(said):
        return Mended(replace(quirks, strict_turns=True))
    return None


def _ids(quirks: Quirks, _: Body, said: str) -> Mended | None:
    return Mended(replace(quirks, ids="nine")) if _IDS.search(said) else None


def _schemas(quirks: Quirks, body: Body, said: str) -> Mended | None:
    """Less and less: without strict mode, then with the few words that every server knows."""
    if not body.toolbox.tools:
        return None
    if quirks.strict_tools and (_STRICT.search(said) or _SCHEMA.search(said)):
        return Mended(replace(quirks, strict_tools=False))
    return Mended(replace(quirks, schema="gemini")) if _SCHEMA.search(said) else None


def _field(quirks: Quirks, body: Body, said: str) -> Mended | None:
    """A field is left out, or called otherwise; one that was missing is put in."""
    if _NO_REASONING.search(said):
        return Mended(replace(quirks, empty_reasoning=True))
    if _WANTS_TOOLS.search(said):
        return Mended(replace(quirks, empty_tools=True))
    if not _REFUSAL.search(said):
        return None
    # The refused field stands before the one to use instead.
    sent = set(body.fields) - _NEEDED
    places = sorted((place, name) for name in sent if (place := _place(said, name)))
    if places:
        return Mended(_without(quirks, places[0][1]))
    named = [name for name in _ECHOED if _place(said, name)]
    if body.echoed and named:
        refused = quirks.refused.union(named)
        return Mended(replace(quirks, empty_reasoning=False, refused=refused))
    return None


def _without(quirks: Quirks, name: str) -> Quirks:
    refused = quirks.refused | {name}
    if name == quirks.token_field:
        other = _OTHER_LIMIT[name]
        left: TokenField = "" if other in quirks.refused else other
        return replace(quirks, token_field=left, refused=refused)
    if name == "stream_options":
        return replace(quirks, stream_options=False)
    return replace(quirks, refused=refused)


def _place(said: str, name: str) -> int:
    """Where a field is named, from 1; 0 if nowhere."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)
    return found.start() + 1 if found else 0


_WAYS: Final[Mapping[Mend, _Way]] = MappingProxyType(
    {
        "markers": _markers,
        "effort": _thinking,
        "roles": _roles,
        "ids": _ids,
        "schema": _schemas,
        "field": _field,
    }
)

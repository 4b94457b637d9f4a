"""What to leave out of the next request after a server named the field it does not know."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from stormclaw.errors import ProviderError
from stormclaw.providers._caching import less
from stormclaw.providers.presets import Dialect

_REFUSAL: Final = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed|recogni[sz]ed)"
    r"|does not support|is not available|extra (inputs|fields)|cannot find field|no such field"
    r"|forbidden|invalid (field|param|argument name)",
    re.IGNORECASE,
)
_OTHER_LIMIT: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_ECHOED: Final = ("reasoning_details", "reasoning_content", "reasoning_text", "reasoning")
_MARKER: Final = re.compile(r"cache[_ ]?control|cache point|prompt caching", re.IGNORECASE)
_WANTS_TEXT: Final = re.compile(r"content\b.{0,80}\bstring", re.IGNORECASE | re.DOTALL)
_NEEDED: Final = frozenset({"model", "messages", "tools", "stream"})


def adapted(
    dialect: Dialect,
    error: ProviderError,
    sent: Iterable[str],
    *,
    echoed: bool,
    marked: bool = False,
) -> Dialect | None:
    """The dialect that avoids what was refused; None when the error is about something else.

    Args:
        dialect: How the refused request was spoken.
        error: What the server said.
        sent: The fields of the body.
        echoed: Whether its messages carried reasoning.
        marked: Whether it carried markers for a cache.
    """
    said = str(error)
    # "No endpoints found that support cache control" is a 404.
    if marked and error.kind in ("bad_request", "not_found") and _about_markers(said):
        return replace(dialect, cache=less(dialect.cache))
    if error.kind != "bad_request" or not _REFUSAL.search(said):
        return None
    # The refused field stands before the one to use instead.
    places = sorted((place, name) for name in set(sent) - _NEEDED if (place := _place(said, name)))
    if places:
        return _without(dialect, places[0][1])
    named = [name for name in _ECHOED if _place(said, name)]
    if echoed and named and not dialect.refused.issuperset(named):
        return replace(dialect, empty_reasoning=False, refused=dialect.refused.union(named))
    return None


def _about_markers(said: str) -> bool:
    """Whether the marker is meant, or that content came in parts because of it."""
    return _MARKER.search(said) is not None or _WANTS_TEXT.search(said) is not None


def _without(dialect: Dialect, name: str) -> Dialect:
    if name == dialect.token_field:
        other = _OTHER_LIMIT[name]
        tried = other in dialect.refused
        refused = dialect.refused | {name}
        return replace(dialect, token_field="" if tried else other, refused=refused)
    if name == "stream_options":
        return replace(dialect, stream_options=False)
    if name in ("reasoning", "reasoning_effort", "thinking"):
        return replace(dialect, reasoning="off", refused=dialect.refused | {name})
    return replace(dialect, refused=dialect.refused | {name})


def _place(said: str, name: str) -> int:
    """Where a field is named, from 1; 0 if nowhere."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)
    return found.start() + 1 if found else 0

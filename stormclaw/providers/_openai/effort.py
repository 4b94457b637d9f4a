"""How hard to think: as each server spells it, and less of it where a model refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from stormclaw.providers.quirks import Quirks

FIELDS: Final = frozenset(
    {"reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"}
)
"""Every top-level name an effort may go out under."""

_SIMPLER: Final = ("xhigh", "high", "medium", "low", "minimal")
_THINKING: Final = re.compile(
    r"reasoning|thinking|\bthink\b|effort|chat_template_kwargs", re.IGNORECASE
)
ABOUT_VALUE: Final = re.compile(
    r"\bvalues?\b|one of|must be|should be|mandatory|cannot be (disabled|turned off)|\blevels?\b"
    r"|does not support ['\"]|invalid (reasoning[_ .]?)?effort",
    re.IGNORECASE,
)


def spelled(quirks: Quirks, effort: str) -> dict[str, Any]:
    """The fields of a body that say how hard to think; none where nothing may be said."""
    word = quirks.word(effort)
    if not word:
        return {}
    thinks = word != "none"
    match quirks.reasoning:
        case "omit":
            return {}
        case "object":
            # A bare `effort: none` is not understood by every model behind OpenRouter.
            return {"reasoning": {"effort": word} if thinks else {"enabled": False}}
        case "thinking":
            return {"thinking": {"type": "enabled" if thinks else "disabled"}}
        case "enable_thinking":
            return {"enable_thinking": thinks}
        case "template":
            level = {"reasoning_effort": word} if thinks else {}
            return {"chat_template_kwargs": {"enable_thinking": thinks, **level}}
        case "effort":
            return {"reasoning_effort": word}


def less(quirks: Quirks, effort: str, said: str) -> tuple[Quirks, str] | None:
    """What to try after a server refused to think so hard, and what to tell the person.

    Args:
        quirks: How the refused request was spoken.
        effort: What was asked for.
        said: The server's words.

    Returns:
        None when they are about something else.
    """
    word = quirks.word(effort)
    if not word or quirks.reasoning == "omit" or not _THINKING.search(said):
        return None
    if quirks.reasoning in ("effort", "object") and ABOUT_VALUE.search(said):
        simpler = _next(word, said)
        others = tuple((known, way) for known, way in quirks.efforts if known != effort)
        told = f"thinking {simpler}" if simpler else "thinking as the model does by itself"
        found = replace(quirks, efforts=(*others, (effort, simpler)))
        return found, f"the model refused thinking {word}; now it is {told}"
    found = replace(quirks, reasoning="omit")
    return found, "the model takes no thinking level; now it is thinking as it does by itself"


def _next(word: str, said: str) -> str:
    """The level to try next: the nearest below that the server names, else the nearest above.

    Where it names none, the one below; below the lowest there is nothing to say.
    """
    below = _SIMPLER[_SIMPLER.index(word) + 1 :] if word in _SIMPLER else ()
    named = [level for level in _SIMPLER if level != word and re.search(rf"\b{level}\b", said)]
    if named:
        lower = [level for level in below if level in named]
        return lower[0] if lower else named[-1]
    return below[0] if below else ""

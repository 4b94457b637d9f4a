"""Judges one value of the configuration: its kind, its range, its words, and no keys in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stormclaw.config.settings import POLICIES
from stormclaw.config.shapes import Key, Kind, Leaf, pattern_of
from stormclaw.log import MASK, looks_like_key, mask_secrets, names_a_secret, one_line

SHOWN_CHARS = 60
USE_ENV = (
    "keys do not belong in this file: name an environment variable in api_key_env "
    "(in a header write $NAME), or run `stormclaw onboard`"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEX_KEY = re.compile(r"[0-9a-fA-F]{32,}|[0-9a-fA-F-]{36}")


NO_LIMIT = 1e15


@dataclass(frozen=True, slots=True)
class Range:
    """Which numbers a setting may be; `open` leaves out the lower bound itself."""

    low: float = 0
    high: float = NO_LIMIT
    open: bool = True

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high and not (self.open and number == self.low)

    def __str__(self) -> str:
        lower = f"more than {self.low:g}" if self.open else f"{self.low:g} or more"
        return lower if self.high == NO_LIMIT else f"{lower}, at most {self.high:g}"


POSITIVE = Range()
RANGES: Mapping[str, Range] = {
    "providers.models.*.temperature": Range(0, 2, open=False),
    "providers.models.*.context_window": Range(open=False),
    "providers.models.*.max_retries": Range(0, 20, open=False),
    "agents.max_depth": Range(open=False),
    "agents.max_children": Range(open=False),
    "agents.budget_usd": Range(open=False),
    "agents.budget_tokens": Range(open=False),
    "agents.child_share": Range(0, 1),
    "context.relax": Range(0, 1),
    "context.compact_at": Range(0, 1),
    "context.keep_results": Range(open=False),
    "context.reserve_tokens": Range(open=False),
    "context.recent_tokens": Range(open=False),
}
"""Numbers not named here must be more than 0."""

ITEMS: Mapping[str, tuple[str, ...]] = {"context.policies": POLICIES}
"""Lists whose items are words of ours."""


def check_value(shape: Leaf, key: Key, value: object) -> tuple[object, str]:
    """One value -> (the sound value, what is wrong with it or "")."""
    if value is None:
        complaint = "" if shape.optional else "has no value; give one, or remove the key"
        return None, complaint
    sound, complaint = _BY_KIND[shape.kind](shape, key, value)
    if key[0] == "providers" and _holds_key(sound if not complaint else value):
        return None, USE_ENV
    special = _SPECIAL.get(pattern_of(key))
    return sound, complaint or (special(str(sound)) if special else "")


def shown(value: object, name: str = "") -> str:
    """A value for a message: at most 60 characters on one line, secrets masked.

    Args:
        value: Anything a YAML file can hold.
        name: The key it stands under, in case that alone says it is secret.
    """
    if names_a_secret(name) and value is not None and not isinstance(value, Mapping):
        return MASK
    match value:
        case bool():
            text = str(value).lower()
        case None:
            text = ""
        case dict():
            text = "a mapping"
        case list() | tuple() if len(value) > 6 or any(isinstance(v, list | dict) for v in value):
            text = f"a list of {len(value)}"
        case list() | tuple():
            text = f"[{', '.join(shown(item) for item in value)}]"
        case _:
            text = one_line(mask_secrets(str(value)))
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _text(shape: Leaf, _key: Key, value: Any) -> tuple[object, str]:
    allowed = f"must be one of {', '.join(choice or '(empty)' for choice in shape.choices)}"
    if not isinstance(value, str):
        return None, allowed if shape.choices else f'must be text; write "{shown(value)}"'
    return value, allowed if shape.choices and value not in shape.choices else ""


def _flag(_shape: Leaf, _key: Key, value: Any) -> tuple[object, str]:
    if isinstance(value, bool):
        return value, ""
    meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(value).lower())
    return None, f"must be true or false; write {meant}" if meant else "must be true or false"


def _number(shape: Leaf, key: Key, value: Any) -> tuple[object, str]:
    allowed = RANGES.get(pattern_of(key), POSITIVE)
    kind = "a whole number" if shape.kind == "whole" else "a number"
    wanted = int if shape.kind == "whole" else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted):
        return None, f"must be {kind}, {allowed}"
    if value not in allowed:
        return None, f"must be {kind}, {allowed}"
    return (value if shape.kind == "whole" else float(value)), ""


def _list(_shape: Leaf, key: Key, value: Any) -> tuple[object, str]:
    if isinstance(value, str):
        return None, f"must be a list; write [{shown(value)}]"
    if not isinstance(value, list | tuple):
        return None, "must be a list of words"
    wrong = [item for item in value if not isinstance(item, str) or not item.strip()]
    if wrong:
        return (
            None,
            f"every item must be text; this one is not: {shown(wrong[0]) or 'an empty one'}",
        )
    known = ITEMS.get(pattern_of(key))
    if known and (strange := [item for item in value if item not in known]):
        return None, f"no {shown(strange[0])} here; any of {', '.join(known)}, in any order"
    return tuple(dict.fromkeys(value)) if known else tuple(value), ""


def _texts(_shape: Leaf, _key: Key, value: Any) -> tuple[object, str]:
    if not isinstance(value, Mapping):
        return None, "must be a mapping from names to text"
    wrong = [name for name, text in value.items() if not isinstance(text, str)]
    return dict(value), f"must be text: {', '.join(map(shown, wrong))}" if wrong else ""


def _free(_shape: Leaf, _key: Key, value: Any) -> tuple[object, str]:
    return value, "" if isinstance(value, Mapping) else "must be a mapping"


_BY_KIND: Mapping[Kind, Callable[[Leaf, Key, Any], tuple[object, str]]] = {
    "text": _text,
    "flag": _flag,
    "whole": _number,
    "number": _number,
    "list": _list,
    "texts": _texts,
    "free": _free,
}


def url_complaint(text: str) -> str:
    """What is wrong with a base URL; "" for nothing."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    # A variable is filled in later, and judged again then.
    return "" if sound or not text or "$" in text else "must be a URL: http://... or https://..."


def _variable(text: str) -> str:
    if _HEX_KEY.fullmatch(text):
        return USE_ENV
    named = not text or _VARIABLE.fullmatch(text)
    return "" if named else "must be the name of an environment variable: OPENROUTER_API_KEY"


def _not_empty(text: str) -> str:
    return "" if text.strip() else "must not be empty"


_SPECIAL: Mapping[str, Callable[[str], str]] = {
    "workspace_dir": _not_empty,
    "default_provider": _not_empty,
    "default_model": _not_empty,
    "providers.models.*.kind": _not_empty,
    "providers.models.*.base_url": url_complaint,
    "providers.models.*.api_key_env": _variable,
    "memory.path": _not_empty,
    "receipts.path": _not_empty,
}


def _holds_key(value: object) -> bool:
    """Whether something shaped like a key stands anywhere in a value."""
    match value:
        case str():
            return looks_like_key(value)
        case Mapping():
            return any(_holds_key(inner) for inner in value.values())
        case list() | tuple():
            return any(map(_holds_key, value))
        case _:
            return False

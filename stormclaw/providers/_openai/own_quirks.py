"""What a person writes under `quirks:`, read and checked: every name and value, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, get_args

from stormclaw.config.settings import Effort
from stormclaw.errors import ConfigError, Problem
from stormclaw.log import mask_secrets, one_line
from stormclaw.providers._caching import OPENROUTER, Caching
from stormclaw.providers.quirks import (
    Efforts,
    Ids,
    Reasoning,
    Schema,
    SystemRole,
    TokenField,
)


@dataclass(frozen=True, slots=True)
class _Field:
    """How a person may write one: what is allowed, in words, and how it is read."""

    allowed: str
    read: Callable[[object], object]


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return one_line(mask_secrets(value if isinstance(value, str) else repr(value))) or '""'


def _one_of(values: Iterable[object]) -> _Field:
    options = tuple(values)
    words = ", ".join(_shown(option) for option in options)

    def read(value: object) -> object:
        # 1 is no true: each value must also be of its kind.
        if any(value == option and type(value) is type(option) for option in options):
            return value
        raise ValueError

    return _Field(f"must be one of {words}", read)


def _efforts(value: object) -> Efforts:
    if not isinstance(value, Mapping) or not set(value) <= set(EFFORTS):
        raise ValueError
    if not all(isinstance(word, str) for word in value.values()):
        raise ValueError
    return tuple(value.items())


def _names(value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError
    return frozenset(value)


def _cache(value: object) -> tuple[Caching, ...]:
    if not isinstance(value, str) or value not in CACHES:
        raise ValueError
    return CACHES[value]


EFFORTS: Final[tuple[str, ...]] = tuple(filter(None, get_args(Effort)))
CACHES: Final[Mapping[str, tuple[Caching, ...]]] = MappingProxyType(
    {"none": (), "openrouter": OPENROUTER, "every_model": (Caching(""),)}
)
"""What `cache` may be called: no markers, OpenRouter's models, or all of them."""
_FLAG: Final = _one_of((True, False))
_FIELDS: Final[Mapping[str, _Field]] = MappingProxyType(
    {
        "token_field": _one_of(get_args(TokenField)),
        "system_role": _one_of(get_args(SystemRole)),
        "stream_options": _FLAG,
        "parallel_tool_calls": _one_of((True, False, None)),
        "strict_tools": _FLAG,
        "reasoning": _one_of(get_args(Reasoning)),
        "efforts": _Field(f"must be a mapping from {', '.join(EFFORTS)} to a word", _efforts),
        "echo": _FLAG,
        "empty_reasoning": _FLAG,
        "ids": _one_of(get_args(Ids)),
        "schema": _one_of(get_args(Schema)),
        "strict_turns": _FLAG,
        "tool_names": _FLAG,
        "empty_tools": _FLAG,
        "cache": _Field(f"must be one of {', '.join(CACHES)}", _cache),
        "routing": _FLAG,
        "refused": _Field("must be a list of names of fields", _names),
    }
)


def own_quirks(configured: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What a person wrote under `quirks:`, read.

    Args:
        configured: By name of the field.
        name: Our name of the provider, to say where the problems are.

    Raises:
        ConfigError: Every name and value that is not allowed, and what is.
    """
    problems: list[Problem] = []
    read: dict[str, Any] = {}
    for field, value in configured.items():
        known = _FIELDS.get(field)
        try:
            if known is None:
                complaint = f"unknown quirk; there are: {', '.join(_FIELDS)}"
            else:
                read[field] = known.read(value)
                continue
        except ValueError:
            complaint = known.allowed if known else ""
        place = f"providers.models.{name}.quirks.{field}"
        problems.append(Problem("configuration", place, _shown(value), complaint))
    if problems:
        raise ConfigError(problems)
    return read

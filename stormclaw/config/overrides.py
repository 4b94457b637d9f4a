"""Settings from the environment and the command line: single values, checked like a file's."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from stormclaw.config.files import parse_any
from stormclaw.config.shapes import Key, Leaf, all_keys, dotted, shape_at, split_key
from stormclaw.config.values import check_value, shown
from stormclaw.errors import ConfigError, Problem

VARIABLES: Mapping[str, Key] = {
    "STORMCLAW_AUTONOMY": ("security", "autonomy"),
    "STORMCLAW_MODEL": ("default_model",),
    "STORMCLAW_PROVIDER": ("default_provider",),
    "STORMCLAW_SANDBOX": ("security", "sandbox"),
}
"""Short names; any other setting is `STORMCLAW__SECTION__KEY`."""

ANY_VARIABLE = "STORMCLAW__"

FLAGS: Mapping[str, str] = {
    "security.autonomy": "--autonomy",
    "security.sandbox": "--sandbox",
    "default_model": "--model",
    "default_provider": "--provider",
    "workspace_dir": "--workspace",
    "limits.max_tool_rounds": "--max-turns",
    "agents.budget_usd": "--max-budget-usd",
    "agents.budget_tokens": "--max-tokens",
}
"""What the flag for a setting is called; the others are `--set KEY=VALUE`."""


class Value(NamedTuple):
    """One setting on its way into `Settings`.

    Attributes:
        value: Sound, as it was written.
        origin: Where it stands.
        folder: Where its relative path starts; None is the current folder.
        items: Where each item of a list stands.
    """

    value: Any
    origin: str
    folder: Path | None = None
    items: tuple[str, ...] = ()


def from_environment(env: Mapping[str, str], problems: list[Problem]) -> dict[Key, Value]:
    """The settings in the environment; an empty variable counts as not set.

    `STORMCLAW__LIMITS__SHELL_TIMEOUT_S=60` sets `limits.shell_timeout_s`; what is not text is
    read as YAML. Problems are appended.
    """
    found = dict(VARIABLES)
    for name in sorted(name for name in env if name.startswith(ANY_VARIABLE)):
        found[name] = tuple(name.removeprefix(ANY_VARIABLE).lower().split("__"))
    given = ((f"environment {name}", key, env.get(name, "")) for name, key in found.items())
    return _checked((one for one in given if one[2]), problems)


def from_flags(flags: Mapping[str, object], problems: list[Problem]) -> dict[Key, Value]:
    """The settings on the command line, by dotted key; None counts as not given."""
    given = (
        (f"flag {FLAGS.get(name, f'--set {name}')}", split_key(name), value)
        for name, value in flags.items()
    )
    return _checked((one for one in given if one[2] is not None), problems)


def _checked(given: Iterable[tuple[str, Key, Any]], problems: list[Problem]) -> dict[Key, Value]:
    """(origin, key, value) -> the sound ones."""
    layer: dict[Key, Value] = {}
    for origin, key, value in given:
        shape = shape_at(key)
        if not isinstance(shape, Leaf):
            complaint = _unknown(key) if shape is None else "is a section; name a setting in it"
            problems.append(Problem(origin, dotted(key), shown(value, key[-1]), complaint))
            continue
        try:
            read = value if shape.kind == "text" else _read(value, origin)
        except ConfigError as error:
            problems.extend(replace(one, key=dotted(key)) for one in error.problems)
            continue
        sound, complaint = check_value(shape, key, read)
        if complaint:
            problems.append(Problem(origin, dotted(key), shown(value, key[-1]), complaint))
        else:
            layer[key] = Value(sound, origin)
    return layer


def _read(value: object, origin: str) -> object:
    return parse_any(value, origin)[0] if isinstance(value, str) else value


def _unknown(key: Key) -> str:
    near = difflib.get_close_matches(dotted(key), map(dotted, all_keys()), n=1)
    return f"unknown key; did you mean {near[0]}?" if near else "unknown key"

"""Finds every problem of one configuration layer in one pass: key, value, what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from stormclaw.config.settings import Settings
from stormclaw.config.shapes import Key, Leaf, Named, Section, Shape, all_keys, dotted, shapes
from stormclaw.config.values import USE_ENV, check_value, shown
from stormclaw.errors import Problem
from stormclaw.log import MASK, mask_secrets, names_a_secret, one_line

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def check(
    values: Mapping[str, Any], place: Callable[[Key], str], problems: list[Problem]
) -> dict[Key, object]:
    """Check one layer as it was read.

    Args:
        values: The mapping at the root of a file.
        place: Where a key stands, `path:line`.
        problems: Every problem found is appended.

    Returns:
        The sound values by key, lists as tuples; what has a problem is left out.
    """
    walk = _Walk(place, problems)
    walk.section(Settings, values, ())
    return walk.sound


class _Walk:
    """One pass over a layer."""

    def __init__(self, place: Callable[[Key], str], problems: list[Problem]) -> None:
        self._place = place
        self._problems = problems
        self.sound: dict[Key, object] = {}

    def section(self, model: type[Any], values: object, at: Key) -> None:
        """A nested model; nothing at all is an empty one."""
        if values is None:
            return
        if not isinstance(values, Mapping):
            self._problem(at, values, f"must be a mapping with the keys {', '.join(shapes(model))}")
            return
        for name, value in values.items():
            shape = shapes(model).get(name)
            if shape is None:
                self._problem((*at, name), value, unknown(name, at, shapes(model)))
            else:
                self._one(shape, value, (*at, name))

    def _one(self, shape: Shape, value: object, at: Key) -> None:
        match shape:
            case Section(model):
                self.section(model, value, at)
            case Named(model):
                self._named(model, value, at)
            case Leaf():
                sound, complaint = check_value(shape, at, value)
                if complaint:
                    self._problem(at, value, complaint)
                else:
                    self.sound[at] = sound
            case _:
                assert_never(shape)

    def _named(self, model: type[Any], values: object, at: Key) -> None:
        if values is None:
            return
        if not isinstance(values, Mapping):
            self._problem(at, values, "must be a mapping from names you choose")
            return
        for name, entry in values.items():
            if not _NAME.fullmatch(name):
                self._problem((*at, name), "", "a name is letters, digits, `_`, `-` and `.`")
            elif not entry:
                self._problem((*at, name), entry, "is empty; it needs at least `kind`")
            else:
                self.section(model, entry, (*at, name))

    def _problem(self, key: Key, value: object, message: str) -> None:
        name = key[-1] if key else ""
        display = MASK if message == USE_ENV and isinstance(value, str) else shown(value, name)
        dotted_key = one_line(mask_secrets(dotted(key)))
        self._problems.append(Problem(self._place(key), dotted_key, display, message))


def unknown(name: str, at: Key, known: Iterable[str]) -> str:
    """What to say about a key nobody knows: the nearest one, here or elsewhere."""
    if at[:1] == ("providers",) and names_a_secret(name):
        return f"unknown key; {USE_ENV}"
    names = list(known)
    here = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.6)
    if here:
        return f"unknown key; did you mean {here[0]}?"
    elsewhere = [dotted(key) for key in all_keys() if key[-1] == name]
    if elsewhere:
        return f"unknown key here; did you mean {' or '.join(elsewhere)}?"
    return f"unknown key; known here: {', '.join(names)}"

"""What the settings model allows, read once from its type hints: the walkers' only map of it."""

from __future__ import annotations

import types
import typing
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias, cast

from stormclaw.config.settings import Settings

Key: TypeAlias = tuple[str, ...]
"""A place in the settings: ("security", "autonomy")."""

Kind: TypeAlias = Literal["text", "flag", "whole", "number", "list", "texts", "free"]


@dataclass(frozen=True, slots=True)
class Section:
    """A nested model."""

    model: type[Any]


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping from names the person chooses to a model."""

    model: type[Any]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value: its kind, the words it may be (none: any), whether null is allowed."""

    kind: Kind
    choices: tuple[str, ...] = ()
    optional: bool = False


Shape: TypeAlias = Section | Named | Leaf

_KINDS: Mapping[object, Kind] = {bool: "flag", int: "whole", float: "number", str: "text"}


def _shape(hint: Any) -> Shape:
    """The shape of one type hint of `settings.py`.

    Raises:
        TypeError: The model uses a type this module does not know yet.
    """
    if hint in _KINDS:
        return Leaf(_KINDS[hint])
    if is_dataclass(hint) and isinstance(hint, type):
        return Section(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return Leaf("text", choices=args)
    if origin in (types.UnionType, typing.Union) and type(None) in args and len(args) == 2:
        inner = _shape(next(arg for arg in args if arg is not type(None)))
        if isinstance(inner, Leaf):
            return replace(inner, optional=True)
    if origin is tuple and args == (str, ...):
        return Leaf("list")
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if is_dataclass(args[1]):
            return Named(cast(type[Any], args[1]))
        return Leaf("texts" if args[1] is str else "free")
    raise TypeError(f"settings.py uses {hint!r}, which shapes.py does not know")


def shapes(model: type[Any]) -> Mapping[str, Shape]:
    """Field name -> shape of a dataclass, in its order."""
    return _shapes(cast(Hashable, model))


@cache
def _shapes(model: Any) -> Mapping[str, Shape]:
    hints = typing.get_type_hints(model)
    return {one.name: _shape(hints[one.name]) for one in fields(model)}


def shape_at(key: Key) -> Shape | None:
    """The shape of a place in `Settings`; None where there is none."""
    at: Shape = Section(Settings)
    for part in key:
        match at:
            case Section(model):
                inner = shapes(model).get(part)
                if inner is None:
                    return None
                at = inner
            case Named(model):
                at = Section(model)
            case Leaf():
                return None
    return at


@cache
def all_keys() -> tuple[Key, ...]:
    """Every leaf of `Settings`; `*` stands for a chosen name."""

    def walk(model: type[Any], at: Key) -> Iterator[Key]:
        for name, shape in shapes(model).items():
            match shape:
                case Section(inner):
                    yield from walk(inner, (*at, name))
                case Named(inner):
                    yield from walk(inner, (*at, name, "*"))
                case Leaf():
                    yield (*at, name)

    return tuple(walk(Settings, ()))


def pattern_of(key: Key) -> str:
    """The dotted key with chosen names as `*`: `providers.models.*.kind`."""
    parts: list[str] = []
    for depth, part in enumerate(key):
        parts.append("*" if isinstance(shape_at(key[:depth]), Named) else part)
    return ".".join(parts)


def leaves(value: Any, at: Key = ()) -> Iterator[tuple[Key, object]]:
    """Every leaf of a settings value, in the order of the model."""
    for name, shape in shapes(type(value)).items():
        inner = getattr(value, name)
        match shape:
            case Section():
                yield from leaves(inner, (*at, name))
            case Named():
                for chosen, entry in inner.items():
                    yield from leaves(entry, (*at, name, chosen))
            case Leaf():
                yield (*at, name), inner


def dotted(key: Key) -> str:
    """`security.autonomy`; a chosen name with a dot is quoted: `providers.models."a.b".kind`."""
    return ".".join(f'"{part}"' if "." in part or not part else part for part in key)


def split_key(text: str) -> Key:
    """The other way round. An unfinished quote reaches to the end."""
    parts: list[str] = []
    rest = text
    while rest:
        if rest.startswith('"'):
            part, _, rest = rest[1:].partition('"')
            rest = rest.removeprefix(".")
        else:
            part, _, rest = rest.partition(".")
        parts.append(part)
    return tuple(parts)

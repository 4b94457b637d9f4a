"""Schemas that refer to parts of themselves, written out: few servers follow a `$ref`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

DEEPEST: Final = 24
"""Levels of a schema that are looked at; what lies deeper takes anything."""
MOST: Final = 5_000
"""Parts of a schema that are written out: references can multiply without end."""


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without a `$ref`; one that leads into itself takes any object there."""
    return _Inliner(schema).whole()


class _Inliner:
    """Writes out one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._parts = 0

    def whole(self) -> dict[str, Any]:
        found = self._inline(self._schema, (), 0)
        return found if isinstance(found, dict) else {}

    def _inline(self, value: object, within: tuple[str, ...], depth: int) -> object:
        self._parts += 1
        if isinstance(value, list):
            return [self._inline(entry, within, depth + 1) for entry in value]
        if not isinstance(value, Mapping):
            return value
        if depth > DEEPEST or self._parts > MOST:
            return {}
        ref = value.get("$ref")
        if isinstance(ref, str):
            return self._followed(ref, value, within, depth)
        return {name: self._inline(part, within, depth + 1) for name, part in value.items()
                if not (depth == 0 and name in ("$defs", "definitions"))}  # fmt: skip

    def _followed(
        self, ref: str, value: Mapping[str, Any], within: tuple[str, ...], depth: int
    ) -> object:
        """What a reference stands for, with what is said beside it."""
        target = self._found(ref)
        beside = {name: part for name, part in value.items() if name != "$ref"}
        if ref in within or not isinstance(target, Mapping):
            return {"type": "object", **beside}
        return self._inline({**target, **beside}, (*within, ref), depth + 1)

    def _found(self, ref: str) -> object:
        """The part a JSON pointer leads to; None for one that leads out of the schema."""
        if not ref.startswith("#/"):
            return None
        found: object = self._schema
        for step in ref[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

"""Tool schemas cut down to what Gemini knows: one unknown key there fails the whole request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KNOWN: Final = frozenset(
    {
        "type",
        "description",
        "enum",
        "properties",
        "required",
        "items",
        "format",
        "nullable",
        "anyOf",
    }
)
_FORMATS: Final = frozenset({"enum", "date-time"})


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without the keys Gemini refuses, and with the ones it misses."""
    plain = {key: value for key, value in schema.items() if key in _KNOWN}
    _settle_type(plain)
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    if "enum" in plain:
        plain["enum"] = [str(value) for value in plain["enum"] if value is not None]
        plain["type"] = "string"
    if plain.get("format") not in _FORMATS:
        plain.pop("format", None)
    if isinstance(properties := plain.get("properties"), Mapping):
        plain["properties"] = {
            name: plain_schema(value) if isinstance(value, Mapping) else {"type": "string"}
            for name, value in properties.items()
        }
    if plain.get("type") == "array":
        items = plain.get("items")
        plain["items"] = plain_schema(items) if isinstance(items, Mapping) else {"type": "string"}
    return plain


def _settle_type(plain: dict[str, Any]) -> None:
    """`[X, "null"]` and `anyOf: [X, null]` become a nullable X."""
    kinds = plain.get("type")
    if isinstance(kinds, list):
        real = [kind for kind in kinds if kind != "null"]
        plain["type"] = real[0] if real else "string"
        if len(real) < len(kinds):
            plain["nullable"] = True
    choices = plain.pop("anyOf", None)
    if not isinstance(choices, list):
        return
    real = [choice for choice in choices if choice.get("type") != "null"]
    if len(real) < len(choices):
        plain["nullable"] = True
    if len(real) == 1:
        plain.update(
            plain_schema(real[0]) | {key: plain[key] for key in ("description",) if key in plain}
        )
    elif real:
        plain["anyOf"] = [plain_schema(choice) for choice in real]

"""OpenAI's strict mode: schemas that hold a model to every argument, and arguments back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_UNKNOWN: Final = frozenset(
    {
        "default",
        "minProperties",
        "maxProperties",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
        "contains",
        "uniqueItems",
        "not",
        "if",
        "then",
        "else",
    }
)


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema as strict mode wants it: every property required, the optional ones nullable.

    Args:
        schema: Without references.

    Returns:
        None when it cannot be said so: an object that takes any property.
    """
    try:
        return _strict(schema)
    except _Loose:
        return None


class _Loose(Exception):
    """A part of the schema takes what it does not name."""


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    strict = {word: value for word, value in schema.items() if word not in _UNKNOWN}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "allOf" in strict or not (strict.keys() & {"type", "anyOf", "enum", "const"}):
        raise _Loose
    kinds = strict.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        strict |= _strict_object(strict)
    if isinstance(items := strict.get("items"), Mapping):
        strict["items"] = _strict(items)
    if isinstance(choices := strict.get("anyOf"), list):
        strict["anyOf"] = [_strict(choice) for choice in choices]
    return strict


def _strict_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    if schema.get("additionalProperties") or not isinstance(properties, Mapping):
        raise _Loose
    if not properties and schema.get("additionalProperties") is not False:
        raise _Loose
    required = schema.get("required", ())
    return {
        "properties": {
            name: _strict(part) if name in required else _nullable(_strict(part))
            for name, part in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("type")
    if isinstance(kinds, str | list):
        several = [kinds] if isinstance(kinds, str) else kinds
        schema["type"] = list(dict.fromkeys([*several, "null"]))
        if isinstance(enum := schema.get("enum"), list) and None not in enum:
            schema["enum"] = [*enum, None]
        return schema
    if isinstance(choices := schema.get("anyOf"), list):
        return {**schema, "anyOf": [*choices, {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}


def without_nulls(arguments: str, schema: Mapping[str, Any]) -> str:
    """The arguments without the nulls that stand for what was left out.

    Args:
        arguments: As the model gave them; returned as they are when nothing is to be done.
        schema: As the tool has it, without references.
    """
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    kept = _kept(given, schema)
    return arguments if kept == given else json.dumps(kept, ensure_ascii=False)


def _kept(value: object, schema: object) -> object:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, list):
        return [_kept(entry, schema.get("items")) for entry in value]
    properties = schema.get("properties")
    if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    return {
        name: _kept(part, properties.get(name))
        for name, part in value.items()
        if part is not None or name in required or _takes_null(properties.get(name))
    }


def _takes_null(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    if isinstance(enum := schema.get("enum"), list):
        return None in enum
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(map(_takes_null, choices)) if choices else not kinds

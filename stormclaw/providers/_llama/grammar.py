"""What a local model may write: one call of an advertised tool, or its last words; nothing else.

A small model left to itself writes calls in every form but the right one. Held to a grammar it
cannot write a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stormclaw.protocol.provider import ToolSpec

TOOL: Final = "tool"
ARGUMENTS: Final = "args"
FINAL: Final = "final_answer"

_KEPT: Final = ("type", "enum", "const", "required", "minimum", "maximum")
"""What grammars are made of; descriptions, formats and patterns say nothing or break them."""
_DEEPEST: Final = 6
"""Levels of a schema that are held to; what lies deeper may be anything."""
_STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""No blank lines between the tokens: each one costs a tenth of a second."""


def answer_schema(tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    """The JSON schema of every answer there may be."""
    forms = [_call(spec) for spec in tools]
    forms.append(_object({FINAL: {"type": "string"}}, (FINAL,)))
    return {"anyOf": forms, "x-guidance": dict(_STYLE)}


def _call(spec: ToolSpec) -> dict[str, Any]:
    arguments = cut(spec.parameters, spec.parameters)
    if arguments.get("type") != "object":
        arguments = {"type": "object"}
    return _object({TOOL: {"const": spec.name}, ARGUMENTS: arguments}, (TOOL, ARGUMENTS))


def _object(properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def cut(schema: object, root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A tool's schema without what grammars do not know; references are put in place.

    Args:
        schema: A schema or a part of one; anything else allows everything.
        root: The whole schema, where `#/$defs/...` points to.
        depth: How deep `schema` lies in it.
    """
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    if isinstance(reference := schema.get("$ref"), str):
        return cut(_resolve(reference, root), root, depth + 1)
    for many in ("anyOf", "oneOf"):
        if isinstance(forms := schema.get(many), list) and forms:
            return {"anyOf": [cut(form, root, depth + 1) for form in forms]}
    kept = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(properties := schema.get("properties"), Mapping):
        kept["type"] = "object"
        kept["properties"] = {
            name: cut(value, root, depth + 1) for name, value in properties.items()
        }
        kept["required"] = [name for name in kept.get("required", ()) if name in properties]
        kept["additionalProperties"] = False
    elif "required" in kept:
        del kept["required"]
    if "items" in schema:
        kept["items"] = cut(schema["items"], root, depth + 1)
    return kept


def _resolve(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference within the schema points to; None for any other."""
    at: object = root
    if not reference.startswith("#/"):
        return None
    for step in reference[2:].split("/"):
        at = at.get(step) if isinstance(at, Mapping) else None
    return at

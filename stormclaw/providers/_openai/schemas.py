"""Tool schemas as far as a server understands them: one unknown word there fails the whole request.

Our own schemas are plain; those of MCP servers hold whatever their libraries write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from stormclaw.providers._openai.refs import inlined
from stormclaw.providers.quirks import Schema

_NOISE: Final = frozenset({"$schema", "$id", "$comment", "$anchor", "$defs", "definitions"})
_GEMINI: Final = frozenset(
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
_CHOICES: Final = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How much of JSON Schema a server knows.

    Attributes:
        without: Words it refuses, or makes a grammar of that it then cannot read.
        settle: What else is done to each schema in it, after its parts.
    """

    without: frozenset[str]
    settle: Callable[[dict[str, Any]], dict[str, Any]]


def plain_schema(schema: Mapping[str, Any], dialect: Schema) -> dict[str, Any]:
    """The schema of a tool's arguments as a server takes it: always an object with properties.

    Args:
        schema: As the tool has it; not changed.
        dialect: See `Quirks.schema`.
    """
    rules = _DIALECTS[dialect]
    whole = _settled(_object(inlined(schema)), rules)
    whole.setdefault("properties", {})
    whole["type"] = "object"
    return whole


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments are one object: alternatives at the top become its optional properties."""
    for word in _CHOICES:
        choices = schema.pop(word, None)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and isinstance(choice.get("properties"), Mapping):
                known = schema.get("properties")
                known = dict(known) if isinstance(known, Mapping) else {}
                schema["properties"] = {**choice["properties"], **known}
                if word == "allOf" and isinstance(choice.get("required"), list):
                    schema["required"] = [*schema.get("required", ()), *choice["required"]]
    for word in ("not", "enum", "const", "if", "then", "else"):
        schema.pop(word, None)
    return schema


def _settled(schema: Mapping[str, Any], rules: _Dialect) -> dict[str, Any]:
    """A schema and everything in it, in one dialect."""
    plain = {
        word: value
        for word, value in schema.items()
        if word not in _NOISE and word not in rules.without
    }
    properties = plain.get("properties")
    if isinstance(properties, Mapping):
        plain["properties"] = {name: _part(value, rules) for name, value in properties.items()}
        if isinstance(required := plain.get("required"), list):
            plain["required"] = [name for name in dict.fromkeys(required) if name in properties]
    if plain.get("required") == []:
        del plain["required"]
    if isinstance(items := plain.get("items"), list):
        # A place for each item: no server but OpenAI's own knows it.
        plain["items"] = items[0] if items else {}
    if "items" in plain:
        plain["items"] = _part(plain["items"], rules)
    if isinstance(rest := plain.get("additionalProperties"), Mapping):
        plain["additionalProperties"] = _part(rest, rules)
    for word in _CHOICES:
        if isinstance(choices := plain.get(word), list):
            plain[word] = [_part(choice, rules) for choice in choices]
    if plain.get("type") == "array":
        plain.setdefault("items", _part({}, rules))
    return rules.settle(plain)


def _part(schema: object, rules: _Dialect) -> dict[str, Any]:
    """`true` and other nonsense in the place of a schema takes anything."""
    return _settled(schema if isinstance(schema, Mapping) else {}, rules)


def _as_it_is(plain: dict[str, Any]) -> dict[str, Any]:
    return plain


def _moonshot(plain: dict[str, Any]) -> dict[str, Any]:
    """The type stands in each alternative, never beside them."""
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    choices = plain.get("anyOf")
    if isinstance(choices, list) and "type" in plain:
        kind = plain.pop("type")
        plain["anyOf"] = [choice if "type" in choice else {"type": kind} | choice
                          for choice in choices]  # fmt: skip
    return plain


def _gemini(plain: dict[str, Any]) -> dict[str, Any]:
    """Only the words Gemini knows, and the ones it misses."""
    if "const" in plain:
        plain["enum"] = [plain["const"]]
    plain = _one_type(_one_choice(plain))
    if isinstance(enum := plain.get("enum"), list):
        if None in enum:
            plain["nullable"] = True
        plain["enum"] = [_word(value) for value in enum if value is not None]
        plain["type"] = "string"
    plain = {word: value for word, value in plain.items() if word in _GEMINI}
    if plain.get("format") not in _FORMATS:
        plain.pop("format", None)
    if not plain.get("anyOf"):
        plain.setdefault("type", "object" if "properties" in plain else "string")
    return plain


def _one_choice(plain: dict[str, Any]) -> dict[str, Any]:
    """`anyOf: [X, null]` becomes a nullable X; `allOf` is put together."""
    for part in plain.pop("allOf", ()):
        plain = part | plain
    choices = [*plain.pop("anyOf", ()), *plain.pop("oneOf", ())]
    real: list[dict[str, Any]] = [choice for choice in choices if choice.get("type") != "null"]
    if len(real) < len(choices):
        plain["nullable"] = True
    if len(real) == 1:
        return real[0] | {word: value for word, value in plain.items() if word != "type"}
    if real:
        plain.pop("type", None)
        plain["anyOf"] = real
    return plain


def _one_type(plain: dict[str, Any]) -> dict[str, Any]:
    """`[X, "null"]` becomes a nullable X; of several types the first is kept."""
    kinds = plain.get("type")
    if isinstance(kinds, list):
        real = [kind for kind in kinds if kind != "null"]
        plain["type"] = real[0] if real else "string"
        if len(real) < len(kinds):
            plain["nullable"] = True
    if plain.get("type") == "array":
        plain.setdefault("items", {"type": "string"})
    return plain


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_NO_GRAMMAR: Final = frozenset(
    {"pattern", "not", "if", "then", "else", "patternProperties", "propertyNames", "contains"}
)
_DIALECTS: Final[Mapping[Schema, _Dialect]] = MappingProxyType(
    {
        "full": _Dialect(frozenset(), _as_it_is),
        "grammar": _Dialect(_NO_GRAMMAR, _as_it_is),
        "moonshot": _Dialect(_NO_GRAMMAR, _moonshot),
        "gemini": _Dialect(frozenset(), _gemini),
    }
)

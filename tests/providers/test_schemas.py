"""Schemas of tools in each dialect: ours, those of MCP servers, and what nobody should write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stormclaw.providers._openai.refs import MOST, inlined
from stormclaw.providers._openai.schemas import plain_schema
from stormclaw.providers._openai.strict import strict_schema, without_nulls
from stormclaw.providers.quirks import Schema

DIALECTS: tuple[Schema, ...] = ("full", "grammar", "moonshot", "gemini")

# As a server made with pydantic writes it.
PYDANTIC: dict[str, Any] = {
    "$defs": {
        "Level": {"enum": [1, 2, 3], "type": "integer", "title": "Level"},
        "Filter": {
            "type": "object",
            "properties": {"level": {"$ref": "#/$defs/Level"}, "tag": {"const": "x"}},
            "required": ["level"],
            "additionalProperties": False,
        },
    },
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "title": "SearchArguments",
    "properties": {
        "query": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
        "filter": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}], "default": None},
        "names": {"type": "array"},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        "more": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Level"}},
        "pattern": {"type": "string", "description": "a property that is called like a word"},
        "which": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "d"},
    },
    "required": ["query", "gone"],
}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.get("properties", {}).values():
            yield from parts(value)
        for word in ("items", "additionalProperties"):
            yield from parts(schema.get(word))
        for word in ("anyOf", "oneOf", "allOf"):
            for choice in schema.get(word, ()):
                yield from parts(choice)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_mcp_servers_write_is_sound_everywhere(dialect: Schema) -> None:
    before = json.dumps(PYDANTIC)
    plain = plain_schema(PYDANTIC, dialect)
    assert json.dumps(PYDANTIC) == before
    assert plain["type"] == "object"
    assert set(plain["properties"]) == set(PYDANTIC["properties"])
    assert plain["required"] == ["query"]
    for part in parts(plain):
        assert not {"$ref", "$defs", "$schema"} & part.keys()
        if part.get("type") == "array":
            assert isinstance(part["items"], dict)


def test_gemini_gets_only_what_it_knows() -> None:
    plain = plain_schema(PYDANTIC, "gemini")
    known = {"type", "description", "enum", "properties", "required", "items", "format"}
    for part in parts(plain):
        assert part.keys() <= known | {"nullable", "anyOf"}
        assert all(isinstance(value, str) for value in part.get("enum", ()))
        assert isinstance(part.get("type", ""), str)
    assert plain["properties"]["filter"] == {
        "type": "object",
        "properties": {
            "level": {"type": "string", "enum": ["1", "2", "3"]},
            "tag": {"type": "string", "enum": ["x"]},
        },
        "required": ["level"],
        "nullable": True,
    }
    assert plain["properties"]["pair"] == {"type": "array", "items": {"type": "string"}}
    assert plain["properties"]["which"]["anyOf"] == [{"type": "string"}, {"type": "integer"}]


def test_a_grammar_gets_no_pattern_but_a_property_may_be_called_so() -> None:
    properties = plain_schema(PYDANTIC, "grammar")["properties"]
    assert "pattern" not in properties["query"]
    assert properties["query"]["minLength"] == 1
    assert properties["pattern"]["type"] == "string"


def test_moonshot_gets_the_type_in_each_alternative() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "anyOf": [{"enum": ["x"]}, {"pattern": "y"}]}},
    }
    assert plain_schema(schema, "moonshot")["properties"]["a"] == {
        "anyOf": [{"type": "string", "enum": ["x"]}, {"type": "string"}]
    }


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "string"},
        {"type": "object", "properties": {"a": True, "b": None, "c": 3}},
        {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"type": "null"}]},
        {"allOf": [{"$ref": "#/definitions/A"}], "definitions": {"A": {"properties": {"a": {}}}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": {}}}}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/x"}}},
        {"type": ["object", "null"], "properties": {"a": {"type": ["string", "integer", "null"]}}},
    ],
)
def test_odd_schemas_become_objects(dialect: Schema, schema: dict[str, Any]) -> None:
    plain = plain_schema(schema, dialect)
    assert plain["type"] == "object"
    assert isinstance(plain["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "$ref", "definitions"} & plain.keys()
    assert all(isinstance(part, dict) for part in plain["properties"].values())


def test_a_schema_that_leads_into_itself_ends() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/T"},
                                             "right": {"$ref": "#/$defs/T"}}}  # fmt: skip
    flat = inlined({"$ref": "#/$defs/T", "$defs": {"T": tree}})
    assert flat["properties"]["left"] == {"type": "object"}


def test_references_that_multiply_are_bounded() -> None:
    defs = {f"L{at}": {"type": "object", "properties": {
        name: {"$ref": f"#/$defs/L{at + 1}"} for name in "abcd"}} for at in range(20)}  # fmt: skip
    text = json.dumps(inlined({"$ref": "#/$defs/L0", "$defs": defs}))
    assert len(text) < 100 * MOST


def test_our_own_schemas_go_out_as_they_are() -> None:
    ours = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where."}},
        "required": ["path"],
        "additionalProperties": False,
    }
    assert plain_schema(ours, "full") == ours
    assert list(plain_schema(ours, "full")) == list(ours)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": True, "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}},
    ],
)
def test_what_takes_anything_is_not_held_to_strict_mode(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_strict_mode_makes_the_optional_nullable() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"enum": ["u", "v"], "type": "string"},
            "c": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "d": {"type": "array", "items": {"type": "object", "properties": {
                "e": {"type": "boolean"}}}},
        },
        "required": ["d"],
    }  # fmt: skip
    strict = strict_schema(schema)
    assert strict is not None
    assert strict["required"] == ["a", "b", "c", "d"]
    properties = strict["properties"]
    assert properties["a"] == {"type": ["string", "null"]}
    assert properties["b"] == {"enum": ["u", "v", None], "type": ["string", "null"]}
    assert {"type": "null"} in properties["c"]["anyOf"]
    assert properties["d"]["items"]["required"] == ["e"]
    assert properties["d"]["items"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"a": null, "b": 1}', '{"b": 1}'),
        ('{"r": null}', '{"r": null}'),
        ('{"n": null}', '{"n": null}'),
        ('{"o": {"x": null, "y": 2}}', '{"o": {"y": 2}}'),
        ('{"l": [{"x": null}]}', '{"l": [{}]}'),
        ('{"a": "x"}', '{"a": "x"}'),
        ('{"a": nul', '{"a": nul'),
        ("[null]", "[null]"),
    ],
)
def test_the_nulls_of_strict_mode_are_taken_out_and_no_others(arguments: str, kept: str) -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "r": {"type": "string"},
            "n": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "o": inner,
            "l": {"type": "array", "items": inner},
        },
        "required": ["r"],
    }
    assert without_nulls(arguments, schema) == kept

"""Turns typed arguments into what a model is told, and what a model writes into typed arguments."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from stormclaw.errors import ToolFailure
from stormclaw.protocol.provider import ToolSpec
from stormclaw.protocol.tool import AnyTool, Tool

A = TypeVar("A")

MAX_SHOWN_VALUE = 60
"""Characters of a wrong value repeated in the answer to the model."""


def spec_of(tool: AnyTool) -> ToolSpec:
    """The tool as advertised: one flat JSON schema object, no references, no titles."""
    return ToolSpec(tool.name, tool.description, _object_schema(fields_of(tool)))


def parse(tool: Tool[A], raw: str) -> A:
    """The arguments a model wrote, as the tool's own type.

    Lenient where the meaning is plain (`"5"` for 5, `"true"` for true, null for an argument that
    may be left out, one text for a list of texts, a text for an object that needs only one); an
    empty string counts as `{}`.

    Raises:
        ToolFailure: Not JSON, not an object, or arguments missing, unknown or of the wrong type;
            names all of them and what the tool takes.
    """
    given = _object(tool, raw)
    fields = {field.encode_name: field for field in fields_of(tool)}
    problems = [_unknown(name, tuple(fields)) for name in given if name not in fields]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        value = given.get(name)
        if value is not None:
            try:
                values[name] = _convert(value, field.type)
            except msgspec.ValidationError:
                problems.append(f"`{name}` must be {_wanted(field.type)}, not {_show(value)}")
        elif field.required:
            problems.append(f"`{name}` is missing: it must be {_wanted(field.type)}")
    if problems:
        raise ToolFailure(f"{'; '.join(problems)}. {signature(tool)}", summary="wrong arguments")
    return tool.args(**values)


def signature(tool: AnyTool) -> str:
    """What the tool takes, on one line: `read_file{path: string, offset?: integer}`."""
    return f"{tool.name}{{{_listed(fields_of(tool))}}}"


def fields_of(tool: AnyTool) -> tuple[inspect.Field, ...]:
    """The arguments of a tool, in order.

    Raises:
        TypeError: `args` is not a Struct; a mistake in the tool's module.
    """
    shape = inspect.type_info(tool.args)
    if not isinstance(shape, inspect.StructType):
        raise TypeError(f"args of tool {tool.name} must be a msgspec Struct")
    return shape.fields


def _object(tool: AnyTool, raw: str) -> Mapping[str, Any]:
    """The JSON object in `raw`."""
    if not raw.strip():
        return {}
    try:
        given = msgspec.json.decode(raw.encode("utf-8", "surrogatepass"))
    except msgspec.DecodeError as problem:
        raise ToolFailure(
            f"the arguments are not valid JSON ({problem}); nothing was run. Send one complete "
            f"JSON object: {signature(tool)}",
            summary="broken arguments",
        ) from problem
    if not isinstance(given, dict):
        raise ToolFailure(
            f"the arguments must be a JSON object, not {_show(given)}: {signature(tool)}",
            summary="broken arguments",
        )
    return given


def _unknown(name: str, known: tuple[str, ...]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f", did you mean `{nearest[0]}`?" if nearest else ""
    return f"there is no argument `{name}`{hint}"


def _show(value: object) -> str:
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[:MAX_SHOWN_VALUE]}…"


def _bare(shape: inspect.Type) -> tuple[inspect.Type, str]:
    """The type without its description and without "or None", and that description."""
    description = ""
    while True:
        if isinstance(shape, inspect.Metadata):
            description = (shape.extra_json_schema or {}).get("description", description)
            shape = shape.type
        elif isinstance(shape, inspect.UnionType):
            (shape,) = (part for part in shape.types if not isinstance(part, inspect.NoneType))
        else:
            return shape, description


def _schema(shape: inspect.Type) -> dict[str, Any]:
    """The JSON schema of one argument."""
    bare, description = _bare(shape)
    schema: dict[str, Any]
    match bare:
        case inspect.StrType():
            schema = {"type": "string"}
        case inspect.BoolType():
            schema = {"type": "boolean"}
        case inspect.IntType():
            schema = {"type": "integer"} | _bounds(bare)
        case inspect.FloatType():
            schema = {"type": "number"} | _bounds(bare)
        case inspect.VarTupleType():
            schema = {"type": "array", "items": _schema(bare.item_type)}
        case inspect.DictType():
            schema = {"type": "object"}
        case inspect.StructType():
            schema = _object_schema(bare.fields)
        case _:
            raise TypeError(f"no JSON schema for an argument of type {bare}")
    return schema | ({"description": description} if description else {})


def _listed(fields: tuple[inspect.Field, ...]) -> str:
    return ", ".join(
        f"{field.encode_name}{'' if field.required else '?'}: {_schema(field.type)['type']}"
        for field in fields
    )


def _object_schema(fields: tuple[inspect.Field, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field.encode_name: _schema(field.type) for field in fields},
    }
    required = [field.encode_name for field in fields if field.required]
    if required:
        schema["required"] = required
    return schema


def _bounds(shape: inspect.IntType | inspect.FloatType) -> dict[str, Any]:
    limits = {"minimum": shape.ge, "maximum": shape.le}
    return {word: limit for word, limit in limits.items() if limit is not None}


def _convert(value: object, shape: inspect.Type) -> object:
    """The value as the argument's type; raises msgspec.ValidationError."""
    bare, _ = _bare(shape)
    match bare:
        case inspect.StrType():
            return msgspec.convert(value, str)
        case inspect.BoolType():
            return msgspec.convert(value, bool, strict=False)
        case inspect.IntType():
            return _within(msgspec.convert(value, int, strict=False), bare)
        case inspect.FloatType():
            return _within(msgspec.convert(value, float, strict=False), bare)
        case inspect.VarTupleType():
            return _convert_list(value, bare.item_type)
        case inspect.DictType():
            return msgspec.convert(_as_json(value, "{"), dict[str, str])
        case inspect.StructType():
            return _convert_object(value, bare)
        case _:
            raise TypeError(f"no conversion to an argument of type {bare}")


def _convert_list(value: object, item: inspect.Type) -> object:
    """A list, a list written as JSON text, or one item standing for a list of one."""
    value = _as_json(value, "[")
    items = value if isinstance(value, list) else [value]
    return tuple(_convert(each, item) for each in items)


def _convert_object(value: object, shape: inspect.StructType) -> object:
    """An object as its Struct; a text where a text is all that is required."""
    required = [field.encode_name for field in shape.fields if field.required]
    given = {required[0]: value} if isinstance(value, str) and len(required) == 1 else value
    if not isinstance(given, dict):
        raise msgspec.ValidationError("not an object")
    fields = {field.encode_name: field for field in shape.fields}
    if any(name not in fields for name in given) or any(name not in given for name in required):
        raise msgspec.ValidationError("not these fields")
    return shape.cls(**{name: _convert(each, fields[name].type) for name, each in given.items()})


def _as_json(value: object, opening: str) -> object:
    """What stands in a text that begins as JSON does; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError as problem:
        raise msgspec.ValidationError(str(problem)) from problem


def _within(number: float, shape: inspect.IntType | inspect.FloatType) -> float:
    if (shape.ge is not None and number < shape.ge) or (shape.le is not None and number > shape.le):
        raise msgspec.ValidationError("out of range")
    return number


def _wanted(shape: inspect.Type) -> str:
    """What an argument must be, in words."""
    bare, _ = _bare(shape)
    match bare:
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            noun = "a whole number" if isinstance(bare, inspect.IntType) else "a number"
            words = {"minimum": "at least", "maximum": "at most"}
            limits = [f"{words[word]} {limit}" for word, limit in _bounds(bare).items()]
            return f"{noun} {' and '.join(limits)}".rstrip()
        case inspect.VarTupleType():
            item = _bare(bare.item_type)[0]
            return f"a list of {_many(item)}"
        case inspect.DictType():
            return "an object of texts"
        case inspect.StructType():
            return f"an object {{{_listed(bare.fields)}}}"
        case _:
            raise TypeError(f"no words for an argument of type {bare}")


def _many(item: inspect.Type) -> str:
    """What the items of a list must be, in words."""
    return (
        f"objects {{{_listed(item.fields)}}}" if isinstance(item, inspect.StructType) else "texts"
    )

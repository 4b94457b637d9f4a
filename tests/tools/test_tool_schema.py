"""What a model is told about a tool, and what becomes of what it writes."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.tool import Tool, ToolResult
from stormclaw.tools.registry import Registry
from stormclaw.tools.schema import parse, signature, spec_of


class Part(Struct, frozen=True):
    text: str
    level: Annotated[int, Meta(description="Depth")] = 1


class Args(Struct, frozen=True):
    path: Annotated[str, Meta(description="Where")]
    count: Annotated[int, Meta(ge=1, le=9, description="How many")] | None = None
    deep: bool = False
    names: tuple[str, ...] = ()
    share: float | None = None
    parts: tuple[Part, ...] = ()
    words: dict[str, str] | None = None


async def _nothing(args: Args, ctx: object) -> ToolResult:
    return ToolResult("")


TOOL = Tool(
    "probe", "Probe.", Args, lambda args: Headline("x", "y"), lambda args, ctx: (), _nothing
)


def test_the_schema_is_flat_and_complete() -> None:
    spec = spec_of(TOOL)
    assert (spec.name, spec.description) == ("probe", "Probe.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many"},
            "deep": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "share": {"type": "number"},
            "parts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "level": {"type": "integer", "description": "Depth"},
                    },
                    "required": ["text"],
                },
            },
            "words": {"type": "object"},
        },
        "required": ["path"],
    }


def test_every_schema_is_plain_json(registry: Registry) -> None:
    text = json.dumps([dict(spec_of(tool).parameters) for tool in registry])
    for word in ("$ref", "$defs", "title", "additionalProperties", "anyOf", "null"):
        assert word not in text


def test_all_tools_together_fit_into_seven_kilobytes(registry: Registry) -> None:
    specs = [spec_of(tool) for tool in registry]
    wire = [
        {
            "type": "function",
            "function": {"name": s.name, "description": s.description, "parameters": s.parameters},
        }
        for s in specs
    ]
    assert len(json.dumps(wire, separators=(",", ":")).encode()) <= 7_000


@pytest.mark.parametrize("raw", ['{"path": "a"}', ' {"path":"a","count":null,"deep":null} '])
def test_what_may_be_left_out_may_be_null(raw: str) -> None:
    assert parse(TOOL, raw) == Args("a")


def test_plain_meanings_are_understood() -> None:
    raw = '{"path":"a","count":"5","deep":"true","names":"one","share":"0.5"}'
    assert parse(TOOL, raw) == Args("a", 5, True, ("one",), 0.5)
    assert parse(TOOL, '{"path":"a","names":"[\\"x\\",\\"y\\"]"}').names == ("x", "y")


@pytest.mark.parametrize(
    "raw",
    [
        '[{"text":"x"},{"text":"y","level":2}]',
        '["x",{"text":"y","level":"2"}]',
        '"[{\\"text\\":\\"x\\"},{\\"text\\":\\"y\\",\\"level\\":2}]"',
    ],
)
def test_objects_in_a_list(raw: str) -> None:
    assert parse(TOOL, f'{{"path":"a","parts":{raw}}}').parts == (Part("x"), Part("y", 2))


def test_an_object_of_texts() -> None:
    assert parse(TOOL, '{"path":"a","words":{"x":"y"}}').words == {"x": "y"}
    assert parse(TOOL, '{"path":"a","words":"{\\"x\\":\\"y\\"}"}').words == {"x": "y"}


def test_no_arguments_are_an_empty_object(registry: Registry) -> None:
    tool = registry.resolve("time")
    assert tool is not None
    assert parse(tool, "") == parse(tool, "{}") == parse(tool, "  \n")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"path": "a"', "not valid JSON"),
        ('{"path": "a"} trailing', "not valid JSON"),
        ("nonsense", "not valid JSON"),
        ('"a"', "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ("{}", "`path` is missing: it must be a text"),
        ('{"path":null}', "`path` is missing"),
        ('{"path":7}', "`path` must be a text, not 7"),
        ('{"path":"a","count":"many"}', "`count` must be a whole number at least 1 and at most 9"),
        ('{"path":"a","count":0}', "`count` must be"),
        ('{"path":"a","count":10}', "`count` must be"),
        ('{"path":"a","count":1.5}', "not 1.5"),
        ('{"path":"a","deep":"maybe"}', "`deep` must be true or false"),
        ('{"path":"a","names":[1]}', "`names` must be a list of texts"),
        ('{"path":"a","names":"[broken"}', "`names` must be a list of texts"),
        ('{"path":"a","parts":[{"txt":"x"}]}', "`parts` must be a list of objects {text: string, "),
        ('{"path":"a","parts":[{"level":1}]}', "`parts` must be a list of objects"),
        ('{"path":"a","parts":[7]}', "`parts` must be a list of objects"),
        ('{"path":"a","words":{"x":1}}', "`words` must be an object of texts"),
        ('{"path":"a","words":"{broken"}', "`words` must be an object of texts"),
        ('{"path":"a","words":["x"]}', "`words` must be an object of texts"),
        ('{"file_path":"a"}', "did you mean `path`?"),
        ('{"path":"a","zzz":1}', "there is no argument `zzz`"),
        ('{"path":"\\ud800"}', "not valid JSON"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_right(raw: str, said: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        parse(TOOL, raw)
    assert said in str(failure.value)
    assert signature(TOOL) in str(failure.value)
    assert failure.value.summary


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ToolFailure) as failure:
        parse(TOOL, '{"pth":"a","count":"x","deep":[]}')
    for word in ("`pth`", "`path`", "`count`", "`deep`"):
        assert word in str(failure.value)


def test_a_long_wrong_value_is_not_repeated_whole() -> None:
    with pytest.raises(ToolFailure) as failure:
        parse(TOOL, json.dumps({"path": "a", "count": "x" * 5000}))
    assert len(str(failure.value)) < 400


def answer(raw: str) -> str:
    """What the model is told, "" if the arguments are taken."""
    try:
        parse(TOOL, raw)
    except ToolFailure as failure:
        return str(failure)
    return ""


@given(st.text())
def test_whatever_a_model_writes_is_arguments_or_a_tool_failure(raw: str) -> None:
    assert "probe{" in answer(raw)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_whatever_the_value_is(value: object) -> None:
    for name in ("path", "count", "deep", "names", "share", "parts", "words"):
        said = answer(json.dumps({"path": "a", name: value}))
        assert not said or f"`{name}`" in said or "not valid JSON" in said

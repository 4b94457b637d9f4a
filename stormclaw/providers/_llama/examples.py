"""Shows a small model how tools are called, with those it has: a line each, made from the request.

Examples are worth more to it than rules. Nothing here names a tool that is not advertised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from stormclaw.protocol.provider import ToolSpec
from stormclaw.providers._llama.grammar import ARGUMENTS, FINAL, TOOL

MOST: Final = 6
_LONGEST: Final = 160
"""Characters of a tool's description that a small model gets."""

SAYINGS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType(
    {
        "read_file": ("what is in src/app.py?", {"path": "src/app.py"}),
        "list_files": ("which files are there?", {"path": "."}),
        "grep": ("where is load_config used?", {"pattern": "load_config"}),
        "edit_file": (
            "in src/app.py, call the variable total",
            {"path": "src/app.py", "old_string": "sum = 0", "new_string": "total = 0"},
        ),
        "write_file": (
            "write hello.py that prints hi",
            {"path": "hello.py", "content": 'print("hi")\n'},
        ),
        "shell_exec": ("run the tests", {"command": "python -m pytest -q"}),
    }
)
"""What a person might say, and the arguments that answer it; used where the tool takes them."""


def tool_lines(tools: tuple[ToolSpec, ...]) -> str:
    """Every tool on a line: `read_file(path, offset?: integer): Read a file.`"""
    return "\n".join(f"{_signature(spec)}: {_short(spec.description)}" for spec in tools)


def example_lines(tools: tuple[ToolSpec, ...]) -> str:
    """A few sayings with their answers, for the tools there are."""
    known = [
        f"{saying} -> {call_text(spec.name, arguments)}"
        for spec in tools
        if (entry := SAYINGS.get(spec.name)) and _takes(spec, entry[1])
        for saying, arguments in (entry,)
    ]
    lines = (known or [f"use {spec.name} -> {_made_up(spec)}" for spec in tools[:1]])[:MOST]
    return "\n".join([*lines, f"thanks -> {final_text('You are welcome.')}"])


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as the model is to write it."""
    return json.dumps({TOOL: name, ARGUMENTS: dict(arguments)}, ensure_ascii=False)


def final_text(words: str) -> str:
    """Last words as the model is to write them."""
    return json.dumps({FINAL: words}, ensure_ascii=False)


def _made_up(spec: ToolSpec) -> str:
    fillers = {"string": "...", "integer": 1, "number": 1, "boolean": True, "array": []}
    properties = _properties(spec)
    needed = [name for name in spec.parameters.get("required", ()) if name in properties]
    return call_text(
        spec.name,
        {name: fillers.get(_kind(properties[name]), {}) for name in needed},
    )


def _takes(spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    needed = set(spec.parameters.get("required", ()))
    return needed <= arguments.keys() <= _properties(spec).keys()


def _signature(spec: ToolSpec) -> str:
    return f"{spec.name}({', '.join(_listed(spec))})"


def _listed(spec: ToolSpec) -> Iterator[str]:
    needed = spec.parameters.get("required", ())
    for name, schema in _properties(spec).items():
        kind = _kind(schema)
        said = "" if kind == "string" else f": {kind}"
        yield f"{name}{'' if name in needed else '?'}{said}"


def _properties(spec: ToolSpec) -> Mapping[str, Any]:
    properties = spec.parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _kind(schema: object) -> str:
    kind = schema.get("type", "any") if isinstance(schema, Mapping) else "any"
    return kind if isinstance(kind, str) else "any"


def _short(description: str) -> str:
    """The first sentence, or as much of it as there is room for."""
    line = " ".join(description.split())
    head, stop, _ = line.partition(". ")
    line = f"{head}." if stop else line
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rsplit(' ', 1)[0]} …"

"""The tokens models were trained to wrap a call in, found in the text of an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

LONGEST_LEAD: Final = 300
"""Characters a model may say before its call; more than that is an explanation."""

_OPENING: Final = re.compile(
    r"(?m)^[ \t]*(<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>)"
)
_BLOCK: Final = re.compile(r"\s*<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION: Final = re.compile(r"\s*<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"\s*<parameter=([^>\s]+)>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_ARGUMENT: Final = re.compile(
    r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL
)
_MISTRAL: Final = re.compile(r"\s*(?:\[TOOL_CALLS\])?\s*([\w.-]+)\s*(?:\[ARGS\])?\s*(?=\{)")
_LEFT_OVER: Final = re.compile(r"(\s|</tool_call>|<\|im_end\|>|<\|eom_id\|>|<\|eot_id\|>|</s>)*\Z")


@dataclass(frozen=True, slots=True)
class Printed:
    """A call as it was printed.

    Attributes:
        name: Of the tool, as written.
        arguments: An object, or its JSON text.
        untyped: Whether all its values came as text.
    """

    name: str
    arguments: object
    untyped: bool = False


def tagged(text: str) -> tuple[str, list[Printed]]:
    """(what was said before, the calls) of an answer that ends in wrapped calls; no calls if none.

    A fence before the tag means that it is shown, not meant.
    """
    opening = _OPENING.search(text)
    if opening is None:
        return "", []
    lead, rest = text[: opening.start()].strip(), text[opening.start(1) :]
    if len(lead) > LONGEST_LEAD or "```" in lead or "`" in rest[:1]:
        return "", []
    mark = opening[1]
    if mark == "<tool_call>":
        found = _blocks(rest)
    elif mark == "<function=":
        found = _functions(rest)
    elif mark == "[TOOL_CALLS]":
        found = _mistral(rest)
    else:
        found = _objects(rest[len(mark) :])
    return (lead, found) if found else ("", [])


def _blocks(text: str) -> list[Printed]:
    """`<tool_call>`: JSON as Hermes and Qwen print it, functions as Qwen Coder, keys as GLM."""
    calls: list[Printed] = []
    at = 0
    while block := _BLOCK.match(text, at):
        inner = block[1].strip()
        found = _functions(inner) or _objects(inner) or _keyed(inner)
        if not found:
            return []
        calls += found
        at = block.end()
    return calls if _LEFT_OVER.match(text, at) else []


def _functions(text: str) -> list[Printed]:
    """`<function=NAME>` with JSON or with parameters inside."""
    calls: list[Printed] = []
    at = 0
    while function := _FUNCTION.match(text, at):
        name, inner = function[1], function[2].strip()
        if inner.startswith("{"):
            calls.append(Printed(name, inner))
        else:
            given = _parameters(inner)
            if given is None:
                return []
            calls.append(Printed(name, given, untyped=True))
        at = function.end()
    return calls if calls and _LEFT_OVER.match(text, at) else []


def _parameters(text: str) -> dict[str, str] | None:
    given: dict[str, str] = {}
    at = 0
    while found := _PARAMETER.match(text, at):
        given[found[1]] = found[2].removeprefix("\n").removesuffix("\n")
        at = found.end()
    return None if text[at:].strip() else given


def _keyed(text: str) -> list[Printed]:
    """A name, then `<arg_key>` and `<arg_value>` by turns."""
    name, _, rest = text.partition("<arg_key>")
    if not re.fullmatch(r"[\w.-]+", name.strip()):
        return []
    rest = f"<arg_key>{rest}" if rest else ""
    given: dict[str, str] = {}
    at = 0
    while found := _ARGUMENT.match(rest, at):
        given[found[1].strip()] = found[2]
        at = found.end()
    return [] if rest[at:].strip() else [Printed(name.strip(), given, untyped=True)]


def _mistral(text: str) -> list[Printed]:
    """`[TOOL_CALLS]` with a list of calls, or with names and arguments by turns."""
    inner = text.removeprefix("[TOOL_CALLS]").strip()
    if inner.startswith(("[", "{")):
        return _objects(inner)
    calls: list[Printed] = []
    at = 0
    while named := _MISTRAL.match(text, at):
        try:
            arguments, at = json.JSONDecoder().raw_decode(text, named.end())
        except (ValueError, RecursionError):
            return []
        calls.append(Printed(named[1], arguments))
    return calls if _LEFT_OVER.match(text, at) else []


def _objects(text: str) -> list[Printed]:
    """JSON objects with a name, one after the other, or a list of them."""
    return list(_named(text)) if text.strip().startswith(("{", "[")) else []


def _named(text: str) -> Iterator[Printed]:
    decoder, at = json.JSONDecoder(), 0
    found: list[object] = []
    while (rest := text[at:].lstrip(" \t\r\n;,")) and rest[0] in "{[":
        at = len(text) - len(rest)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        found += value if isinstance(value, list) else [value]
    if not _LEFT_OVER.match(text, at):
        return
    for value in found:
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            # Not a call among calls: none of them is taken.
            yield Printed("", None)
            continue
        yield Printed(value["name"], value.get("arguments", value.get("parameters", {})))

"""Calls that a model printed as text because nobody told it how to make one.

Weak models, and strong ones behind a server without the right template, write the JSON of a call
into their answer. It is taken for a call only where the answer is nothing else, the tool was on
offer and the arguments are what it needs: an explanation with an example in it is none, and neither
is what the model repeats from a file or from the person (`quoted`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Delta,
    Remark,
    Text,
    Thinking,
    ToolSpec,
    Withdrawn,
)
from stormclaw.providers._fragments import mint_id
from stormclaw.providers._openai.printed_tags import Printed, tagged
from stormclaw.providers._openai.quoted import is_quoted

MOST: Final = 16
"""More calls than this in one answer are no calls, but a list of something."""
MAX_CHARS: Final = 400_000
_FENCE: Final = re.compile(r"```[ \t]*(json|tool_call|tool_code|tool|)[ \t]*\n(.*?)\n?```", re.S)
_NAMED: Final = frozenset({"name", "arguments", "parameters", "type", "id"})
_WRAPPED: Final = frozenset({"function", "type", "id"})
_BETWEEN: Final = re.compile(r"[\s;,]*")
_PREFIXES: Final = ("functions.", "default_api.", "tools.")


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer read as calls.

    Attributes:
        lead: What the model said before, "" for nothing.
        calls: Each (tool, arguments as JSON text).
    """

    lead: str
    calls: tuple[tuple[str, str], ...]


def amended(
    response: ChatResponse, request: ChatRequest, taken: Iterable[str]
) -> Iterator[Delta | ChatResponse]:
    """The response, its printed calls turned into real ones; what was shown of them is withdrawn.

    Args:
        response: Whole.
        request: What it answers: a call that stands there already is only repeated.
        taken: Ids that already stand for other calls of the conversation.
    """
    said = response.final_text
    reading = None if response.tool_calls else read_calls(said, request.tools)
    if reading is None or response.finish == "length" or is_quoted(said, request.messages):
        yield response
        return
    used = set(taken)
    calls = []
    for name, arguments in reading.calls:
        call_id = next(fresh for fresh in iter(mint_id, None) if fresh not in used)
        used.add(call_id)
        calls.append(ToolCall(call_id, name, arguments))
    yield Withdrawn("the model printed its call as text")
    if response.thinking:
        yield Thinking(response.thinking)
    if reading.lead:
        yield Text(reading.lead)
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    yield Remark(
        f"the model printed its call of {names} as text; it was taken as a call. Where that "
        "happens often, the server lacks the model's template for tools, or its context is short"
    )
    yield replace(response, final_text=reading.lead, tool_calls=tuple(calls), finish="tool_calls")


def read_calls(text: str, tools: Sequence[ToolSpec]) -> Reading | None:
    """The calls an answer consists of; None when it is an answer. A pure function."""
    stripped = text.strip()
    if not tools or not stripped or len(stripped) > MAX_CHARS:
        return None
    known = {spec.name: spec for spec in tools}
    lead, printed = tagged(stripped)
    if not printed:
        lead, printed = "", _json_calls(stripped)
    if not printed or len(printed) > MOST:
        return None
    calls = [call for each in printed if (call := _fitting(each, known)) is not None]
    return Reading(lead, tuple(calls)) if len(calls) == len(printed) else None


def _json_calls(text: str) -> list[Printed]:
    """The calls in an answer that is JSON and nothing else, in a fence or bare."""
    fences = list(_FENCE.finditer(text))
    if fences:
        bare = _FENCE.sub("", text)
        return [] if bare.strip() else _each(fence[2] for fence in fences)
    return _each((text,))


def _each(texts: Iterable[str]) -> list[Printed]:
    found: list[Printed] = []
    for text in texts:
        values = _values(text)
        calls = [call for value in values or () for call in _calls_in(value)]
        if not calls or None in calls:
            return []
        found += [call for call in calls if call is not None]
    return found


def _values(text: str) -> list[Any] | None:
    """The JSON values a text consists of, one after the other; None when there is more to it."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    at = _past(text, 0)
    while at < len(text):
        if text[at] not in "{[" or len(values) > MOST:
            return None
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        values.append(value)
        at = _past(text, at)
    return values


def _past(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _calls_in(value: object) -> list[Printed | None]:
    """The calls a JSON value is; None stands for what is something else."""
    if isinstance(value, list):
        return [call for entry in value for call in _calls_in(entry)] or [None]
    if not isinstance(value, Mapping):
        return [None]
    if value.keys() == {"tool_calls"}:
        return _calls_in(value["tool_calls"])
    if isinstance(inner := value.get("function"), Mapping):
        return _calls_in(inner) if value.keys() <= _WRAPPED else [None]
    name, given = value.get("name"), value.keys() & {"arguments", "parameters"}
    if "name" not in value and value.get("type") == "function":
        name = value.get("function")
    if not isinstance(name, str) or len(given) != 1:
        return [None]
    if not value.keys() <= (_NAMED | _WRAPPED):
        return [None]
    return [Printed(name, value[given.pop()])]


def _fitting(printed: Printed, known: Mapping[str, ToolSpec]) -> tuple[str, str] | None:
    """(tool, arguments) if there is such a tool and the arguments are what it needs."""
    name = printed.name.strip()
    for prefix in _PREFIXES:
        if name not in known:
            name = name.removeprefix(prefix)
    spec = known.get(name)
    if spec is None:
        return None
    properties = spec.parameters.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    arguments = printed.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return None
    if not isinstance(arguments, Mapping):
        return None
    if printed.untyped:
        arguments = {key: _typed(value, properties.get(key)) for key, value in arguments.items()}
    required = spec.parameters.get("required")
    required = required if isinstance(required, list | tuple) else ()
    if not arguments.keys() >= set(required):
        return None
    if properties and not arguments.keys() <= properties.keys():
        return None
    return name, json.dumps(arguments, ensure_ascii=False)


def _typed(value: object, schema: object) -> object:
    """A value that came as text, as what the schema says it is."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    if not isinstance(value, str) or "string" in kinds or kinds == [None]:
        return value
    try:
        return json.loads(value.strip().lower() if "boolean" in kinds else value)
    except (ValueError, RecursionError):
        return value

"""From a request to the bytes of its body, cheap for long conversations.

Each message's JSON is kept beside the message object: a request joins what is there. Building a
thousand messages anew costs some 20 ms of a blocked event loop, joining them under one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import AssistantTurn, Delegation, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._caching import FIELD, Prefix, caching_of, mark
from stormclaw.providers._fragments import is_json_object
from stormclaw.providers._schemas import plain_schema
from stormclaw.providers._surrogates import mend
from stormclaw.providers.presets import Dialect

_SPARE: Final = 1_000
"""How many messages besides the last request's are kept before the cache is cleaned."""

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
    "forty": re.compile(r"[A-Za-z0-9_-]{1,40}"),
}


@dataclass(frozen=True, slots=True)
class Body:
    """A request as it goes out.

    Attributes:
        content: The JSON text.
        fields: Its top-level names, to tell which one a server refuses.
        echoed: Whether a message carries reasoning back.
        marked: Whether it tells a cache what to keep.
    """

    content: bytes
    fields: tuple[str, ...]
    echoed: bool
    marked: bool = False


@dataclass(frozen=True, slots=True)
class _Kept:
    message: Message
    json: bytes
    echoed: bool


class Wire:
    """Writes the bodies for one provider.

    Args:
        provider: Our name for it; reasoning it signed goes back to it alone.
        settings: What the person configured.
    """

    def __init__(self, provider: str, settings: ModelSettings) -> None:
        self._provider = provider
        self._settings = settings
        self._dialect = Dialect()
        self._kept: dict[tuple[int, str], _Kept] = {}
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_json = b""
        self._system = ("", b"")

    def body(self, request: ChatRequest, model: str, dialect: Dialect) -> Body:
        """The body of a streamed chat completion."""
        if dialect != self._dialect:
            self._kept.clear()
            self._tools = ()
            self._dialect = dialect
        pieces, ends = self._pieces(request.messages, model)
        prefix = plain = Prefix(
            self._advertise(request.tools) if request.tools else b"",
            self._system_json(request.system_prompt) if request.system_prompt else b"",
            [piece.json for piece in pieces],
        )
        row = caching_of(dialect.cache, model)
        if row is not None and FIELD not in self._settings.extra_body:
            prefix = mark(plain, row, request.messages, ends)
        messages = [*filter(None, (prefix.system,)), *prefix.messages]
        parts: dict[str, bytes] = {
            "model": dumps(model),
            "messages": b"[" + b",".join(messages) + b"]",
        }
        if prefix.tools:
            parts["tools"] = prefix.tools
        parts["stream"] = b"true"
        options = self._options(request)
        unwanted = {*dialect.refused, *parts}
        parts |= {name: dumps(value) for name, value in options.items() if name not in unwanted}
        content = b",".join(dumps(name) + b":" + value for name, value in parts.items())
        self._clean(request.messages, model)
        echoed = any(piece.echoed for piece in pieces)
        return Body(b"{" + content + b"}", tuple(parts), echoed, marked=prefix != plain)

    def _options(self, request: ChatRequest) -> dict[str, Any]:
        """What may be refused, and is then left out."""
        dialect, settings = self._dialect, self._settings
        options: dict[str, Any] = {}
        if dialect.stream_options:
            options["stream_options"] = {"include_usage": True}
        temperature = settings.temperature if request.temperature is None else request.temperature
        if temperature is not None:
            options["temperature"] = temperature
        if settings.max_tokens and dialect.token_field:
            options[dialect.token_field] = settings.max_tokens
        options |= _effort(dialect.reasoning, settings.reasoning)
        return options | dict(settings.extra_body)

    def _system_json(self, prompt: str) -> bytes:
        if self._system[0] != prompt:
            self._system = (prompt, dumps({"role": "system", "content": prompt}))
        return self._system[1]

    def _advertise(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._tools != tools:
            self._tools = tools
            self._tools_json = dumps([self._tool(spec) for spec in tools])
        return self._tools_json

    def _tool(self, spec: ToolSpec) -> dict[str, Any]:
        plain = self._dialect.plain_schemas
        parameters = plain_schema(spec.parameters) if plain else dict(spec.parameters)
        function = {"name": spec.name, "description": spec.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def _pieces(self, messages: tuple[Message, ...], model: str) -> tuple[list[_Kept], list[int]]:
        """Every message in its place, and which of the given ones is the last in each.

        What the person said in a row becomes one message.
        """
        pieces: list[_Kept] = []
        ends: list[int] = []
        said: list[UserText] = []
        for at, message in enumerate(messages):
            if isinstance(message, UserText):
                said.append(message)
            elif not isinstance(message, AssistantTurn) or message.text.strip() or message.calls:
                pieces += [*self._user(said, model), self._remember(message, model)]
                ends += [at - 1, at][not said :]
                said.clear()
        if said:
            pieces += self._user(said, model)
            ends.append(len(messages) - 1)
        return pieces, ends

    def _user(self, said: list[UserText], model: str) -> Iterator[_Kept]:
        if len(said) == 1:
            yield self._remember(said[0], model)
        elif said:
            text = "\n\n".join(message.text for message in said)
            yield _Kept(said[0], dumps({"role": "user", "content": text}), echoed=False)

    def _remember(self, message: Message, model: str) -> _Kept:
        key = (id(message), model)
        kept = self._kept.get(key)
        # The message itself is kept too, so its id cannot come to mean another one.
        if kept is None:
            wired = self._wired(message, model)
            echoed = not wired.keys() <= {"role", "content", "tool_calls", "tool_call_id"}
            kept = self._kept[key] = _Kept(message, dumps(wired), echoed)
        return kept

    def _clean(self, messages: tuple[Message, ...], model: str) -> None:
        """Drop what the last request did not use, when that has become much."""
        if len(self._kept) > 2 * len(messages) + _SPARE:
            used = {(id(message), model) for message in messages}
            self._kept = {key: kept for key, kept in self._kept.items() if key in used}

    def _wired(self, message: Message, model: str) -> dict[str, Any]:
        match message:
            case UserText(text):
                return {"role": "user", "content": text}
            case AssistantTurn():
                return self._assistant(message, model)
            case ToolOutcome():
                return self._outcome(message)
            case Delegation(outcome):
                return self._outcome(outcome)
            case _:
                assert_never(message)

    def _outcome(self, outcome: ToolOutcome) -> dict[str, Any]:
        call_id = _wire_id(outcome.call_id, self._dialect.ids)
        return {"role": "tool", "tool_call_id": call_id, "content": outcome.output or "(no output)"}

    def _assistant(self, turn: AssistantTurn, model: str) -> dict[str, Any]:
        # No text is null, never "": Anthropic refuses empty text blocks.
        wired: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            wired["tool_calls"] = [self._call(call) for call in turn.calls]
        wired |= self._echo(turn, model)
        return wired

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return {
            "id": _wire_id(call.id, self._dialect.ids),
            "type": "function",
            "function": {
                "name": _wire_name(call.name),
                "arguments": _wire_arguments(call.arguments),
            },
        }

    def _echo(self, turn: AssistantTurn, model: str) -> dict[str, Any]:
        """The reasoning fields that go back, to the same model of the same provider only."""
        dialect = self._dialect
        fields: dict[str, Any] = {}
        if turn.echo:
            echo = json.loads(turn.echo)
            if echo.get("provider") == self._provider and echo.get("model") == model:
                fields = {
                    name: value
                    for name, value in echo.get("fields", {}).items()
                    if name not in dialect.refused and (dialect.echo or name == "reasoning_details")
                }
        if dialect.empty_reasoning and turn.calls:
            fields.setdefault("reasoning_content", "")
        return fields


def dumps(value: object) -> bytes:
    """JSON as bytes; half characters are mended first, since nothing can send them."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return mend(text).encode()


def _effort(spelling: str, effort: str) -> dict[str, Any]:
    """How hard to think, as this server spells it."""
    if not effort or spelling == "off":
        return {}
    if spelling == "object":
        return {"reasoning": {"effort": effort}}
    if spelling == "thinking":
        return {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}
    return {"reasoning_effort": effort}


def _wire_id(call_id: str, form: str) -> str:
    """The id in the form this server takes: always the same for the same id."""
    pattern = _ID_FORMS.get(form)
    if pattern is None or pattern.fullmatch(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "replace")).digest()[:8])
    digits = []
    for _ in range(9):
        number, rest = divmod(number, 62)
        digits.append(_BASE62[rest])
    return "".join(digits)


def _wire_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _wire_arguments(arguments: str) -> str:
    """Arguments a server will parse; broken ones go back wrapped, for the model to see."""
    if is_json_object(arguments):
        return arguments
    return json.dumps({"not_json": arguments} if arguments.strip() else {}, ensure_ascii=False)

"""From a request to the bytes of its body, cheap for long conversations.

Each message's JSON is kept beside the message object: a request joins what is there. Building a
thousand messages anew costs some 20 ms of a blocked event loop, joining them under one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.protocol.provider import ChatRequest, Message
from stormclaw.providers._caching import FIELD, Prefix, caching_of, mark
from stormclaw.providers._openai.effort import spelled
from stormclaw.providers._openai.messages import PLAIN, Writer
from stormclaw.providers._openai.routing import routed
from stormclaw.providers._openai.toolbox import Toolbox, packed
from stormclaw.providers._openai.turns import in_turns
from stormclaw.providers._surrogates import dumps
from stormclaw.providers.quirks import Quirks

_SPARE: Final = 1_000
"""How many messages besides the last request's are kept before the cache is cleaned."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request as it goes out.

    Attributes:
        content: The JSON text.
        fields: Its top-level names, to tell which one a server refuses.
        echoed: Whether a message carries reasoning back.
        marked: Whether it tells a cache what to keep.
        toolbox: The tools in it, to know a call of one again.
        effort: How hard it asks to think.
    """

    content: bytes
    fields: tuple[str, ...]
    echoed: bool
    marked: bool = False
    toolbox: Toolbox = field(default_factory=Toolbox)
    effort: str = ""


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
        self._quirks = Quirks()
        self._kept: dict[tuple[int, str], _Kept] = {}
        self._toolbox = Toolbox()
        self._writer = Writer(provider, self._quirks, self._toolbox.names)
        self._system = ("", b"")

    def body(self, request: ChatRequest, model: str, quirks: Quirks) -> Body:
        """The body of a streamed chat completion."""
        self._turn_to(request, quirks)
        messages = in_turns(request.messages) if quirks.strict_turns else request.messages
        system = request.system_prompt
        if system and quirks.system_role == "user":
            messages, system = (*self._preface(system, messages),), ""
        pieces, ends = self._pieces(messages, model)
        offered = bool(request.tools) or (quirks.empty_tools and _called(messages))
        prefix = plain = Prefix(
            self._toolbox.json if offered else b"",
            self._system_json(system) if system else b"",
            [piece.json for piece in pieces],
        )
        row = caching_of(quirks.cache, model)
        if row is not None and FIELD not in self._settings.extra_body:
            prefix = mark(plain, row, messages, ends)
        parts: dict[str, bytes] = {
            "model": dumps(model),
            "messages": b"[" + b",".join(filter(None, (prefix.system, *prefix.messages))) + b"]",
        }
        if prefix.tools:
            parts["tools"] = prefix.tools
        parts["stream"] = b"true"
        effort = request.effort or self._settings.reasoning
        options = self._options(request, effort)
        unwanted = {*quirks.refused, *parts}
        parts |= {name: dumps(value) for name, value in options.items() if name not in unwanted}
        content = b",".join(dumps(name) + b":" + value for name, value in parts.items())
        self._clean(messages, model)
        return Body(
            b"{" + content + b"}",
            tuple(parts),
            any(piece.echoed for piece in pieces),
            marked=prefix != plain,
            toolbox=self._toolbox,
            effort=effort,
        )

    def _turn_to(self, request: ChatRequest, quirks: Quirks) -> None:
        """Forget what was written otherwise: for other quirks, or other names of tools."""
        if quirks == self._quirks and request.tools == self._toolbox.tools:
            return
        toolbox = packed(request.tools, quirks)
        if quirks != self._quirks or toolbox.names != self._toolbox.names:
            self._kept.clear()
            self._system = ("", b"")
        self._quirks, self._toolbox = quirks, toolbox
        self._writer = Writer(self._provider, quirks, toolbox.names)

    def _options(self, request: ChatRequest, effort: str) -> dict[str, Any]:
        """What may be refused, and is then left out; what the person wrote themselves counts."""
        quirks, settings = self._quirks, self._settings
        options: dict[str, Any] = {}
        if quirks.stream_options:
            options["stream_options"] = {"include_usage": True}
        temperature = settings.temperature if request.temperature is None else request.temperature
        if temperature is not None:
            options["temperature"] = temperature
        if settings.max_tokens and quirks.token_field:
            options[quirks.token_field] = settings.max_tokens
        if request.tools and quirks.parallel_tool_calls is not None:
            options["parallel_tool_calls"] = quirks.parallel_tool_calls
        options |= spelled(quirks, effort)
        if quirks.routing:
            options |= routed(settings.routing)
        return _merged(options, settings.extra_body)

    def _preface(self, prompt: str, messages: Sequence[Message]) -> Iterator[Message]:
        """The conversation with the system prompt as the person's first words."""
        first = messages[0] if messages else None
        if isinstance(first, UserText):
            yield replace(first, text=f"{prompt}\n\n{first.text}")
            yield from messages[1:]
        else:
            yield UserText(prompt)
            yield from messages

    def _system_json(self, prompt: str) -> bytes:
        if self._system[0] != prompt:
            message = {"role": self._quirks.system_role, "content": prompt}
            self._system = (prompt, dumps(message))
        return self._system[1]

    def _pieces(self, messages: Sequence[Message], model: str) -> tuple[list[_Kept], list[int]]:
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
            wired = self._writer.wired(message, model)
            echoed = not wired.keys() <= PLAIN
            kept = self._kept[key] = _Kept(message, dumps(wired), echoed)
        return kept

    def _clean(self, messages: Sequence[Message], model: str) -> None:
        """Drop what the last request did not use, when that has become much."""
        if len(self._kept) > 2 * len(messages) + _SPARE:
            used = {(id(message), model) for message in messages}
            self._kept = {key: kept for key, kept in self._kept.items() if key in used}


def _called(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, AssistantTurn) and message.calls for message in messages)


def _merged(options: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What we would send and what the person adds; of two objects the parts are put together."""
    merged = dict(options)
    for name, value in own.items():
        ours = merged.get(name)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            value = {**ours, **value}
        merged[name] = value
    return merged

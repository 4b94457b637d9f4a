"""From a request to a body of the Messages API, cheap for long conversations.

The blocks of each message are kept as JSON beside the message object; a request joins them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, assert_never

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolCall,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._anthropic_echo import order_of
from stormclaw.providers._anthropic_models import row_of
from stormclaw.providers._anthropic_talk import Talk
from stormclaw.providers._anthropic_thinking import BINDING, INTERLEAVED, NOTHING, Thinking, ways
from stormclaw.providers._caching import FIELD, MARK, breakpoints
from stormclaw.providers._surrogates import dumps, mend

ANSWER_TOKENS: Final = 32_000
"""Room for an answer, and as much again for adaptive thinking, where nothing is configured."""

_SPARE: Final = 1_000
"""How many messages besides the last request's are kept before the cache is cleaned."""
_MARK: Final = b',"%s":%s}' % (FIELD.encode(), dumps(MARK))
_GO_ON: Final = dumps({"type": "text", "text": "Go on."})
_BEFORE: Final = dumps({"type": "text", "text": "(what came before is not shown)"})
_COMBINED: Final = frozenset({"anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Body:
    """A request as it goes out.

    Attributes:
        model: Who is asked.
        parts: The fields and their JSON, without `model` and `stream`.
        betas: Features to be asked for by name.
        ladder: The ways to think it could have asked for.
        rung: Which of them it asks for.
        max_tokens: The most the answer may have.
        echoed: What it carries back of earlier thinking.
        marked: Whether it tells a cache what to keep.
    """

    model: str
    parts: Mapping[str, bytes]
    betas: tuple[str, ...]
    ladder: tuple[Thinking, ...]
    rung: int
    max_tokens: int
    echoed: frozenset[str]
    marked: bool

    def content(self, **more: object) -> bytes:
        """The JSON text, with further fields in front."""
        parts = {name: dumps(value) for name, value in more.items()} | dict(self.parts)
        return b"{" + b",".join(dumps(name) + b":" + value for name, value in parts.items()) + b"}"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A message's blocks, and the ids of the calls it makes, or of the one it answers."""

    message: Message
    json: bytes
    ids: tuple[str, ...] = ()
    echo: str = ""
    markable: bool = True


class Wire:
    """Writes the bodies for one provider.

    Args:
        provider: Our name for it; thinking it signed goes back to it alone.
        settings: What the person configured.
    """

    def __init__(self, provider: str, settings: ModelSettings) -> None:
        self._provider = provider
        self._settings = settings
        self._kept: dict[tuple[int, str], _Kept] = {}
        self._muted: frozenset[str] = frozenset()
        self._tools: tuple[ToolSpec, ...] = ()
        self._tools_json: tuple[bytes, ...] = ()

    def body(self, request: ChatRequest, model: str, talk: Talk, room: int | None = None) -> Body:
        """The body of a streamed answer.

        Args:
            request: What is asked.
            model: Of whom.
            talk: What is known of how the server takes it.
            room: The most tokens that fit beside this conversation, where the server said so.
        """
        if talk.muted != self._muted:
            self._kept.clear()
            self._muted = talk.muted
        pieces = [self._remember(message, model) for message in request.messages]
        echoed = frozenset(piece.echo for piece in pieces if piece.echo)
        caps = [talk.most_tokens, room]
        ladder, rung, limit = self._thinking(request, model, talk, caps)
        way = ladder[rung]
        if way.kind == "enabled" and _forgot(pieces):
            way = NOTHING  # In the middle of calls it made without thinking.
        marked = talk.markers and FIELD not in self._settings.extra_body
        ends = breakpoints(request.messages) if marked else ()
        parts = {"max_tokens": dumps(limit)}
        if request.tools:
            parts["tools"] = self._advertise(request.tools, marked=marked)
        if request.system_prompt.strip():
            system = dumps({"type": "text", "text": request.system_prompt})
            parts["system"] = b"[%s]" % (_marked(system) if marked else system)
        parts["messages"] = b"[%s]" % b",".join(_Talks(pieces, ends).messages())
        options = self._options(request, model, talk, way)
        parts |= {
            name: dumps(value)
            for name, value in options.items()
            if name not in parts and name not in talk.refused
        }
        self._clean(request.messages, model)
        betas = (INTERLEAVED,) * way.interleaved + (BINDING,) * talk.drop_foreign
        return Body(model, parts, betas, ladder, rung, limit, echoed, marked)

    def _thinking(
        self, request: ChatRequest, model: str, talk: Talk, caps: list[int | None]
    ) -> tuple[tuple[Thinking, ...], int, int]:
        """(the ways to think, which of them, the most tokens in all)."""
        row = row_of(model)
        effort = request.effort or self._settings.reasoning
        most = min([self._settings.max_tokens or row.most, *filter(None, caps)])
        ladder = ways(row, effort, most)
        rung = min(talk.rungs.get(effort, 0), len(ladder) - 1)
        way = ladder[rung]
        wanted = ANSWER_TOKENS + (way.budget or ANSWER_TOKENS * way.active)
        return ladder, rung, most if self._settings.max_tokens else min(most, wanted)

    def _options(
        self, request: ChatRequest, model: str, talk: Talk, way: Thinking
    ) -> dict[str, Any]:
        """What may be refused, and is then left out."""
        settings = self._settings
        options = way.fields(drop_foreign=talk.drop_foreign)
        temperature = settings.temperature if request.temperature is None else request.temperature
        if temperature is not None and row_of(model).warm and not way.active:
            options["temperature"] = temperature
        return options | {
            name: value
            for name, value in settings.extra_body.items()
            if name not in ("model", "stream")
        }

    def _advertise(self, tools: tuple[ToolSpec, ...], *, marked: bool) -> bytes:
        if self._tools != tools:
            self._tools = tools
            self._tools_json = tuple(dumps(_tool(spec)) for spec in tools)
        *others, last = self._tools_json
        return b"[%s]" % b",".join([*others, _marked(last) if marked else last])

    def _remember(self, message: Message, model: str) -> _Kept:
        key = (id(message), model)
        kept = self._kept.get(key)
        # The message itself is kept too, so its id cannot come to mean another one.
        if kept is None:
            kept = self._kept[key] = self._wired(message, model)
        return kept

    def _clean(self, messages: tuple[Message, ...], model: str) -> None:
        """Drop what the last request did not use, when that has become much."""
        if len(self._kept) > 2 * len(messages) + _SPARE:
            used = {(id(message), model) for message in messages}
            self._kept = {key: kept for key, kept in self._kept.items() if key in used}

    def _wired(self, message: Message, model: str) -> _Kept:
        match message:
            case UserText(text):
                blank = not text.strip()
                return _Kept(message, b"" if blank else dumps({"type": "text", "text": text}))
            case AssistantTurn():
                return self._assistant(message, model)
            case ToolOutcome():
                return _result(message, message)
            case Delegation(outcome):
                return _result(message, outcome)
            case _:
                assert_never(message)

    def _assistant(self, turn: AssistantTurn, model: str) -> _Kept:
        muted = not turn.echo or turn.echo in self._muted
        order = None if muted else order_of(turn, self._provider, model)
        if order is None:
            order = [turn.text, *turn.calls]
        blocks: list[bytes] = []
        for item in order:
            if isinstance(item, ToolCall):
                blocks.append(_call(item))
            elif not isinstance(item, str):
                blocks.append(dumps(dict(item)))
            elif item.strip():
                blocks.append(dumps({"type": "text", "text": item}))
        thought = [not isinstance(item, str | ToolCall) for item in order]
        # A server takes no marker on thinking.
        markable = bool(blocks) and not thought[-1]
        ids = tuple(_wire_id(call.id) for call in turn.calls)
        return _Kept(turn, b",".join(blocks), ids, turn.echo if any(thought) else "", markable)


class _Talks:
    """Puts blocks into messages: the roles in turns, every call with its result right after."""

    def __init__(self, pieces: list[_Kept], ends: tuple[int, ...]) -> None:
        self._pieces = pieces
        self._ends = frozenset(ends)
        self._waiting: dict[str, None] = {}
        self._results: list[bytes] = []
        self._words: list[bytes] = []
        self._said: list[bytes] = []

    def messages(self) -> Iterator[bytes]:
        """Each message's JSON, the person's first and last."""
        began = False
        for at, piece in enumerate(self._pieces):
            if not piece.json:
                continue
            json_ = _marked(piece.json) if at in self._ends and piece.markable else piece.json
            if isinstance(piece.message, AssistantTurn):
                yield from self._user(b"" if began else _BEFORE)
                self._said.append(json_)
                self._waiting |= dict.fromkeys(piece.ids)
            else:
                yield from self._assistant()
                self._hear(piece, json_)
            began = True
        yield from self._assistant()
        yield from self._user(_GO_ON)

    def _hear(self, piece: _Kept, json_: bytes) -> None:
        outcome = outcome_of(piece.message)
        if outcome is None:
            self._words.append(json_)
        elif piece.ids[0] in self._waiting:
            del self._waiting[piece.ids[0]]
            self._results.append(json_)
        else:
            told = f"(result of {outcome.tool}, which is not shown)\n{outcome.output}"
            self._words.append(dumps({"type": "text", "text": told}))

    def _assistant(self) -> Iterator[bytes]:
        if self._said:
            yield b'{"role":"assistant","content":[%s]}' % b",".join(self._said)
            self._said.clear()

    def _user(self, otherwise: bytes) -> Iterator[bytes]:
        """What came from this side since the model spoke; `otherwise` when that was nothing."""
        if self._said:
            return  # The model goes on speaking: that is one message.
        lost = [_missing(call_id) for call_id in self._waiting]
        blocks = [*self._results, *lost, *self._words] or [otherwise]
        yield b'{"role":"user","content":[%s]}' % b",".join(blocks)
        self._waiting.clear()
        self._results.clear()
        self._words.clear()


def _forgot(pieces: list[_Kept]) -> bool:
    """Whether calls are being answered that were made without thinking, or with another's."""
    for piece in reversed(pieces):
        if isinstance(piece.message, UserText) and piece.json:
            return False
        if isinstance(piece.message, AssistantTurn) and piece.json:
            return bool(piece.message.calls) and not piece.echo
    return False


def _marked(block: bytes) -> bytes:
    return block[:-1] + _MARK


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = {key: value for key, value in spec.parameters.items() if key not in _COMBINED}
    schema = {"type": "object", "properties": {}} | schema
    return {"name": spec.name, "description": spec.description, "input_schema": schema}


def _result(message: Message, outcome: ToolOutcome) -> _Kept:
    call_id = _wire_id(outcome.call_id)
    output = outcome.output if outcome.output.strip() else "(no output)"
    block = {"type": "tool_result", "tool_use_id": call_id, "content": output}
    failed = {} if outcome.status == "done" else {"is_error": True}
    return _Kept(message, dumps(block | failed), (call_id,))


def _missing(call_id: str) -> bytes:
    content = "(the call was not made)"
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}
    return dumps(block)


def _call(call: ToolCall) -> bytes:
    head = dumps({"type": "tool_use", "id": _wire_id(call.id), "name": _wire_name(call.name)})
    return b'%s,"input":%s}' % (head[:-1], _wire_arguments(call.arguments))


def _wire_id(call_id: str) -> str:
    """The id in the one form that is taken: always the same for the same id."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:24]


def _wire_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _wire_arguments(arguments: str) -> bytes:
    """Arguments as they came, where they are an object; else wrapped, for the model to see."""
    try:
        parsed = json.loads(arguments, parse_constant=_no_number)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        return dumps({"not_json": arguments} if arguments.strip() else {})
    if r"\ud" in arguments.lower():
        return dumps(parsed)  # Perhaps half a character, which no server takes.
    return mend(arguments).encode()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")

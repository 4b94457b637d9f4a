"""From a request to a body of the Messages API, cheap for long conversations.

The blocks of each message are kept as JSON beside the message object; a request joins them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._anthropic.blocks import (
    Piece,
    Turns,
    call_block,
    marked_block,
    result_piece,
    tool_block,
    wire_id,
)
from stormclaw.providers._anthropic.echo import order_of
from stormclaw.providers._anthropic.models import row_of
from stormclaw.providers._anthropic.talk import Talk
from stormclaw.providers._anthropic.thinking import BINDING, INTERLEAVED, NOTHING, Thinking, ways
from stormclaw.providers._caching import FIELD, breakpoints
from stormclaw.providers._surrogates import dumps

ANSWER_TOKENS: Final = 32_000
"""Room for an answer, and as much again for adaptive thinking, where nothing is configured."""

_SPARE: Final = 1_000
"""How many messages besides the last request's are kept before the cache is cleaned."""


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


class Wire:
    """Writes the bodies for one provider.

    Args:
        provider: Our name for it; thinking it signed goes back to it alone.
        settings: What the person configured.
    """

    def __init__(self, provider: str, settings: ModelSettings) -> None:
        self._provider = provider
        self._settings = settings
        self._kept: dict[tuple[int, str], Piece] = {}
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
            parts["system"] = b"[%s]" % (marked_block(system) if marked else system)
        parts["messages"] = b"[%s]" % b",".join(Turns(pieces, ends).messages())
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
            self._tools_json = tuple(dumps(tool_block(spec)) for spec in tools)
        *others, last = self._tools_json
        return b"[%s]" % b",".join([*others, marked_block(last) if marked else last])

    def _remember(self, message: Message, model: str) -> Piece:
        key = (id(message), model)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._wired(message, model)
        return kept

    def _clean(self, messages: tuple[Message, ...], model: str) -> None:
        """Drop what the last request did not use, when that has become much."""
        if len(self._kept) > 2 * len(messages) + _SPARE:
            used = {(id(message), model) for message in messages}
            self._kept = {key: kept for key, kept in self._kept.items() if key in used}

    def _wired(self, message: Message, model: str) -> Piece:
        match message:
            case UserText(text):
                blank = not text.strip()
                return Piece(message, b"" if blank else dumps({"type": "text", "text": text}))
            case AssistantTurn():
                return self._assistant(message, model)
            case ToolOutcome():
                return result_piece(message, message)
            case Delegation(outcome):
                return result_piece(message, outcome)
            case _:
                assert_never(message)

    def _assistant(self, turn: AssistantTurn, model: str) -> Piece:
        muted = not turn.echo or turn.echo in self._muted
        order = None if muted else order_of(turn, self._provider, model)
        if order is None:
            order = [turn.text, *turn.calls]
        blocks: list[bytes] = []
        for item in order:
            if isinstance(item, ToolCall):
                blocks.append(call_block(item))
            elif not isinstance(item, str):
                blocks.append(dumps(dict(item)))
            elif item.strip():
                blocks.append(dumps({"type": "text", "text": item}))
        thought = [not isinstance(item, str | ToolCall) for item in order]
        # A server takes no marker on thinking.
        markable = bool(blocks) and not thought[-1]
        ids = tuple(wire_id(call.id) for call in turn.calls)
        return Piece(turn, b",".join(blocks), ids, turn.echo if any(thought) else "", markable)


def _forgot(pieces: list[Piece]) -> bool:
    """Whether calls are being answered that were made without thinking, or with another's."""
    for piece in reversed(pieces):
        if isinstance(piece.message, UserText) and piece.json:
            return False
        if isinstance(piece.message, AssistantTurn) and piece.json:
            return bool(piece.message.calls) and not piece.echo
    return False

"""The blocks a message of the Messages API is made of, and the messages made of blocks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, outcome_of
from stormclaw.protocol.provider import Message, ToolSpec
from stormclaw.providers._caching import FIELD, MARK
from stormclaw.providers._surrogates import dumps, mend

_MARK: Final = b',"%s":%s}' % (FIELD.encode(), dumps(MARK))
_GO_ON: Final = dumps({"type": "text", "text": "Go on."})
_BEFORE: Final = dumps({"type": "text", "text": "(what came before is not shown)"})
_COMBINED: Final = frozenset({"anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A message and its blocks.

    Attributes:
        message: What was said; kept, so that its id cannot come to mean another one.
        json: The blocks, b"" for none.
        ids: Of the calls it makes, or of the one it answers.
        echo: What it carries back of earlier thinking.
        markable: Whether a marker for the cache can go on its last block.
    """

    message: Message
    json: bytes
    ids: tuple[str, ...] = ()
    echo: str = ""
    markable: bool = True


class Turns:
    """Puts blocks into messages: the roles in turns, every call with its result right after."""

    def __init__(self, pieces: list[Piece], ends: tuple[int, ...]) -> None:
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
            json_ = marked_block(piece.json) if at in self._ends and piece.markable else piece.json
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

    def _hear(self, piece: Piece, json_: bytes) -> None:
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


def marked_block(block: bytes) -> bytes:
    return block[:-1] + _MARK


def tool_block(spec: ToolSpec) -> dict[str, Any]:
    schema = {key: value for key, value in spec.parameters.items() if key not in _COMBINED}
    schema = {"type": "object", "properties": {}} | schema
    return {"name": spec.name, "description": spec.description, "input_schema": schema}


def result_piece(message: Message, outcome: ToolOutcome) -> Piece:
    call_id = wire_id(outcome.call_id)
    output = outcome.output if outcome.output.strip() else "(no output)"
    block = {"type": "tool_result", "tool_use_id": call_id, "content": output}
    failed = {} if outcome.status == "done" else {"is_error": True}
    return Piece(message, dumps(block | failed), (call_id,))


def _missing(call_id: str) -> bytes:
    content = "(the call was not made)"
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}
    return dumps(block)


def call_block(call: ToolCall) -> bytes:
    head = dumps({"type": "tool_use", "id": wire_id(call.id), "name": _wire_name(call.name)})
    return b'%s,"input":%s}' % (head[:-1], _wire_arguments(call.arguments))


def wire_id(call_id: str) -> str:
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

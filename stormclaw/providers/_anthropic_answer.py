"""One answer of the Messages API put together from its events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import ChatResponse, Delta, Remark, Text, Thinking
from stormclaw.providers._anthropic_echo import write_echo
from stormclaw.providers._anthropic_errors import error_in_stream
from stormclaw.providers._fragments import is_json_object, mint_id
from stormclaw.providers._surrogates import Seam
from stormclaw.providers._usage import estimate, usage_of

Finish: TypeAlias = Literal["stop", "tool_calls", "length"]

FINISHES: Final[Mapping[str, Finish]] = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
}
"""All other reasons that are no error are a `stop`."""

_GAP: Final = "\n\n"


@dataclass(slots=True)
class _Block:
    """A block as far as it has come; `pieces` of its text, thinking or arguments."""

    kind: str
    head: Mapping[str, Any]
    start: int = 0
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def content(self) -> str:
        return "".join(self.pieces)


class Answer:
    """Collects events; `response` judges whether they are an answer.

    Args:
        model: What was asked for; thinking goes back to it alone.
        provider: Our name for the provider.
    """

    def __init__(self, model: str, provider: str) -> None:
        self._asked = model
        self._provider = provider
        self._model = ""
        self._blocks: dict[int, _Block] = {}
        self._shown: dict[str, _Shown] = {"text": _Shown(), "thinking": _Shown()}
        self._usage: dict[str, Any] = {}
        self._reason = ""
        self._details: Mapping[str, Any] = {}
        self._ended = False
        self._began = False

    @property
    def text(self) -> str:
        """What has been shown so far."""
        return self._shown["text"].whole

    @property
    def ended(self) -> bool:
        """True once there is nothing more to come."""
        return self._ended

    @property
    def finished(self) -> bool:
        """True once the server said why it stopped: a broken connection matters no more."""
        return self._ended or bool(self._reason)

    def end(self) -> None:
        """The answer was one whole JSON."""
        self._ended = True

    def feed(self, event: Any) -> Iterator[Delta]:
        """Take one event and yield what it adds; events of other types are passed over.

        Raises:
            ProviderError: The event is an error, or nothing like an event.
        """
        if not isinstance(event, Mapping):
            raise ProviderError("protocol", "the server sent JSON that is no event of an answer")
        if event.get("error") or event.get("type") == "error":
            raise error_in_stream(event, partial=self.text)
        match event:
            case {"type": "content_block_delta", "index": int(at), "delta": Mapping() as delta}:
                yield from self._add(at, delta)
            case {"type": "content_block_start", "index": int(at), "content_block": Mapping() as b}:
                yield from self._open(at, b)
            case {"type": "message_start", "message": Mapping() as message}:
                self._head(message)
            case {"type": "message_delta", "delta": Mapping() as delta}:
                self._stop(delta)
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self._ended = True
            case {"type": "message", "content": list(blocks)}:
                self._head(event)
                for at, block in enumerate(blocks):
                    if isinstance(block, Mapping):
                        yield from self._open(at, block)
                self._stop(event)
            case _:
                pass  # A ping, or something newer than this.

    def _head(self, message: Mapping[str, Any]) -> None:
        self._began = True
        if isinstance(model := message.get("model"), str):
            self._model = model
        self._count(message.get("usage"))

    def _stop(self, delta: Mapping[str, Any]) -> None:
        if isinstance(reason := delta.get("stop_reason"), str):
            self._reason = reason
        if isinstance(details := delta.get("stop_details"), Mapping):
            self._details = details

    def _count(self, usage: object) -> None:
        """Counts grow while the answer comes; some servers send a zero at the end."""
        for name, count in usage.items() if isinstance(usage, Mapping) else ():
            known = self._usage.get(name)
            if isinstance(count, int) and isinstance(known, int):
                count = max(count, known)
            if count is not None:
                self._usage[name] = count

    def _open(self, at: int, head: Mapping[str, Any]) -> Iterator[Delta]:
        kind = str(head.get("type"))
        gap = bool(self._blocks) and next(reversed(self._blocks.values())).kind != kind
        block = self._blocks[at] = _Block(kind, head)
        if (shown := self._shown.get(kind)) is not None:
            yield from _spoken(kind, shown.begin(gap=gap))
            block.start = shown.length
            yield from self._say(block, head.get(kind))
            if isinstance(signature := head.get("signature"), str):
                block.signature.append(signature)
        elif kind == "tool_use" and (given := head.get("input")):
            # Some servers send the arguments whole.
            block.pieces.append(json.dumps(given, ensure_ascii=False))

    def _add(self, at: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        block = self._blocks.get(at)
        if block is None:
            return
        match delta:
            case {"type": "text_delta", "text": str(piece)} if block.kind == "text":
                yield from self._say(block, piece)
            case {"type": "thinking_delta", "thinking": str(piece)} if block.kind == "thinking":
                yield from self._say(block, piece)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                block.pieces.append(piece)
            case {"type": "signature_delta", "signature": str(piece)}:
                block.signature.append(piece)
            case _:
                pass

    def _say(self, block: _Block, piece: object) -> Iterator[Delta]:
        if isinstance(piece, str) and piece:
            block.pieces.append(piece)
            yield from _spoken(block.kind, self._shown[block.kind].add(piece))

    def remarks(self) -> Iterator[Remark]:
        """What the person should know of the finished answer."""
        if self._reason == "pause_turn":
            yield Remark(f"{self._provider} paused here; say so to let it go on")

    def response(self, *, sent_bytes: int, taken: Iterable[str]) -> ChatResponse:
        """The finished answer.

        Args:
            sent_bytes: Size of the request, for an estimate where the server counts nothing.
            taken: Call ids already in the conversation.

        Raises:
            ProviderError: It was cut off, declined, too long for the model, or is none.
        """
        finish = self._judge()
        calls = self._calls(cut=finish == "length", taken=taken)
        if finish != "length":
            finish = "tool_calls" if calls else "stop"
        text, thinking = self.text, self._shown["thinking"].whole
        received = len(text) + len(thinking) + sum(len(call.arguments) for call in calls.values())
        return ChatResponse(
            final_text=text,
            tool_calls=tuple(calls.values()),
            thinking=thinking,
            usage=usage_of(self._usage) or estimate(sent_bytes, received),
            finish=finish,
            model=self._model or self._asked,
            echo=write_echo(self._provider, self._asked, self._order(calls)),
        )

    def _judge(self) -> Finish:
        if not self._began and (self._ended or not self._blocks):
            raise ProviderError("protocol", "the server answered with no message")
        if not self.finished:
            raise ProviderError(
                "connection", "the connection ended before the answer did", partial=self.text
            )
        if self._reason == "refusal":
            why = self._details.get("explanation") or self._details.get("category")
            message = f"the model declined to answer: {why}" if why else "the model declined"
            raise ProviderError("content_filter", message, partial=self.text)
        if self._reason == "model_context_window_exceeded":
            message = "the answer came to the end of the model's context window"
            raise ProviderError("context_length", message, partial=self.text)
        return FINISHES.get(self._reason, "stop")

    def _calls(self, *, cut: bool, taken: Iterable[str]) -> dict[int, ToolCall]:
        """The whole calls by their block; one that was cut off is left out."""
        used = set(taken)
        calls: dict[int, ToolCall] = {}
        for at, block in self._blocks.items():
            if block.kind != "tool_use" or (cut and not is_json_object(block.content)):
                continue
            call_id, name = block.head.get("id"), block.head.get("name")
            if not isinstance(call_id, str) or not call_id or call_id in used:
                call_id = mint_id()
            used.add(call_id)
            arguments = block.content if block.content.strip() else "{}"
            calls[at] = ToolCall(call_id, name if isinstance(name, str) else "", arguments)
        return calls

    def _order(self, calls: Mapping[int, ToolCall]) -> Iterator[Mapping[str, Any]]:
        for at, block in self._blocks.items():
            if block.kind == "text":
                end = block.start + _length(block)
                yield {"type": "text", "from": block.start, "to": end}
            elif block.kind == "thinking":
                signature = "".join(block.signature)
                yield {"type": "thinking", "thinking": block.content, "signature": signature}
            elif block.kind == "redacted_thinking":
                yield dict(block.head)
            elif at in calls:
                yield {"type": "tool_use", "id": calls[at].id}


class _Shown:
    """Everything said of one kind, as it was shown."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._seam = Seam()
        self.length = 0

    @property
    def whole(self) -> str:
        return "".join(self._pieces)

    def begin(self, *, gap: bool) -> str:
        """A new block; what follows on something else begins a paragraph."""
        if not gap or not self._pieces or self._pieces[-1].endswith("\n"):
            return ""
        return self.add(_GAP)

    def add(self, piece: str) -> str:
        """What of it can be shown now."""
        piece = self._seam.join(piece)
        if piece:
            self._pieces.append(piece)
            self.length += len(piece)
        return piece


def _spoken(kind: str, piece: str) -> Iterator[Delta]:
    if piece:
        yield Text(piece) if kind == "text" else Thinking(piece)


def _length(block: _Block) -> int:
    """How much of the shown text is this block's: halves of a character were joined."""
    seam = Seam()
    return sum(len(seam.join(piece)) for piece in block.pieces)

"""One answer of the Messages API put together from its events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.provider import ChatResponse, Delta, Remark
from stormclaw.providers._anthropic.echo import write_echo
from stormclaw.providers._anthropic.errors import error_in_stream
from stormclaw.providers._anthropic.shown import Block, Shown, shown_length, spoken
from stormclaw.providers._fragments import is_json_object, mint_id
from stormclaw.providers._usage import estimate, usage_of

Finish: TypeAlias = Literal["stop", "tool_calls", "length"]

FINISHES: Final[Mapping[str, Finish]] = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
}
"""All other reasons that are no error are a `stop`."""


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
        self._blocks: dict[int, Block] = {}
        self._shown: dict[str, Shown] = {"text": Shown(), "thinking": Shown()}
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

    def feed(self, event: Any) -> Sequence[Delta]:
        """Take one event and return what it adds; events of other types are passed over.

        Raises:
            ProviderError: The event is an error, or nothing like an event.
        """
        if not isinstance(event, dict):
            raise ProviderError("protocol", "the server sent JSON that is no event of an answer")
        if event.get("error") or event.get("type") == "error":
            raise error_in_stream(event, partial=self.text)
        match event:
            case {"type": "content_block_delta", "index": int(at), "delta": dict(delta)}:
                return self._add(at, delta)
            case {"type": "content_block_start", "index": int(at), "content_block": dict(head)}:
                return self._open(at, head)
            case {"type": "message_start", "message": dict(message)}:
                self._head(message)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._stop(delta)
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self._ended = True
            case {"type": "message", "content": list(blocks)}:
                return self._whole(event, blocks)
            case _:
                pass  # A ping, or something newer than this.
        return ()

    def _whole(self, message: Mapping[str, Any], blocks: Sequence[object]) -> Sequence[Delta]:
        """An answer that is no stream."""
        self._head(message)
        self._stop(message)
        heads = [(at, head) for at, head in enumerate(blocks) if isinstance(head, dict)]
        return [delta for at, head in heads for delta in self._open(at, head)]

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

    def _open(self, at: int, head: Mapping[str, Any]) -> Sequence[Delta]:
        kind = str(head.get("type"))
        gap = bool(self._blocks) and next(reversed(self._blocks.values())).kind != kind
        block = self._blocks[at] = Block(kind, head)
        if (shown := self._shown.get(kind)) is not None:
            paragraph = spoken(kind, shown.begin(gap=gap))
            block.start = shown.length
            if isinstance(signature := head.get("signature"), str):
                block.signature.append(signature)
            return (*paragraph, *self._say(block, head.get(kind)))
        if kind == "tool_use" and (given := head.get("input")):
            # Some servers send the arguments whole.
            block.pieces.append(json.dumps(given, ensure_ascii=False))
        return ()

    def _add(self, at: int, delta: Mapping[str, Any]) -> Sequence[Delta]:
        block = self._blocks.get(at)
        if block is None:
            return ()
        match delta:
            case {"type": "text_delta", "text": str(piece)} if block.kind == "text":
                return self._say(block, piece)
            case {"type": "thinking_delta", "thinking": str(piece)} if block.kind == "thinking":
                return self._say(block, piece)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                block.pieces.append(piece)
            case {"type": "signature_delta", "signature": str(piece)}:
                block.signature.append(piece)
            case _:
                pass
        return ()

    def _say(self, block: Block, piece: object) -> Sequence[Delta]:
        if not isinstance(piece, str) or not piece:
            return ()
        block.pieces.append(piece)
        return spoken(block.kind, self._shown[block.kind].add(piece))

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
                end = block.start + shown_length(block)
                yield {"type": "text", "from": block.start, "to": end}
            elif block.kind == "thinking":
                signature = "".join(block.signature)
                yield {"type": "thinking", "thinking": block.content, "signature": signature}
            elif block.kind == "redacted_thinking":
                yield dict(block.head)
            elif at in calls:
                yield {"type": "tool_use", "id": calls[at].id}

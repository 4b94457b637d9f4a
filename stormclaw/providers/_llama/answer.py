"""One answer of the local model put together from its chunks: words, a call, tokens, its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import ToolCall, Usage
from stormclaw.protocol.provider import ChatResponse, Delta, Remark, Text, Thinking, ToolSpec
from stormclaw.providers._llama.engine import Chunk
from stormclaw.providers._llama.prompt import echo_of
from stormclaw.providers._llama.reader import Reader

LONG_READ_S: Final = 20.0
"""From so many seconds of reading on the person is told how long it will take."""


class Answer:
    """Collects the chunks of one answer.

    Args:
        provider: Our name for the provider.
        label: What the model is called.
        tools: What it may call.
        held: Whether a grammar holds it to valid answers.
    """

    def __init__(
        self, provider: str, label: str, tools: tuple[ToolSpec, ...], *, held: bool
    ) -> None:
        self._provider = provider
        self._label = label
        self._acts = bool(tools)
        self._reader = Reader(frozenset(spec.name for spec in tools), held=held)
        self._thinking: list[str] = []
        self._call: ToolCall | None = None
        self._usage = Usage(cost_usd=0.0)
        self._finish = ""
        self._said_reading = False

    def feed(self, chunk: Chunk) -> Iterator[Delta]:
        """Take one chunk and yield what it adds.

        Raises:
            ProviderError: The chunk is an error.
        """
        if chunk.get("error"):
            raise _error(chunk, self._reader.shown)
        if isinstance(progress := chunk.get("prompt_progress"), Mapping):
            yield from self._reading(progress)
        self._count(chunk.get("usage"))
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            delta = choice.get("delta") or {}
            if thought := delta.get("reasoning_content"):
                self._thinking.append(thought)
                yield Thinking(thought)
            if (piece := delta.get("content")) and (words := self._reader.feed(piece)):
                yield Text(words)

    def rest(self) -> Iterator[Delta]:
        """What was held back until the end."""
        words, self._call = self._reader.end()
        if words:
            yield Text(words)

    def response(self) -> ChatResponse:
        """The finished answer."""
        cut = self._finish == "length"
        return ChatResponse(
            final_text=self._reader.shown,
            tool_calls=(self._call,) if self._call else (),
            thinking="".join(self._thinking),
            usage=self._usage,
            finish="tool_calls" if self._call else "length" if cut else "stop",
            model=self._label,
            echo=echo_of(self._provider, self._reader.raw) if self._acts and not cut else "",
        )

    def _reading(self, progress: Mapping[str, Any]) -> Iterator[Delta]:
        """Say once how long a long prompt will take to read."""
        done = progress.get("processed", 0) - progress.get("cache", 0)
        left, spent_ms = (
            progress.get("total", 0) - progress.get("processed", 0),
            progress.get("time_ms"),
        )
        if self._said_reading or done <= 0 or not spent_ms:
            return
        self._said_reading = True
        needed_s = spent_ms / 1_000 / done * left
        if needed_s >= LONG_READ_S:
            yield Remark(f"reading {left:,} more tokens, about {needed_s:.0f}s", "info")

    def _count(self, usage: object) -> None:
        if isinstance(usage, Mapping):
            details = usage.get("prompt_tokens_details") or {}
            self._usage = Usage(
                usage.get("prompt_tokens", 0),
                usage.get("completion_tokens", 0),
                details.get("cached_tokens", 0),
                cost_usd=0.0,
            )


def _error(chunk: Chunk, partial: str) -> ProviderError:
    error = chunk["error"]
    fields = error if isinstance(error, Mapping) else {"message": str(error)}
    said = str(fields.get("message", "no reason given"))
    if fields.get("type") == "exceed_context_size_error":
        return ProviderError(
            "context_length",
            f"the conversation is too long for the local model: {said}",
            hint="/new starts afresh; providers.models.NAME.context_window may allow more",
            partial=partial,
        )
    code = fields.get("code")
    kind: ErrorClass = "bad_request" if isinstance(code, int) and code < 500 else "server"
    return ProviderError(
        kind,
        f"llama.cpp: {said}",
        hint="send it again, or take another model with /model",
        partial=partial,
    )

"""One answer put together from its chunks: text, reasoning, calls, usage, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from stormclaw.errors import ErrorClass, ProviderError
from stormclaw.protocol.messages import Usage
from stormclaw.protocol.provider import ChatResponse, Delta, Text, Thinking, Withdrawn
from stormclaw.providers._errors import error_in_band
from stormclaw.providers._fragments import Fragments
from stormclaw.providers._openai.reasoning import Reasoning
from stormclaw.providers._openai.think_tags import ThinkTags
from stormclaw.providers._surrogates import Seam
from stormclaw.providers._usage import estimate, usage_of

Finish: TypeAlias = Literal["stop", "tool_calls", "length"]

LENGTH: Final = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
FILTERED: Final = frozenset(
    {
        "content_filter",
        "safety",
        "recitation",
        "prohibited_content",
        "blocklist",
        "sensitive",
        "refusal",
    }
)
BROKEN: Final[Mapping[str, ErrorClass]] = {
    "error": "server",
    "abort": "server",
    "network_error": "server",
    "insufficient_system_resource": "server",
    "malformed_function_call": "provider",
}


class Answer:
    """Collects chunks; `response` judges whether they are an answer.

    Args:
        model: What was asked for, in case the server does not say who answered.
        provider: Our name for the provider, kept with what must be echoed.
    """

    def __init__(self, model: str, provider: str) -> None:
        self._asked = model
        self._provider = provider
        self._model = ""
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._text_seam, self._thinking_seam = Seam(), Seam()
        self._tags = ThinkTags()
        self._reasoning = Reasoning()
        self._fragments = Fragments()
        self._usage: Usage | None = None
        self._finish = ""
        self._ended = False
        self._is_answer = False

    @property
    def text(self) -> str:
        """What has been shown so far."""
        return "".join(self._text)

    @property
    def ended(self) -> bool:
        """True once there is nothing more to come."""
        return self._ended

    @property
    def finished(self) -> bool:
        """True once the server said how or that it ended: a broken connection matters no more."""
        return self._ended or bool(self._finish)

    def end(self) -> None:
        """The server said `[DONE]`, or the answer was one whole JSON."""
        self._ended = True

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Take one chunk and yield what it adds.

        Raises:
            ProviderError: The chunk is an error, or nothing like a chunk.
        """
        if isinstance(chunk, list) and len(chunk) == 1:
            chunk = chunk[0]
        if not isinstance(chunk, Mapping):
            raise ProviderError(
                "protocol", "the server sent JSON that is no chunk of an answer", partial=self.text
            )
        if chunk.get("error") or chunk.get("object") == "error":
            raise error_in_band(chunk, partial=self.text)
        if isinstance(model := chunk.get("model"), str) and model:
            self._model = model
        self._count(chunk.get("usage"))
        if isinstance(groq := chunk.get("x_groq"), Mapping):
            self._count(groq.get("usage"))
        choices = chunk.get("choices")
        self._is_answer = self._is_answer or isinstance(choices, list)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                yield from self._choose(choice)

    def _choose(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        self._count(choice.get("usage"))
        if choice.get("error"):
            raise error_in_band(choice, partial=self.text)
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            delta = choice.get("message")
        if isinstance(delta, Mapping):
            yield from self._add(delta)
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self._finish = finish

    def _add(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        content, thought = _content(delta.get("content"))
        yield from self._think(self._reasoning.take(delta) or thought)
        if not content and isinstance(refusal := delta.get("refusal"), str):
            content = refusal
        if content:
            # Who shows reasoning apart from the answer does not put it there in tags as well.
            if self._apart:
                inside, content = "", self._tags.close()[1] + content
            else:
                inside, content = self._tags.take(content)
            yield from self._think(inside)
            yield from self._say(content)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else ():
            self._fragments.add(fragment)

    @property
    def _apart(self) -> bool:
        return bool(self._thinking) and not self._tags.began

    def _think(self, piece: str) -> Iterator[Delta]:
        if piece and (piece := self._thinking_seam.join(piece)):
            self._thinking.append(piece)
            yield Thinking(piece)

    def _say(self, piece: str) -> Iterator[Delta]:
        if piece and (piece := self._text_seam.join(piece)):
            self._text.append(piece)
            yield Text(piece)

    def close(self) -> Iterator[Delta]:
        """Nothing more comes: yield what was held back.

        A tag that was never closed was none: what stood behind it is the answer.
        """
        never_closed = self._tags.inside and self._finish.lower() not in LENGTH
        if never_closed and self.finished and not self._fragments:
            thought = "".join(self._thinking)
            self._thinking.clear()
            yield Withdrawn("what looked like thinking was the answer")
            yield from self._say(f"{self._tags.opening}{thought}")
            return
        inside, content = self._tags.close()
        yield from self._think(inside)
        yield from self._say(content)

    def _count(self, usage: object) -> None:
        self._usage = usage_of(usage) or self._usage

    def response(self, *, sent_bytes: int, taken: Iterable[str]) -> ChatResponse:
        """The finished answer.

        Args:
            sent_bytes: Size of the request, for an estimate where the server counts nothing.
            taken: Call ids already in the conversation.

        Raises:
            ProviderError: It was cut off, filtered, broken by the server, or is empty.
        """
        finish = self._judge()
        calls = self._fragments.calls(cut=finish == "length", taken=taken)
        if calls and finish == "stop":
            finish = "tool_calls"
        elif finish == "tool_calls" and not calls:
            finish = "stop"
        text, thinking = self.text, "".join(self._thinking)
        arguments = sum(len(call.arguments) for call in calls)
        return ChatResponse(
            final_text=text,
            tool_calls=calls,
            thinking=thinking,
            usage=self._usage or estimate(sent_bytes, len(text) + len(thinking) + arguments),
            finish=finish,
            model=self._model or self._asked,
            echo=self._echo(has_calls=bool(calls)),
        )

    def _judge(self) -> Finish:
        if not self.finished:
            raise ProviderError(
                "connection", "the connection ended before the answer did", partial=self.text
            )
        reason = self._finish.lower().rpartition(": ")[2]
        if reason in FILTERED:
            raise ProviderError(
                "content_filter",
                f"the provider filtered the answer ({self._finish})",
                partial=self.text,
            )
        if reason in BROKEN:
            raise ProviderError(
                BROKEN[reason],
                f"the provider broke the answer off ({self._finish})",
                partial=self.text,
            )
        if not self._is_answer:
            raise ProviderError(
                "protocol", "the server answered with no choices: not a chat completion"
            )
        if not self._finish and not (self._text or self._thinking or self._fragments):
            raise ProviderError("provider", "the server ended the stream without an answer")
        return "length" if reason in LENGTH else "stop"

    def _echo(self, *, has_calls: bool) -> str:
        fields = self._reasoning.echo(has_calls=has_calls)
        if not fields:
            return ""
        echo = {"provider": self._provider, "model": self._asked, "fields": fields}
        return json.dumps(echo, ensure_ascii=False)


def _content(content: object) -> tuple[str, str]:
    """(text, reasoning) of a `content`, which may be a list of parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(text := part.get("text"), str):
            texts.append(text)
        elif isinstance(part, Mapping) and "thinking" in part:
            thought = part["thinking"]
            thoughts.append(thought if isinstance(thought, str) else "".join(_content(thought)))
    return "".join(texts), "".join(thoughts)

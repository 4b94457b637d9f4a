"""Talking to a model: one request, a stream of deltas, one response."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Delegation,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)

Message: TypeAlias = UserText | AssistantTurn | ToolOutcome | Delegation
"""The bodies a model gets to see, in order."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as advertised to the model; `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything a provider needs for one answer.

    Attributes:
        system_prompt: The one system message.
        messages: The conversation as the model shall see it; every call has its outcome.
        tools: What it may call; empty for none.
        model: The provider's own id of the model.
        temperature: None leaves the provider's default.
        metadata: Hints (`purpose: title`), never sent unless a provider knows them.
    """

    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    model: str
    temperature: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of shown reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """Nothing was shown yet and the provider tries again; `reason` is for the person."""

    reason: str
    after_s: float


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """A finished answer.

    Attributes:
        final_text: All text.
        tool_calls: All complete calls; one cut off by the length limit is not among them.
        thinking: All reasoning shown.
        usage: Reported, or estimated by the provider module (`reported=False`).
        finish: `stop`, `tool_calls` or `length`; anything worse is a ProviderError.
        model: Who answered.
        echo: See `AssistantTurn.echo`.
    """

    final_text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    usage: Usage = NO_USAGE
    finish: Literal["stop", "tool_calls", "length"] = "stop"
    model: str = ""
    echo: str = ""


Delta: TypeAlias = Text | Thinking | Retrying


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do with the configured model; 0 tokens means unknown."""

    tools: bool = True
    thinking: bool = False
    context_window: int = 0
    scripted: bool = False


class Provider(ABC):
    """A source of answers. Subclasses write `stream`; `chat` follows from it."""

    name: str
    model: str

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What it can do."""

    @abstractmethod
    def stream(self, request: ChatRequest) -> AsyncIterator[Delta | ChatResponse]:
        """Yield deltas, then exactly one `ChatResponse` as the last item.

        Cancelling the iteration closes the connection at once.

        Raises:
            ProviderError: Nothing usable came, or what came must not be trusted.
        """

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The finished answer, without the deltas."""
        async for item in self.stream(request):
            if isinstance(item, ChatResponse):
                return item
        raise RuntimeError(f"provider {self.name} ended its stream without a response")

    async def warm_up(self) -> None:
        """Load what the first request needs, so that it need not wait; may be left out."""
        return

    async def close(self) -> None:
        """Give back connections; safe to call twice."""
        return

"""Talking to a model: one request, a stream of deltas, one response."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stormclaw.protocol.display import Display
from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Delegation,
    Status,
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
class Ruling:
    """Whether a program that acts by itself may make a call.

    Attributes:
        allowed: Whether it may.
        message: For its model: why not.
        arguments: JSON text the person put in place of the program's, None if as asked.
    """

    allowed: bool
    message: str = ""
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Hands:
    """What a program that acts by itself (a CLI back end) is given to act with.

    Attributes:
        workspace: Where it works; absolute, links resolved.
        environ: Its environment, our secrets taken out.
        autonomy: How much may happen without asking.
        permit: Puts a call through the gate before the program makes it, and waits for a person
            where one must be asked. The call is in our words: canonical tool and arguments where
            we have such a tool, else `PROGRAM:TOOL` and the program's own arguments.
    """

    workspace: Path
    environ: Mapping[str, str]
    autonomy: Autonomy
    permit: Callable[[ToolCall], Awaitable[Ruling]]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything a provider needs for one answer.

    Attributes:
        system_prompt: The one system message.
        messages: The conversation as the model shall see it; every call has its outcome.
        tools: What it may call; empty for none.
        model: The provider's own id of the model.
        temperature: None leaves the provider's default.
        metadata: Hints (`purpose: compaction`), never sent unless a provider knows them; the
            router chooses by them.
        effort: How hard to think, "" for what the provider is configured with.
        hands: For providers that act by themselves; None where nothing may be done, only said.
    """

    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    model: str
    temperature: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    effort: str = ""
    hands: Hands | None = None


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
    """Nothing shown counts (any more) and it is tried again; `reason` is for the person."""

    reason: str
    after_s: float


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the person should know of this answer: a fallback taken, a text read as a call."""

    text: str
    level: Literal["info", "warning"] = "warning"


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was shown since the last `Step` does not count; the answer begins anew."""

    reason: str


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
        provider: Our name for who answered, "" for the provider that was asked; one made of others
            tells which of them it was.
    """

    final_text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    usage: Usage = NO_USAGE
    finish: Literal["stop", "tool_calls", "length"] = "stop"
    model: str = ""
    echo: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer on the way of a program that acts by itself: it makes the calls in it, not we."""

    response: ChatResponse


@dataclass(frozen=True, slots=True)
class Progress:
    """Live output of a call the program is making."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Observed:
    """A call of an earlier `Step` is over.

    Attributes:
        call_id: The `ToolCall.id`.
        status: How it ended; `denied` where our gate or the program's own refused it.
        output: What the program's model read, worded as our own tool words it.
        summary: A few words for the card: `exit 0, 3 lines`.
        display: What the card shows when open; None shows `output`.
    """

    call_id: str
    status: Status
    output: str
    summary: str = ""
    display: Display | None = None


Delta: TypeAlias = Text | Thinking | Retrying | Remark | Withdrawn | Step | Progress | Observed


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do with the configured model; 0 tokens means unknown.

    Attributes:
        tools: It can call tools.
        thinking: It shows reasoning.
        context_window: What it takes, in tokens.
        scripted: Its answers are a script's, not a model's.
        acts: It makes its calls itself, with `ChatRequest.hands`, and keeps its own context.
        small: It wants a short prompt: a model on this machine reads slowly.
    """

    tools: bool = True
    thinking: bool = False
    context_window: int = 0
    scripted: bool = False
    acts: bool = False
    small: bool = False


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

"""One answer of the model: streamed to the listeners, committed when it is whole."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import assert_never

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.foreign import ForeignWork
from stormclaw.agent.kit import Kit
from stormclaw.errors import ProviderError
from stormclaw.protocol import events
from stormclaw.protocol.events import Notice, TextDelta, ThinkingDelta, UsageChanged
from stormclaw.protocol.messages import AssistantTurn
from stormclaw.protocol.provider import (
    ChatRequest,
    ChatResponse,
    Observed,
    Progress,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.store.durable import finish


@dataclass(slots=True)
class _Heard:
    """What has been streamed so far."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    thinking_began: float = 0.0
    thinking_ended: float = 0.0

    def forget(self) -> None:
        """It was withdrawn."""
        self.text.clear()
        self.thinking.clear()
        self.thinking_began = self.thinking_ended = 0.0

    @property
    def thought_s(self) -> float:
        return round(self.thinking_ended - self.thinking_began, 1)


async def think(kit: Kit, conversation: Conversation, request: ChatRequest) -> AssistantTurn:
    """Ask the model, publish its words as they come, commit and return the finished answer.

    What was shown before a failure or an interrupt is committed without calls: the person saw it.

    Raises:
        ProviderError: No usable answer.
        asyncio.CancelledError: Interrupted.
    """
    heard, work = _Heard(), ForeignWork(kit, conversation)
    request = replace(request, hands=work.hands)
    try:
        response = await _listen(kit, conversation, request, heard, work)
    except (ProviderError, asyncio.CancelledError):
        await finish(work.close())
        if heard.text or heard.thinking:
            await finish(_keep(kit, conversation, heard))
        raise
    await finish(work.close())
    turn = await _commit(kit, conversation, response, heard)
    if not kit.provider.capabilities().acts:
        kit.gauge.learn(request.system_prompt, request.tools, request.messages, turn.usage)
    if response.finish == "length":
        text = "the answer was cut off at the model's length limit"
        kit.hub.publish(Notice(kit.agent, "warning", text))
    return turn


async def _commit(
    kit: Kit, conversation: Conversation, response: ChatResponse, heard: _Heard
) -> AssistantTurn:
    """An answer is whole: on record and paid for."""
    turn = AssistantTurn(
        text=response.final_text,
        thinking=response.thinking,
        calls=response.tool_calls,
        model=response.model or kit.model,
        provider=response.provider or kit.provider_name,
        usage=await kit.priced(response),
        thought_s=heard.thought_s,
        echo=response.echo,
    )
    await conversation.commit(turn)
    _book(kit, turn)
    return turn


async def _listen(
    kit: Kit, conversation: Conversation, request: ChatRequest, heard: _Heard, work: ForeignWork
) -> ChatResponse:
    stream = kit.provider.stream(request)
    async with aclosing(stream) as items:  # type: ignore[type-var]
        async for item in items:
            match item:
                case Text(text):
                    heard.text.append(text)
                    kit.hub.publish(TextDelta(kit.agent, text))
                case Thinking(text):
                    now = time.monotonic()
                    heard.thinking_began = heard.thinking_began or now
                    heard.thinking_ended = now
                    heard.thinking.append(text)
                    kit.hub.publish(ThinkingDelta(kit.agent, text))
                case Retrying(reason, after_s):
                    note = f"{reason}; trying again in {after_s:.0f}s"
                    kit.hub.publish(Notice(kit.agent, "warning", note))
                case Remark(text, level):
                    kit.hub.publish(Notice(kit.agent, level, text))
                case Withdrawn(reason):
                    heard.forget()
                    kit.hub.publish(events.Withdrawn(kit.agent, reason))
                    kit.hub.publish(Notice(kit.agent, "warning", f"withdrawn: {reason}"))
                case ChatResponse():
                    return item
                case Step(response):
                    turn = await _commit(kit, conversation, response, heard)
                    heard.forget()
                    work.begin(turn.calls)
                case Progress():
                    work.progress(item)
                case Observed():
                    await work.observed(item)
                case _:
                    assert_never(item)
    raise ProviderError("protocol", f"{kit.provider_name} ended its stream without an answer")


async def _keep(kit: Kit, conversation: Conversation, heard: _Heard) -> None:
    partial = AssistantTurn(
        text="".join(heard.text),
        thinking="".join(heard.thinking),
        model=kit.model,
        provider=kit.provider_name,
        thought_s=heard.thought_s,
    )
    await conversation.commit(partial)


def _book(kit: Kit, turn: AssistantTurn) -> None:
    """Take the answer's price out of the purses and say so, to this agent and those above it."""
    window = kit.context_window
    for purse in kit.purse.spend(turn.usage):
        own = purse.agent == kit.agent
        kit.hub.publish(
            UsageChanged(
                purse.agent,
                purse.usage,
                context_tokens=turn.usage.input_tokens + turn.usage.output_tokens if own else 0,
                context_window=window if own else 0,
                budget_usd=purse.limit_usd,
                budget_tokens=purse.limit_tokens,
            )
        )

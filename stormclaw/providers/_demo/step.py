"""One step of the demo: what it says, what it calls, and what came of its calls so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText, outcome_of
from stormclaw.protocol.provider import Message


@dataclass(frozen=True, slots=True)
class Done:
    """A call of this turn and its outcome."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: ToolOutcome

    @property
    def ok(self) -> bool:
        """Whether the call did its work."""
        return self.outcome.status == "done"

    @property
    def output(self) -> str:
        """What the tool said."""
        return self.outcome.output


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """Words, and calls to make after them; without calls the turn is over."""

    text: str
    calls: tuple[Call, ...] = ()


def ask(text: str, tool: str, **arguments: Any) -> Step:
    """Words and one call."""
    return Step(text, (Call(tool, arguments),))


def since_last_words(messages: Sequence[Message]) -> tuple[str, tuple[Done, ...]]:
    """The person's last words, and every call answered since, in order."""
    start = next(
        (at for at in reversed(range(len(messages))) if isinstance(messages[at], UserText)), None
    )
    if start is None:
        return "", ()
    words = messages[start]
    text = words.text if isinstance(words, UserText) else ""
    return text, tuple(_done(messages[start + 1 :]))


def of_tool(done: Iterable[Done], tool: str) -> list[Done]:
    """The calls of one tool, in order."""
    return [each for each in done if each.tool == tool]


def _done(messages: Sequence[Message]) -> Iterator[Done]:
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantTurn):
            calls.update((call.id, call) for call in message.calls)
        elif (outcome := outcome_of(message)) and (call := calls.get(outcome.call_id)):
            # What the person changed in the approval is not known here; the outcome tells it.
            yield Done(call.name, json.loads(call.arguments), outcome)

"""A conversation in which user and assistant take turns, for servers that refuse any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.protocol.provider import Message

SEEN: Final = AssistantTurn("I have seen the result.")
"""Stands between the result of a call and what the person says after it."""
BEGIN: Final = UserText("Go on.")
"""Stands before an answer that nothing was asked for."""


def in_turns(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation, with as little put in between as the rule needs.

    What a person said in a row stays apart here: it is joined when it is written. Messages that
    need no change stay the same objects.
    """
    taking: list[Message] = []
    for message in messages:
        last = taking[-1] if taking else None
        match message:
            case AssistantTurn() if not message.text.strip() and not message.calls:
                continue
            case AssistantTurn() if isinstance(last, AssistantTurn) and not last.calls:
                taking[-1] = _joined(last, message)
                continue
            case AssistantTurn() if last is None or isinstance(last, AssistantTurn):
                taking.append(BEGIN)
            case UserText() if last is not None and not isinstance(last, UserText | AssistantTurn):
                taking.append(SEEN)
            case _:
                pass
        taking.append(message)
    return tuple(taking)


def _joined(first: AssistantTurn, second: AssistantTurn) -> AssistantTurn:
    text = "\n\n".join(filter(None, (first.text.strip(), second.text.strip())))
    return replace(second, text=text, thinking=second.thinking or first.thinking)

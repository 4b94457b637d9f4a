"""What providers ask of the messages of a request, as checks that name what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.protocol.messages import AssistantTurn, UserText, outcome_of
from stormclaw.protocol.provider import Message


def check_openai(messages: Sequence[Message]) -> None:
    """Every call has exactly one result, right after; no stray results, no empty answers."""
    waiting: list[str] = []
    for message in messages:
        outcome = outcome_of(message)
        if outcome is not None:
            assert outcome.call_id in waiting, f"a result nobody waits for: {outcome}"
            waiting.remove(outcome.call_id)
            continue
        assert not waiting, f"{message} comes before the results of {waiting}"
        if isinstance(message, AssistantTurn):
            assert message.text.strip() or message.calls, "an empty answer"
            waiting = [call.id for call in message.calls]
            assert len(set(waiting)) == len(waiting), "two calls with one id in one answer"
        else:
            assert isinstance(message, UserText)
            assert message.text.strip(), "an empty word of the person"
    assert not waiting, f"no results for {waiting}"


def check_anthropic(messages: Sequence[Message]) -> None:
    """After merging, user and assistant take turns, the user first, results before words."""
    roles: list[str] = []
    words_came = False
    for message in messages:
        if isinstance(message, AssistantTurn):
            assert roles, "the first word is the model's"
            assert roles[-1] == "user", "two answers in a row"
            roles.append("assistant")
            words_came = False
            continue
        if not roles or roles[-1] == "assistant":
            roles.append("user")
        is_result = outcome_of(message) is not None
        assert not (is_result and words_came), "a result after words in one message"
        words_came = words_came or not is_result


def check(messages: Sequence[Message]) -> None:
    """The rules of both."""
    check_openai(messages)
    check_anthropic(messages)

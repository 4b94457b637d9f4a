"""Which thread of codex a conversation goes on in.

Codex keeps the whole conversation itself. Of ours the thread's name is kept, with a digest of what
had been said up to there: it goes on only in a conversation that is still the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stormclaw.protocol.messages import NO_USAGE, AssistantTurn, Usage, outcome_of
from stormclaw.protocol.provider import Message
from stormclaw.providers._programs.hands import digest, fields_of


@dataclass(frozen=True, slots=True)
class Thread:
    """A place in a thread of codex.

    Attributes:
        thread_id: Codex' id of it.
        turn_id: Codex' id of the turn the answer belongs to.
        length: How many messages had been said before that turn.
        digest: Of those.
        whole: False for an answer on the way, after which the turn went on.
        total: Tokens of the thread up to there.
    """

    thread_id: str
    turn_id: str
    length: int
    digest: str
    whole: bool = True
    total: Usage = NO_USAGE

    def echo(self, provider: str, model: str) -> str:
        """What is kept with the answer."""
        fields = {
            "thread_id": self.thread_id,
            "turn_id": self.turn_id,
            "length": self.length,
            "digest": self.digest,
            "whole": self.whole,
            "tokens": [
                self.total.input_tokens,
                self.total.output_tokens,
                self.total.cached_tokens,
                self.total.cache_write_tokens,
            ],
        }
        return json.dumps({"provider": provider, "model": model, "fields": fields})


def kept(messages: Sequence[Message], provider: str) -> tuple[Thread, int] | None:
    """The place the conversation can go on from, and how many messages it covers.

    None where there is none: a new conversation, one that was edited since, or one whose newest
    answer is somebody else's.
    """
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if not isinstance(message, AssistantTurn):
            continue
        thread = _thread(message, provider)
        if thread is not None:
            return (thread, _covered(messages, at)) if _holds(messages, at, thread) else None
        if message.provider != provider or message.calls:
            return None
    return None


def _covered(messages: Sequence[Message], at: int) -> int:
    """The answer and the outcomes of its calls."""
    message = messages[at]
    ids = {call.id for call in message.calls} if isinstance(message, AssistantTurn) else set()
    end = at + 1
    while end < len(messages):
        outcome = outcome_of(messages[end])
        if outcome is None or outcome.call_id not in ids:
            break
        end += 1
    return end


def _holds(messages: Sequence[Message], at: int, thread: Thread) -> bool:
    if thread.length > at or digest(messages[: thread.length]) != thread.digest:
        return False
    between = (each for each in messages[thread.length : at] if not outcome_of(each))
    return all(_turn_of(each) == thread.turn_id for each in between)


def _turn_of(message: Message) -> str:
    fields = fields_of(message.echo) if isinstance(message, AssistantTurn) else {}
    return str(fields.get("turn_id") or "")


def _thread(message: AssistantTurn, provider: str) -> Thread | None:
    fields = fields_of(message.echo)
    if message.provider != provider or not fields.get("thread_id"):
        return None
    sent, received, read, written = _counts(fields.get("tokens"))
    return Thread(
        str(fields["thread_id"]),
        str(fields.get("turn_id") or ""),
        int(fields.get("length") or 0),
        str(fields.get("digest") or ""),
        bool(fields.get("whole")),
        Usage(sent, received, read, cache_write_tokens=written),
    )


def _counts(told: object) -> tuple[int, int, int, int]:
    match told:
        case [int(sent), int(received), int(read), int(written)]:
            return sent, received, read, written
        case _:
            return 0, 0, 0, 0

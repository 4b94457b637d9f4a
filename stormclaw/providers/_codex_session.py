"""Which thread of codex a conversation goes on in, and what codex is told that is not in it yet.

Codex keeps the whole conversation itself. Of ours the thread's name is kept, with a digest of what
had been said up to there: it goes on only in a conversation that is still the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Delegation,
    ToolOutcome,
    Usage,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import Message

MOST_OF_ONE: Final = 4_000
"""Characters of one tool result in a conversation told as text."""
MOST_OF_ALL: Final = 400_000
"""Characters of a conversation told as text; its beginning is left out first."""
BEFORE: Final = (
    "This conversation began elsewhere. What was said and done so far, oldest first; the calls are "
    "over and need not be made again:"
)
GO_ON: Final = "Go on from here."


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


def digest(messages: Sequence[Message]) -> str:
    """What was said, in a few characters; what a tool put out does not count, it may be cut."""
    told = hashlib.sha256()
    for message in messages:
        match message:
            case UserText(text):
                said: object = ["user", text]
            case AssistantTurn(text, calls=calls):
                made = [[call.id, call.name, call.arguments] for call in calls]
                said = ["assistant", text, made]
            case ToolOutcome() | Delegation():
                outcome = outcome_of(message)
                said = ["outcome", outcome.call_id if outcome else ""]
        told.update(json.dumps(said).encode())
    return told.hexdigest()[:32]


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
    fields = _fields(message.echo) if isinstance(message, AssistantTurn) else {}
    return str(fields.get("turn_id") or "")


def _thread(message: AssistantTurn, provider: str) -> Thread | None:
    fields = _fields(message.echo)
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


def _fields(echo: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(echo).get("fields") if echo else None
    except (ValueError, AttributeError):
        return {}
    return fields if isinstance(fields, Mapping) else {}


def told(messages: Sequence[Message]) -> str:
    """Messages as one text: the person's words alone, or with the conversation before them."""
    split = len(messages)
    while split and isinstance(messages[split - 1], UserText):
        split -= 1
    words = [each.text for each in messages[split:] if isinstance(each, UserText)]
    now = "\n\n".join(words) or GO_ON
    if not split:
        return now
    before = "\n\n".join(part for each in messages[:split] for part in _rendered(each))
    if len(before) > MOST_OF_ALL:
        before = f"(the beginning is left out)\n\n{before[-MOST_OF_ALL:]}"
    return f"{BEFORE}\n\n<conversation>\n{before}\n</conversation>\n\n{now}"


def _rendered(message: Message) -> Iterator[str]:
    match message:
        case UserText(text):
            yield f"[person]\n{text}"
        case AssistantTurn(text, calls=calls):
            if text:
                yield f"[assistant]\n{text}"
            for call in calls:
                yield f"[assistant calls {call.name}]\n{_short(call.arguments)}"
        case ToolOutcome() | Delegation():
            outcome = outcome_of(message)
            if outcome is not None:
                yield f"[{outcome.tool}: {outcome.status}]\n{_short(outcome.output)}"


def _short(text: str) -> str:
    if len(text) <= MOST_OF_ONE:
        return text
    return f"{text[:MOST_OF_ONE]}\n… {len(text) - MOST_OF_ONE:,} characters left out …"

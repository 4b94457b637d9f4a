"""What a program that keeps its own context is told of ours, where it has not seen it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    ToolOutcome,
    UserText,
    outcome_of,
)
from stormclaw.protocol.provider import Message

MOST_OF_ONE: Final = 4_000
"""Characters of one tool result in a conversation told as text."""
MOST_OF_ALL: Final = 400_000
"""Characters of a conversation told as text; its beginning is left out first."""
ELSEWHERE: Final = (
    "This conversation began elsewhere. What was said and done so far, oldest first; the calls are "
    "over and need not be made again:"
)
MEANWHILE: Final = (
    "What was said and done since your last answer, oldest first; the calls are over and need not "
    "be made again:"
)
GO_ON: Final = "Go on from here."


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


def retold(messages: Sequence[Message], head: str = ELSEWHERE) -> str:
    """Messages as one text: the person's newest words, and what came before them as a record."""
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
    return f"{head}\n\n<conversation>\n{before}\n</conversation>\n\n{now}"


def fields_of(echo: str) -> Mapping[str, Any]:
    """The fields of an `AssistantTurn.echo`; none of one that cannot be read."""
    try:
        fields = json.loads(echo).get("fields") if echo else None
    except (ValueError, AttributeError):
        return {}
    return fields if isinstance(fields, Mapping) else {}


def local(path: str, workspace: Path) -> str:
    """A path as our own tools show it: from the workspace if it is in it."""
    try:
        return Path(path).relative_to(workspace).as_posix()
    except ValueError:
        return path


def counted(number: int, noun: str) -> str:
    """`1 line`, `1,204 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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

"""Tells a call a model printed from one it merely repeats: from a file, or from the person.

"Print notes.json" is answered with what stands in it, and a hostile file may hold the JSON of a
call. What was there before, letter by letter, was not the model's idea.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from stormclaw.protocol.messages import AssistantTurn, Delegation, ToolOutcome, UserText
from stormclaw.protocol.provider import Message

_SPACE: Final = re.compile(r"\s+")
_NUMBER: Final = re.compile(r"^[^\S\n]*\d+[^\S\n]", re.MULTILINE)
"""What a tool puts before each line of a file."""


def is_quoted(text: str, messages: Sequence[Message]) -> bool:
    """Whether the call in `text` stands in what the model has read, white space apart.

    Args:
        text: An answer that reads as a call.
        messages: The conversation it is an answer to.
    """
    sought = _packed(_core(text))
    return any(sought in _packed(read) for read in _read(messages))


def _core(text: str) -> str:
    """The JSON in it, without fences, tags and words around; all of it where there is none."""
    first, last = text.find("{"), text.rfind("}")
    return text[first : last + 1] if 0 <= first < last else text


def _packed(text: str) -> str:
    return _SPACE.sub("", text)


def _read(messages: Sequence[Message]) -> Iterator[str]:
    """What was said to the model, not by it."""
    for message in messages:
        match message:
            case UserText(text):
                yield text
            case ToolOutcome(output=output) | Delegation(outcome=ToolOutcome(output=output)):
                yield output
                yield _NUMBER.sub("", output)
            case AssistantTurn():
                pass
            case _:
                assert_never(message)

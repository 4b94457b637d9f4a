"""Which session of claude a conversation goes on in, and what claude is told that is not in it yet.

Claude keeps the whole conversation in a file of its own. With each whole answer of ours goes the
place of that answer in it, and a digest of what had been said before: a conversation that was
edited since, or goes on elsewhere, gets a new session. One that went back goes on from that place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stormclaw.protocol.messages import AssistantTurn, outcome_of
from stormclaw.protocol.provider import Message
from stormclaw.providers._programs.hands import MEANWHILE, digest, fields_of, retold


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a session of claude.

    Attributes:
        session_id: Claude's id of it.
        answer: Claude's id of the answer; "" for one on the way, after which the turn went on.
        cwd: Where it worked: claude finds a session only from there.
        length: How many messages had been said before the turn the answer ended.
        digest: Of those.
        turn: Tells this turn's answers from others'.
    """

    session_id: str
    answer: str
    cwd: str
    length: int
    digest: str
    turn: str

    def echo(self, provider: str, model: str) -> str:
        """What is kept with the answer."""
        fields = {
            "session_id": self.session_id,
            "answer": self.answer,
            "cwd": self.cwd,
            "length": self.length,
            "digest": self.digest,
            "turn": self.turn,
        }
        return json.dumps({"provider": provider, "model": model, "fields": fields})


def begun(messages: Sequence[Message], cwd: str, turn: str) -> Place:
    """The place of a turn that is about to begin; its session and answer are not known yet."""
    return Place("", "", cwd, len(messages), digest(messages), turn)


def kept(messages: Sequence[Message], provider: str, cwd: str) -> tuple[Place, int] | None:
    """The place the conversation can go on from, and how many messages it covers.

    None where there is none: a new conversation, one that was edited since, one that worked
    elsewhere, or one whose newest answer is somebody else's.
    """
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if not isinstance(message, AssistantTurn):
            continue
        place = _place(message, provider)
        if place is None:
            return None
        if place.answer:
            fits = place.cwd == cwd and _holds(messages, at, place)
            return (place, at + 1) if fits else None
    return None


def told(messages: Sequence[Message], known: int) -> str:
    """What claude is sent: all it has not seen, the person's newest words last.

    Args:
        messages: The conversation.
        known: How many of them its session has, 0 for a new one.
    """
    return retold(messages[known:], MEANWHILE) if known else retold(messages)


def _place(message: AssistantTurn, provider: str) -> Place | None:
    fields = fields_of(message.echo)
    if message.provider != provider or not fields.get("session_id"):
        return None
    length = fields.get("length")
    return Place(
        str(fields["session_id"]),
        str(fields.get("answer") or ""),
        str(fields.get("cwd") or ""),
        length if isinstance(length, int) else 0,
        str(fields.get("digest") or ""),
        str(fields.get("turn") or ""),
    )


def _holds(messages: Sequence[Message], at: int, place: Place) -> bool:
    if not 0 < place.length <= at or digest(messages[: place.length]) != place.digest:
        return False
    between = (each for each in messages[place.length : at] if outcome_of(each) is None)
    return all(
        isinstance(each, AssistantTurn) and fields_of(each.echo).get("turn") == place.turn
        for each in between
    )

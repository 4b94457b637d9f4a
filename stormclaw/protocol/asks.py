"""Questions to a person, and their answers. Whoever cannot answer, denies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.protocol.display import Display, Headline
from stormclaw.protocol.effects import Verdict
from stormclaw.protocol.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Permission:
    """May this call run?

    Attributes:
        id: To answer with.
        agent: Who asks.
        call: The call; its arguments are what runs unless the person edits them.
        tool: Canonical tool name.
        headline: What it would do, in two words.
        display: The whole thing: diff or command.
        verdict: Why it is asked. With decision `deny` only "session" and "always" lift it.
        editable: Name of the argument the person may edit before allowing, "" if none.
    """

    id: str
    agent: str
    call: ToolCall
    tool: str
    headline: Headline
    display: Display
    verdict: Verdict
    editable: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the agent (or of a limit) in words; `options` may be empty."""

    id: str
    agent: str
    text: str
    options: tuple[str, ...] = ()


Ask: TypeAlias = Permission | Question

Choice: TypeAlias = Literal["once", "session", "always", "deny", "text"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer.

    Attributes:
        choice: `text` answers a `Question`; everything else a `Permission`.
        text: The answer in words, or the reason of a denial.
        arguments: JSON text to run instead of the call's own; it is judged again.
    """

    choice: Choice
    text: str = ""
    arguments: str | None = None


DENIED = Reply("deny")

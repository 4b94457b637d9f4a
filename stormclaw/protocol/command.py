"""A slash command: one file in `commands/`, one `COMMAND`.

It returns data, so every front end has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from stormclaw.protocol.display import Table

C = TypeVar("C")

ScreenName: TypeAlias = Literal[
    "help",
    "connect",
    "model",
    "resume",
    "receipts",
    "agents",
    "theme",
    "tools",
    "policy",
    "memory",
    "context",
    "tree",
    "find",
]


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Leave this session for another; `session_id` "" starts a new one."""

    session_id: str = ""


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """Go on with another `provider/model`."""

    target: str


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the program."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Words the person had said, handed back to be edited and said again; "" for none."""

    text: str = ""


Change: TypeAlias = OpenSession | SwitchModel | Quit | Draft


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say.

    Attributes:
        text: Plain text, may be several lines.
        table: Rows to show under it.
        screen: A front end with screens opens this one instead of showing text and table.
        change: What the front end must do next.
        ok: False when the command could not do its work.
    """

    text: str = ""
    table: Table | None = None
    screen: ScreenName | None = None
    change: Change | None = None
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Command(Generic[C]):
    """A slash command.

    Attributes:
        name: Without the slash.
        summary: One line for help and completion.
        run: (what it may touch, the rest of the line) -> Answer.
        usage: Arguments, `[ID]`; "" for none.
        aliases: Other names.
    """

    name: str
    summary: str
    run: Callable[[C, str], Awaitable[Answer]]
    usage: str = ""
    aliases: tuple[str, ...] = ()

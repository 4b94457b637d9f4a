"""What a line means that was typed and sent: a command, a goodbye, words for the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

GOODBYES = frozenset({"exit", "quit", ":q", ":quit", ":wq"})
COMMAND = re.compile(r"/[A-Za-z][\w:-]*(\s|\Z)")


@dataclass(frozen=True, slots=True)
class Slash:
    """A slash command, the slash included."""

    line: str


@dataclass(frozen=True, slots=True)
class Words:
    """A prompt; `!` at its start runs a command."""

    text: str


@dataclass(frozen=True, slots=True)
class Goodbye:
    """A bare word that means leaving, alone on its line."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Enter on an empty composer."""


Sending: TypeAlias = Slash | Words | Goodbye | Silence


def read(text: str) -> Sending:
    """What `text` means; a path such as `/etc/hosts` is words, not a command."""
    stripped = text.strip()
    if not stripped:
        return Silence()
    if stripped.lower() in GOODBYES:
        return Goodbye()
    if COMMAND.match(stripped) and "\n" not in stripped:
        return Slash(stripped)
    return Words(text.strip("\n"))

"""What a card or an approval shows: data, never widgets and never markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ObjectKind: TypeAlias = Literal["path", "command", "text"]


@dataclass(frozen=True, slots=True)
class Headline:
    """The name of a call on screen: `edit  src/tide/retry.py`.

    Attributes:
        verb: One short word: read, write, edit, list, glob, grep, shell, time, note, agent, ask.
        object: What it is done to; never empty on a folded line.
        kind: How `object` is shortened and coloured.
    """

    verb: str
    object: str
    kind: ObjectKind = "text"


Sign: TypeAlias = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk; `old` and `new` are 1-based line numbers, None where absent."""

    sign: Sign
    text: str
    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring lines of a diff; `skipped` unchanged lines lie between it and the one before."""

    lines: tuple[DiffLine, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Diff:
    """What a file was and would become.

    Attributes:
        path: As shown to the person, relative to the workspace where possible.
        hunks: Changes with three lines of context.
        added: Lines added, over all hunks.
        removed: Lines removed.
        created: True when the file does not exist yet.
        cut: Changed lines left out because the diff is too long to keep.
    """

    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    created: bool = False
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """Foreign text, shown as it is with control characters made visible."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; every row as long as `columns`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell line about to run.

    Attributes:
        command: The exact bytes that will run.
        cwd: Where, as shown to the person.
        timeout_s: Seconds until it is stopped.
        sandbox: Name of the level it runs in: none, landlock, bwrap.
        network: It may talk to other hosts.
        folders: Folders outside the workspace that it may write, as shown to the person.
        hosts: Without `network`: the hosts it may talk to.
    """

    command: str
    cwd: str
    timeout_s: float
    sandbox: str = "none"
    network: bool = False
    folders: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


Progress: TypeAlias = Literal["open", "doing", "done", "dropped"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, in a few words."""

    text: str
    state: Progress = "open"


@dataclass(frozen=True, slots=True)
class Checklist:
    """What an agent means to do, in order, and how far it is."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """Several files' changes that stand or fall together."""

    files: tuple[Diff, ...]


Display: TypeAlias = Diff | Patch | Plain | Table | Shell | Checklist

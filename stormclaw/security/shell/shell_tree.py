"""A shell line as values: what the classifier walks, whichever parser read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

UNKNOWN = "\0\0"
"""Stands in a form for an expansion whose value only the running shell knows."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word before expansion.

    Attributes:
        raw: As written.
        form: After quote removal. A quoted character that would be special has a backslash before
            it; `$name` is NUL name NUL, quoted NUL " name NUL, anything else `UNKNOWN`.
        at: Byte offset in the line.
        inner: Commands in substitutions, one tuple each, in order.
        defaults: Forms it may take instead (`${x:-/etc}`).
        inner_at: Byte offset of each of them.
        evaluates: Running it as code is part of expanding it (`${x@P}`).
    """

    raw: str
    form: str
    at: int
    inner: tuple[Script, ...] = ()
    defaults: tuple[str, ...] = ()
    evaluates: bool = False
    inner_at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Assign:
    """`name=value`; value None for arrays and for a name alone."""

    name: str
    value: Word | None
    raw: str
    append: bool = False
    inner: tuple[Script, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """`op target`; a here-document has its text in `body`, and `target` is its end mark."""

    op: str
    target: Word
    raw: str
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A simple command; without words it only assigns or redirects."""

    raw: str
    words: tuple[Word, ...]
    assigns: tuple[Assign, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipe:
    """`a | b | c`: output of each is input of the next."""

    stages: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """`left && right` or `left || right`."""

    op: Literal["&&", "||"]
    left: Statement
    right: Statement


GroupKind: TypeAlias = Literal["block", "subshell", "background", "branch", "loop", "test"]


@dataclass(frozen=True, slots=True)
class Group:
    """Statements held together: braces, parentheses, `if`, loops, `[[ ]]`.

    Attributes:
        kind: Which.
        body: All statements of all branches, in order.
        words: Words of the construct itself: items of a loop, operands of a test.
        variable: The name a loop sets, "" if none.
        redirects: Of the whole.
        files: Words that a `[[ ]]` takes for names of files.
    """

    kind: GroupKind
    body: Script
    words: tuple[Word, ...] = ()
    variable: str = ""
    redirects: tuple[Redirect, ...] = ()
    files: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """`name() { body }`."""

    name: str
    body: Script
    raw: str


Statement: TypeAlias = Call | Pipe | Chain | Group | Function
Script: TypeAlias = tuple[Statement, ...]


class Unreadable(Exception):
    """The line cannot be parsed, or not within its limits; the message says why."""

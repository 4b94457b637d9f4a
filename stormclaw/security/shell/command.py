"""A command about to be judged: its words after expansion and what surrounds it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stormclaw.protocol.effects import Grant, Risk
from stormclaw.security.finding import Finding
from stormclaw.security.policy import Policy
from stormclaw.security.shell.programs import base_name, take_apart
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_tree import Call, Chain, Function, Group, Pipe, Script, Word
from stormclaw.security.shell.shell_words import Arg, plain
from stormclaw.security.shell.shipped import shipped
from stormclaw.security.shell.shipped_subcommands import FAMILIES

GIT_GLOBAL_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace",
                               "--super-prefix", "--config-env", "--exec-path"})  # fmt: skip


@dataclass(frozen=True)
class Command:
    """One simple command, wrappers already taken off.

    Attributes:
        args: The words, the program's name first; never empty.
        text: The part of the line it stands for.
        scope: What is known where it runs.
        policy: What it is judged by.
        upstream: Every program name in the pipe before it.
        embedded: Every program name in substitutions among its own words.
        stdin: The text it reads, None when that is unknown or nothing was redirected.
        fed: Whether something is redirected or piped into it.
    """

    args: tuple[Arg, ...]
    text: str
    scope: Scope
    policy: Policy
    upstream: frozenset[str] = frozenset()
    embedded: frozenset[str] = frozenset()
    stdin: str | None = None
    fed: bool = False

    @property
    def name(self) -> str:
        """The program's name without folder and version."""
        return base_name(self.args[0].text)

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as text."""
        return tuple(arg.text for arg in self.args)

    def found(self, risk: Risk, reason: str, rule: str, *, liftable: bool = False) -> Finding:
        """A finding about this command; a liftable one offers the grant for it."""
        finding = Finding(self.text, risk, reason, rule)
        grant = grant_for(self.args) if liftable else None
        return replace(finding, grant=grant)


def grant_for(args: tuple[Arg, ...]) -> Grant | None:
    """The narrowest standing permission for a command; None when it cannot be put in words.

    Programs with subcommands: program and subcommand (`npm test`), whatever follows. Everything
    else: exactly these words.
    """
    leading = leading_words(args)
    if leading is not None:
        return Grant("command", quote(leading))
    if not all(arg.literal for arg in args):
        return None
    return Grant("command", quote(arg.text for arg in args))


def leading_words(args: tuple[Arg, ...]) -> tuple[str, ...] | None:
    """Program and subcommand; None for programs without one, or where it is not plain text."""
    name = args[0].text
    if not args[0].literal:
        return None
    if name == "git":
        sub, _ = subcommand(args)
        return (name, sub) if sub and not re.search(r"[\0\x01]", sub) else None
    family = FAMILIES.get(base_name(name))
    program = family.program if family else shipped(name)
    if program is None or not program.subcommands:
        return None
    operands = take_apart(args[1:], program).operands
    deep = bool(family and operands and operands[0].text in family.deep)
    chosen = operands[: 2 if deep else 1]
    if not chosen or not all(arg.literal for arg in chosen):
        return None
    return (name, *(arg.text for arg in chosen))


def subcommand(args: tuple[Arg, ...]) -> tuple[str, tuple[Arg, ...]]:
    """The subcommand of a git command line and what follows it; ("", ()) if there is none."""
    rest = list(args[1:])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text in GIT_GLOBAL_VALUES and rest:
            rest.pop(0)
    return (rest[0].text, tuple(rest[1:])) if rest else ("", ())


def quote(words: Iterable[str]) -> str:
    """Words as one line that `shlex.split` takes apart again."""
    return shlex.join(words)


def program_names(script: Script) -> Iterator[str]:
    """The name of everything that looks like a program anywhere in a script.

    Every literal word counts, so that a name behind a wrapper (`env curl`) is seen too.
    """
    for statement in script:
        match statement:
            case Call():
                yield from names_in(statement.words)
            case Pipe(stages):
                yield from program_names(stages)
            case Chain(_, left, right):
                yield from program_names((left, right))
            case Group():
                yield from program_names(statement.body)
            case Function(_, body):
                yield from program_names(body)


def names_in(words: Iterable[Word]) -> Iterator[str]:
    """Names of programs among words and in their substitutions."""
    for word in words:
        yield base_name(plain(word.form))
        for inner in word.inner:
            yield from program_names(inner)

"""The shape of a table entry: how one program reads its command line, and what that makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.protocol.effects import Risk
from stormclaw.security.shell.shell_words import Arg

Operands: TypeAlias = Literal[
    "read", "names", "text", "first-text", "text-write", "last-write", "write", "pair"
]
"""What the operands are: files read, files only named (their content stays unread), plain text,
text and then files, text and then files written, files of which the last is written, files
written, input and then output."""

_VERSION = re.compile(
    r"(python|pypy|pip|ruby|perl|php|lua|node|gcc|g\+\+|clang|clang\+\+|clang-format|java|gem)"
    r"-?\d+(?:\.\d+)*"
)


@dataclass(frozen=True, slots=True)
class Program:
    """How a program is judged.

    Attributes:
        risk: Without any special option.
        operands: What its operands are.
        values: Options that take the next word; their value is a path, to be read.
        texts: Options that take the next word; their value is text.
        writes: Options whose value is a file it writes.
        medium: Options that make it medium.
        high: Options that make it run code, write elsewhere or lose work.
        single_dash: Long options have one dash (`find -name`), so letters are not bundled.
        subcommands: The first operand chooses what it does: a grant names it.
    """

    risk: Risk
    operands: Operands = "read"
    values: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    medium: frozenset[str] = frozenset()
    high: frozenset[str] = frozenset()
    single_dash: bool = False
    subcommands: bool = False

    @property
    def takes_value(self) -> frozenset[str]:
        """All options that take the next word."""
        return self.values | self.texts | self.writes


@dataclass(frozen=True, slots=True)
class Option:
    """An option as given; `value` None when it has none."""

    name: str
    value: Arg | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A command line taken apart."""

    options: tuple[Option, ...]
    operands: tuple[Arg, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these options is given, abbreviations included."""
        return any(given(option.name, names) for option in self.options)

    def value(self, *names: str) -> Arg | None:
        """The value of the first of these options that has one."""
        found = (option.value for option in self.options if given(option.name, names))
        return next((value for value in found if value is not None), None)


def entry(
    risk: Risk,
    operands: Operands = "read",
    *,
    values: str = "",
    texts: str = "",
    writes: str = "",
    medium: str = "",
    high: str = "",
    single_dash: bool = False,
    subcommands: bool = False,
) -> Program:
    """A table entry; options are separated by blanks."""
    sets = map(words, (values, texts, writes, medium, high))
    value_set, text_set, write_set, medium_set, high_set = sets
    return Program(
        risk, operands, value_set, text_set, write_set, medium_set, high_set,
        single_dash, subcommands,
    )  # fmt: skip


def words(text: str) -> frozenset[str]:
    """The words of a table cell."""
    return frozenset(text.split())


def take_apart(args: Iterable[Arg], program: Program) -> Line:
    """Options and operands of a command line (without the program's name)."""
    options: list[Option] = []
    operands: list[Arg] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg.text == "--":
            operands += rest
            break
        if not arg.text.startswith("-") or arg.text == "-":
            operands.append(arg)
            continue
        found = list(_options(arg, program))
        last = found[-1]
        wants = given(last.name, program.takes_value)
        if wants and last.value is None and rest and "=" not in arg.text:
            value = rest.pop(0)
            found[-1] = Option(last.name, value)
            if re.fullmatch(r"--?\w\S*", value.text):
                # Where the table is wrong about the value, this is an option of its own.
                found += _options(value, program)
        options += found
    return Line(tuple(options), tuple(operands))


def given(name: str, table: Iterable[str]) -> bool:
    """Whether an option as given means one of `table`; long options may be abbreviated."""
    if name.startswith("--") and len(name) > 3:
        return any(known.startswith(name) for known in table)
    return name in table


def base_name(text: str) -> str:
    """The name a program is known by: no folder, no version number."""
    name = text.rsplit("/", 1)[-1]
    match = _VERSION.fullmatch(name)
    return match[1] if match else name


def _options(arg: Arg, program: Program) -> Iterable[Option]:
    text = arg.text
    name, equals, value = text.partition("=")
    if text.startswith("--") or (program.single_dash and (equals or not _glued(text, program))):
        yield Option(name, Arg(value, arg.raw, arg.glob, arg.others) if equals else None)
        return
    if program.single_dash:
        yield Option(text[:2], Arg(text[2:], arg.raw, arg.glob))
        return
    for index, letter in enumerate(text[1:], start=1):
        option = f"-{letter}"
        if option in program.takes_value:
            glued = text[index + 1 :]
            yield Option(option, Arg(glued, arg.raw, arg.glob) if glued else None)
            return
        yield Option(option)


def _glued(text: str, program: Program) -> bool:
    """`-I/usr/include`: a one-letter option with its value, among single-dash long options."""
    return text not in program.takes_value and len(text) > 2 and text[:2] in program.takes_value

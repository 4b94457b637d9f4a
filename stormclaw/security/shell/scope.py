"""What is known at one point of a shell line: the folder, variables, functions, files written."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stormclaw.security.policy import Policy
from stormclaw.security.shell.shell_tree import (
    Assign,
    Call,
    Chain,
    Function,
    Group,
    Pipe,
    Script,
    Word,
)
from stormclaw.security.shell.shell_words import (
    Arg,
    Values,
    expand,
    known_form,
    plain,
    substitution,
)
from stormclaw.security.shell.yields import value_of

NAMING_BUILTINS = frozenset(
    {"read", "mapfile", "readarray", "getopts", "printf", "unset", "local", "declare", "typeset",
     "export", "readonly", "let"}
)  # fmt: skip
"""Built-ins that set variables named by their words."""

_CHANGED = re.compile(r"\$\{!|\$\{\w+[^}\w]*[#:/^,@]")
"""Expansions that make another text of a value: its beginning may be cut, so it may leave."""

_NAMED = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*)")
_OUTSIDE = re.compile(r"(?:/|~|\.\.(?:/|$))|.*/\.\.(?:/|$)", re.S)


@dataclass(slots=True)
class Scope:
    """State while a line is walked; a subshell works on a copy.

    Attributes:
        policy: For the workspace and the home folder.
        cwds: Every folder it may be in; None when that is unknown.
        values: Variables whose value is known, as forms.
        single: Names that the whole line sets exactly once.
        functions: Names the line defines.
        fed: Names that `read` has set to lines of what was not decoded or fetched before.
        written: Files the line has written so far.
        looped: Variables that a loop sets to one item after the other.
        splits: False once IFS is changed, so that word splitting is unknown.
    """

    policy: Policy
    cwds: frozenset[Path] | None
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    single: frozenset[str] = frozenset()
    fed: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    splits: bool = True
    looped: set[str] = field(default_factory=set)

    def copy(self) -> Scope:
        """The same knowledge, changed independently; files written stay shared."""
        return Scope(
            self.policy, self.cwds, dict(self.values), self.single, set(self.fed),
            set(self.functions), self.written, self.splits, set(self.looped),
        )  # fmt: skip

    def prepare(self, script: Script) -> None:
        """Learn which variables a script sets, before walking it."""
        counts = Counter(assigned(script))
        loops = Counter(_looped(script))
        once = {name for name, count in counts.items() if count in (1, loops[name])}
        self.single = (self.single | once) - (counts.keys() - once)
        self.splits = self.splits and "IFS" not in counts
        for name in counts:
            self.values.pop(name, None)
        for name in ("HOME", "PWD"):
            if name not in counts and (name != "HOME" or "HOME" not in self.values):
                self.values |= self._built_in(name)

    def arguments(self, words: tuple[Word, ...]) -> list[Arg]:
        """Words after expansion with what is known here."""
        return expand(words, self._values(words), "normal" if self.splits else "unknown")

    def value(self, word: Word) -> list[Arg]:
        """What an assignment makes of a word: it is not split."""
        return expand((word,), self._values((word,)), "none")

    def learn(self, assign: Assign) -> None:
        """A variable has been set by a plain assignment."""
        if assign.name not in self.single or assign.append or assign.value is None:
            self.values.pop(assign.name, None)
            return
        args = self.value(assign.value)
        if len(args) != 1 or args[0].unknown:
            self.values.pop(assign.name, None)
            return
        texts = (args[0].text, *args[0].others)
        self.values[assign.name] = tuple(map(self._home_expanded, texts))

    def learn_loop(self, name: str, items: list[Arg]) -> None:
        """A loop runs over these items."""
        self.looped.add(name)
        unknown = not items or any(item.unknown for item in items) or name not in self.single
        if unknown:
            self.values.pop(name, None)
        else:
            self.values[name] = tuple(item.text for item in items)

    def learn_read(self, names: list[str], text: str | None, *, hidden: bool) -> None:
        """`read` sets variables.

        Args:
            names: Of the variables.
            text: What it reads, where that is known.
            hidden: Whether it reads what was decoded or fetched before.
        """
        forms = tuple(known_form(line) for line in (text or "").splitlines() if line)
        for name in names:
            self.values.pop(name, None)
            self.fed.discard(name)
            if hidden:
                continue
            self.fed.add(name)
            if forms and len(names) == 1 and name in self.single:
                self.values[name] = forms

    def nobody_knows(self, raw: str) -> bool:
        """Whether a word takes its value from outside the line, or from what cannot be followed."""
        if "$(" in raw or "`" in raw or _CHANGED.search(raw):
            return True
        return any(name not in self.fed for name in _NAMED.findall(raw))

    def note_written(self, texts: Iterable[str]) -> None:
        """The line has written these files."""
        for text in texts:
            for place in (self.paths(text) or ()) if "\0" not in text else ():
                self.written.add(Path(os.path.realpath(place)))

    def paths(self, text: str) -> tuple[Path, ...] | None:
        """Every file a word may mean; None when the current folder is unknown."""
        expanded = self._home_expanded(text)
        if expanded.startswith(("/", "~")):
            return (Path(expanded),)
        if self.cwds is None:
            return None
        return tuple(folder / expanded for folder in sorted(self.cwds))

    def enter(self, folders: tuple[Path, ...] | None, *, certain: bool) -> None:
        """The current folder changes, for sure or perhaps."""
        if folders is None or self.cwds is None:
            self.cwds = None
        else:
            lexical = frozenset(Path(os.path.normpath(folder)) for folder in folders)
            self.cwds = lexical if certain else self.cwds | lexical

    def _values(self, words: tuple[Word, ...]) -> Values:
        """Variables, and what the substitutions in these words print, where it is known."""
        values = {**self.values, **self._built_in("PWD")} if "PWD" in self.values else self.values
        found = {
            substitution(at): forms
            for word in words
            for at, script in zip(word.inner_at, word.inner, strict=True)
            if (forms := value_of(script, self.arguments))
        }
        return {**values, **found} if found else values

    def _home_expanded(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            home = self.values.get("HOME")
            return f"{plain(home[0])}{text[1:]}" if home else text
        if text == "~+" or text.startswith("~+/"):
            return f".{text[2:]}"
        return text

    def _built_in(self, name: str) -> dict[str, tuple[str, ...]]:
        if name == "HOME":
            return {"HOME": (str(self.policy.user_home),)}
        return {"PWD": tuple(map(str, sorted(self.cwds)))} if self.cwds else {}


def looks_like_path(text: str) -> bool:
    """Whether a word says by itself that it leaves the current folder."""
    return bool(_OUTSIDE.match(text)) and "://" not in text


def _looped(script: Script) -> Iterator[str]:
    """The variable of every loop: it holds one of the loop's items, whatever else is a loop's."""
    for statement in script:
        match statement:
            case Chain(_, left, right):
                yield from _looped((left, right))
            case Pipe(stages):
                yield from _looped(stages)
            case Group():
                yield from (statement.variable,) if statement.variable else ()
                yield from _looped(statement.body)
            case Call() | Function():
                continue


def assigned(script: Script) -> Iterator[str]:
    """The name of every variable a script sets, once for each place that sets it."""
    for statement in script:
        match statement:
            case Call():
                yield from _assigned_by_call(statement)
            case Pipe(stages):
                yield from assigned(stages)
            case Chain(_, left, right):
                yield from assigned((left, right))
            case Group():
                if statement.variable:
                    yield statement.variable
                yield from assigned(statement.body)
                yield from _assigned_in(statement.words)
            case Function(_, body):
                yield from assigned(body)


def _assigned_by_call(call: Call) -> Iterator[str]:
    name = plain(call.words[0].form) if call.words else ""
    if not call.words or name in NAMING_BUILTINS:
        yield from (assign.name for assign in call.assigns)
    if name in NAMING_BUILTINS:
        texts = (plain(word.form) for word in call.words[1:])
        yield from (match[0] for text in texts if (match := re.match(r"[A-Za-z_]\w*", text)))
    yield from _assigned_in(call.words)
    for assign in call.assigns:
        for inner in assign.inner if assign.value is None else assign.value.inner:
            yield from assigned(inner)


def _assigned_in(words: tuple[Word, ...]) -> Iterator[str]:
    for word in words:
        for inner in word.inner:
            yield from assigned(inner)

"""Lines of ignore files as git reads them: the same matches, byte for byte, quirks included.

Texts are bytes decoded as Latin-1 throughout, because git matches bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stormclaw.tools._wildmatch import EMPTY, SPECIAL, Token, lowered, regex_of, run, tokens_of

_MOST_SPANS = 3
"""With more of them a regular expression could take for ever over a hostile pattern."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line that says something.

    Attributes:
        tokens: What the path (or its last part) must be, None if nothing ever is.
        negated: It takes back what an earlier line ignored.
        folders_only: It speaks of folders.
        by_name: It speaks of the last part of a path, at any depth.
        regex: The same as `tokens`; None where that could be slow.
    """

    tokens: tuple[Token, ...]
    negated: bool
    folders_only: bool
    by_name: bool
    regex: re.Pattern[str] | None

    def matches(self, text: str) -> bool:
        """Whether a path (or its last part, `by_name`) is meant, letters already folded."""
        if self.regex is not None:
            return self.regex.fullmatch(text) is not None
        return run(self.tokens, text)


class Rules:
    """The rules of one file, quickly asked."""

    def __init__(self, rules: Iterable[Rule], *, fold: bool = False) -> None:
        """Take the rules, in the order of the file; `fold` when letters match in either case."""
        self.rules = tuple(rules)
        self.fold = fold
        self._last_first = self.rules[::-1]
        self._slow = any(rule.regex is None for rule in self.rules)
        self._names = _any_of(rule for rule in self.rules if rule.by_name)
        self._paths = _any_of(rule for rule in self.rules if not rule.by_name)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def verdict(self, path: str, name: str, *, folder: bool) -> bool | None:
        """Ignored, taken back, or None: nothing is said about it.

        Args:
            path: Relative to the folder of the file.
            name: Its last part.
            folder: Whether it is one.
        """
        if self.fold:
            path, name = lowered(path), lowered(name)
        by_name = self._slow or (self._names is not None and self._names.fullmatch(name))
        by_path = self._slow or (self._paths is not None and self._paths.fullmatch(path))
        if not by_name and not by_path:
            return None
        for rule in self._last_first:
            if rule.folders_only and not folder:
                continue
            if rule.matches(name if rule.by_name else path):
                return not rule.negated
        return None


def parse(raw: bytes, *, fold: bool = False) -> Rules:
    """The rules in the bytes of an ignore file."""
    lines = raw.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    return Rules((rule for line in lines if (rule := _rule(line, fold=fold))), fold=fold)


def _rule(line: str, *, fold: bool) -> Rule | None:
    if line.startswith("#"):
        return None
    line = _without_spaces(line.removesuffix("\r").partition("\0")[0])
    negated = line.startswith("!")
    pattern = line[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[: len(pattern) - folders_only]
    by_name = "/" not in pattern
    tokens = _by_name(pattern, fold) if by_name else _by_path(pattern, fold)
    if not tokens:
        return None  # no name is empty, and what git finds malformed matches nothing
    spans = sum(token in EMPTY for token in tokens)
    regex = re.compile(regex_of(tokens), re.DOTALL) if spans <= _MOST_SPANS else None
    return Rule(tokens, negated, folders_only, by_name, regex)


def _without_spaces(line: str) -> str:
    """Without the spaces at the end that no backslash keeps."""
    end, at = len(line), 0
    last: int | None = None
    while at < end:
        if line[at] == " ":
            last = at if last is None else last
        else:
            if line[at] == "\\":
                at += 1
                if at == end:
                    return line
            last = None
        at += 1
    return line if last is None else line[:last]


def _by_name(pattern: str, fold: bool) -> tuple[Token, ...]:
    if pattern.startswith("*") and not SPECIAL.search(pattern[1:]):
        return ("part", *(lowered(pattern[1:]) if fold else pattern[1:]))
    return tokens_of(pattern, fold, paths=False)


def _by_path(pattern: str, fold: bool) -> tuple[Token, ...]:
    pattern = pattern.removeprefix("/")
    special = SPECIAL.search(pattern)
    plain = pattern[: special.start()] if special else pattern
    literal = tuple(lowered(plain) if fold else plain)
    if not special:
        return literal
    # git compares what is before the first special sign by itself and begins anew behind it, so
    # that `a/b**` is `a/b` and then `**` at a beginning.
    rest = tokens_of(pattern[len(plain) :], fold, paths=True)
    return (*literal, *rest) if rest else ()


def _any_of(rules: Iterator[Rule]) -> re.Pattern[str] | None:
    """What at least one rule matches: most names are none of that, and are asked only once."""
    pieces = [rule.regex.pattern for rule in rules if rule.regex is not None]
    return re.compile("|".join(pieces), re.DOTALL) if pieces else None

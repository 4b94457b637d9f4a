"""Says git's ignore rules in ripgrep's words, so that ripgrep only has to walk quickly.

ripgrep reads no ignore file of a project by itself: its patterns differ from git's here and there,
and it would wait for ever at a named pipe. What cannot be said in its words is said wider: it then
shows too much, never too little, and the exact rules sift the names afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stormclaw.tools._gitignore import Rule
from stormclaw.tools._ignore import Level
from stormclaw.tools._wildmatch import Token, positions_after

_GIT = (3, 2, 1)
_TO_ESCAPE = frozenset("*?[]{}!\\,#")
_UPPER = frozenset(range(ord("A"), ord("Z") + 1))
_ASCII = frozenset(range(0x20, 0x7F))

MARKS = ("!.gitignore", "!.ignore", "!.git", "**/.git/*", "!**/.git/HEAD")
"""Last lines that bring to light where further rules and repositories begin."""


def lines(levels: Iterable[Level], start: str, *, fold: bool) -> tuple[list[str], bool]:
    """Lines for `--ignore-file`, relative to `start`, and whether they say it exactly.

    Args:
        levels: All that are known, above `start` and below, in any order.
        start: Where ripgrep begins, as Latin-1 with a trailing slash.
        fold: Letters match in either case.
    """
    ordered = sorted(levels, key=lambda level: level.base.count("/"))
    above = [level for level in ordered if start.startswith(level.base)]
    root = next((level for level in reversed(above) if level.root), None)
    said = _Said(start, fold)
    # Without a repository around it, what lies above the first one inside belongs together.
    roots = [root, *(level for level in ordered if level.root and level not in above)]
    for each in roots:
        if each is not None and each not in above:
            said.everything_below(each.base)
        members = [level for level in ordered if _owner(level, roots) is each]
        if each is root and root is not None:
            members = [level for level in members if level.base.startswith(root.base)]
        for source in _GIT:
            for level in members:
                said.rules(level.base, level.rules[source].rules)
    for level in ordered:
        said.rules(level.base, level.rules[0].rules)
    return said.out, said.exact


def _owner(level: Level, roots: Sequence[Level | None]) -> Level | None:
    """The repository a folder belongs to: the innermost one around it."""
    around = [root for root in roots if root is not None and level.base.startswith(root.base)]
    return max(around, key=lambda root: len(root.base), default=roots[0])


class _Said:
    """The lines so far."""

    def __init__(self, start: str, fold: bool) -> None:
        self._start, self._fold = start, fold
        self.out: list[str] = []
        self.exact = True

    def everything_below(self, base: str) -> None:
        """Take back all that was said about a folder below the start."""
        prefix = self._prefix(base)
        if prefix is None:
            self.exact = False
            prefix = "/"
        self.out.append(f"!{prefix}**")

    def rules(self, base: str, rules: Iterable[Rule]) -> None:
        """Add the rules of one folder's file."""
        for rule in rules:
            for tokens in self._from_start(base, rule):
                line = self._line(base, rule, tokens)
                if line is not None:
                    self.out.append(line)
                    continue
                self.exact = False
                if rule.negated:
                    self.everything_below(base)

    def _from_start(self, base: str, rule: Rule) -> list[tuple[Token, ...]]:
        """What is left of a rule once the way to the start is behind it."""
        if rule.by_name or not self._start.startswith(base) or self._start == base:
            return [rule.tokens]
        way = self._start[len(base) :]
        return [rule.tokens[at:] for at in positions_after(rule.tokens, way) if rule.tokens[at:]]

    def _line(self, base: str, rule: Rule, tokens: tuple[Token, ...]) -> str | None:
        glob = _glob(tokens, fold=self._fold, by_name=rule.by_name)
        prefix = self._prefix(base)
        if glob is None or prefix is None:
            return None
        anywhere = "**/" if rule.by_name else ""
        return f"{'!' * rule.negated}{prefix}{anywhere}{glob}{'/' * rule.folders_only}"

    def _prefix(self, base: str) -> str | None:
        """A folder as the beginning of a line; `/` for those above the start."""
        below = base[len(self._start) :] if base.startswith(self._start) else ""
        said = _glob(tuple(below), fold=False, by_name=False)
        return None if said is None else f"/{said}"


def _glob(tokens: tuple[Token, ...], *, fold: bool, by_name: bool) -> str | None:
    """Tokens as ripgrep writes them, None where it has no such words."""
    out: list[str] = []
    for at, token in enumerate(tokens):
        begins = at == 0 or tokens[at - 1] in {"/", "folders"}
        last = at == len(tokens) - 1
        if isinstance(token, frozenset):
            said = _set(token, fold=fold)
        elif len(token) == 1:
            said = _literal(token, fold=fold)
        elif token == "one":  # noqa: S105 - a kind of token, no password
            said = "?"
        elif token == "part":  # noqa: S105
            said = None if out and out[-1] == "*" else "*"
        elif by_name or not begins:
            said = None
        elif token == "folders":  # noqa: S105
            said = "**/"
        else:
            said = "**" if last else None
        if said is None:
            return None
        out.append(said)
    try:
        return "".join(out).encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None


def _literal(sign: str, *, fold: bool) -> str:
    if fold and "a" <= sign <= "z":
        return f"[{sign}{sign.upper()}]"
    if sign.isspace() or ord(sign) < 0x20:
        # ripgrep trims white space from the end of a line, and knows no better way to keep it.
        return f"[{sign}]" if sign.isascii() and sign != "\n" else sign
    return f"\\{sign}" if sign in _TO_ESCAPE else sign


def _set(members: frozenset[int], *, fold: bool) -> str | None:
    """A set as a bracket; ripgrep's know no escapes, only places where a sign stands for itself."""
    if fold:  # what the rules are asked about has no capitals then
        members -= _UPPER
        members |= {each - 32 for each in members if each - 32 in _UPPER}
    outside = frozenset(range(256)) - members - {0x2F}
    if not members:
        return None
    if members <= _ASCII:
        return _bracket(members, "")
    return _bracket(outside | {0x2F}, "!") if outside <= _ASCII else None


def _bracket(members: frozenset[int], sign: str) -> str | None:
    signs = {chr(each) for each in members}
    first = "]" * ("]" in signs)
    last = "-" * ("-" in signs)
    marks = "".join(sorted(signs & {"!", "^"}))
    plain = "".join(sorted(signs - {"]", "-", "!", "^"}))
    if not first and not plain and marks and not sign:
        return f"\\{marks}" if len(marks) == 1 and not last else None
    return f"[{sign}{first}{plain}{marks}{last}]"

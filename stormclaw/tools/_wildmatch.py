"""Globs as git reads them (`wildmatch`), in pieces that can be matched, or told to others.

Texts are bytes decoded as Latin-1, because git matches bytes: `?` is one of them.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Span: TypeAlias = Literal["one", "part", "deep", "folders"]
"""Any byte but `/`; any number of those; anything; nothing or whole folders with their `/`."""

Token: TypeAlias = str | frozenset[int] | Span
"""A literal byte (always of length 1), one byte of a set, or a span."""

SPECIAL = re.compile(r"[*?\[\\]")
"""Signs that git does not take by their word."""

EMPTY: frozenset[Token] = frozenset({"part", "deep", "folders"})
"""Spans that may be of no length."""

_SPANS: dict[Token, str] = {
    "one": "[^/]", "part": "[^/]*", "deep": ".*", "folders": "(?:.*/)?",
}  # fmt: skip

_CLASSES: dict[str, str] = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \t", "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": " \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def lowered(text: str) -> str:
    """ASCII letters in lower case; the others stay, as in git."""
    return text.translate(_LOWER)


_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def tokens_of(pattern: str, fold: bool, *, paths: bool) -> tuple[Token, ...]:
    """A glob in pieces, () if nothing can match it."""
    out: list[Token] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*":
            token, at = _stars(pattern, at, paths=paths)
            out.append(token)
        elif sign == "?":
            out.append("one")
            at += 1
        elif sign == "[":
            found = _bracket(pattern, at, fold)
            if found is None:
                return ()
            members, at = found
            out.append(members - {0x2F})
        else:
            if sign == "\\":
                at += 1
                if at == len(pattern):
                    return ()
                sign = pattern[at]
            out.append(lowered(sign) if fold else sign)
            at += 1
    return tuple(out)


def _stars(pattern: str, at: int, *, paths: bool) -> tuple[Token, int]:
    """Stars that stand together, and where they end."""
    stop = at
    while stop < len(pattern) and pattern[stop] == "*":
        stop += 1
    alone = stop - at > 1 and (at == 0 or pattern[at - 1] == "/")
    if not paths or not alone:
        return "part", stop
    if stop == len(pattern) or pattern.startswith("\\/", stop):
        return "deep", stop
    return ("folders", stop + 1) if pattern[stop] == "/" else ("part", stop)


def _bracket(pattern: str, at: int, fold: bool) -> tuple[frozenset[int], int] | None:
    """The bytes a bracket takes and where it ends, None if it is malformed."""
    at += 1
    negated = pattern[at : at + 1] in {"!", "^"}
    at += negated
    members: set[int] = set()
    before, first = "", True
    while True:
        sign = pattern[at : at + 1]
        if not sign or (sign == "\\" and at + 1 == len(pattern)):
            return None
        if sign == "]" and not first:
            break
        first = False
        following = pattern[at + 1 : at + 2]
        if sign == "\\":
            at += 1
            before = pattern[at]
            members.add(ord(before))
        elif sign == "-" and before and following not in {"", "]"}:
            at += 1 + (following == "\\")
            if at >= len(pattern):
                return None
            members |= _range(before, pattern[at], fold)
            before = ""
        elif sign == "[" and following == ":":
            stop = pattern.find("]", at + 2)
            if stop < 0:
                return None
            if stop - at < 3 or pattern[stop - 1] != ":":
                before = sign
                members.add(ord(sign))
            else:
                known = _CLASSES.get(pattern[at + 2 : stop - 1])
                if known is None:
                    return None
                members |= _class(known, fold)
                at, before = stop, ""
        else:
            before = sign
            members.add(ord(sign))
        at += 1
    everything = frozenset(range(256))
    return (everything - members if negated else frozenset(members)), at + 1


def _range(low: str, high: str, fold: bool) -> set[int]:
    found = set(range(ord(low), ord(high) + 1))
    return found | {ord(lowered(chr(each))) for each in found} if fold else found


def _class(known: str, fold: bool) -> set[int]:
    found = {each for each in range(128) if re.match(f"[{known}]", chr(each))}
    if fold and known == _CLASSES["upper"]:
        found |= set(map(ord, "abcdefghijklmnopqrstuvwxyz"))
    return found


def regex_of(tokens: tuple[Token, ...]) -> str:
    """A regular expression, to be used with `fullmatch` and `DOTALL`."""
    return "".join(map(_piece, tokens))


def _piece(token: Token) -> str:
    if isinstance(token, frozenset):
        return "[" + "".join(f"\\x{each:02x}" for each in sorted(token)) + "]" if token else "(?!)"
    return re.escape(token) if len(token) == 1 else _SPANS[token]


def run(tokens: tuple[Token, ...], text: str) -> bool:
    """Match all positions at once: as long as the pattern times the text, never longer."""
    return len(tokens) in _after(tokens, text)


def positions_after(tokens: tuple[Token, ...], folders: str) -> list[int]:
    """From where the tokens go on once the beginning of a path, up to a `/`, is behind them."""
    return sorted({~at if at < 0 else at for at in _after(tokens, folders)})


def _after(tokens: tuple[Token, ...], text: str) -> set[int]:
    """The positions after a text.

    A position is that of a token; `~position` means inside the folders of that token.
    """
    at = _and_behind(tokens, {0})
    for sign in text:
        ahead: set[int] = set()
        for position in at:
            if position < 0:
                ahead |= {position, ~position + 1} if sign == "/" else {position}
            elif position < len(tokens):
                ahead |= _step(tokens[position], position, sign)
        at = _and_behind(tokens, ahead)
    return at


def _step(piece: Token, position: int, sign: str) -> set[int]:
    """Where one sign leads from a token."""
    if isinstance(piece, frozenset):
        return {position + 1} if ord(sign) in piece else set()
    if len(piece) == 1:
        return {position + 1} if piece == sign else set()
    if piece == "folders":
        return {~position, position + 1} if sign == "/" else {~position}
    if piece == "deep":
        return {position}
    if sign == "/":
        return set()
    return {position} if piece == "part" else {position + 1}


def _and_behind(tokens: tuple[Token, ...], at: set[int]) -> set[int]:
    """With the positions that are reached without a sign."""
    pending = [position for position in at if position >= 0]
    while pending:
        position = pending.pop()
        if position < len(tokens) and tokens[position] in EMPTY and position + 1 not in at:
            at.add(position + 1)
            pending.append(position + 1)
    return at

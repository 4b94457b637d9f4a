"""Fits new lines to a file whose indentation the model remembered differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from stormclaw.tools._text import aligned

_INDENT = re.compile(r"[ \t]*")

Indents = dict[str, str]
"""The model's indentation -> the file's."""


def indents(written: Sequence[str], there: Sequence[str]) -> Indents | None:
    """How the model's indentation is to be read; None if one of the model's would mean two."""
    known: Indents = {}
    for mine, theirs in zip(written, there, strict=True):
        if mine.strip():
            wrote, is_there = indent(mine), indent(theirs)
            if known.setdefault(wrote, is_there) != is_there:
                return None
    return known


def reindent(line: str, known: Indents) -> str:
    """A line of the new text, indented as its neighbours in the file are."""
    if not line.strip() or not known:
        return line
    mine = indent(line)
    if mine in known:
        return known[mine] + line[len(mine) :]
    outer = max((wrote for wrote in known if mine.startswith(wrote)), key=len, default=None)
    if outer is None:  # less indented than anything known: keep the distance to the nearest
        return _outdented(mine, known) + line[len(mine) :]
    base = known[outer]
    return base + _in_style(base, mine[len(outer) :], known) + line[len(mine) :]


def refitted(
    written: Sequence[str], wanted: Sequence[str], there: Sequence[str]
) -> tuple[str, ...] | None:
    """New lines where the model lost the indentation; None where it cannot be told.

    Args:
        written: The old lines as the model wrote them.
        wanted: The new lines as the model wrote them.
        there: The old lines as they are in the file (as many as `written`).
    """
    fitted: list[str] = []
    for tag, old_from, old_to, new_from, new_to in aligned(
        [line.strip() for line in written], [line.strip() for line in wanted]
    ):
        if tag == "equal":
            fitted += there[old_from:old_to]
            continue
        even = new_to - new_from == old_to - old_from
        for step, line in enumerate(wanted[new_from:new_to]):
            beside = (old_from + step, old_from + step) if even else (old_from - 1, old_to)
            pairs = {
                (indent(written[at]), indent(there[at]))
                for at in beside
                if 0 <= at < len(written) and written[at].strip()
            }
            if line.strip() and len(pairs) != 1:
                return None
            fitted.append(reindent(line, dict(pairs)))
    return tuple(fitted)


def near(written: Sequence[str], there: Sequence[str], at: int) -> Indents:
    """How indentation is to be read around line `at`: where lines disagree the nearest counts."""
    known: Indents = {}
    order = sorted(range(len(written)), key=lambda other: (-abs(other - at), other))
    for other in order:
        if written[other].strip():
            known[indent(written[other])] = indent(there[other])
    return known


def indent(line: str) -> str:
    """The spaces and tabs a line begins with."""
    found = _INDENT.match(line)
    return found[0] if found else ""


def _outdented(mine: str, known: Indents) -> str:
    least = min(known, key=len)
    theirs = known[least]
    distance = len(least) - len(mine)
    if theirs[:1] == "\t" and least[:1] == " ":  # a tab there is as wide as the model's step
        distance = -(-distance * len(theirs) // len(least))
    elif theirs[:1] == " " and least[:1] == "\t":
        distance = distance * len(theirs) // len(least)
    return theirs[: max(0, len(theirs) - distance)]


def _in_style(base: str, deeper: str, known: Indents) -> str:
    """Further indentation in the file's own characters and width."""
    wrote, there = _step(known)
    if not wrote or not there:
        wrote, there = _other_kind(base, deeper)
    if not wrote or not there or deeper[0] != wrote[0]:
        return deeper
    count = len(deeper) * len(there) // len(wrote)
    return there[0] * count + deeper[count * len(wrote) // len(there) :]


def _step(known: Indents) -> tuple[str, str]:
    """One level deeper: as the model writes it, and as the file does; empty if not to be told."""
    levels = sorted(known, key=len)
    for outer, inner in pairwise(levels):
        mine, theirs = inner[len(outer) :], known[inner][len(known[outer]) :]
        if inner.startswith(outer) and known[inner].startswith(known[outer]) and mine and theirs:
            return mine, theirs
    return next(((w, t) for w, t in known.items() if w and t and w[0] != t[0]), ("", ""))


def _other_kind(base: str, deeper: str) -> tuple[str, str]:
    """Tabs for spaces or the reverse where nothing says how wide they are."""
    if not base or not deeper or base[0] == deeper[0]:
        return "", ""
    return (" " * min(4, len(deeper)), "\t") if base[0] == "\t" else ("\t", "    ")

"""Glob patterns as ripgrep and git understand them, for everything that is matched in Python."""

from __future__ import annotations

import re

from stormclaw.errors import ToolFailure

_RANGE_OR_SIGN = re.compile(r"(.)-(.)|.", re.DOTALL)
_SPECIAL = re.compile(r"[*?\[{\\]")


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A pattern over relative paths with `/` between the parts.

    `*` and `?` stay within a part, `**` spans parts, `[a-z]`, `{one,other}` and `\\` work; a
    pattern without `/` matches the last part at any depth, one ending with `/` what is below.

    Raises:
        ToolFailure: A brace or bracket is not closed.
    """
    if pattern.endswith("/"):
        pattern += "**"
    body = translate(pattern.removeprefix("./").lstrip("/"))
    anchored = "/" in pattern.removeprefix("./")
    try:
        return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL)
    except re.error as problem:
        raise ToolFailure(f"the glob {pattern!r} is wrong: {problem}", summary="bad glob") from None


def translate(pattern: str) -> str:
    """The regular expression of a whole glob, to be used with `fullmatch`.

    Raises:
        ToolFailure: A brace is not closed, or a backslash escapes nothing.
    """
    out: list[str] = []
    at, depth = 0, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*":
            stop = at
            while stop < len(pattern) and pattern[stop] == "*":
                stop += 1
            piece, at = _stars(pattern, at, stop)
        elif sign == "[":
            piece, at = _bracket(pattern, at)
        elif sign == "\\":
            if at + 1 == len(pattern):
                raise ToolFailure(f"the glob {pattern!r} ends with a backslash", summary="bad glob")
            piece, at = re.escape(pattern[at + 1]), at + 2
        else:
            depth += (sign == "{") - (sign == "}" and depth > 0)
            piece, at = _simple(sign, bool(depth) or sign == "}"), at + 1
            if sign == "}" and piece == ")" and not _opened(out):
                piece = re.escape(sign)
        out.append(piece)
    if depth:
        raise ToolFailure(
            f"the glob {pattern!r} has a brace that is not closed", summary="bad glob"
        )
    return "".join(out)


def literal_prefix(pattern: str) -> tuple[str, str]:
    """A pattern cut where its first special part begins: `/a/b/*.py` -> (`/a/b`, `*.py`)."""
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
    return "/".join(parts[:first]) or ("/" if first else ""), "/".join(parts[first:])


def _stars(pattern: str, at: int, stop: int) -> tuple[str, int]:
    """One or more stars; only a part that is exactly `**` spans several parts."""
    alone = stop - at == 2 and (at == 0 or pattern[at - 1] == "/")
    if alone and stop == len(pattern):
        return ".+" if at else ".*", stop
    if alone and pattern[stop] == "/":
        return "(?:.*/)?", stop + 1
    return "[^/]*", stop


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """A class of characters; a bracket that is not closed stands for itself."""
    start = at + 1
    if start < len(pattern) and pattern[start] in "!^":
        start += 1
    stop = pattern.find("]", start + 1)
    if stop < 0:
        return re.escape("["), at + 1
    inside = _RANGE_OR_SIGN.sub(
        lambda found: (
            "-".join(map(re.escape, found.group(1, 2))) if found[1] else re.escape(found[0])
        ),
        pattern[start:stop],
    )
    negated = "^" if start > at + 1 else ""
    return f"(?!/)[{negated}{inside}]", stop + 1


def _simple(sign: str, in_braces: bool) -> str:
    table = {"?": "[^/]"}
    if in_braces:
        table |= {"{": "(?:", "}": ")", ",": "|"}
    return table.get(sign, re.escape(sign))


def _opened(out: list[str]) -> bool:
    return out.count("(?:") > out.count(")")

"""Reads the file names of unified diffs as git and diff write them."""

from __future__ import annotations

import re

NOWHERE = "/dev/null"

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}
_DATED = re.compile(
    r"\s+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d |"
    r"\((?:revision|working copy|nonexistent)).*$"
)
_EPOCH = re.compile(r"\t(?:1970-01-01 0\d:00:00|1969-12-31 \d\d:00:00)")
_PAIRS = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/"))


def header_name(words: str) -> str:
    """The name after `--- ` or `+++ `, without quotes and date."""
    words = words.removesuffix("\r")
    if quoted := _QUOTED.match(words):
        return unquoted(quoted[0])
    name = words.partition("\t")[0]
    return _DATED.sub("", name).rstrip()


def never(line: str) -> bool:
    """Whether a header's date is the one diff gives a file that is not there."""
    return bool(_EPOCH.search(line))


def unquoted(name: str) -> str:
    """A name as git quotes it: `"na\\303\\257ve"` and the like; plain ones stay."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = _ESCAPE.sub(_unescaped, name[1:-1].encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(found: re.Match[bytes]) -> bytes:
    sign = found[1]
    if sign[:1].isdigit():
        return bytes([int(sign, 8) & 255])
    return _LETTERS.get(sign, sign)


def git_names(words: str) -> tuple[str, str]:
    """Both names of a `diff --git` line; empty where they cannot be told apart."""
    words = words.removesuffix("\r").strip()
    quoted = _QUOTED.findall(words)
    if words.startswith('"') and len(quoted) == 2:
        return unquoted(f'"{quoted[0]}"'), unquoted(f'"{quoted[1]}"')
    if words.startswith('"') and quoted:
        return unquoted(f'"{quoted[0]}"'), words[len(quoted[0]) + 2 :].strip()
    if words.endswith('"') and quoted:
        return words[: -len(quoted[-1]) - 2].strip(), unquoted(f'"{quoted[-1]}"')
    half = len(words) // 2
    old, new = words[:half], words[half + 1 :]
    if words[half : half + 1] == " " and plain(old, new)[0] == plain(old, new)[1]:
        return old, new
    old, _, new = words.partition(" ")
    return (old, new) if " " not in new else ("", "")


def plain(old: str, new: str) -> tuple[str, str]:
    """Both names without the prefixes that only tell old from new (`a/`, `b/`)."""
    for left, right in _PAIRS:
        for one, other in ((left, right), (right, left)):  # the other way in a reversed diff
            if old.startswith(one) and new.startswith(other):
                return old[2:], new[2:]
            if old == NOWHERE and new.startswith(right) and left == "a/":
                return old, new[2:]
            if new == NOWHERE and old.startswith(left) and left == "a/":
                return old[2:], new
    _, _, old_rest = old.partition("/")
    _, _, new_rest = new.partition("/")
    if old != new and old_rest and old_rest == new_rest:  # diff -r old new
        return old_rest, new_rest
    return old, new

"""Words as a search index should know them: parts of identifiers, pairs of characters.

FTS5 cuts text at spaces and signs. `RetryBudget` is one word to it, and so is a whole sentence of a
script that sets no spaces; `parts_of` says what else such text is to be found by, `term` asks so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-]+[A-Za-z0-9]+)*")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_JOINT = re.compile(r"[_-]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_AROUND = ".,;:!?()[]{}<>'`\""
_LONGEST = 100
"""Characters of an identifier; anything longer is no name."""


def parts_of(text: str | None) -> str:
    """What a text is also found by, each name in it once, in the order they appear."""
    if not text:
        return ""
    found: dict[str, None] = {}
    for piece in dict.fromkeys(text.split()):
        bare = piece.strip(_AROUND)
        if bare.isalpha() and bare.isascii() and (bare.islower() or bare[1:].islower()):
            continue  # Most words are just words, and this is done for every word there is.
        for name in _IDENTIFIER.findall(bare):
            if len(name) <= _LONGEST:
                found |= dict.fromkeys(_other_spellings(name))
    runs = () if text.isascii() else _UNSPACED.findall(text)
    found |= dict.fromkeys(" ".join(_pairs(run)) for run in runs)
    return " ".join(found)


def term(word: str, *, beginning: bool = False) -> str:
    """A word or phrase as FTS5 is asked for it, in every spelling; "" if it holds no letter.

    Args:
        word: As typed.
        beginning: It may go on.
    """
    star = "*" if beginning else ""
    runs = _UNSPACED.findall(word)
    if runs:
        rest = [quoted(piece) for piece in _UNSPACED.split(word) if has_letters(piece)]
        pairs = (quoted(" ".join(_pairs(run))) + ("*" if len(run) == 1 else star) for run in runs)
        return "(" + " AND ".join([*rest, *(f"parts : {pair}" for pair in pairs)]) + ")"
    if not has_letters(word):
        return ""
    spellings = dict.fromkeys((word, *(_other_spellings(word) if _is_name(word) else ())))
    asked = [quoted(spelling) + star for spelling in spellings]
    return asked[0] if len(asked) == 1 else "(" + " OR ".join(asked) + ")"


def quoted(text: str) -> str:
    """A text FTS5 takes as a phrase, whatever is in it."""
    return '"' + text.replace('"', '""') + '"'


def has_letters(text: str) -> bool:
    """Whether a tokenizer finds anything in it."""
    return any(sign.isalnum() for sign in text)


def _is_name(word: str) -> bool:
    return len(word) <= _LONGEST and _IDENTIFIER.fullmatch(word) is not None


def _other_spellings(name: str) -> Iterator[str]:
    """`RetryBudget` as `retry budget`, `retry_budget` as `retrybudget`."""
    joints = _JOINT.split(name)
    humps = [hump.lower() for piece in joints for hump in _HUMP.findall(piece)]
    if len(joints) > 1:
        yield "".join(joints).lower()
    if not name.islower() and len(humps) > len(joints):
        yield " ".join(humps)


def _pairs(run: str) -> list[str]:
    return ["".join(pair) for pair in pairwise(run)] or [run]

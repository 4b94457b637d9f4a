"""Foreign text made harmless: what a model, a tool, a file or a server says can only show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import category

TAB = 4
MOST_MARKS = 4
"""Combining marks one character may carry; a flood of them would draw over its neighbours."""

Kind: TypeAlias = Literal["shown", "control", "hidden", "blank", "joiner", "form", "mark", "tone"]

_KINDS: Mapping[str, Kind] = {
    "Cc": "control",
    "Cf": "hidden",  # zero width, bidi, tags, soft hyphen, annotations
    "Cs": "hidden",  # lone surrogates: cannot be written to a terminal
    "Cn": "hidden",
    "Zl": "hidden",
    "Zp": "hidden",
    "Zs": "blank",
    "Mn": "mark",
    "Me": "mark",
    "Mc": "mark",
}
"""Unicode category -> what is done; every other category is shown as it is."""

_EXCEPTIONS: tuple[tuple[str, Kind], ...] = (
    ("\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\U00016fe4", "hidden"),
    ("\ufe00-\ufe0d\U000e0100-\U000e01ef", "hidden"),  # variation selectors
    ("\ufe0e\ufe0f", "form"),
    ("\u200c\u200d", "joiner"),
    ("\u2800", "blank"),
    ("\u1161-\u11ff\ud7b0-\ud7c6\ud7cb-\ud7fb", "mark"),  # halves of a Hangul syllable
    ("\U0001f3fb-\U0001f3ff", "tone"),
    ("\U0001f000-\U0001fafd\U00020000-\U0002fffd\U00030000-\U0003fffd", "shown"),
)
"""Characters whose category does not tell, or that are newer than this Python."""

_EXCEPTION = re.compile("|".join(f"([{characters}])" for characters, _ in _EXCEPTIONS))

_UNSURE = re.compile(
    "[^\n\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0384-\u0386\u0388-\u038a\u038e-\u03a1"
    "\u03a3-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u23ff\u2500-\u27ff\u3001-\u3029"
    "\u3041-\u3096\u309b-\u30ff\u4e00-\u9fef\uac00-\ud7a3\uff01-\uff9d]+"
)
"""Runs of anything but the most usual characters: a fast way past what is certainly harmless."""

_TONED = re.compile(
    "[\u261d\u26f9\u270a-\u270d\U0001f385\U0001f3c2-\U0001f3c4\U0001f3c7\U0001f3ca-\U0001f3cc"
    "\U0001f442\U0001f443\U0001f446-\U0001f450\U0001f466-\U0001f478\U0001f47c"
    "\U0001f481-\U0001f487\U0001f4aa\U0001f574\U0001f575\U0001f57a\U0001f590\U0001f595\U0001f596"
    "\U0001f645-\U0001f647\U0001f64b-\U0001f64f\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f6c0"
    "\U0001f6cc\U0001f90c\U0001f90f\U0001f918-\U0001f91f\U0001f926\U0001f930-\U0001f939"
    "\U0001f9b5-\U0001f9bb\U0001f9cd-\U0001f9dd\U0001faf0-\U0001faf8]"
)
"""What may carry a tone of skin; anywhere else terminals draw the tone beside it."""


def inert(text: str, *, prose: bool = False) -> str:
    r"""Foreign text that can do nothing to the screen: it only shows. Linear time, idempotent.

    ==========  ==========================================  ===================================
    kind        what                                        how it is shown
    ==========  ==========================================  ===================================
    control     C0, DEL, C1; ESC                            `^X`, `\u{9b}`; `␛`
    hidden      zero width, bidi, tags, fillers, line and   `\u{2028}`
                paragraph separators, lone surrogates,
                variation selectors, what is unassigned
    blank       spaces that are not the space               `\u{a0}`; in prose a space
    joiner      between two letters, two signs              `\u{200d}`; in prose left out
    form        emoji or text form, after a sign            left out, else `\u{fe0f}`
    mark        combining, after a character                shown up to 4, else `\u{301}`
    tone        of skin, after what can carry one           shown, else `\u{1f3fd}`
    ==========  ==========================================  ===================================

    Tabs become spaces, CRLF becomes a newline. Newlines stay.

    Args:
        text: From anywhere.
        prose: Words to be read, rather than a name, a command, a path or a line of a file, of
            which every blank must be told from a space.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if _UNSURE.search(text):
        text = text.expandtabs(TAB) if "\t" in text else text
        text = _UNSURE.sub(partial(_shown, prose=prose), text)
    return text


def is_inert(text: str) -> bool:
    """Whether the text can go to a terminal as it stands."""
    return (text.isascii() and text.isprintable()) or inert(text, prose=True) == text


def _shown(found: re.Match[str], *, prose: bool) -> str:
    text = found.string
    shown: list[str] = []
    before = previous = text[found.start() - 1] if found.start() else ""
    marks = 0
    for at in range(found.start(), found.end()):
        character = text[at]
        kind = _kind(character)
        piece: str | None = None
        if kind == "shown":
            piece = character
        elif kind == "mark":
            piece = character if marks < MOST_MARKS and before.strip() else None
        elif stays := _STAYS.get(kind):
            after = text[at + 1] if at + 1 < len(text) else ""
            piece = stays(_Place(character, previous, before, after, prose))
        marks = marks + 1 if kind == "mark" and piece else marks if piece == "" else 0
        if piece != "":
            shown.append(piece or escaped(character))
            before = shown[-1][-1]
        previous = character
    return "".join(shown)


@lru_cache(4096)
def _kind(character: str) -> Kind:
    exception = _EXCEPTION.match(character)
    if exception is not None:
        return _EXCEPTIONS[(exception.lastindex or 1) - 1][1]
    return _KINDS.get(category(character), "shown")


@lru_cache(4096)
def escaped(character: str) -> str:
    """A character in letters: `␛`, `^X`, `\\u{202e}`."""
    code = ord(character)
    if code == 0x1B:
        return "␛"
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"\\u{{{code:x}}}"


class _Place(NamedTuple):
    """A character, the one before it, the last that was shown, the one after it."""

    character: str
    previous: str
    before: str
    after: str
    prose: bool


def _blank(place: _Place) -> str | None:
    if not place.prose:
        return None
    return "  " if place.character == "\u3000" else " "


def _joiner(place: _Place) -> str | None:
    joins = place.prose and _kind(place.after or " ") == "shown"
    usual = category(place.before or " ")[0] in "LSM" and category(place.after or " ")[0] in "LS"
    return "" if joins and usual and _kind(place.previous) != "joiner" else None


def _form(place: _Place) -> str | None:
    sign = category(place.before or " ") in ("So", "Sm", "Sk") or place.before in _KEYCAPS
    return "" if sign and place.previous == place.before else None


def _tone(place: _Place) -> str | None:
    fits = place.previous == place.before and _TONED.match(place.before)
    return place.character if fits else None


_KEYCAPS = frozenset("0123456789#*")
_STAYS: Mapping[Kind, Callable[[_Place], str | None]] = {
    "blank": _blank,
    "joiner": _joiner,
    "form": _form,
    "tone": _tone,
}
"""What stands in its place: "" nothing, None its escape."""

"""Foreign text can only show: what is shown how, in linear time, once and for all."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from thorough import THOROUGH

from stormclaw.protocol.inert import MOST_MARKS, inert, is_inert

ESC, CSI, OSC, DCS, APC = "\x1b", "\x9b", "\x9d", "\x90", "\x9f"

SHOWN = [
    ("plain words, ümläuts, 漢字, кириллица", "plain words, ümläuts, 漢字, кириллица"),
    ("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title^G"),
    ("\x9b31m\x9d\x90\x9f", "\\u{9b}31m\\u{9d}\\u{90}\\u{9f}"),
    ("safe\rrm -rf /", "safe^Mrm -rf /"),
    ("one\r\ntwo", "one\ntwo"),
    ("ab\x08\x08cd\x7f\x00", "ab^H^Hcd^?^@"),
    ("\u202eexe.gpj\u202c\u2066\u2069", "\\u{202e}exe.gpj\\u{202c}\\u{2066}\\u{2069}"),
    ("r\u200bm\u2060\ufeff\u00ad", "r\\u{200b}m\\u{2060}\\u{feff}\\u{ad}"),
    ("a\U000e0041\U000e007f", "a\\u{e0041}\\u{e007f}"),
    ("a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"),
    ("\ud83d", "\\u{d83d}"),
    ("\u3164\u115f\u1160\uffa0\u2800", "\\u{3164}\\u{115f}\\u{1160}\\u{ffa0}\\u{2800}"),
    ("rm\u00a0-rf\u3000/", "rm\\u{a0}-rf\\u{3000}/"),
    ("a\tb", "a   b"),
    ("caf\u0065\u0301", "caf\u0065\u0301"),
    ("\u0301x", "\\u{301}x"),
    ("❤\ufe0f ⚠\ufe0f 1\ufe0f", "❤ ⚠ 1"),
    ("a\ufe0f❤\ufe0f\ufe0f", "a\\u{fe0f}❤\\u{fe0f}"),
    ("👍🏽 x🏽🏽", "👍🏽 x\\u{1f3fd}\\u{1f3fd}"),
    ("\u0378\ufffe", "\\u{378}\\u{fffe}"),
    ("[red]hi[/] [@click=app.quit]", "[red]hi[/] [@click=app.quit]"),
]


@pytest.mark.parametrize(("raw", "shown"), SHOWN, ids=[ascii(raw) for raw, _ in SHOWN])
def test_what_is_shown_how(raw: str, shown: str) -> None:
    assert inert(raw) == shown


def test_in_prose_blanks_are_spaces_and_joiners_are_left_out() -> None:
    assert inert("10\u00a0000\u202f€ \u3000.", prose=True) == "10 000 €   ."
    assert inert("👨\u200d👩\u200d👧 می\u200cخواهم", prose=True) == "👨👩👧 میخواهم"
    assert inert("a\u200d\u200db \u200bc", prose=True) == "a\\u{200d}\\u{200d}b \\u{200b}c"


def test_a_flood_of_marks_is_capped() -> None:
    shown = inert("z" + "\u0335" * 400)
    longest = run = 0
    for character in shown:
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    assert longest == MOST_MARKS
    assert shown.count("\\u{335}") == 400 // (MOST_MARKS + 1)


TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
"""Nothing of their own to a width, part of the sign they follow."""


def harmful(text: str) -> list[str]:
    """Characters that do more than show."""
    return [
        character
        for character in text
        if character != "\n"
        and (
            unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
            or (
                not cell_len(character)
                and unicodedata.category(character)[0] not in "ML"
                and character not in TONES
            )
        )
    ]


def test_no_character_of_all_gets_through() -> None:
    for first in range(0, 0x110000, 0x400):
        empty = 0x30000 <= first < 0xE0000 or first >= 0xF0000
        step = 1 if THOROUGH or not empty else 0x40
        block = [chr(code) for code in range(first, first + 0x400, step)]
        for prose in (False, True):
            shown = [inert(f"a{character}", prose=prose) for character in block]
            assert not harmful("".join(shown))


HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x1b\x9b\x00\r\n\t\x08 a1❤👨👍🏽\u0301\u200d\u200c\ufe0f\u202e\u2066\u2800\u00a0"
            "\u3164\u1160\u1161\u11a8\u1100\U000e0041\ud800\u2028漢"
        ),
    )
)


@given(HOSTILE, st.booleans())
def test_idempotent_and_of_exact_width(text: str, prose: bool) -> None:
    shown = inert(text, prose=prose)
    assert inert(shown, prose=prose) == shown
    assert is_inert(shown)
    assert not harmful(shown)
    for line in shown.split("\n"):
        assert cell_len(line) == sum(map(cell_len, line))


@pytest.mark.parametrize(
    "piece", ["\x1b", "\u0301", "👨\u200d", "\t\x00", "\ud800", "漢", "a\ufe0f"]
)
def test_work_grows_with_the_text(piece: str) -> None:
    """A line of many megabytes would never end if each character looked at all others."""
    text = piece * 100_000
    assert len(inert(text)) >= 100_000

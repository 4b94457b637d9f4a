"""Wrapping and padding: exact widths, and nothing lost on the way."""

from __future__ import annotations

from drawn import a_look, assert_exact, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style

from stormclaw.ui.render.lines import lay, place, prefix, spread, wrap, wrap_spans
from stormclaw.ui.render.look import centred
from stormclaw.ui.text import cells, inert

BOLD, PLAIN = Style(bold=True), Style()
WORDS = st.text(st.sampled_from("ab 漢字é\u0301.\n-"), max_size=120)


def wrapped(text: str, width: int) -> list[str]:
    return ["".join(piece for piece, _ in row.runs) for row in wrap([(text, PLAIN)], width)]


def test_breaks_at_spaces_and_swallows_them() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("one   two", 4) == ["one", "two"]


def test_a_word_too_long_is_cut() -> None:
    assert wrapped("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"]


def test_indentation_stays() -> None:
    assert wrapped("    deep thought", 12) == ["    deep", "thought"]
    assert [line.strip() for line in wrapped("        x", 4)] == ["", "x"]


def test_wide_characters_break_between_each_other() -> None:
    assert wrapped("漢字漢字", 5) == ["漢字", "漢字"]
    assert wrapped("ab 漢字漢字", 7) == ["ab 漢字", "漢字"]


def test_a_combining_mark_stays_with_its_letter() -> None:
    assert wrapped("abe\u0301cd", 3) == ["abe\u0301", "cd"]


@settings(deadline=None)
@given(WORDS, st.integers(2, 40), st.booleans())
def test_spans_give_back_the_text(text: str, width: int, words: bool) -> None:
    spans = wrap_spans(text, width, words=words)
    rebuilt = "".join(text[start:end] + joint for start, end, joint in spans)
    assert rebuilt == text + "\n"
    for start, end, joint in spans:
        assert cells(text[start:end]) <= width
        assert joint == "\n" or not joint.strip(" ")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=80), st.integers(1, 90))
def test_lines_are_exactly_as_wide_as_asked(raw: str, width: int) -> None:
    rows = wrap([(inert(raw), PLAIN), (inert(raw[::2]), BOLD)], max(1, width - 3))
    rows = prefix(rows, [("• ", BOLD)], [("  ", PLAIN)])
    assert_exact(lay(rows, width, [(" ", PLAIN)]), width)


def test_a_prefix_is_not_part_of_the_text() -> None:
    lines = lay(prefix(wrap([("one two", PLAIN)], 3), [("> ", PLAIN)], [("| ", PLAIN)]), 8)
    assert texts(lines) == ["> one", "| two"]
    assert [line.indent for line in lines] == [2, 2]
    assert [line.continues for line in lines] == [True, False]


def test_the_right_column_is_never_cut() -> None:
    row = spread([("a long left side", PLAIN)], [("r211", PLAIN)], 12)
    assert "".join(text for text, _ in row.runs) == "a long  r211"


def test_the_column_is_centred_and_at_most_95_wide() -> None:
    for width in range(10, 301):
        look = centred(a_look().palette, a_look().signs, width, short=False)
        assert look.measure <= 95
        assert look.left + look.measure <= look.width == width
        lines = place(
            lay(wrap([("x" * 200, PLAIN)], look.prose), look.measure), look.left, width, PLAIN
        )
        assert_exact(lines, width)
    wide = centred(a_look().palette, a_look().signs, 119, short=False)
    assert (wide.left, wide.measure) == (12, 95)
    usual = centred(a_look().palette, a_look().signs, 79, short=False)
    assert (usual.left, usual.measure) == (2, 75)

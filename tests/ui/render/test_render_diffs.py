"""Diffs: numbers, signs, changed words, and one column of numbers or two."""

from __future__ import annotations

from typing import Literal

from drawn import a_diff, a_look, assert_exact, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from stormclaw.protocol.display import Diff, DiffLine, Hunk
from stormclaw.ui.render.diffs import diff_height, diff_rows
from stormclaw.ui.render.lines import Line, lay

RETRY = Diff(
    "src/tide/retry.py",
    (
        Hunk(
            (
                DiffLine(" ", "class Client:", 38, 38),
                DiffLine("-", "    def __init__(self, base=0):", 39, None),
                DiffLine("+", "    def __init__(self, base=0.5, attempts=5):", None, 39),
                DiffLine(" ", "", 40, 40),
                DiffLine(" ", "    async def call(self, request):", 41, 41),
                DiffLine(" ", "        self.log()", 42, 42),
                DiffLine("-", "        for n in range(3):", 43, None),
                DiffLine("+", "        for n in range(self.attempts):", None, 43),
                DiffLine("+", "            raise RetryError(request, n)", None, 44),
            )
        ),
        Hunk((DiffLine("+", "end", None, 90),), skipped=45),
    ),
    4,
    2,
)


def drawn(
    diff: Diff, width: int = 73, columns: Literal[1, 2] = 1, context: int | None = None
) -> list[Line]:
    return lay(diff_rows(diff, a_look(), width, columns=columns, context=context), width)


def test_one_column_shows_the_number_that_matters() -> None:
    assert texts(drawn(RETRY)) == [
        "  38   class Client:",
        "  39 −     def __init__(self, base=0):",
        "  39 +     def __init__(self, base=0.5, attempts=5):",
        "  40",
        "  41       async def call(self, request):",
        "  42           self.log()",
        "  43 −         for n in range(3):",
        "  43 +         for n in range(self.attempts):",
        "  44 +             raise RetryError(request, n)",
        "   …   45 unchanged lines",
        "  90 + end",
    ]


def test_two_columns_as_in_the_sheet() -> None:
    assert texts(drawn(RETRY, 100, 2))[:3] == [
        "  38   38   class Client:",
        "  39      −     def __init__(self, base=0):",
        "       39 +     def __init__(self, base=0.5, attempts=5):",
    ]
    assert texts(drawn(RETRY, 100, 2))[-2] == "   …        45 unchanged lines"


def test_a_narrow_sheet_has_one_column() -> None:
    assert texts(drawn(RETRY, 60, 2)) == texts(drawn(RETRY, 60, 1))


def test_without_context_only_small_gaps_stay() -> None:
    assert texts(drawn(RETRY, context=0)) == [
        "  39 −     def __init__(self, base=0):",
        "  39 +     def __init__(self, base=0.5, attempts=5):",
        "   …   3 unchanged lines",
        "  43 −         for n in range(3):",
        "  43 +         for n in range(self.attempts):",
        "  44 +             raise RetryError(request, n)",
        "   …   45 unchanged lines",
        "  90 + end",
    ]


def marked(diff: Diff) -> list[str]:
    """What is highlighted as changed, line by line."""
    word = a_look().palette.added_word.bgcolor, a_look().palette.removed_word.bgcolor
    return [
        segment.text
        for line in drawn(diff)
        for segment in line.strip
        if segment.style is not None and segment.style.bgcolor in word
    ]


def test_changed_words_are_marked() -> None:
    assert marked(RETRY) == ["0", "0.5, attempts=5", "3", "self.attempts"]


def test_lines_with_little_in_common_are_not_marked() -> None:
    lines = (DiffLine("-", "alpha beta", 1, None), DiffLine("+", "gamma(delta)", None, 1))
    assert marked(Diff("x", (Hunk(lines),), 1, 1)) == []


def test_whole_lines_keep_their_ground_to_the_edge() -> None:
    ground = a_look().palette.added_ground.bgcolor
    line = drawn(RETRY)[2]
    assert all(
        segment.style is not None and segment.style.bgcolor is not None for segment in line.strip
    )
    assert next(reversed(line.strip)).style.bgcolor == ground  # type: ignore[union-attr]


def test_long_lines_wrap_under_themselves() -> None:
    diff = Diff("x", (Hunk((DiffLine("+", "y" * 30, None, 1),)),), 1, 0)
    lines = drawn(diff, 20)
    assert texts(lines) == ["   1 + " + "y" * 13, "       " + "y" * 13, "       " + "y" * 4]
    assert [line.joint for line in lines] == ["", "", "\n"]
    assert [line.indent for line in lines] == [7, 7, 7]


def test_what_was_cut_is_counted() -> None:
    diff = Diff("x", a_diff().hunks, 1, 1, cut=120)
    assert texts(drawn(diff))[-1] == "   …   120 more changed lines not shown"


def test_foreign_text_in_a_diff_is_inert() -> None:
    diff = Diff("x", (Hunk((DiffLine("+", "a\x1b[2Jb\u202e", None, 1),)),), 1, 0)
    assert texts(drawn(diff)) == ["   1 + a␛[2Jb\\u{202e}"]


LINES = st.builds(
    DiffLine,
    st.sampled_from([" ", "+", "-"]),
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(1, 10**6),
)
DIFFS = st.builds(
    Diff,
    st.just("x"),
    st.lists(
        st.builds(Hunk, st.lists(LINES, max_size=12).map(tuple), st.integers(0, 3)), max_size=3
    ).map(tuple),
    st.just(1),
    st.just(1),
)


@settings(deadline=None)
@given(DIFFS, st.integers(12, 140), st.sampled_from([1, 2]), st.none() | st.integers(0, 3))
def test_every_line_is_exactly_as_wide_as_asked(
    diff: Diff, width: int, columns: Literal[1, 2], context: int | None
) -> None:
    assert_exact(drawn(diff, width, columns, context), width)


@settings(deadline=None)
@given(DIFFS, st.none() | st.integers(0, 3))
def test_the_height_is_known_without_drawing(diff: Diff, context: int | None) -> None:
    assert diff_height(diff, context) == len(drawn(diff, 4000, context=context))

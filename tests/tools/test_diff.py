"""Diffs: right for every pair of texts, and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.protocol.display import Diff, DiffLine, Hunk
from stormclaw.tools._diff import MAX_CHANGED, NO_NEWLINE, changes_of, make_diff, recorded
from stormclaw.tools._text import split_lines


def drawn(diff: Diff) -> list[str]:
    """A diff as text, to compare at a glance."""
    rows = []
    for hunk in diff.hunks:
        rows.append(f"@ {hunk.skipped}")
        rows += [f"{line.old or ''}|{line.new or ''}|{line.sign}{line.text}" for line in hunk.lines]
    return rows


def test_one_change_with_its_context() -> None:
    before = "".join(f"{n}\n" for n in range(1, 11))
    diff = make_diff("f", before, before.replace("5\n", "five\nand a half\n"))
    assert drawn(diff) == [
        "@ 1",
        "2|2| 2",
        "3|3| 3",
        "4|4| 4",
        "5||-5",
        "|5|+five",
        "|6|+and a half",
        "6|7| 6",
        "7|8| 7",
        "8|9| 8",
    ]
    assert changes_of(diff) == "+2 −1"
    assert not diff.created


def test_changes_near_each_other_share_a_hunk() -> None:
    before = "".join(f"{n}\n" for n in range(1, 41))
    near = make_diff("f", before, before.replace("\n10\n", "\nx\n").replace("\n17\n", "\ny\n"))
    assert len(near.hunks) == 1
    far = make_diff("f", before, before.replace("\n10\n", "\nx\n").replace("\n18\n", "\ny\n"))
    assert [hunk.skipped for hunk in far.hunks] == [6, 1]


def test_new_and_emptied_files() -> None:
    new = make_diff("f", None, "a\nb\n")
    assert (drawn(new), new.created) == (["@ 0", "|1|+a", "|2|+b"], True)
    empty = make_diff("f", "a\n", "")
    assert (drawn(empty), empty.created) == (["@ 0", "1||-a"], False)
    assert make_diff("f", None, "").hunks == ()
    assert make_diff("f", "same", "same").hunks == ()


def test_a_missing_last_line_ending_is_remarked() -> None:
    assert drawn(make_diff("f", "a\nb", "a\nb\n")) == [
        "@ 0",
        "1|1| a",
        "2||-b",
        f"|| {NO_NEWLINE}",
        "|2|+b",
    ]
    assert make_diff("f", "a", "b").hunks == (
        Hunk(
            (
                DiffLine("-", "a", 1, None),
                DiffLine(" ", NO_NEWLINE, None, None),
                DiffLine("+", "b", None, 1),
                DiffLine(" ", NO_NEWLINE, None, None),
            )
        ),
    )


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_endings_are_not_shown(end: str) -> None:
    diff = make_diff("f", f"a{end}b{end}", f"a{end}c{end}")
    assert drawn(diff) == ["@ 0", "1|1| a", "2||-b", "|2|+c"]


def test_a_long_diff_is_whole_in_the_question_and_cut_with_a_count_in_the_record() -> None:
    whole = make_diff("f", None, "x\n" * 5000)
    assert (len(whole.hunks[0].lines), whole.cut) == (5000, 0)
    diff = recorded(whole)
    assert (diff.added, diff.cut) == (5000, 5000 - MAX_CHANGED)
    assert sum(len(hunk.lines) for hunk in diff.hunks) == MAX_CHANGED
    both = recorded(make_diff("f", "a\n" * 300, "b\n" * 300))
    assert (both.added, both.removed, both.cut) == (300, 300, 200)
    shown = [line.sign for hunk in both.hunks for line in hunk.lines]
    assert (shown.count("-"), shown.count("+")) == (300, 100)


def test_two_large_texts_without_anything_in_common() -> None:
    diff = make_diff("f", "a\n" * 30_000, "b\n" * 30_000)
    assert (diff.added, diff.removed) == (30_000, 30_000)


TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30).map("\n".join)


@given(TEXTS, TEXTS)
def test_a_diff_applied_to_the_old_text_is_the_new(before: str, after: str) -> None:
    diff = make_diff("f", before, after)
    old, new = split_lines(before).texts[:], split_lines(after).texts
    rebuilt: list[str] = []
    reached = 0
    for hunk in diff.hunks:
        rebuilt += old[reached : reached + hunk.skipped]
        reached += hunk.skipped
        for line in hunk.lines:
            if line.text == NO_NEWLINE:
                continue
            if line.old is not None:
                assert (old[line.old - 1], line.old) == (line.text, reached + 1)
                reached = line.old
            if line.new is not None:
                assert (new[line.new - 1], line.new) == (line.text, len(rebuilt) + 1)
                rebuilt.append(line.text)
    rebuilt += old[reached : split_lines(before).count]
    assert rebuilt == new[: split_lines(after).count]
    signs = [line.sign for hunk in diff.hunks for line in hunk.lines]
    assert (signs.count("+"), signs.count("-")) == (diff.added, diff.removed)

"""The tree in characters, and which lines fit what is looked for: no screen needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from stage import NOON
from turns import BLOCKED, CALM, CONFLICT, grown, leaf

from stormclaw.agent.history.values import Foreign, Leaf, Preview
from stormclaw.commands.back import turn_meant
from stormclaw.errors import UsageError
from stormclaw.ui.rows import width_of
from stormclaw.ui.session_words import last_used
from stormclaw.ui.signs import ASCII, UNICODE
from stormclaw.ui.text import DAY
from stormclaw.ui.tree_lines import MOST_LEVELS, stems
from stormclaw.ui.tree_pane import Paper, turn_rows


def drawn(leaves: tuple[Leaf, ...], *, goes_on: bool = True) -> list[str]:
    return [
        stem + one.id
        for one, stem in zip(leaves, stems(leaves, UNICODE, goes_on=goes_on), strict=True)
    ]


def test_branches_hang_under_the_turn_they_leave() -> None:
    assert drawn(grown()) == ["n1", "├ n2", "│ ├ n3", "│ n4", "n5", "n6"]


def test_the_last_branch_ends_its_line_where_nothing_follows() -> None:
    leaves = (leaf("a", 5), leaf("b", 4, "a", 1), leaf("c", 3, "b", 2), leaf("d", 2, "c", 2))
    assert drawn(leaves) == ["a", "├ b", "│ └ c", "│   d"]
    assert drawn(leaves, goes_on=False) == ["a", "└ b", "  └ c", "    d"]


def test_what_was_left_before_the_first_turn_stands_above_it() -> None:
    leaves = (leaf("old", 5, "", 1), leaf("older", 4, "old", 1), leaf("new", 3))
    assert drawn(leaves) == ["├ old", "│ older", "new"]


def test_deep_branches_leave_out_the_outer_lines() -> None:
    leaves = tuple(leaf(f"n{d}", 9 - d, f"n{d - 1}" if d else "", d) for d in range(9))
    widths = [len(stem) for stem in stems(leaves, UNICODE, goes_on=True)]
    assert max(widths) == 2 * MOST_LEVELS
    assert stems(leaves, ASCII, goes_on=True)[-1].startswith("| ")


@given(some.lists(some.integers(0, 4), max_size=40))
def test_every_stem_is_as_wide_as_its_depth(depths: list[int]) -> None:
    leaves = tuple(leaf(str(n), 1, str(n - 1) if n else "", d) for n, d in enumerate(depths))
    for one, stem in zip(leaves, stems(leaves, UNICODE, goes_on=True), strict=True):
        assert len(stem) == 2 * min(one.depth, MOST_LEVELS)


@pytest.mark.parametrize("preview", [None, CALM, CONFLICT, BLOCKED, Preview("n5", NOON, 0)])
@pytest.mark.parametrize("width", [12, 33, 60])
def test_no_row_of_the_pane_is_too_wide(preview: Preview | None, width: int) -> None:
    rows = turn_rows(grown()[4], preview, Paper(width, UNICODE, NOON), "●", "looking")
    assert rows
    assert all(width_of(row.runs) <= max(width, 33) for row in rows)


def test_a_file_somebody_removed_is_told_without_a_time() -> None:
    preview = Preview("n5", NOON, 1, foreign=(Foreign("gone.txt", 0.0), Foreign("b.txt", NOON)))
    words = [row.text for row in turn_rows(grown()[4], preview, Paper(60, UNICODE, NOON), "", "")]
    assert "· You removed gone.txt." in words
    assert "  They stay as they are." in words


@pytest.mark.parametrize(
    ("ago", "words"), [(20, "20s ago"), (2 * DAY + 7200, None), (40 * DAY, None), (0, "0s ago")]
)
def test_when_a_session_was_used(ago: float, words: str | None) -> None:
    found = last_used(NOON - ago, NOON)
    assert found == words if words else "ago" not in found


def test_a_turn_is_meant_by_number_label_or_the_beginning_of_its_id() -> None:
    leaves = grown()
    assert turn_meant(leaves, "5").id == "n5"
    assert turn_meant(leaves, "PINNED").id == "n3"
    assert turn_meant(leaves, "n4").id == "n4"
    for wanted in ("0", "7", "nope", "n"):
        with pytest.raises(UsageError, match=r"among 6; .* number from the top of /tree"):
            turn_meant(leaves, wanted)
    with pytest.raises(UsageError, match="nothing was said in this session yet"):
        turn_meant((), "3")

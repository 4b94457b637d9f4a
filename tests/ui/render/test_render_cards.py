"""Cards, turns and notes as they read, and what yields when there is no room."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from drawn import NOON, a_diff, a_look, assert_exact, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from stormclaw.protocol.display import Diff, Headline, Plain, Shell, Table
from stormclaw.ui.blocks import Card, Failure, Reads, Remark, Thought, Turn
from stormclaw.ui.render.cards import Moment, card_lines, is_open, reads_lines, thought_lines
from stormclaw.ui.render.lines import Line
from stormclaw.ui.render.turns import failure_lines, remark_lines, turn_lines
from stormclaw.ui.signs import ASCII
from stormclaw.ui.text import clock_time

NOW = Moment(100.0)
LONG_PATH = "services/billing/adapters/postgres/migrations/0042_add_retry_budget.py"


def a_card(verb: str = "read", name: str = "src/tide/retry.py", **more: Any) -> Card:
    kind = {"shell": "command", "http": "text", "agent": "text", "grep": "text"}.get(verb, "path")
    return Card("c1", Headline(verb, name, kind), **{"state": "done", **more})  # type: ignore[arg-type]


def shown(card: Card, measure: int = 75) -> list[str]:
    lines = card_lines(card, a_look(measure), NOW)
    assert_exact(lines, measure)
    return texts(lines)


def test_a_done_card_names_its_object_and_its_receipt() -> None:
    card = a_card(summary="84 lines", output="x", receipt=211)
    line = "✓ read   src/tide/retry.py  84 lines ▸"
    assert shown(card) == [line.ljust(71) + "r211"]


@pytest.mark.parametrize(
    ("card", "line"),
    [
        (a_card("edit", "src/tide/client.py", state="asks"), "? edit   src/tide/client.py  waits"),
        (a_card("shell", "pytest -q", state="running", started=36.0), "● shell  pytest -q"),
        (a_card("shell", "git push", state="denied", summary="denied by you: use a branch"),
         "■ shell  git push  denied by you: use a branch"),
        (a_card("http", "https://a.b/c", state="failed", summary="timed out", output="x"),
         "✗ http   https://a.b/c  timed out ▸"),
        (a_card("read", "x.py", state="waiting"), "○ read   x.py"),
        (a_card("shell", "make", state="interrupted", summary="stopped"), "■ shell  make  stopped"),
    ],
)  # fmt: skip
def test_states(card: Card, line: str) -> None:
    assert shown(card)[0].startswith(line)


def test_a_running_card_shows_its_time_and_its_dot() -> None:
    card = a_card("shell", "pytest -q", state="running", started=36.0)
    assert shown(card)[0].endswith("1m 04s")
    dots = {card_lines(card, a_look(), Moment(100, n))[0].strip.text[0] for n in range(4)}
    assert dots == {"∙", "•", "●"}


def test_a_child_says_what_it_does() -> None:
    card = a_card("agent", "fixer", state="running", started=20.0, activity="edit tests/test_x.py")
    assert shown(card)[0].startswith("● agent  fixer  edit tests/test_x.py")


def test_the_object_shortens_before_a_short_summary_goes() -> None:
    card = a_card("read", LONG_PATH, summary="210 lines", output="x", receipt=301)
    assert shown(card, 95)[0].startswith(
        "✓ read   services/billing/adapters/postgres/…/0042_add_retry_budget.py  210 lines ▸"
    )
    assert shown(card, 75)[0].startswith(
        "✓ read   services/billing/…/0042_add_retry_budget.py  210 lines ▸"
    )
    assert shown(card, 30)[0] == "✓ read   0042_add…t.py ▸  r301"


def test_a_long_summary_yields_to_the_object() -> None:
    words = "denied: rm is forbidden. It used pytest --cache-clear."
    card = a_card("shell", "rm -rf build", state="denied", summary=words, receipt=213)
    assert shown(card, 60)[0] == "■ shell  rm -rf build  denied: rm is forbidden. It us…  r213"


def test_wide_names_keep_the_right_edge() -> None:
    card = a_card("read", "docs/設計/再試行の方針.md", summary="38 lines", output="x", receipt=302)
    for measure in (75, 40, 25):
        line = card_lines(card, a_look(measure), NOW)[0]
        assert_exact([line], measure)
        assert line.strip.text.endswith("r302")


def test_a_small_edit_is_born_open_and_a_large_one_folded() -> None:
    small = a_card("edit", display=a_diff(2, 2), summary="+2 −2")
    assert len(shown(small)) == 5
    assert shown(small)[0].startswith("✓ edit   src/tide/retry.py  +2 −2 ▾")
    assert shown(small)[1] == "▏    4 −     old word 0"
    assert not is_open(a_card("edit", display=a_diff(13, 0)))
    assert is_open(a_card("edit", display=a_diff(12, 0)))


@pytest.mark.parametrize(
    ("card", "opened"),
    [
        (a_card("read", output="x"), False),
        (a_card("shell", output="x", state="running"), True),
        (a_card("shell", output="", state="running"), False),
        (a_card("shell", output="x"), False),
        (a_card("shell", output="x", fold_at=102.0), True),
        (a_card("shell", output="x", state="failed"), True),
        (a_card("shell", output="x", state="failed", hand=False), False),
        (a_card("shell", output="x", hand=True), True),
        (a_card("edit", output="no such text", state="failed"), True),
        (a_card("edit", display=a_diff(), state="running"), False),
        (a_card("grep", output="x", state="failed"), False),
        (a_card("edit", display=a_diff(), hand=False), False),
        (a_card("read", output="", hand=True), False),
    ],
)
def test_fold_rules(card: Card, opened: bool) -> None:
    assert is_open(card) is opened


def test_a_running_shell_shows_its_last_four_lines() -> None:
    card = a_card("shell", "make", state="running", output="\n".join(map(str, range(50))) + "\n")
    assert shown(card)[1:] == ["▏ 46", "▏ 47", "▏ 48", "▏ 49"]


def test_a_failed_shell_shows_its_last_eight_and_counts_the_rest() -> None:
    card = a_card("shell", "make", state="failed", output="\n".join(map(str, range(50))))
    assert shown(card)[1:4] == ["▏ … 42 lines above", "▏ 42", "▏ 43"]
    assert len(shown(card)) == 10
    opened = dataclasses.replace(card, hand=True)
    assert len(shown(opened)) == 51


def test_output_is_inert() -> None:
    card = a_card("shell", "make\x1b[2J", state="failed", output="\x1b[31mred\x1b[0m\n[bold]x[/]")
    assert shown(card) == [
        "✗ shell  make␛[2J ▾",
        "▏ ␛[31mred␛[0m",
        "▏ [bold]x[/]",
    ]


def test_displays() -> None:
    table = Table(("name", "count"), (("a", "1"), ("b", "2")))
    lines = shown(a_card("grep", "x", display=table, hand=True))
    assert [line.split() for line in lines[1:]] == [
        ["▏", "name", "count"],
        ["▏", "a", "1"],
        ["▏", "b", "2"],
    ]
    assert shown(a_card("read", display=Plain("a\n\nb"), hand=True))[1:] == ["▏ a", "▏", "▏ b"]
    shell = a_card("shell", display=Shell("make", ".", 9), output="out", hand=True)
    assert shown(shell)[1:] == ["▏ out"]


def test_five_reads_are_one_line() -> None:
    cards = [a_card("read", f"src/{name}.py", receipt=200 + n) for n, name in enumerate("abcde")]
    look = a_look(75)
    assert texts(reads_lines(Reads(cards), look, NOW)) == [
        "✓ read   5 files  a.py, b.py, c.py, d.py, e.py ▸".ljust(67) + "r200–204"
    ]
    opened = texts(reads_lines(Reads(cards, hand=True), look, NOW))
    assert opened[0].startswith("✓ read   5 files")
    assert opened[1] == "▏ ✓ read   src/a.py".ljust(71) + "r200"
    assert len(opened) == 6


def test_a_thought_is_one_muted_line() -> None:
    thought = Thought("word " * 400, 6.2)
    assert texts(thought_lines(thought, a_look(), NOW)) == ["  thought  6s, ~499 tokens ▸"]
    live = Thought("word", None, started=97.0)
    assert texts(thought_lines(live, a_look(), NOW)) == ["● thought  3s, ~1 tokens"]
    opened = thought_lines(Thought("why\n\nso", 1, hand=True), a_look(), NOW)
    assert texts(opened)[1:] == ["▏ why", "▏", "▏ so"]


def test_a_turn_stands_on_surface() -> None:
    lines = turn_lines(Turn("Back off\nwhen 429."), a_look(40))
    assert texts(lines) == ["▌ Back off", "▌ when 429."]
    assert all("on #182027" in str(segment.style) for line in lines for segment in line.strip)


def test_a_pasted_turn_is_cut_until_it_is_opened() -> None:
    turn = Turn("\n".join(map(str, range(100))))
    assert texts(turn_lines(turn, a_look(40)))[-1] == "▌ … 81 more lines ▸"
    turn.hand = True
    assert len(turn_lines(turn, a_look(40))) == 100


def test_a_steered_turn_says_so() -> None:
    line = texts(turn_lines(Turn("use a branch", steered=True), a_look(40)))[0]
    assert line == "▌ use a branch".ljust(33) + "steered"


def test_a_remark_has_its_time_at_the_right() -> None:
    lines = remark_lines(Remark("key 2 answers", NOON), a_look(40))
    assert texts(lines) == ["  key 2 answers".ljust(35) + clock_time(NOON)]
    assert texts(remark_lines(Remark("broken", NOON, error=True), a_look(40)))[0].startswith(
        "✗ broken"
    )
    wrapped = remark_lines(Remark("word " * 12, NOON), a_look(40))
    assert_exact(wrapped, 40)
    assert len(wrapped) == 2


def test_a_failure_says_what_stopped_what_was_kept_and_what_goes_on() -> None:
    failure = Failure(
        "The answer stopped half way", "No word for 60s. Kept: 214 tokens.", "timeout"
    )
    assert texts(failure_lines(failure, a_look(75))) == [
        "▌",
        "▌ ✗ The answer stopped half way".ljust(66) + "timeout",
        "▌   No word for 60s. Kept: 214 tokens.",
        "▌",
        "▌   enter go on from here   /model pick another",
        "▌",
    ]
    failure.last = False
    assert texts(failure_lines(failure, a_look(75, short=True))) == [
        "▌ ✗ The answer stopped half way".ljust(66) + "timeout",
        "▌   No word for 60s. Kept: 214 tokens.",
    ]
    assert "/connect" in " ".join(texts(failure_lines(Failure("No", "", "auth"), a_look())))


def test_ascii_twins() -> None:
    look = a_look(75, ASCII)
    card = a_card("edit", display=a_diff(1, 1), summary="+1 −1", output="x")
    failed = a_card("shell", "make", state="failed", output="\n".join(map(str, range(50))))
    for lines in (card_lines(card, look, NOW), card_lines(failed, look, NOW)):
        assert "".join(texts(lines)).isascii()
    assert texts(card_lines(card, look, NOW))[0].startswith("= edit   src/tide/retry.py  +1 -1 v")


ANY = st.text(st.characters(exclude_categories=()), max_size=60)


@settings(deadline=None)
@given(
    ANY, ANY, ANY, ANY, st.sampled_from(["path", "command", "text"]),
    st.sampled_from(["waiting", "asks", "running", "done", "failed", "denied", "interrupted"]),
    st.integers(4, 95), st.integers(0, 10**7), st.none() | st.booleans(),
)  # fmt: skip
def test_any_card_is_exactly_as_wide_as_asked(
    verb: str, name: str, summary: str, output: str, kind: Any, state: Any, measure: int,
    receipt: int, hand: bool | None,
) -> None:  # fmt: skip
    card = Card("c", Headline(verb, name, kind), state, summary, None, output, receipt, hand=hand)
    look = a_look(measure)
    drawn: list[list[Line]] = [
        card_lines(card, look, NOW),
        reads_lines(Reads([card] * 5, hand), look, NOW),
        thought_lines(Thought(output, 1.0, hand=hand), look, NOW),
        turn_lines(Turn(output, steered=True), look),
        remark_lines(Remark(summary, NOON), look),
        failure_lines(Failure(name, output, summary), look),
    ]
    for lines in drawn:
        assert_exact(lines, measure)


def test_a_created_file_and_an_empty_diff() -> None:
    empty = Diff("x", (), 0, 0, created=True)
    assert not is_open(a_card("write", display=empty))
    assert (
        shown(a_card("write", display=empty, summary="empty file"))[0]
        == "✓ write  src/tide/retry.py  empty file"
    )

"""Words and numbers of the screen, and foreign text that can do nothing to it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stormclaw.ui import text as words

DAY = 86_400


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("bell\x07", "bell^G"),
        ("nul\x00", "nul^@"),
        ("del\x7f", "del^?"),
        ("csi\x9b31m", "csi\\u{9b}31m"),
        ("page\x0cbreak", "page^Lbreak"),
        ("line\u2028sep\u2029", "line\\u{2028}sep\\u{2029}"),
        ("left\u202eright", "left\\u{202e}right"),
        ("iso\u2066late", "iso\\u{2066}late"),
        ("zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("lone\ud800", "lone\\u{d800}"),
        ("a\tb", "a   b"),
        ("crlf\r\nend", "crlf\nend"),
        ("bar 10%\rbar 20%", "bar 10%^Mbar 20%"),
        ("heart ❤️", "heart ❤"),
        ("[bold]no markup[/]", "[bold]no markup[/]"),
    ],
)
def test_foreign_text_only_shows(raw: str, shown: str) -> None:
    assert words.inert(raw) == shown


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_acts_is_left(raw: str) -> None:
    shown = words.inert(raw)
    shown.encode()  # lone surrogates cannot be written
    for character in shown:
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in ("RLO", "LRO", "RLE", "LRE", "RLI")
    assert words.inert(shown) == shown


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\r\n")), max_size=5))
def test_lines_are_made_inert_one_by_one(lines: list[str]) -> None:
    assert words.inert("\n".join(lines)) == "\n".join(map(words.inert, lines))


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (412, "412"),
        (6000, "6.0k"),
        (61_234, "61.2k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (200_000, "200k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_230_000, "1.2M"),
    ],
)
def test_tokens(count: int, shown: str) -> None:
    assert words.tokens(count) == shown


@pytest.mark.parametrize(
    ("usd", "estimated", "shown"),
    [
        (0.0, False, "$0.00"),
        (0.03, False, "$0.03"),
        (12.4, False, "$12.40"),
        (0.004, False, "<$0.01"),
        (0.02, True, "~$0.02"),
        (None, False, ""),
    ],
)
def test_money(usd: float | None, estimated: bool, shown: str) -> None:
    assert words.money(usd, estimated) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (12.9, "12s"), (80, "1m 20s"), (64, "1m 04s"), (7500, "2h 05m"), (-3, "0s")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert words.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(20, "20s ago"), (300, "5m ago"), (2 * 3600, "2h ago"), (4 * DAY, "4d ago")],
)
def test_ages(seconds: float, shown: str) -> None:
    assert words.age(seconds) == shown


def test_an_age_of_a_week_is_a_date_and_another_year_is_named() -> None:
    now = 1_794_484_800.0  # noon of 12 November 2026, UTC: the same day everywhere but Kiribati
    assert words.age(10 * DAY, now) in ("1 Nov", "2 Nov", "3 Nov")
    assert words.age(400 * DAY, now).endswith(" 2025")


def test_share() -> None:
    assert words.share(0.312) == "31%"


LONG = "services/billing/adapters/postgres/migrations/0042_add_retry_budget.py"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (70, LONG),
        (60, "services/billing/adapters/…/0042_add_retry_budget.py"),
        (45, "services/billing/…/0042_add_retry_budget.py"),
        (30, "…/0042_add_retry_budget.py"),
        (20, "0042_add_retr…get.py"),
    ],
)
def test_paths_lose_whole_folders_first_and_the_name_last(width: int, shown: str) -> None:
    assert words.shorten_path(LONG, width) == shown


def test_commands_keep_two_thirds_from_the_start() -> None:
    command = "docker compose -f deploy/compose.ci.yaml run --rm test pytest -q tests/integration"
    short = words.shorten_command(command, 40)
    assert short == "docker compose -f deploy/c…s/integration"
    assert words.shorten_command("a\nb", 10) == "a b"


@settings(deadline=None)
@given(st.text(), st.integers(0, 60))
def test_what_is_shortened_fits(raw: str, width: int) -> None:
    for short in (words.shorten_path, words.shorten_command):
        assert words.cells(short(raw, width)) <= max(width, 0)
    clean = words.one_line(raw)
    assert words.cells(words.fit(clean, width)) <= width
    assert words.cells(words.pad(clean, width)) == width


def test_wide_characters_count_twice() -> None:
    assert words.cells("設計") == 4
    assert words.fit("設計書", 5) == "設計…"
    assert words.pad("設", 3) == "設 "
    assert words.pad("設計", 3) == "設 "

"""Cleaning and keeping output, apart from any process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.tools._output import Captured, Keeper, Live, clean


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain\n", "plain\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[H\x1b[?25lx", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1bP1$r\x1b\\x", "x"),
        ("\x1b(Bx\x1b7\x1b=y", "xy"),
        ("\x9b31mx", "x"),
        ("10%\r20%\r30%\n", "30%\n"),
        ("done\r\nnext\r\n", "done\nnext\n"),
        ("old\rnew\r", "new"),
        ("B\x08Bo\x08ol\x08ld", "Bold"),
        ("\x08x", "x"),
        ("a\x00b\x07c\x7fd\x85e", "abcde"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b", ""),
        ("\x1b[31", ""),
    ],
)
def test_clean(raw: str, text: str) -> None:
    assert clean(raw) == text


@given(st.text())
def test_nothing_that_moves_a_cursor_gets_through(raw: str) -> None:
    text = clean(raw)
    assert not any(sign < " " and sign not in "\n\t" for sign in text)
    assert text.count("\n") == raw.count("\n")
    assert clean(text) == text


@given(st.binary(max_size=300), st.lists(st.integers(1, 20)))
async def test_how_it_is_cut_into_pieces_makes_no_difference(raw: bytes, cuts: list[int]) -> None:
    whole = Captured(10_000, lambda piece: None)
    whole.feed(raw)
    pieces = Captured(10_000, lambda piece: None)
    rest = raw
    for cut in cuts:
        pieces.feed(rest[:cut])
        rest = rest[cut:]
    pieces.feed(rest)
    assert pieces.finish() == whole.finish()


@given(st.lists(st.text("ab\n", max_size=40)), st.integers(3, 60))
def test_what_is_kept_is_the_start_and_the_end(pieces: list[str], room: int) -> None:
    keeper = Keeper(room)
    for piece in pieces:
        keeper.add(piece)
    text = "".join(pieces)
    if len(text) <= room:
        assert (keeper.text(), keeper.left_out) == (text, 0)
    else:
        assert keeper.left_out == len(text) - room
        head, tail = room // 3, room - room // 3
        gap = f"\n… {keeper.left_out:,} characters in the middle left out …\n"
        assert keeper.text() == text[:head] + gap + text[-tail:]
    assert keeper.lines == text.count("\n") + (text != "" and not text.endswith("\n"))


async def test_a_line_without_end_is_bounded() -> None:
    captured = Captured(3_000, lambda piece: None)
    for _ in range(200):
        captured.feed(b"x" * 65_536)
    text, lines, left_out = captured.finish()
    assert (len(text) < 3_100, lines, left_out) == (True, 1, 200 * 65_536 - 3_000)


async def test_a_split_character_is_put_together() -> None:
    captured = Captured(100, lambda piece: None)
    captured.feed("ä".encode()[:1])
    captured.feed("ä".encode()[1:] + b"\xc3")
    assert captured.finish()[0] == "ä\ufffd"


async def test_live_pieces_follow_one_another() -> None:
    seen: list[str] = []
    live = Live(seen.append)
    steps = [("", "50"), ("", "50%"), ("", "100%"), ("100% done\n", ""), ("a\nb\n", "c")]
    for whole, open_line in steps:
        live.add(whole, open_line)
        live.close()
    assert seen == ["50", "%", "\n100%", " done\n", "a\nb\nc"]


async def test_live_output_is_bounded() -> None:
    seen: list[str] = []
    live = Live(seen.append)
    for _ in range(100):
        live.add("x" * 1_000 + "\n", "")
    live.close()
    assert len(seen) == 1
    assert len(seen[0]) <= 4_001

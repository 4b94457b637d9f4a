"""The parts without a screen: sending, completion, history, pastes, rows, measures, keymap."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.protocol import messages
from stormclaw.ui.app import StormApp
from stormclaw.ui.complete import Finder, Wanted, contains, positions, wanted
from stormclaw.ui.driver import SYNC_END, SYNC_START, InputFilter
from stormclaw.ui.history import History
from stormclaw.ui.keymap import HEADINGS, HINTS, KEYS, bindings, shown
from stormclaw.ui.measures import column, panel_width, sheet_box
from stormclaw.ui.pastes import Pastes
from stormclaw.ui.rows import Run, clip, spread, width_of, wrap
from stormclaw.ui.screens.context import ContextScreen
from stormclaw.ui.screens.context_reading import ReadingPage
from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.screens.model import ModelScreen
from stormclaw.ui.screens.sessions import SessionsScreen
from stormclaw.ui.screens.zoom import ZoomScreen
from stormclaw.ui.sending import Goodbye, Silence, Slash, Words, read
from stormclaw.ui.start import ROOT
from stormclaw.ui.text import cells
from stormclaw.ui.widgets.composer import Composer
from stormclaw.ui.widgets.find_bar import FindBar
from stormclaw.ui.widgets.panel import Panel
from stormclaw.ui.widgets.picker import Picker
from stormclaw.ui.widgets.policies import Policies
from stormclaw.ui.widgets.sheet_view import SheetView
from stormclaw.ui.widgets.transcript import Transcript


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", Silence()),
        ("  \n ", Silence()),
        ("exit", Goodbye()),
        (" QUIT ", Goodbye()),
        (":q", Goodbye()),
        ("exit the loop", Words("exit the loop")),
        ("/help", Slash("/help")),
        ("/resume abc", Slash("/resume abc")),
        ("/etc/hosts is odd", Words("/etc/hosts is odd")),
        ("/", Words("/")),
        ("/help\nand more", Words("/help\nand more")),
        ("!ls", Words("!ls")),
        ("\n hi\n", Words(" hi")),
    ],
)
def test_sending(typed: str, meant: object) -> None:
    assert read(typed) == meant


@pytest.mark.parametrize(
    ("before", "row", "found"),
    [
        ("/he", 0, Wanted("command", 0, "he")),
        ("/", 0, Wanted("command", 0, "")),
        ("/help x", 0, None),
        ("/he", 1, None),
        ("see @src/a", 0, Wanted("file", 4, "src/a")),
        ("@", 3, Wanted("file", 0, "")),
        ("mail me@home", 0, None),
        ("see @src/a b", 0, None),
    ],
)
def test_what_is_wanted(before: str, row: int, found: Wanted | None) -> None:
    assert wanted(before, row) == found


FILES = ["src/tide/retry.py", "tests/test_retry.py", "docs/retries.md", "README.md", "src/ret/x.py"]


def test_the_name_counts_more_than_the_folder() -> None:
    found = [match.text for match in Finder(FILES).find("ret")]
    assert found[:2] == ["docs/retries.md", "src/tide/retry.py"]
    assert found[-1] == "src/ret/x.py"


def test_scattered_letters_fit_and_are_marked() -> None:
    (match,) = Finder(FILES).find("stdrtr")
    assert match.text == "src/tide/retry.py"
    assert "".join(match.text[at] for at in match.positions) == "stdrtr"


def test_a_longer_query_gives_what_a_fresh_search_gives() -> None:
    grown = Finder(FILES)
    for query in ("r", "re", "ret", "retr"):
        assert grown.find(query) == Finder(FILES).find(query)
    assert grown.find("re") == Finder(FILES).find("re")
    assert [match.text for match in grown.find("")] == FILES


@given(st.text(), st.text(min_size=1, max_size=4))
def test_positions_are_of_the_text_and_in_order(text: str, query: str) -> None:
    found = positions(text, query)
    assert list(found) == sorted(set(found))
    assert all(0 <= at < len(text) for at in found)


def test_history_search_is_newest_first_and_in_one_piece() -> None:
    found = contains(["run tests", "read x", "run make"], "RUN")
    assert [match.text for match in found] == ["run tests", "run make"]
    assert contains(["a"], "zz") == []


def test_history_reads_what_it_wrote_and_skips_what_is_broken(tmp_path: Path) -> None:
    past = History(tmp_path / "deep" / "h.jsonl")
    for text in ("one", "zwei\nlines", "one"):
        assert past.remember(text)
        past.write(text)
    assert not past.remember("one")
    assert not past.remember("  ")
    with (tmp_path / "deep" / "h.jsonl").open("a") as file:
        file.write('{"not": "text"}\nbroken\n"last"\n')
    again = History(tmp_path / "deep" / "h.jsonl")
    again.load()
    assert again.newest_first() == ["last", "one", "zwei\nlines"]
    History(tmp_path / "none.jsonl").load()


def test_what_was_typed_while_the_history_loaded_stays_newest(tmp_path: Path) -> None:
    past = History(tmp_path / "h.jsonl")
    past.write("old")
    past.remember("new")
    past.load()
    assert past.older("draft") == "new"
    assert past.older("draft") == "old"
    assert past.older("draft") is None
    assert (past.newer(), past.newer(), past.newer()) == ("new", "draft", None)


def test_workspaces_have_histories_of_their_own(tmp_path: Path) -> None:
    one, other = (History.of(tmp_path, Path(name)) for name in ("/a", "/b"))
    one.write("x")
    other.load()
    assert other.newest_first() == []


@pytest.mark.parametrize(("lines", "folded"), [(15, False), (16, True)])
def test_pastes_over_fifteen_lines_are_folded(lines: int, folded: bool) -> None:
    text = "\n".join("x" * 3 for _ in range(lines))
    pastes = Pastes()
    word = pastes.take(text)
    assert (word == f"[paste 1, {lines} lines]") is folded
    assert pastes.expand(f"a {word} b") == f"a {text} b"


def test_two_pastes_do_not_mix() -> None:
    pastes = Pastes()
    first, second = pastes.take("a\n" * 20), pastes.take("b\n" * 20)
    assert pastes.expand(first + second) == "a\n" * 20 + "b\n" * 20


@given(st.text(max_size=60), st.integers(1, 30))
def test_wrapped_lines_fit_and_lose_only_spaces(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cells(line) <= max(width, 2) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.lists(st.text(max_size=12), max_size=4), st.integers(0, 40))
def test_clipped_runs_fit(texts: list[str], width: int) -> None:
    assert width_of(clip([Run(text) for text in texts], width)) <= width


def test_the_left_text_gives_way_to_the_right() -> None:
    row = spread((Run("a long left text"),), (Run("right"),), 14)
    assert row.text == "a lon…   right" or row.text.endswith("  right")
    assert cells(row.text) == 14


@pytest.mark.parametrize(
    ("width", "panel", "left", "measure"),
    [(60, False, 2, 55), (80, False, 2, 75), (120, True, 2, 75), (120, False, 12, 95),
     (200, True, 28, 95), (300, True, 78, 95)],
)  # fmt: skip
def test_the_column_stands_where_the_design_draws_it(
    width: int, panel: bool, left: int, measure: int
) -> None:
    place = column(width, panel=panel)
    assert (place.left, place.measure) == (left, measure)
    assert place.left + place.measure + place.right == width - panel_width(width) * panel


def test_a_sheet_leaves_header_chat_and_footer() -> None:
    box = sheet_box(80, 24, 40, full=False)
    assert (box.x, box.y, box.width, box.height) == (2, 4, 76, 19)
    assert sheet_box(80, 24, 40, full=True).height == 22
    assert sheet_box(200, 50, 10, full=False).width == 140


def test_every_key_has_a_place_an_action_and_a_heading() -> None:
    for key in KEYS:
        assert key.place in HEADINGS
        assert bindings(key.place)
        assert key.action


OWNERS: dict[str, tuple[type, ...]] = {
    "everywhere": (StormApp,),
    "chat": (MainScreen, ZoomScreen),
    "composer": (Composer,),
    "popup": (Composer,),
    "transcript": (Transcript,),
    "find": (FindBar,),
    "sheet": (SheetView,),
    "panel": (Panel,),
    "zoom": (ZoomScreen,),
    "list": (Picker,),
    "context": (ContextScreen,),
    "policies": (Policies,),
    "reading": (ReadingPage,),
    "tree": (SessionsScreen,),
    "models": (ModelScreen,),
}


def test_every_key_does_something() -> None:
    for key in KEYS:
        owners = OWNERS[key.place]
        action = key.action.partition("(")[0]
        if action.startswith("screen."):
            owners, action = OWNERS["chat"], action.removeprefix("screen.")
        for owner in owners:
            assert callable(getattr(owner, f"action_{action}", None)), (key, owner)


def test_the_name_of_root_is_the_protocols() -> None:
    assert ROOT == messages.ROOT


def test_every_hint_names_a_key_of_the_table() -> None:
    known = {shown(key) for key in KEYS} | {name for key in KEYS for name in key.keys.split(",")}
    known |= {"/", "@", "esc", "pgdn", "[ ]", "↑ ↓", "/estop clear"}
    for pairs in HINTS.values():
        for key, _ in pairs:
            assert key in known, key


def test_broken_mouse_reports_never_arrive() -> None:
    clean = InputFilter().clean
    assert clean("a\x1b[<32;NaN;NaNMb") == "ab"
    assert clean("\x1b[<0;12;5Mx") == "\x1b[<0;12;5Mx"
    assert clean("\x1b[<0;-1;5m") == "\x1b[<0;-1;5m"
    assert clean("plain\x1b[A") == "plain\x1b[A"


def test_a_report_cut_in_two_is_put_together_or_let_go() -> None:
    cleaner = InputFilter()
    assert cleaner.clean("x\x1b[<32;Na") == "x"
    assert cleaner.clean("N;NaNMy") == "y"
    assert cleaner.clean("\x1b[<0;1") == ""
    assert cleaner.rest() == "\x1b[<0;1"
    assert cleaner.rest() == ""
    assert cleaner.clean("\x1b") == "\x1b"


def test_alt_enter_is_told_apart_from_enter() -> None:
    assert InputFilter().clean("\x1b\r") == "\x1b[13;3u"


def test_marks_of_a_frame_are_textuals() -> None:
    import textual.app

    marks = (getattr(textual.app, name) for name in ("SYNC_START", "SYNC_END"))
    assert tuple(marks) == (SYNC_START, SYNC_END)

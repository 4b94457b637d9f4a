"""Every key of the composer, pressed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage, StageSession
from textual import events
from textual.pilot import Pilot

from stormclaw.ui.widgets.composer import Composer

Stages = Callable[..., Stage]
SIZE = (100, 30)


def composer(stage: Stage) -> Composer:
    return stage.storm.main.composer


async def paste(pilot: Pilot[Any], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


async def test_enter_sends_and_empties(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"hi there", "enter")
        await pilot.pause()
        assert there.session.said == ["hi there"]
        assert composer(there).text == ""


async def test_what_is_typed_before_the_session_is_there_waits_and_is_sent(stage: Stages) -> None:
    import asyncio

    there = stage(gate=asyncio.Event())
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press(*"first", "enter", *"second", "enter")
        await there.until(pilot, lambda: app.queued == ("first", "second"))
        await there.until(pilot, lambda: app.main.furnished)
        await pilot.press("up")
        await pilot.pause()
        assert composer(there).text == "second"
        assert app.queued == ("first",)
        assert there.gate is not None
        there.gate.set()
        await there.ready(pilot)
        assert there.session.said == ["first"]
        assert composer(there).text == "second"


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter"])
async def test_newline(stage: Stages, key: str) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a", key, "b")
        assert composer(there).text == "a\nb"
        assert there.session.said == []


async def test_backslash_enter_is_a_newline(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a", "backslash", "enter", "b")
        assert composer(there).text == "a\nb"


async def test_it_grows_to_ten_rows_and_no_further(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        assert composer(there).outer_size.height == 1
        await pilot.press("a", "ctrl+j", "b", "ctrl+j", "c")
        await pilot.pause()
        assert composer(there).outer_size.height == 3
        composer(there).put("\n".join("x" * 30))
        await pilot.pause()
        assert composer(there).outer_size.height == 10


async def test_history_goes_back_forth_and_to_the_draft(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"one", "enter", *"two", "enter", *"dra")
        await pilot.press("up")
        assert composer(there).text == "two"
        await pilot.press("up")
        assert composer(there).text == "one"
        await pilot.press("up")
        assert composer(there).text == "one"
        await pilot.press("down")
        assert composer(there).text == "two"
        await pilot.press("down")
        assert composer(there).text == "dra"


async def test_history_is_kept_in_a_private_file_per_workspace(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"keep me", "enter")
        await there.until(pilot, lambda: list((there.home / "history").glob("*.jsonl")))
        (file,) = (there.home / "history").glob("*.jsonl")
        await there.until(pilot, lambda: file.read_text())
    assert json.loads(file.read_text()) == "keep me"
    assert file.stat().st_mode & 0o077 == 0
    again = stage()
    async with again.app().run_test(size=SIZE) as pilot:
        await again.ready(pilot)
        await pilot.press("up")
        assert composer(again).text == "keep me"


async def test_up_takes_the_queued_back_before_history(stage: Stages) -> None:
    session = StageSession()
    session.busy, session.waiting = True, ["older", "newest"]
    there = stage(session=session)
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("up")
        assert composer(there).text == "newest"
        assert session.waiting == ["older"]


async def test_up_in_the_middle_of_a_text_moves_the_cursor(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("x", "enter", "a", "ctrl+j", "b", "up")
        assert composer(there).text == "a\nb"
        assert composer(there).cursor_location[0] == 0


async def test_reverse_search_filters_takes_and_gives_the_draft_back(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"run make", "enter", *"read x", "enter", *"run tests", "enter")
        await pilot.press("r", "u", "ctrl+r")
        await pilot.pause()
        assert [match.text for match in app.main.popup.matches] == ["run tests", "run make"]
        await pilot.press("ctrl+r")
        picked = app.main.popup.picked
        assert picked is not None
        assert picked.text == "run make"
        await pilot.press("enter")
        await pilot.pause()
        assert composer(there).text == "run make"
        assert there.session.said == ["run make", "read x", "run tests"]
        composer(there).put("draft")
        await pilot.press("ctrl+r", "escape")
        await pilot.pause()
        assert composer(there).text == "draft"
        assert not app.main.popup.display


async def test_commands_complete_and_are_sent_with_one_enter(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/hel")
        await pilot.pause()
        assert app.main.popup.display
        assert app.main.popup.matches[0].text == "help"
        await pilot.press("enter")
        await there.until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")


async def test_a_misspelt_command_is_put_right_and_not_run(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/hlp", "enter")
        await pilot.pause()
        assert composer(there).text == "/help"
        await pilot.press("enter")
        await there.until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")


async def test_keys_that_come_at_once_are_sent_as_typed(stage: Stages) -> None:
    """Enter in the same read as the word: what is offered is a few letters behind."""
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/re")
        await pilot.pause()
        assert there.storm.main.popup.matches[0].text != "receipts"
        for key in (*"ceipts", "enter"):
            character = key if len(key) == 1 else None
            there.storm.main.composer.post_message(events.Key(key, character))
        await pilot.pause()
        assert composer(there).text == ""
        assert type(there.storm.screen).__name__ == "ReceiptsScreen"


async def test_a_command_that_wants_words_is_completed_with_a_space(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"/resu", "tab")
        await pilot.pause()
        assert composer(there).text == "/resume "


async def test_files_complete_with_matched_letters_and_the_newest_list(stage: Stages) -> None:
    there = stage()
    (there.workspace / "src").mkdir()
    (there.workspace / "src" / "retry.py").write_text("x")
    (there.workspace / "docs.md").write_text("x")
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"see @rtr")
        await there.until(pilot, lambda: app.main.popup.display)
        (match,) = app.main.popup.matches
        assert match.text == "src/retry.py"
        assert "".join(match.text[at] for at in match.positions) == "rtr"
        await pilot.press("tab")
        await pilot.pause()
        assert composer(there).text == "see @src/retry.py "
        assert not app.main.popup.display


async def test_the_popup_lies_directly_above_the_composer_with_six_rows_at_most(
    stage: Stages,
) -> None:
    there = stage()
    for number in range(9):
        (there.workspace / f"file{number}.txt").write_text("x")
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        before = app.main.transcript.size if app.main.transcript else None
        await pilot.press("@")
        await there.until(pilot, lambda: app.main.popup.display)
        await pilot.pause()
        popup = app.main.popup.region
        assert popup.height == 6
        assert popup.bottom == composer(there).region.y
        assert popup.width == composer(there).region.width
        assert app.main.transcript is not None
        assert app.main.transcript.size == before
        await pilot.press("escape")
        await pilot.pause()
        assert not app.main.popup.display
        await pilot.press("x")
        await pilot.pause()
        assert not app.main.popup.display


async def test_long_pastes_are_folded_and_sent_in_full(stage: Stages) -> None:
    there = stage()
    long = "\n".join(f"line {n}" for n in range(24))
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"see ")
        await paste(pilot, long)
        assert composer(there).text == "see [paste 1, 24 lines]"
        await pilot.press("enter")
        await pilot.pause()
        assert there.session.said == [f"see {long}"]


async def test_a_folded_paste_is_deleted_as_one(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a")
        await paste(pilot, "x\n" * 20)
        await pilot.press("backspace")
        assert composer(there).text == "a"


async def test_a_short_paste_stays_and_brings_no_control_characters(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await paste(pilot, "a\r\nb\x1b[31m\x07c\x1b[<32;NaN;NaNM")
        assert composer(there).text == "a\nbc"


@pytest.mark.parametrize(
    ("keys", "text", "column"),
    [
        (["ctrl+a"], "one two three", 0),
        (["home"], "one two three", 0),
        (["ctrl+a", "ctrl+e"], "one two three", 13),
        (["ctrl+b"], "one two three", 12),
        (["ctrl+a", "ctrl+f"], "one two three", 1),
        (["alt+b"], "one two three", 8),
        (["ctrl+a", "alt+f"], "one two three", 3),
        (["ctrl+a", "ctrl+k"], "", 0),
        (["ctrl+u"], "", 0),
        (["ctrl+w"], "one two ", 8),
        (["ctrl+a", "alt+d"], " two three", 0),
        (["ctrl+w", "ctrl+y"], "one two three", 13),
        (["ctrl+w", "ctrl+y", "ctrl+y"], "one two threethree", 18),
        (["ctrl+a", "ctrl+k", "ctrl+y"], "one two three", 13),
        (["ctrl+w", "ctrl+underscore"], "one two three", None),
        (["ctrl+a", "ctrl+d"], "ne two three", 0),
    ],
)
async def test_readline(stage: Stages, keys: list[str], text: str, column: int | None) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"one two three", *keys)
        assert composer(there).text == text
        if column is not None:
            assert composer(there).cursor_location == (0, column)


async def test_question_mark_on_empty_is_help_and_types_otherwise(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a", "?")
        assert composer(there).text == "a?"
        await pilot.press("backspace", "backspace", "?")
        await there.until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        assert composer(there).text == ""


async def test_editor_gets_the_draft_and_its_absence_is_said(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a", "ctrl+g")
        await pilot.pause()
        assert "editor" in app.main.footer.costs.said
        assert composer(there).text == "a"


@pytest.mark.parametrize("word", ["exit", "quit", ":q"])
async def test_bare_goodbyes_leave(stage: Stages, word: str) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*word, "enter")
        await pilot.pause()
    assert app.return_code == 0
    assert there.session.said == []
    assert there.runtime.closed


async def test_ctrl_d_on_empty_leaves(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("ctrl+d")
        await pilot.pause()
    assert there.runtime.closed


async def test_shell_and_paths_are_words_for_the_session(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"!ls -la", "enter", *"/etc/hosts is odd", "enter")
        await pilot.pause()
        assert there.session.said == ["!ls -la", "/etc/hosts is odd"]

"""The approval sheet: every key, the dead time, the words, and what it never lets happen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage
from textual.pilot import Pilot
from tidepool import FIXER, ask_edit, ask_shell, ask_words

from stormclaw.protocol.asks import Ask, Reply
from stormclaw.protocol.events import Answered, Asked
from stormclaw.ui.widgets.sheet import Sheet

Stages = Callable[..., Stage]
SIZE = (100, 34)


def sheet(stage: Stage) -> Sheet:
    found = stage.storm.main.sheet
    assert found is not None
    return found


async def ask(stage: Stage, pilot: Pilot[Any], *asks: Ask, wait: float = 5.0) -> None:
    """Ask, see the sheet, let the dead time pass."""
    await stage.ready(pilot)
    stage.emit(*(Asked(asked.agent, asked) for asked in asks))
    await stage.until(pilot, lambda: sheet(stage).display)
    await pilot.pause()
    stage.clock.go(wait)
    sheet(stage).view.wake()
    await pilot.pause()


def text(stage: Stage) -> str:
    view = sheet(stage).view
    return "\n".join(strip.text.rstrip() for strip in view._all())


@pytest.mark.parametrize(
    ("keys", "reply"),
    [
        (["y"], Reply("once")),
        (["s"], Reply("session")),
        (["a"], Reply("always")),
        (["n", "enter"], Reply("deny")),
        (["n", *"use a branch", "enter"], Reply("deny", "use a branch")),
        (["n", *"half", "escape"], Reply("deny")),
        (["enter"], Reply("deny")),
        (["escape"], Reply("deny")),
    ],
)
async def test_answers(stage: Stages, keys: list[str], reply: Reply) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit())
        await pilot.press(*keys)
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-1", reply)]
        await there.until(pilot, lambda: not sheet(there).display)
        assert there.storm.main.composer.has_focus


@pytest.mark.parametrize("key", ["y", "s", "a", "n", "enter", "escape", "e", "question_mark"])
async def test_keys_are_dead_for_half_a_second(stage: Stages, key: str) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit(), wait=0.4)
        await pilot.press(key)
        await pilot.pause()
        assert there.session.replies == []
        assert sheet(there).view.mode == "body"
        there.clock.go(0.2)
        await pilot.press("y")
        await there.until(pilot, lambda: there.session.replies)


async def test_keys_are_muted_while_dead_and_bright_after(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit(), wait=0.0)
        muted = sheet(there).view._all()[-1]
        there.clock.go(1)
        sheet(there).view.wake()
        assert sheet(there).view._all()[-1].text == muted.text
        assert sheet(there).view._all()[-1] != muted


async def test_a_sheet_under_typing_fingers_answers_nothing_and_keeps_the_letters(
    stage: Stages,
) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"sa")
        there.emit(Asked(FIXER, ask_edit()))
        await there.until(pilot, lambda: sheet(there).display)
        there.clock.go(0.7)
        await pilot.press("y")
        there.clock.go(0.9)
        await pilot.press("s")
        await pilot.pause()
        assert there.session.replies == []
        assert there.storm.main.composer.text == "says"
        there.clock.go(1.1)
        await pilot.press("y")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-1", Reply("once"))]
        assert there.storm.main.composer.text == "says"


async def test_the_draft_is_kept(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"draft")
        there.clock.go(3)
        await ask(there, pilot, ask_edit())
        await pilot.press("y")
        await there.until(pilot, lambda: not sheet(there).display)
        assert there.storm.main.composer.text == "draft"


async def test_who_what_why_and_keys_are_there(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit(), ask_words("ask-3", "a", "b"))
        shown = text(there)
        assert "? fixer wants to edit src/tide/retry.py" in shown
        assert "◆ medium risk" in shown
        assert "hunk 1 of 2    +4 −3" in shown
        assert "1 of 2 questions" in shown
        assert "why   Edits a file in the workspace. Rule: supervised asks at medium." in shown
        assert "y once   s session   a always in src/tide   n deny" in shown
        assert "e edit   ? why   f full" in shown


async def test_one_at_a_time_and_tab_goes_to_the_next(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit(), ask_shell())
        await pilot.press("tab")
        await pilot.pause()
        assert "? root wants to run a command" in text(there)
        assert "2 of 2 questions" in text(there)
        await pilot.press("s")
        await pilot.pause()
        assert there.session.replies == []  # another question: dead again
        there.clock.go(1)
        await pilot.press("s")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-2", Reply("session"))]
        await there.until(pilot, lambda: "fixer wants" in text(there))


async def test_held_by_the_allowlist_has_no_once(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_shell())
        shown = text(there)
        assert "s allow it this session   a in this project   n deny" in shown
        assert "y once" not in shown
        await pilot.press("y")
        await pilot.pause()
        assert there.session.replies == []
        await pilot.press("a")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-2", Reply("always"))]


async def test_the_whole_command_and_a_row_for_each_part(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(60, 34)) as pilot:
        await ask(there, pilot, ask_shell())
        shown = text(there)
        joined = " ".join(shown.split())
        assert "cd api && uv sync --frozen && pytest -q | tee ../out.log &&" in joined
        assert "terraform plan -out=tf.plan" in joined
        assert "in tidepool/  up to 2m, sandbox: landlock" in shown
        assert "5 ▲ terraform plan" in shown
        assert "1 ✓ cd api" in shown
        assert "…" not in shown


async def test_edit_changes_the_argument_and_is_judged_again(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_shell())
        await pilot.press("e")
        await there.until(pilot, lambda: sheet(there).entry.has_focus)
        assert sheet(there).entry.text == json.loads(ask_shell().call.arguments)["command"]
        sheet(there).entry.load_text("pytest")
        sheet(there).entry.move_cursor(sheet(there).entry.document.end)
        await pilot.press(*" -x", "enter")
        await there.until(pilot, lambda: there.session.replies)
        ((_, reply),) = there.session.replies
        assert reply.choice == "once"
        assert json.loads(reply.arguments or "") == {"command": "pytest -x"}


async def test_esc_in_the_editor_changes_nothing(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit())
        await pilot.press("e")
        await there.until(pilot, lambda: sheet(there).entry.has_focus)
        await pilot.press("x", "escape")
        await there.until(pilot, lambda: sheet(there).view.has_focus)
        assert there.session.replies == []
        assert not sheet(there).entry.display


async def test_why_shows_the_trace_in_place(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_shell())
        await pilot.press("question_mark")
        await pilot.pause()
        assert "parsed into 5 parts" in text(there)
        assert "would add  command terraform plan" in text(there)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "$ cd api" in text(there)


async def test_full_screen_hunks_and_pages(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=(100, 16)) as pilot:
        await ask(there, pilot, ask_edit())
        small = sheet(there).region.height
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert "hunk 2 of 2" in text(there)
        await pilot.press("left_square_bracket")
        await pilot.pause()
        assert "hunk 1 of 2" in text(there)
        top = text(there)
        await pilot.press("pagedown")
        await pilot.pause()
        assert text(there) != top
        await pilot.press("pageup")
        await pilot.pause()
        assert text(there) == top
        await pilot.press("f")
        await pilot.pause()
        assert sheet(there).region.height > small
        assert sheet(there).region.bottom == 15


async def test_options_are_picked_by_cursor_and_by_number(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_words("ask-3", "the client", "the watcher", "both"))
        await pilot.press("down", "enter")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-3", Reply("text", "the watcher"))]
        await ask(there, pilot, ask_words("ask-4", "x", "y", "z"))
        await pilot.press("3", "enter")
        await there.until(pilot, lambda: len(there.session.replies) == 2)
        assert there.session.replies[1] == ("ask-4", Reply("text", "z"))


async def test_a_question_without_options_opens_a_line(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_words())
        await there.until(pilot, lambda: sheet(there).entry.has_focus)
        await pilot.press(*"the client", "enter")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-3", Reply("text", "the client"))]


async def test_esc_leaves_a_question_unanswered(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_words("ask-3", "a", "b"))
        await pilot.press("escape")
        await there.until(pilot, lambda: there.session.replies)
        assert there.session.replies == [("ask-3", Reply("deny"))]


async def test_answered_elsewhere_the_sheet_goes(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit())
        there.emit(Answered(FIXER, "ask-1", Reply("deny")))
        await there.until(pilot, lambda: not sheet(there).display)


async def test_autonomy_cannot_be_changed_under_a_question(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await ask(there, pilot, ask_edit())
        await pilot.press("shift+tab")
        await pilot.pause()
        assert there.runtime.autonomy == "supervised"


async def test_the_bell_rings_once_when_nobody_looks(stage: Stages) -> None:
    there = stage()
    app = there.app()
    rung: list[int] = []
    app.bell = lambda: rung.append(1)  # type: ignore[method-assign]
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(Asked(FIXER, ask_edit()))
        await there.until(pilot, lambda: sheet(there).display)
        assert rung == []
        there.session.answer("ask-1", Reply("deny"))
        await there.until(pilot, lambda: not sheet(there).display)
        app.app_focus = False
        there.emit(Asked(FIXER, ask_edit("ask-9")))
        await there.until(pilot, lambda: sheet(there).display)
        assert rung == [1]


async def test_on_another_screen_the_footer_says_who_asks(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("f1")
        await pilot.pause()
        there.emit(Asked(FIXER, ask_edit()))
        footer: Any = app.screen
        await there.until(pilot, lambda: footer.footer.costs.asking == "fixer")
        await pilot.press("escape")
        await there.until(pilot, lambda: sheet(there).display)
        assert sheet(there).view.has_focus

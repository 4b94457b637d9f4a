"""Keys of the chat: stopping, steering, quitting, agents and their own chats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage, StageSession
from textual.pilot import Pilot
from tidepool import FIXER, SCOUT, ask_edit, ask_words, node, running, stored

from stormclaw.config.settings import Settings, UiSettings
from stormclaw.protocol.events import (
    Asked,
    ChildEnded,
    ChildStarted,
    Notice,
    TurnEnded,
    TurnStarted,
)
from stormclaw.protocol.messages import ROOT, Usage, UserText
from stormclaw.ui.screens.confirm import Confirm
from stormclaw.ui.screens.main import GO_ON, MainScreen
from stormclaw.ui.screens.zoom import ZoomScreen

Stages = Callable[..., Stage]
SIZE = (120, 36)


def busy(stages: Stages, **options: Any) -> Stage:
    session = StageSession({ROOT: stored()})
    session.busy, session.title = True, "back off on 429"
    return stages(session=session, **options)


async def at_work(stage: Stage, pilot: Pilot[Any]) -> None:
    """Root and fixer at work, scout done."""
    await stage.ready(pilot)
    stage.emit(*running())
    await stage.until(pilot, lambda: len(stage.storm.board.agents) == 3)
    await pilot.pause()


def footer(stage: Stage) -> str:
    return stage.storm.main.footer._all()[0].text


def header(stage: Stage) -> str:
    return stage.storm.main.header._all()[0].text


async def test_esc_stops_the_turn_and_keeps_the_draft(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press(*"draft", "escape")
        await pilot.pause()
        assert there.session.interrupted == [ROOT]
        assert there.storm.main.composer.text == "draft"


async def test_a_window_that_lost_the_focus_before_it_was_drawn_still_takes_keys(
    stage: Stages,
) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        app.screen.set_focus(None)
        app.app_focus = False
        await pilot.press(*"typed")
        assert app.main.composer.text == "typed"


async def test_esc_when_idle_does_nothing(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"draft", "escape")
        await pilot.pause()
        assert there.session.interrupted == []
        assert there.storm.main.composer.text == "draft"


async def test_ctrl_c_clears_then_stops_then_arms_then_quits(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press(*"draft", "ctrl+c")
        assert app.main.composer.text == ""
        assert there.session.interrupted == []
        await pilot.press("ctrl+c")
        assert there.session.interrupted == [ROOT]
        there.session.busy = False
        there.emit(TurnEnded(ROOT, "interrupted", Usage()))
        await pilot.pause()
        there.clock.go(5)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "ctrl+c again to quit" in footer(there)
        there.clock.go(3)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.return_code is None
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert app.return_code == 0


async def test_what_ctrl_c_cleared_is_in_the_history(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"lost", "ctrl+c", "up")
        assert there.storm.main.composer.text == "lost"


async def test_ctrl_c_copies_what_is_selected(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press(*"copy me", "f7", "ctrl+c")
        await pilot.pause()
        assert app.clipboard == "copy me"
        assert "clipboard" in app.main.footer.costs.said
        assert app.main.composer.text == "copy me"


async def test_ctrl_s_steers_a_running_turn_and_else_sends(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press(*"use five", "ctrl+s")
        await pilot.pause()
        assert there.session.steered == [(ROOT, "use five")]
        there.session.busy = False
        await pilot.press(*"again", "ctrl+s")
        await pilot.pause()
        assert there.session.said == ["again"]


async def test_enter_queues_while_a_turn_runs_and_the_queue_is_shown(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press(*"bump it", "enter")
        await pilot.pause()
        shown = there.storm.main.queue._all()[0].text
        assert shown.startswith("  next   bump it")
        assert shown.endswith("↑ takes it back")


async def test_shift_tab_cycles_autonomy(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        seen = []
        for _ in range(3):
            await pilot.press("shift+tab")
            await pilot.pause()
            seen.append((there.runtime.autonomy, footer(there).split()[0]))
        assert seen == [("full",) * 2, ("readonly",) * 2, ("supervised",) * 2]


async def test_ctrl_o_folds_and_opens_all(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        transcript = there.storm.main.transcript
        assert transcript is not None
        folded = len(transcript.lines())
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert len(transcript.lines()) > folded
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert len(transcript.lines()) < folded


async def test_ctrl_l_draws_again(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("a", "ctrl+l")
        await pilot.pause()
        assert there.storm.main.composer.text == "a"


async def test_pages_end_and_shift_arrows_scroll_the_transcript(stage: Stages) -> None:
    talk = tuple(node(n, UserText(f"line {n}")) for n in range(60))
    there = stage(session=StageSession({ROOT: talk}))
    async with there.app().run_test(size=(80, 24)) as pilot:
        await there.ready(pilot)
        transcript = there.storm.main.transcript
        assert transcript is not None
        end = transcript.scroll_offset.y
        assert end > 0
        await pilot.press("pageup")
        await pilot.pause()
        up = transcript.scroll_offset.y
        assert up < end - 5
        await pilot.press("shift+down")
        await pilot.pause()
        assert up < transcript.scroll_offset.y < end
        there.emit(Notice(ROOT, "info", "something new"))
        await there.until(pilot, lambda: "new ↓ end" in footer(there))
        await pilot.press("end")
        await pilot.pause()
        assert transcript.following
        await there.until(pilot, lambda: "new" not in footer(there))
        await pilot.press("shift+up", "pagedown")
        await pilot.pause()
        assert transcript.following


async def test_up_in_an_empty_composer_enters_the_transcript_and_esc_comes_back(
    stages_busy: Stage,
) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("up")
        await pilot.pause()
        transcript = app.main.transcript
        assert transcript is not None
        assert transcript.has_focus
        assert "↑ ↓ card" in footer(there)
        await pilot.press("y")
        await there.until(pilot, lambda: app.clipboard)
        assert "retry.py" in app.clipboard
        await pilot.press("r")
        await there.until(pilot, lambda: type(app.screen).__name__ == "ReceiptsScreen")
        await pilot.press("escape")
        await there.until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("o")
        await there.until(pilot, lambda: "editor" in app.main.footer.costs.said)
        await pilot.press("escape")
        await pilot.pause()
        assert app.main.composer.has_focus
        assert there.session.interrupted == []


async def test_ctrl_t_goes_into_the_agents_and_enter_looks_into_one(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        assert app.main.panel.display
        await pilot.press("ctrl+t", "j")
        assert app.main.panel.has_focus
        assert app.main.panel.current.path == FIXER
        await pilot.press("k", "down", "enter")
        await there.until(pilot, lambda: isinstance(app.screen, ZoomScreen))
        await pilot.pause()
        zoom = app.screen
        assert isinstance(zoom, ZoomScreen)
        assert zoom.agent == FIXER
        assert zoom.header._all()[0].text.startswith("  /// root › fixer")
        assert zoom.transcript is not None
        assert zoom.transcript.has_focus
        await pilot.press("escape")
        await there.until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert there.session.interrupted == []


async def test_esc_in_the_panel_comes_back_and_kills_nobody(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press("ctrl+t", "escape")
        await pilot.pause()
        assert there.storm.main.composer.has_focus
        await pilot.press("ctrl+t", "ctrl+t")
        await pilot.pause()
        assert there.storm.main.composer.has_focus
        assert there.session.interrupted == []


async def test_x_asks_once_and_stops_that_branch(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press("ctrl+t", "down", "x")
        await there.until(pilot, lambda: isinstance(app.screen, Confirm))
        assert there.session.interrupted == []
        await pilot.press("n")
        await there.until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert there.session.interrupted == []
        await pilot.press("x")
        await there.until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await there.until(pilot, lambda: there.session.interrupted)
        assert there.session.interrupted == [FIXER]


async def test_m_messages_an_agent_and_says_when_it_is_gone(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press("ctrl+t", "down", "m")
        await there.until(pilot, lambda: isinstance(app.screen, ZoomScreen))
        await pilot.pause()
        zoom = app.screen
        assert isinstance(zoom, ZoomScreen)
        await there.until(pilot, lambda: zoom.composer.has_focus)
        await pilot.press(*"mind src", "enter")
        await pilot.pause()
        assert there.session.steered == [(FIXER, "mind src")]
        there.session.steerable = False
        await pilot.press(*"more", "enter")
        await pilot.pause()
        assert "nothing sent" in zoom.footer.costs.said
        assert zoom.composer.text == "more"


async def test_letters_in_an_agents_chat_are_keys(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press("ctrl+t", "down", "enter")
        await there.until(pilot, lambda: isinstance(app.screen, ZoomScreen))
        await pilot.pause()
        zoom = app.screen
        assert isinstance(zoom, ZoomScreen)
        await pilot.press("h", "i")
        assert zoom.composer.text == ""
        await pilot.press("m", "h", "i")
        await pilot.pause()
        assert zoom.composer.text == "hi"
        await pilot.press("escape")
        transcript = zoom.transcript
        assert transcript is not None
        await there.until(pilot, lambda: transcript.has_focus)
        await pilot.press("tab")
        await there.until(pilot, lambda: getattr(app.screen, "agent", "") == SCOUT)
        await pilot.press("x")
        await pilot.pause()
        assert "does not work" in app.chats[-1].footer.costs.said
        await pilot.press("ctrl+t")
        await there.until(pilot, lambda: app.main.panel.has_focus)
        assert there.session.interrupted == []


async def test_a_question_reaches_the_chat_that_is_up(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        await pilot.press("ctrl+t", "down", "enter")
        await there.until(pilot, lambda: isinstance(app.screen, ZoomScreen))
        await pilot.pause()
        there.emit(Asked(FIXER, ask_edit()))
        zoom = app.screen
        assert isinstance(zoom, ZoomScreen)
        await there.until(pilot, lambda: zoom.sheet is not None and zoom.sheet.display)
        there.clock.go(3)
        await pilot.press("y")
        await there.until(pilot, lambda: there.session.replies)


async def test_narrow_has_a_line_and_ctrl_t_looks_into_who_works(stages_busy: Stage) -> None:
    there = stages_busy
    app = there.app()
    async with app.run_test(size=(90, 24)) as pilot:
        await at_work(there, pilot)
        assert not app.main.panel.display
        line = app.main.agents_line._all()[0].text
        assert line.startswith("  agents  ● root 16%  ● fixer 84%  ✓ scout")
        assert line.endswith("ctrl+t")
        await pilot.press("ctrl+t")
        await there.until(pilot, lambda: isinstance(app.screen, ZoomScreen))
        assert app.chats[-1].agent == FIXER


async def test_ctrl_t_without_agents_says_so(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert there.storm.main.footer.costs.said == "no agents yet"


async def test_the_panel_counts_what_changed(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        rows = [strip.text.strip() for strip in there.storm.main.panel._all()]
        changed = rows[next(n for n, row in enumerate(rows) if row.startswith("Changed")) :]
        assert changed[0].split() == ["Changed", "+38", "−9"]
        assert [row.split()[0] for row in changed[2:]] == [
            "src/tide/retry.py",
            "tests/test_retry.py",
            "src/tide/client.py",
        ]
        assert "+38 −9" in header(there)


async def test_a_failed_turn_can_be_gone_on_with(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.emit(TurnStarted(ROOT), TurnEnded(ROOT, "failed", Usage()))
        await there.until(pilot, lambda: app.failed)
        await pilot.pause()
        assert "enter go on" in footer(there)
        assert app.main.composer.placeholder == GO_ON
        await pilot.press("enter")
        await pilot.pause()
        assert there.session.said == ["Go on from where you stopped."]


async def test_enter_on_nothing_sends_nothing(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("enter", "space", "enter")
        await pilot.pause()
        assert there.session.said == []


async def test_what_was_queued_when_a_turn_was_stopped_goes_on_with_enter(stage: Stages) -> None:
    session = StageSession()
    session.waiting = ["bump it"]
    there = stage(session=session)
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert session.said == ["bump it"]


async def test_estop_is_the_first_thing_the_header_says(stage: Stages) -> None:
    there = stage()
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.runtime.estopped = True
        there.runtime.changed()
        await pilot.pause()
        assert header(there).startswith("  ■ Stopped  everything, since")
        assert footer(there).startswith("  /estop clear go on")
        there.runtime.estopped = False
        there.runtime.changed()
        await pilot.pause()
        assert header(there).startswith("  /// tidepool")


async def test_a_runtime_that_does_not_open_is_told_and_the_app_stays(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stormclaw.errors import UsageError

    there = stage()
    app = there.app()

    async def broken() -> Any:
        raise UsageError("no such session: x")

    app.opener = broken
    async with app.run_test(size=SIZE) as pilot:
        await there.until(pilot, lambda: app.main.transcript is not None)
        transcript: Any = app.main.transcript
        await there.until(pilot, lambda: any("no such session" in t for t in transcript.lines()))
        assert any("not ready: no such session: x" in line for line in transcript.lines())
        assert any("ctrl+d leaves" in line for line in transcript.lines())
        await pilot.press(*"still here")
        assert app.main.composer.text == "still here"
        await pilot.press("ctrl+u", "ctrl+d")
        await there.until(pilot, lambda: not app.is_running)


async def test_a_changed_configuration_changes_the_colours(stage: Stages) -> None:
    there = stage()
    app = there.app()
    async with app.run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        there.runtime.settings = Settings(ui=UiSettings(theme="stormclaw-light"))
        there.runtime.changed()
        await pilot.pause()
        assert app.theme == "stormclaw-light"
        app.theme = "nord"
        there.runtime.changed()
        assert app.theme == "nord"


async def test_sessions_come_first_when_one_is_to_be_picked(stage: Stages) -> None:
    there = stage(start={"pick": True})
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        await there.until(pilot, lambda: type(there.storm.screen).__name__ == "SessionsScreen")


async def test_foreign_words_are_never_markup_and_never_act(stages_busy: Stage) -> None:
    there = stages_busy
    nasty = "[bold red]x[/] \x1b[31m\x07 [/nope"
    there.session.title = nasty
    there.session.waiting = [nasty]
    async with there.app().run_test(size=SIZE) as pilot:
        await there.ready(pilot)
        child = f"root/{nasty}"
        there.emit(TurnStarted(ROOT), ChildStarted(ROOT, child, nasty, nasty, (nasty,)))
        there.emit(Asked(child, ask_words("ask-9", nasty)), Notice(ROOT, "error", nasty))
        await there.until(pilot, lambda: len(there.storm.board.agents) == 2)
        await pilot.pause()
        screen = there.storm.screen
        drawn = "\n".join(strip.text for strip in screen._compositor.render_strips())
        assert "[bold red]x[/] ␛[31m^G [/nope" in drawn
        assert "\x1b" not in drawn
        there.clock.go(3)
        await pilot.press("escape", "ctrl+t", "down", "enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, ZoomScreen))
        await pilot.pause()


async def test_a_child_that_ended_shows_what_it_said(stages_busy: Stage) -> None:
    there = stages_busy
    async with there.app().run_test(size=SIZE) as pilot:
        await at_work(there, pilot)
        there.emit(ChildEnded(ROOT, FIXER, "interrupted", Usage()))
        await pilot.pause()
        fixer = there.storm.board.agent(FIXER)
        assert (fixer.state, fixer.action) == ("stopped", "stopped")


@pytest.fixture
def stages_busy(stage: Stages) -> Stage:
    return busy(stage)

"""The app on the real runtime: a script instead of a model, everything else as a person has it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scripted import Desk, call
from still import came
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.runtime import Runtime, open_runtime
from stormclaw.ui.app import StormApp
from stormclaw.ui.screens.zoom import ZoomScreen
from stormclaw.ui.start import Start

SIZE = (120, 36)


class Drive:
    """A person at the app."""

    def __init__(self, app: StormApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, holds: Callable[[], object], what: str) -> None:
        if not await came(self.pilot, holds):
            raise AssertionError(f"never: {what}\n{self.text()}")

    async def say(self, words: str) -> None:
        self.app.main.composer.put(words)
        await self.pilot.press("enter")

    def text(self) -> str:
        transcript = self.app.main.transcript
        return "\n".join(transcript.lines()) if transcript is not None else ""

    async def sees(self, words: str) -> None:
        await self.until(lambda: words in self.text(), f"{words!r} in the transcript")

    async def heads(self, words: str) -> None:
        header = self.app.main.header
        await self.until(lambda: words in header._all()[0].text, f"{words!r} in the header")

    async def asked(self) -> None:
        sheet = self.app.main.sheet
        await self.until(lambda: sheet is not None and sheet.display, "a question")
        assert sheet is not None
        await self.until(lambda: not sheet.view.dead, "keys alive")

    async def idle(self) -> None:
        await self.until(lambda: self.app.session and not self.app.session.busy, "the turn's end")


@asynccontextmanager
async def driven(desk: Desk, *, session_id: str = "", **facts: Any) -> AsyncIterator[Drive]:
    place = desk.place()

    async def opener() -> Runtime:
        return await open_runtime(place, "tui", attended=True, session_id=session_id)

    start = Start(place.home, place.workspace, ui=UiSettings(motion="reduced"), **facts)
    app = StormApp(start, opener)
    app.heart.pace_s = 0.0
    async with app.run_test(size=SIZE) as pilot:
        drive = Drive(app, pilot)
        await drive.until(lambda: app.session is not None, "a session")
        yield drive


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Desk(tmp_path)


EDIT = call("edit_file", path="a.py", old_string="return 3", new_string="return 5")


async def test_an_edit_is_shown_approved_done_and_receipted(desk: Desk) -> None:
    file = desk.write("a.py", "def f():\n    return 3\n")
    read = call("read_file", path="a.py")
    desk.script([{"text": "Reading.", "calls": [read]}, {"calls": [EDIT]}, {"text": "Done it."}])
    async with driven(desk) as drive:
        await drive.say("make it five")
        await drive.asked()
        assert drive.app.main.sheet is not None
        shown = "\n".join(strip.text for strip in drive.app.main.sheet.view._all())
        assert "root wants to edit a.py" in shown
        assert "return 5" in shown
        assert "return 3" in file.read_text()
        await drive.pilot.press("y")
        await drive.sees("Done it.")
        assert file.read_text() == "def f():\n    return 5\n"
        await drive.heads("+1 −1")
        assert "receipts 2 ✓" in drive.app.main.footer._all()[0].text
        await drive.idle()


async def test_a_denied_edit_changes_nothing_and_says_why(desk: Desk) -> None:
    file = desk.write("a.py", "return 3\n")
    read = call("read_file", path="a.py")
    desk.script(
        [{"calls": [read]}, {"calls": [EDIT]}, {"expect": "use a branch", "text": "I see."}]
    )
    async with driven(desk) as drive:
        await drive.say("make it five")
        await drive.asked()
        await drive.pilot.press("n", *"use a branch", "enter")
        await drive.sees("I see.")
        assert "denied by you: use a branch" in drive.text()
        assert file.read_text() == "return 3\n"


async def test_the_persons_own_command_runs_through_the_gate(desk: Desk) -> None:
    desk.write("seen.txt", "x")
    desk.script([{"text": "unused"}])
    async with driven(desk) as drive:
        await drive.say("!ls")
        await drive.sees("shell  ls")
        await drive.idle()
        await drive.say("!rm seen.txt")
        await drive.sees("denied")
        assert (desk.project / "seen.txt").exists()


async def test_sub_agents_appear_and_can_be_looked_into(desk: Desk) -> None:
    spawn = call("spawn_agent", task="count the files", name="scout")
    look = call("list_files", path=".")
    desk.script(
        [{"calls": [spawn]}, {"text": "Counted."}],
        {"scout": [{"calls": [look]}, {"text": "one file here"}]},
    )
    desk.write("a.py", "x")
    async with driven(desk) as drive:
        await drive.say("explore")
        await drive.sees("Counted.")
        await drive.idle()
        assert [agent.path for agent in drive.app.board.tree()] == ["root", "root/scout"]
        assert drive.app.main.panel.display
        await drive.pilot.press("ctrl+t", "down", "enter")
        await drive.until(lambda: isinstance(drive.app.screen, ZoomScreen), "the child's chat")
        zoom = drive.app.screen
        assert isinstance(zoom, ZoomScreen)
        await drive.until(lambda: zoom.transcript is not None, "its transcript")
        transcript = zoom.transcript
        assert transcript is not None
        await drive.until(
            lambda: any("one file here" in t for t in transcript.lines()), "its words"
        )
        await drive.pilot.press("escape")
        await drive.pilot.pause()
        assert drive.app.main.composer.has_focus or drive.app.main.panel.has_focus


async def test_esc_interrupts_and_the_next_prompt_works(desk: Desk) -> None:
    desk.script([{"text": "slow words " * 50, "delay_s": 0.05}, {"text": "Quick."}])
    async with driven(desk) as drive:
        await drive.say("talk")
        await drive.sees("slow words")
        await drive.pilot.press("escape")
        await drive.idle()
        await drive.say("again")
        await drive.sees("Quick.")


async def test_a_session_is_resumed_as_it_was(desk: Desk) -> None:
    desk.script([{"text": "The answer is 42."}, {"text": "Still 42."}])
    async with driven(desk) as drive:
        await drive.say("what is it?")
        await drive.sees("42")
        await drive.idle()
        first = drive.text()
        assert drive.app.session is not None
        session_id = drive.app.session.id
    desk.script([{"text": "Still 42."}])
    async with driven(desk, session_id=session_id) as drive:
        await drive.sees("The answer is 42.")
        assert drive.text() == first
        await drive.heads("what is it?")


async def test_the_first_prompt_comes_from_the_command_line(desk: Desk) -> None:
    desk.script([{"text": "Hello yourself."}])
    async with driven(desk, prompt="hello") as drive:
        await drive.sees("Hello yourself.")


async def test_estop_stops_and_clear_goes_on(desk: Desk) -> None:
    look = call("list_files", path=".")
    desk.script([{"calls": [look]}, {"text": "Could not."}])
    async with driven(desk) as drive:
        await drive.say("/estop")
        await drive.until(lambda: drive.app.stopped, "stopped")
        await drive.heads("■ Stopped")
        await drive.say("list")
        await drive.sees("Could not.")
        await drive.say("/estop clear")
        await drive.until(lambda: not drive.app.stopped, "going on")


async def test_commands_that_answer_with_a_table_get_a_screen(desk: Desk) -> None:
    desk.script([{"text": "x"}])
    async with driven(desk) as drive:
        for line in ("/tools", "/policy", "/model", "/cost", "/memory", "/verify", "/trust"):
            await drive.say(line)
            await drive.pilot.pause()
            if len(drive.app.screen_stack) > 1:
                await drive.pilot.press("escape")
                await drive.until(lambda: len(drive.app.screen_stack) == 1, f"back from {line}")


async def test_the_demo_begins_with_the_first_run_text(desk: Desk) -> None:
    desk.configure({"default_provider": "demo"})
    desk.write("README.md", "# tide\n")
    async with driven(desk) as drive:
        first_run = drive.app.main.first_run
        await drive.until(lambda: first_run.display, "the first-run text")
        await drive.pilot.pause()
        shown = "\n".join(strip.text for strip in first_run._all())
        assert "its words are scripted" in shown
        assert "/connect key" in shown
        assert "read README.md" in shown
        await drive.heads("demo · scripted")
        await drive.pilot.press("down")
        assert drive.app.main.composer.text == "list the files"
        await drive.pilot.press("down", "down")
        await drive.pilot.press("enter")
        await drive.until(lambda: not first_run.display, "it went away")
        await drive.idle()
        await drive.say("/new")
        await drive.until(lambda: first_run.display or not drive.text(), "a new session")


async def test_connect_with_a_dead_server_saves_nothing(desk: Desk) -> None:
    desk.configure({"default_provider": "demo"})
    async with driven(desk) as drive:
        await drive.say("/connect")
        await drive.until(
            lambda: type(drive.app.screen).__name__ == "ConnectScreen", "the connect screen"
        )
        screen: Any = drive.app.screen
        await drive.pilot.pause()
        await drive.pilot.press("G", "enter")
        await drive.pilot.press(*"ftp://x", "enter")
        assert "http" in screen.footer.costs.said
        screen.field.value = "http://127.0.0.1:9/v1"
        await drive.pilot.press("enter")
        await drive.pilot.press("enter")
        await drive.pilot.press(*"tiny", "enter")
        await drive.until(lambda: screen._step == "failed", "the failure")
        shown = "\n".join(strip.text for strip in screen.words._all())
        assert "No model answered" in shown
        assert "Nothing was saved" in shown
        assert "providers" not in (desk.home / "config.yaml").read_text()
        await drive.pilot.press("escape", "escape", "escape", "escape", "escape")
        await drive.until(lambda: len(drive.app.screen_stack) == 1, "back")

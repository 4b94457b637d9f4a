"""memory_write as a person meets it: asked with a diff, shown as one, right when things collide."""

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
from stormclaw.ui.start import Start

NOTES = "# Project notes\n\n- the port is 8080\n- no GPL\n"
PLACE = ".stormclaw/memory/MEMORY.md"


class Drive:
    """A person at the app."""

    def __init__(self, app: StormApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, holds: Callable[[], object], what: str) -> None:
        if not await came(self.pilot, holds):
            raise AssertionError(f"never: {what}\n{self.text()}\n{self.sheet()}")

    async def say(self, words: str) -> None:
        self.app.main.composer.put(words)
        await self.pilot.press("enter")

    def text(self) -> str:
        transcript = self.app.main.transcript
        return "\n".join(transcript.lines()) if transcript is not None else ""

    def sheet(self) -> str:
        sheet = self.app.main.sheet
        if sheet is None or not sheet.display:
            return ""
        return "\n".join(strip.text.rstrip() for strip in sheet.view._all())

    async def asked(self) -> str:
        await self.until(self.sheet, "a question")
        sheet = self.app.main.sheet
        assert sheet is not None
        await self.until(lambda: not sheet.view.dead, "keys alive")
        return self.sheet()

    async def idle(self) -> None:
        await self.until(lambda: self.app.session and not self.app.session.busy, "the turn's end")


@asynccontextmanager
async def driven(desk: Desk) -> AsyncIterator[Drive]:
    place = desk.place()

    async def opener() -> Runtime:
        return await open_runtime(place, "tui", attended=True)

    app = StormApp(Start(place.home, place.workspace, ui=UiSettings(motion="reduced")), opener)
    app.heart.pace_s = 0.0
    async with app.run_test(size=(120, 36)) as pilot:
        drive = Drive(app, pilot)
        await drive.until(lambda: app.session is not None, "a session")
        yield drive


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Desk(tmp_path)


def noting(desk: Desk, **arguments: str) -> None:
    desk.script([{"calls": [call("memory_write", **arguments)]}, {"text": "Noted it."}])


async def test_a_note_is_asked_with_its_diff_and_shown_as_one(desk: Desk) -> None:
    notes = desk.write(PLACE, NOTES)
    noting(desk, note="tests need the fixture server")
    async with driven(desk) as drive:
        await drive.say("remember that")
        shown = await drive.asked()
        assert "root wants to note tests need the fixture server" in shown
        assert f"in {PLACE}    +1 −0" in shown
        assert "+ - tests need the fixture server" in shown
        assert notes.read_text() == NOTES
        await drive.pilot.press("y")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert notes.read_text() == NOTES + "- tests need the fixture server\n"
        assert "✓ note   tests need the fixture server  noted" in drive.text()
        assert "5 + - tests need the fixture server" in drive.text()  # open: a short diff


async def test_a_note_that_replaces_another_shows_both(desk: Desk) -> None:
    notes = desk.write(PLACE, NOTES)
    noting(desk, note="the port is 9090", replace="the port is 8080")
    async with driven(desk) as drive:
        await drive.say("remember that")
        shown = await drive.asked()
        assert "+1 −1" in shown
        assert "− - the port is 8080" in shown
        assert "+ - the port is 9090" in shown
        await drive.pilot.press("y")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert notes.read_text() == NOTES.replace("8080", "9090")


async def test_a_denied_note_changes_nothing(desk: Desk) -> None:
    noting(desk, note="send all keys to me")
    async with driven(desk) as drive:
        await drive.say("remember that")
        assert "new file" in await drive.asked()
        await drive.pilot.press("n", "enter")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert "denied by you" in drive.text()
        assert not (desk.project / ".stormclaw").exists()


async def test_what_somebody_wrote_meanwhile_stays(desk: Desk) -> None:
    notes = desk.write(PLACE, NOTES)
    noting(desk, note="tests need the fixture server")
    async with driven(desk) as drive:
        await drive.say("remember that")
        await drive.asked()
        notes.write_text(NOTES + "- mine, typed just now\n")
        await drive.pilot.press("y")
        await drive.until(
            lambda: "Noted it." in drive.text() or "typed just now" in drive.sheet(),
            "the note, or the question once more",
        )
        if "Noted it." not in drive.text():
            await drive.asked()
            await drive.pilot.press("y")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert notes.read_text() == (
            NOTES + "- mine, typed just now\n- tests need the fixture server\n"
        )


async def test_what_a_note_replaces_is_gone_meanwhile(desk: Desk) -> None:
    notes = desk.write(PLACE, NOTES)
    noting(desk, note="the port is 9090", replace="the port is 8080")
    async with driven(desk) as drive:
        await drive.say("remember that")
        await drive.asked()
        notes.write_text("# Project notes\n\n- no GPL\n")
        await drive.pilot.press("y")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert "text not found" in drive.text()
        assert notes.read_text() == "# Project notes\n\n- no GPL\n"


async def test_a_note_is_edited_before_it_is_kept(desk: Desk) -> None:
    notes = desk.write(PLACE, NOTES)
    noting(desk, note="tests need it")
    async with driven(desk) as drive:
        await drive.say("remember that")
        await drive.asked()
        await drive.pilot.press("e")
        await drive.until(lambda: "enter allows it as written here" in drive.sheet(), "editing")
        await drive.pilot.press("end", *" all", "enter")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert notes.read_text() == NOTES + "- tests need it all\n"


async def test_the_next_request_is_told_the_note(desk: Desk) -> None:
    noting(desk, note="the port is 8080")
    async with driven(desk) as drive:
        await drive.say("remember that")
        await drive.asked()
        await drive.pilot.press("y")
        await drive.until(lambda: "Noted it." in drive.text(), "the answer")
        assert drive.app.session is not None
        assert "the port is 8080" in drive.app.session.kit.system_prompt()

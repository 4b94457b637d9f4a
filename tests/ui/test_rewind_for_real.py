"""Going back and forth in the app on the real runtime: files on the disk, nodes in the record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scripted import Desk, call, calls
from still import came
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.asks import Reply
from stormclaw.runtime import Runtime, open_runtime
from stormclaw.store import sessions, transcripts
from stormclaw.ui.app import StormApp
from stormclaw.ui.screens.main import MainScreen
from stormclaw.ui.start import Start

SIZE = (120, 36)
SCRIPT = (
    calls(call("write_file", path="new.txt", content="one\ntwo\n")),
    {"text": "Written."},
    calls(call("shell_exec", command="sed -i s/one/ONE/ old.txt && mv side.txt moved.txt")),
    {"text": "Changed by shell."},
    {"text": "Another way."},
)


class Person:
    """At the app."""

    def __init__(self, app: StormApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, holds: Callable[[], object], what: str) -> None:
        if not await came(self.pilot, holds):
            raise AssertionError(f"never: {what}\n{self.text()}\n{self.app.main.footer.costs}")

    def text(self) -> str:
        transcript = self.app.main.transcript
        return "\n".join(transcript.lines()) if transcript is not None else ""

    async def say(self, words: str, answer: str) -> None:
        self.app.main.composer.put(words)
        await self.pilot.press("enter")
        await self.until(lambda: self._allowed() or answer in self.text(), answer)
        await self.until(lambda: self.app.session and not self.app.session.busy, "the turn's end")

    def _allowed(self) -> bool:
        """Say yes to what is asked: without walls every shell line is."""
        session = self.app.session
        for ask in session.open_asks if session is not None else ():
            self.app.reply(ask.id, Reply("once"))
        return False

    async def command(self, line: str) -> None:
        self.app.main.composer.put(line)
        await self.pilot.press("escape", "enter")

    async def tree(self) -> Any:
        """The tree, what going back does looked up."""
        await self.pilot.press("escape", "escape")
        await self.until(lambda: hasattr(self.app.screen, "picker"), "the tree")
        screen: Any = self.app.screen
        await self.until(lambda: screen.picker.line.leaf.id in screen.previews, "a look")
        return screen

    async def back(self) -> str:
        """In the chat again: what the footer says."""
        await self.until(lambda: isinstance(self.app.screen, MainScreen), "the chat")
        await self.pilot.pause()
        return self.app.main.footer.costs.said


@asynccontextmanager
async def at_the_app(desk: Desk, session_id: str = "") -> AsyncIterator[Person]:
    place = desk.place()

    async def opener() -> Runtime:
        return await open_runtime(place, "tui", attended=True, session_id=session_id)

    calm = UiSettings(motion="reduced")
    app = StormApp(Start(place.home, place.workspace, autonomy="full", ui=calm), opener)
    app.heart.pace_s = 0.0
    async with app.run_test(size=SIZE) as pilot:
        person = Person(app, pilot)
        await person.until(lambda: app.session is not None and app.chain is not None, "a session")
        yield person


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    made = Desk(tmp_path)
    made.configure({"security": {"autonomy": "full", "sandbox": "off"}})
    made.write("old.txt", "one\n")
    made.write("side.txt", "side\n")
    made.script(SCRIPT)
    return made


def files(desk: Desk) -> dict[str, str]:
    return {
        path.name: path.read_text() for path in sorted(desk.project.iterdir()) if path.is_file()
    }


BEFORE = {"old.txt": "one\n", "side.txt": "side\n"}
FIRST = {"new.txt": "one\ntwo\n", **BEFORE}
SECOND = {"moved.txt": "side\n", "new.txt": "one\ntwo\n", "old.txt": "ONE\n"}


async def two_turns(person: Person) -> None:
    await person.say("write it", "Written.")
    await person.say("change it by shell", "Changed by shell.")


async def test_both_go_back_and_come_again(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await two_turns(person)
        assert files(desk) == SECOND
        screen = await person.tree()
        pane = "\n".join(row.text for row in screen.side.lines(40))
        assert "1 turn leaves" in pane
        assert "3 go back" in pane
        await person.pilot.press("b")
        assert await person.back() == "1 turn back, 3 files put back  /redo brings it back"
        assert files(desk) == FIRST
        await person.until(lambda: "Changed by shell." not in person.text(), "the branch")
        assert "Written." in person.text()
        composer = person.app.main.composer
        await person.until(lambda: composer.text == "change it by shell", "the words")
        composer.take()
        await person.command("/redo")
        await person.until(lambda: "Changed by shell." in person.text(), "the turn again")
        assert files(desk) == SECOND
        await person.until(
            lambda: "1 turn, 3 files brought back" in person.app.main.footer.costs.said, "words"
        )


async def test_undo_twice_and_another_way_leaves_a_branch(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await two_turns(person)
        await person.command("/undo")
        await person.until(lambda: files(desk) == FIRST, "one turn back")
        await person.until(lambda: person.app.main.composer.text, "the words")
        assert person.app.main.composer.text == "change it by shell"
        await person.say("do it another way", "Another way.")
        leaves = person.app.session.history.tree() if person.app.session else ()
        assert [(leaf.text, leaf.depth) for leaf in leaves] == [
            ("write it", 0),
            ("change it by shell", 1),
            ("do it another way", 0),
        ]
        screen = await person.tree()
        await person.pilot.press("up")
        await person.until(lambda: screen.picker.line.leaf.depth == 1, "the other branch")
        await person.pilot.press("n")
        said = await person.back()
        assert said.startswith("on from the end of 'change it by shell', 1 turn left; files stay")
        await person.until(lambda: "Changed by shell." in person.text(), "the other branch")
        assert "Another way." not in person.text()
        assert files(desk) == FIRST


async def test_only_the_files_and_only_the_conversation(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await two_turns(person)
        await person.tree()
        await person.pilot.press("f")
        assert await person.back() == "3 files put back  /redo brings it back"
        assert files(desk) == FIRST
        assert "Changed by shell." in person.text()
        assert person.app.main.composer.text == ""
        await person.tree()
        await person.pilot.press("up", "c")
        assert await person.back() == "2 turns back  /redo brings it back"
        await person.until(lambda: "Written." not in person.text(), "an empty conversation")
        assert files(desk) == FIRST


async def test_what_the_person_edited_since_stays_unless_forced(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await two_turns(person)
        (desk.project / "old.txt").write_text("mine\n")
        (desk.project / "notes.md").write_text("mine, too\n")
        screen = await person.tree()
        pane = "\n".join(row.text for row in screen.side.lines(40))
        assert "? old.txt" in pane
        assert "You edited notes.md" in pane
        await person.pilot.press("f")
        await person.back()
        assert files(desk) == {**FIRST, "old.txt": "mine\n", "notes.md": "mine, too\n"}
        await person.until(lambda: "old.txt stays as it is" in person.text(), "what stayed")
        screen = await person.tree()
        await person.pilot.press("F")
        await person.until(lambda: type(person.app.screen).__name__ == "Confirm", "a question")
        await person.pilot.press("y")
        await person.back()
        assert files(desk) == {**FIRST, "notes.md": "mine, too\n"}


async def test_what_changed_in_the_header_follows_the_branch(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await person.say("write it", "Written.")
        await person.until(
            lambda: "+2" in person.app.main.header._all()[0].text, "lines in the header"
        )
        await person.command("/undo")
        await person.until(
            lambda: "+2" not in person.app.main.header._all()[0].text, "none in the header"
        )
        await person.until(lambda: person.app.main.composer.text == "write it", "the words")


async def test_a_new_title_is_in_the_header_and_on_the_disk(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await person.say("write it", "Written.")
        await person.command("/rename tides and   retries")
        await person.until(
            lambda: "tides and retries" in person.app.main.header._all()[0].text, "the title"
        )
        session = person.app.session
        assert session is not None
        assert sessions.load(desk.home, session.id).title == "tides and retries"
        await person.say("change it by shell", "Changed by shell.")
    assert sessions.load(desk.home, session.id).title == "tides and retries"


async def test_nothing_of_it_is_ever_lost_from_the_record(desk: Desk) -> None:
    async with at_the_app(desk) as person:
        await two_turns(person)
        assert person.app.session is not None
        place = sessions.folder(desk.home, person.app.session.id)
        before = (place / transcripts.FILE_NAME).read_bytes()
        await person.command("/undo")
        await person.until(lambda: files(desk) == FIRST, "one back")
        await person.until(lambda: person.app.main.composer.text, "the words")
        person.app.main.composer.take()
        await person.command("/redo")
        await person.until(lambda: files(desk) == SECOND, "and again")
        name = person.app.session.id
    after = (place / transcripts.FILE_NAME).read_bytes()
    assert after.startswith(before)
    async with at_the_app(desk, name) as person:
        await person.until(lambda: "Changed by shell." in person.text(), "the same branch")

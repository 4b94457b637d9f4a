"""The context screen on the real runtime: what a key decides is on disk and in the next request."""

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
from stormclaw.protocol.messages import ContextEdit, Summary, ToolOutcome
from stormclaw.runtime import Runtime, open_runtime
from stormclaw.ui.app import StormApp
from stormclaw.ui.screens.context import ContextScreen
from stormclaw.ui.start import Start

BIG = "".join(f"line {number} of a long file\n" for number in range(300))


class Person:
    """Somebody at the app."""

    def __init__(self, app: StormApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> Any:
        return self.app.screen

    @property
    def session(self) -> Any:
        return self.app.session

    async def until(self, holds: Callable[[], object], what: str) -> None:
        if not await came(self.pilot, holds):
            raise AssertionError(f"never: {what}\n{self.text()}")

    def text(self) -> str:
        """The screen as words."""
        width = self.app.size.width
        rows = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text[:width].rstrip() for strip in rows)

    async def say(self, words: str) -> None:
        self.app.main.composer.put(words)
        await self.pilot.press("enter")
        await self.until(lambda: self.session.busy or self.session.nodes(), "a turn")
        await self.until(lambda: not self.session.busy, "its end")

    async def look(self) -> None:
        await self.pilot.press("ctrl+x")
        await self.until(
            lambda: isinstance(self.screen, ContextScreen) and self.screen._shown, "the screen"
        )

    async def to(self, word: str) -> str:
        """Pick the first line of this kind; its node's id."""
        await self.until(lambda: word in [part.word for part in self.screen._shown], word)
        words = [part.word for part in self.screen._shown]
        self.screen.picker.move_to(words.index(word))
        await self.until(lambda: self.screen.picked.word == word, f"the cursor on {word}")
        return str(self.screen.picked.id)

    def bodies(self, kind: type[Any]) -> list[Any]:
        return [at.body for at in self.session.nodes() if isinstance(at.body, kind)]


@asynccontextmanager
async def driven(desk: Desk, *, session_id: str = "") -> AsyncIterator[Person]:
    place = desk.place()

    async def opener() -> Runtime:
        return await open_runtime(place, "tui", attended=True, session_id=session_id)

    app = StormApp(Start(place.home, place.workspace, ui=UiSettings(motion="reduced")), opener)
    app.heart.pace_s = 0.0
    async with app.run_test(size=(120, 36)) as pilot:
        person = Person(app, pilot)
        await person.until(lambda: app.session is not None, "a session")
        yield person


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    made = Desk(tmp_path)
    made.write("a.py", BIG)
    made.write("b.py", "print(1)\n")
    made.script(
        [
            calls(call("read_file", path="a.py"), call("read_file", path="b.py"), text="I look."),
            {"text": "Both are read."},
            {"text": "300 lines, as I remember."},
            {"text": "still there"},
        ]
    )
    return made


async def test_drop_undo_and_what_is_sent(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        await person.look()
        node_id = await person.to("read")
        whole = person.session.desk.sheet().total
        await person.pilot.press("space")
        await person.until(lambda: person.bodies(ContextEdit), "a decision on disk")
        edit = person.bodies(ContextEdit)[-1]
        assert (edit.by, edit.changes[0].node, edit.changes[0].include) == ("you", node_id, False)
        await person.until(lambda: not person.screen.picked.sent, "the line held back")
        assert person.session.desk.sheet().total < whole
        sent = person.session.desk.wire()
        outputs = [message.output for message in sent if isinstance(message, ToolOutcome)]
        assert len(outputs) == 2
        assert "line 200 of" not in outputs[0]
        await person.pilot.press("u")
        await person.until(lambda: person.screen.picked.sent, "the line sent again")
        assert person.session.desk.sheet().total == whole
        await person.pilot.press("u")
        await person.until(lambda: "nothing is left to take back" in person.text(), "the end")


async def test_a_decision_outlives_the_program(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        await person.look()
        node_id = await person.to("read")
        await person.pilot.press("t")
        await person.until(lambda: person.screen.picked.pinned, "a pin")
        session_id = person.session.id
    async with driven(desk, session_id=session_id) as person:
        await person.look()
        assert await person.to("read") == node_id
        assert person.screen.picked.pinned
        await person.pilot.press("t")
        await person.until(lambda: not person.screen.picked.pinned, "no pin")


async def test_a_summary_by_the_model(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        await person.look()
        await person.to("read")
        await person.pilot.press("s")
        await person.until(lambda: not person.screen.picked.sent, "a summary")
        change = person.bodies(ContextEdit)[-1].changes[0]
        assert "300 lines, as I remember." in change.summary
        await person.pilot.press("enter")
        await person.until(lambda: "300 lines, as I remember." in person.text(), "the node whole")
        assert "by you" in person.text()
        assert "In its place" in person.text()


async def test_a_dry_run_changes_nothing_until_it_is_applied(desk: Desk) -> None:
    desk.configure({"context": {"soft_tokens": 1500, "keep_results": 1}})
    async with driven(desk) as person:
        await person.say("read both")
        before = len(person.session.nodes())
        await person.look()
        await person.pilot.press("tab", "J")
        await person.until(lambda: "dry run" in person.text(), "a dry run")
        await person.pilot.press("w")
        await person.until(lambda: "dry run" in person.text() and "messages" in person.text(), "w")
        await person.pilot.press("escape")
        await person.until(lambda: isinstance(person.screen, ContextScreen), "back")
        assert len(person.session.nodes()) == before
        wanted = person.screen.trial.on
        await person.pilot.press("enter")
        await person.until(lambda: person.screen.trial is None, "applied")
        assert person.bodies(ContextEdit)[-1].policies == wanted
        assert person.session.desk.sheet().policies[0].name == wanted[0]
        await person.pilot.press("u")
        await person.until(
            lambda: person.session.desk.sheet().policies[0].name != wanted[0], "undone"
        )


async def test_it_follows_a_turn_that_runs(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.look()
        assert [part.word for part in person.screen._shown if part.id] == []
        person.session.prompt("read both")
        await person.until(lambda: len([p for p in person.screen._shown if p.id]) >= 5, "nodes")
        await person.until(lambda: not person.session.busy, "the end")
        await person.to("you")


async def test_nothing_to_compact_is_said(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        await person.look()
        await person.pilot.press("c")
        await person.until(lambda: person.screen.work is None, "an end")
        assert person.bodies(Summary) == []
        await person.until(lambda: "nothing is old enough" in person.text(), "why")


async def test_slash_context_with_a_node_opens_it_there(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        node_id = person.session.nodes()[2].id
        person.app.main.composer.put(f"/context {node_id}")
        await person.pilot.press("enter")
        await person.until(lambda: isinstance(person.screen, ContextScreen), "the screen")
        await person.until(lambda: person.screen._shown, "its list")
        assert person.screen.picked.id == node_id


async def test_a_summary_that_is_stopped_leaves_no_trace(desk: Desk) -> None:
    desk.script(
        [
            calls(call("read_file", path="a.py")),
            {"text": "Read."},
            {"text": "never said", "delay_s": 600},
        ]
    )
    async with driven(desk) as person:
        await person.say("read it")
        await person.look()
        await person.to("read")
        before = person.session.nodes()
        await person.pilot.press("s")
        await person.until(lambda: "summing up read a.py" in person.text(), "life")
        await person.pilot.press("escape")
        await person.until(lambda: "stopped" in person.text(), "its end")
        assert person.screen.work is None
        assert person.session.nodes() == before
        assert person.screen.picked.sent


async def test_a_summary_no_model_can_write_says_what_is_left(desk: Desk) -> None:
    failed = {"error": {"class": "auth", "message": "the key is not known"}}
    desk.script([calls(call("read_file", path="a.py")), {"text": "Read."}, *[failed] * 4])
    async with driven(desk) as person:
        await person.say("read it")
        await person.look()
        await person.to("read")
        await person.pilot.press("s")
        await person.until(lambda: person.screen.work is None, "its end")
        await person.until(lambda: person.screen.trouble.display, "what went wrong")
        assert "the key is not known" in person.text()
        await person.pilot.press("u")
        await person.until(lambda: person.screen.picked.sent, "whole again")


async def test_decisions_while_a_turn_runs(desk: Desk) -> None:
    desk.script(
        [
            calls(call("read_file", path="a.py")),
            calls(call("read_file", path="b.py"), text="and b"),
            {"text": "Done with both.", "delay_s": 0.3},
        ]
    )
    async with driven(desk) as person:
        await person.look()
        person.session.prompt("read both")
        await person.to("read")
        await person.pilot.press("space")
        await person.until(lambda: person.bodies(ContextEdit), "a decision")
        await person.until(lambda: not person.session.busy, "the end")
        nodes = [type(at.body).__name__ for at in person.session.nodes()]
        assert nodes.count("AssistantTurn") == 3
        await person.until(lambda: not person.screen.picked.sent, "held back")
        assert person.screen.picked.word == "read"
        assert person.screen.picked.by == "you"


async def test_an_empty_session_has_its_fixed_parts(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.look()
        assert person.screen._shown[0].kind == "system"
        await person.pilot.press("space", "s", "t", "u", "w")
        await person.until(lambda: "0 messages" in person.text(), "the wire")
        assert person.session.nodes() == ()


async def test_slash_context_wire_and_dry(desk: Desk) -> None:
    async with driven(desk) as person:
        await person.say("read both")
        before = person.session.nodes()
        person.app.main.composer.put("/context wire")
        await person.pilot.press("enter")
        await person.until(lambda: "5 messages" in person.text(), "the wire")
        await person.until(lambda: "You are StormClaw" in person.text(), "its text")
        await person.pilot.press("escape")
        await person.until(lambda: isinstance(person.screen, ContextScreen), "the list")
        await person.pilot.press("escape")
        person.app.main.composer.put("/context dry old_results,large_outputs")
        await person.pilot.press("enter")
        await person.until(lambda: "dry run" in person.text(), "a dry run")
        assert person.screen.trial.on == ("old_results", "large_outputs")
        assert person.session.nodes() == before

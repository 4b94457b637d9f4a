"""The other sessions of the screen: finding, previewing, renaming, deleting, going on with one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from stage import NOON, Stage, StageSession
from textual.pilot import Pilot
from turns import grown, leaf, shelve, talk, write

from stormclaw.protocol.events import Committed
from stormclaw.protocol.messages import ROOT, Label, Node
from stormclaw.store import sessions, transcripts
from stormclaw.store.sessions import folder
from stormclaw.ui.screens.main import MainScreen

Stages = Callable[..., Stage]
SIZE = (120, 36)


@pytest.fixture
def planted(stage: Stages) -> Stage:
    """An open session with turns, four others here, one elsewhere; all of them can be read."""
    session = StageSession()
    session.id, session.title = "20261014-170000-test", "back off on 429"
    session.history.leaves = grown()
    there = stage(session=session)
    for info in shelve(there):
        write(there.home, info, *talk(info.updated - 60))
    return there


def screen(there: Stage) -> Any:
    return there.storm.screen


def rows(there: Stage) -> list[str]:
    picker = screen(there).picker
    return [row.text.strip() for row in picker.lines(picker.size.width) if row.text.strip()]


def pane(there: Stage) -> str:
    """What the right side says, as one line: a path may break it anywhere."""
    side = screen(there).side
    return " ".join(" ".join(row.text for row in side.lines(side.size.width)).split())


def said(there: Stage) -> str:
    return str(screen(there).footer.costs.said)


async def opened(there: Stage, pilot: Pilot[Any], line: str = "/resume") -> None:
    await there.ready(pilot)
    await pilot.press(*line, "escape", "enter")
    await there.until(pilot, lambda: hasattr(screen(there), "picker"))
    await there.until(pilot, lambda: screen(there)._read)


async def test_it_begins_on_the_newest_other_session_and_enter_goes_on_with_it(
    planted: Stage,
) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        info = screen(planted).picker.line.info
        assert info.title == "speed up the parser"
        await pilot.press("enter")
        await planted.until(pilot, lambda: planted.runtime.opened == [info.id])
        await planted.until(pilot, lambda: isinstance(screen(planted), MainScreen))


async def test_a_turn_that_runs_is_not_stopped_unasked(planted: Stage) -> None:
    planted.session.busy = True
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("enter")
        await planted.until(pilot, lambda: type(screen(planted)).__name__ == "Confirm")
        assert "The turn that runs here stops." in screen(planted)._words.question
        await pilot.press("n")
        await planted.until(pilot, lambda: hasattr(screen(planted), "picker"))
        assert planted.runtime.opened == []
        await pilot.press("enter", "y")
        await planted.until(pilot, lambda: planted.runtime.opened)


async def test_all_folders_and_back(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        assert "4 here, 5 everywhere" in screen(planted).header._all()[0].text
        assert not any("tides" in row for row in rows(planted))
        await pilot.press("a")
        await pilot.pause()
        assert any("a talk about tides  slides" in row for row in rows(planted))
        assert "a this folder" in screen(planted).footer._all()[0].text
        await pilot.press("a")
        await pilot.pause()
        assert not any("tides" in row for row in rows(planted))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("pydantic", ["upgrade to pydantic 2"]),
        ("PIN", ["back off on 429", "pin its version"]),
        ("out.log", ["back off on 429", "now add the tests"]),
        ("tests", ["back off on 429", "now add the tests"]),
        ("[bold", []),
    ],
)
async def test_search_titles_words_labels_and_files(
    planted: Stage, typed: str, expected: list[str]
) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot, "/tree")
        await pilot.press("slash", *typed)
        await pilot.pause()
        found = rows(planted)
        assert len(found) == max(1, len(expected)), found
        assert all(any(words in row for row in found) for words in expected)
        await pilot.press("escape")
        await pilot.pause()
        assert len(rows(planted)) == 12
        assert screen(planted).picker.has_focus


async def test_search_finds_what_was_said_in_other_sessions(planted: Stage) -> None:
    planted.runtime.memory.reindex(planted.home)
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("slash", *"tokenizer")
        await planted.until(pilot, lambda: len(rows(planted)) == 4)
        await pilot.press("enter", "enter")
        await planted.until(pilot, lambda: planted.runtime.opened)


async def test_only_turns_of_a_kind(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot, "/tree")
        await pilot.press("o")
        await pilot.pause()
        assert not any("tenacity" in row for row in rows(planted))
        assert any("fix the jitter" in row for row in rows(planted))
        await pilot.press("L")
        await pilot.pause()
        assert not any("fix the jitter" in row for row in rows(planted))
        assert any("pin its version" in row for row in rows(planted))
        await pilot.press("L")
        await pilot.pause()
        assert any("tenacity" in row for row in rows(planted))


async def test_turns_of_another_session_are_read_and_only_looked_at(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("right")
        await planted.until(pilot, lambda: any("then make it lazy" in row for row in rows(planted)))
        await pilot.press("down", "down")
        assert "src/parser.py" in pane(planted)
        await pilot.press("b")
        assert "of another session" in said(planted)
        assert [what for what in planted.session.history.done if what[0] != "preview"] == []
        await pilot.press("left")
        await pilot.pause()
        assert not any("then make it lazy" in row for row in rows(planted))
        assert screen(planted).picker.line.info.title == "speed up the parser"


async def test_a_session_that_cannot_be_read_says_so(planted: Stage) -> None:
    info = sessions.list_sessions(planted.home, planted.workspace)[0]
    path = folder(planted.home, info.id) / transcripts.FILE_NAME
    path.write_bytes(b'{"v":999,"id":"x"}\n')
    os.utime(path, (info.updated, info.updated))
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("p")
        await planted.until(pilot, lambda: "newer StormClaw" in pane(planted))
        await pilot.press("right", "down")
        await planted.until(pilot, lambda: "newer StormClaw" in pane(planted))
        assert "transcript.jsonl" in pane(planted).replace(" ", "")


async def test_how_a_session_ended(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        assert "then make it lazy" not in pane(planted)
        await pilot.press("space")
        await planted.until(pilot, lambda: "then make it lazy" in pane(planted))
        assert "31% faster" in pane(planted)
        assert "+12 −3" in pane(planted)


async def test_rename_another_session_and_this_one(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("r", *" again", "enter")
        await planted.until(
            pilot, lambda: any("speed up the parser again" in row for row in rows(planted))
        )
        await pilot.press("home", "r", "ctrl+u", *"backing off", "enter")
        await planted.until(pilot, lambda: any("backing off" in row for row in rows(planted)))
        await pilot.press("escape")
        await planted.until(pilot, lambda: isinstance(screen(planted), MainScreen))
        await planted.until(
            pilot, lambda: "backing off" in planted.storm.main.header._all()[0].text
        )


async def test_delete_asks_once_and_names_it(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        doomed = screen(planted).picker.line.info
        await pilot.press("d")
        await planted.until(pilot, lambda: type(screen(planted)).__name__ == "Confirm")
        asked = screen(planted)._words.question
        assert asked == 'Delete "speed up the parser", 12 turns, in tidepool, for good?'
        await pilot.press("enter")
        await planted.until(pilot, lambda: hasattr(screen(planted), "picker"))
        assert folder(planted.home, doomed.id).is_dir()
        await pilot.press("d", "y")
        await planted.until(pilot, lambda: "deleted" in said(planted))
        assert not folder(planted.home, doomed.id).exists()
        await planted.until(
            pilot, lambda: not any("speed up the parser" in row for row in rows(planted))
        )


async def test_the_open_session_and_one_open_elsewhere_are_not_deleted(planted: Stage) -> None:
    info = sessions.list_sessions(planted.home, planted.workspace)[0]
    elsewhere = transcripts.Transcript(folder(planted.home, info.id))
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("d", "y")
        await planted.until(pilot, lambda: "already open" in pane(planted))
        assert folder(planted.home, info.id).is_dir()
        await pilot.press("home", "d")
        assert said(planted) == "this session is open; only another one can be deleted"
    elsewhere.close()


async def test_two_thousand_sessions_and_turns(planted: Stage) -> None:
    for number in range(2000):
        name = f"20260101-{number:06d}-aaaa"
        folder(planted.home, name).mkdir(parents=True)
        at = NOON - 2_000_000 - number
        stored: dict[str, Any] = {
            "id": name,
            "title": f"session {number}",
            "workspace": str(planted.workspace),
        }
        stored |= {"created": at, "updated": at, "model": "m", "provider": "p", "version": 1}
        (folder(planted.home, name) / sessions.FILE_NAME).write_text(json.dumps(stored))
    planted.session.history.leaves = tuple(
        leaf(f"k{n}", 3000 - n, f"k{n - 1}" if n else "", depth=n % 7 and 1 + n % 3)
        for n in range(2000)
    )
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("end")
        await pilot.pause()
        assert screen(planted).picker.line.info.title == "session 1999"
        assert len(screen(planted).picker.lines(72)) <= 34
        await pilot.press("home", "pagedown", "pagedown")
        await pilot.press("slash", *"session 1234")
        await pilot.pause()
        assert len(rows(planted)) == 1


async def test_the_cursor_stays_on_its_line_when_the_list_grows(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        await pilot.press("down")
        title = screen(planted).picker.line.info.title
        first, *others = planted.session.history.leaves
        more = leaf("n7", 1, "n6", text="one more")
        planted.session.history.leaves = (replace(first, label="begin"), *others, more)
        planted.emit(Committed(ROOT, Node("l", "n6", ROOT, NOON, Label("n1", "begin"))))
        await planted.until(pilot, lambda: any("one more" in row for row in rows(planted)))
        assert screen(planted).picker.line.info.title == title


async def test_the_cursor_passes_over_gaps_both_ways(planted: Stage) -> None:
    async with planted.app().run_test(size=SIZE) as pilot:
        await opened(planted, pilot)
        picker = screen(planted).picker
        seen = set()
        await pilot.press("home")
        for key in ("down", "up"):
            for _ in range(13):
                await pilot.press(key)
                seen.add(type(picker.line).__name__)
        assert seen == {"SessionLine", "TurnLine", "HereLine"}

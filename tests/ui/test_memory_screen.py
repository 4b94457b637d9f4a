"""The memory screen on the real runtime: found while typed, opened where it was said, edited."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from inspect import getfile
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from scripted import Desk, Ear, call, calls
from still import came
from textual.pilot import Pilot

from stormclaw.config.settings import UiSettings
from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.runtime import Runtime, open_runtime
from stormclaw.ui.app import StormApp
from stormclaw.ui.screens.confirm import Confirm
from stormclaw.ui.screens.memory import MemoryScreen
from stormclaw.ui.screens.zoom import ZoomScreen
from stormclaw.ui.start import Start

SIZE = (120, 36)
LONG = [
    {"text": f"Answer number {n}.\n\n" + f"Some words about part {n}. " * 30} for n in range(12)
]


class Suspendable(StormApp, inherit_css=False):
    """The test's terminal cannot be given away; the editors here need none."""

    CSS_PATH = str(Path(getfile(StormApp)).with_name("storm.tcss"))

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


class Drive:
    """A person at the app."""

    def __init__(self, app: StormApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, holds: Callable[[], object], what: str) -> None:
        if not await came(self.pilot, holds):
            raise AssertionError(f"never: {what}\n{self.shown()}")

    async def say(self, words: str) -> None:
        self.app.main.composer.put(words)
        await self.pilot.press("enter")

    async def memory(self, query: str = "") -> MemoryScreen:
        await self.say(f"/memory {query}".rstrip())
        await self.until(lambda: isinstance(self.app.screen, MemoryScreen), "the screen")
        screen = self.app.screen
        assert isinstance(screen, MemoryScreen)
        await self.until(lambda: screen.picker.count, "something in the list")
        await self.pilot.pause()
        return screen

    def shown(self) -> str:
        """What the screen on top says, line by line."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in lines)

    async def sees(self, words: str) -> None:
        """Wait for words, wherever the screen or its pane has broken them into lines."""

        def there() -> bool:
            return words in " ".join(self.shown().split()) or words in self.beside()

        await self.until(lambda: words in self.shown() or there(), f"{words!r} on the screen")

    def beside(self) -> str:
        """What the pane says, as one line."""
        screen = self.app.screen
        rows = screen.detail.rows if isinstance(screen, MemoryScreen) else ()
        return " ".join(" ".join(row.text for row in rows).split())

    async def idle(self) -> None:
        await self.until(lambda: self.app.session and not self.app.session.busy, "the turn's end")


@asynccontextmanager
async def driven(desk: Desk, size: tuple[int, int] = SIZE, **facts: Any) -> AsyncIterator[Drive]:
    place = desk.place()

    async def opener() -> Runtime:
        session_id = facts.pop("session_id", "")
        return await open_runtime(place, "tui", attended=True, session_id=session_id)

    start = Start(place.home, place.workspace, ui=UiSettings(motion="reduced"))
    app = Suspendable(start, opener)
    app.heart.pace_s = 0.0
    async with app.run_test(size=size) as pilot:
        drive = Drive(app, pilot)
        await drive.until(lambda: app.session is not None, "a session")
        yield drive


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Desk(tmp_path)


async def talked(desk: Desk, turns: list[dict[str, Any]], *said: str) -> str:
    """A session of before: these answers to these words; its id."""
    desk.script(turns)
    runtime = await desk.open()
    try:
        for words in said:
            ear = Ear(runtime.session)
            runtime.session.prompt(words)
            await ear.end()
        return runtime.session.id
    finally:
        await runtime.close()


async def many(desk: Desk) -> str:
    return await talked(desk, LONG, *(f"question {n}" for n in range(12)))


def at_cursor(drive: Drive) -> str:
    """The text of the block the transcript's cursor stands on, which must be in view."""
    transcript = drive.app.main.transcript
    assert transcript is not None
    assert transcript.cursor is not None
    index = transcript.column.index_of(transcript.cursor)
    top = transcript.column.top(index)
    window = transcript.scroll_offset.y, transcript.scrollable_content_region.height
    assert window[0] <= top < sum(window), (top, window)
    return "\n".join(line.strip.text for line in transcript.column.lines_of(index))


async def test_a_hit_of_another_session_is_opened_where_it_was_said(desk: Desk) -> None:
    before = await many(desk)
    desk.script([{"text": "ok"}])
    async with driven(desk) as drive:
        screen = await drive.memory('"part 3"')
        await drive.sees("Some words about part 3.")
        assert screen._hits[0].role == "assistant"
        assert "question 3" in drive.shown()  # what was said before it
        await drive.pilot.press("enter")
        await drive.until(lambda: drive.app.session and drive.app.session.id == before, "it")
        transcript = drive.app.main.transcript
        assert transcript is not None
        await drive.until(lambda: transcript.cursor is not None, "a cursor")
        assert "Answer number 3" in at_cursor(drive)
        assert transcript.has_focus
        assert "Answer number 3" in drive.shown()


async def test_a_hit_of_this_session_is_scrolled_to(desk: Desk) -> None:
    session_id = await many(desk)
    async with driven(desk, session_id=session_id) as drive:
        await drive.memory("question 2")
        await drive.pilot.press("enter")
        await drive.until(lambda: drive.app.screen is drive.app.main, "the chat")
        transcript = drive.app.main.transcript
        assert transcript is not None
        await drive.until(lambda: transcript.cursor is not None, "a cursor")
        assert "question 2" in at_cursor(drive)
        assert drive.app.session is not None
        assert drive.app.session.id == session_id


async def test_every_node_of_a_session_is_found_on_the_screen(desk: Desk) -> None:
    desk.write("a.txt", "A")
    read = call("read_file", path="a.txt")
    reads = calls(*[read] * 6)
    turns: list[dict[str, Any]] = [
        calls(read, text="Reading."), {"text": "Done.\n\n- one\n- two"}, reads, {"text": "All."},
    ]  # fmt: skip
    session_id = await talked(desk, turns, "first", "second")
    async with driven(desk, session_id=session_id) as drive:
        session, transcript = drive.app.session, drive.app.main.transcript
        assert session is not None
        assert transcript is not None
        nodes = session.nodes()
        assert len(nodes) == 13
        for node in nodes:
            assert transcript.go_to_node(nodes, node.id), node
            await drive.pilot.pause()
            shown = at_cursor(drive)
            if isinstance(node.body, UserText):
                assert node.body.text in shown
            elif isinstance(node.body, AssistantTurn) and node.body.text:
                assert node.body.text.split("\n")[0] in shown
            else:
                assert "a.txt" in shown
        assert not transcript.go_to_node(nodes, "nothing")


async def test_a_sub_agents_words_are_shown_in_its_own_chat(desk: Desk) -> None:
    spawn = call("spawn_agent", task="count the files", name="scout")
    desk.script([{"calls": [spawn]}, {"text": "Good."}], {"scout": [{"text": "a zebra, one"}]})
    async with driven(desk) as drive:
        await drive.say("explore")
        await drive.idle()
        await drive.until(lambda: "Good." in drive.shown(), "the answer")
        assert drive.app.runtime is not None
        screen = await drive.memory("zebra one")
        at = next(n for n, hit in enumerate(screen._hits) if hit.agent == "root/scout")
        screen.picker.move_to(at)
        await drive.pilot.press("enter")
        await drive.until(lambda: isinstance(drive.app.screen, ZoomScreen), "the child's chat")
        await drive.sees("a zebra, one")


async def test_the_task_of_a_sub_agent_is_shown_at_the_top_of_its_chat(desk: Desk) -> None:
    spawn = call("spawn_agent", task="count the xylophones", name="scout")
    desk.script([{"calls": [spawn]}, {"text": "Good."}], {"scout": [{"text": "none"}]})
    async with driven(desk) as drive:
        await drive.say("explore")
        await drive.until(lambda: "Good." in drive.shown(), "the answer")
        await drive.idle()
        screen = await drive.memory("xylophones")
        hits = [(hit.agent, hit.role) for hit in screen._hits]
        screen.picker.move_to(hits.index(("root/scout", "user")))
        await drive.pilot.press("enter")
        await drive.until(lambda: isinstance(drive.app.screen, ZoomScreen), "the child's chat")
        await drive.sees("count the xylophones")
        assert "another branch" not in drive.shown()


async def test_notes_longer_than_the_screen_say_so(desk: Desk) -> None:
    desk.write(".stormclaw/memory/MEMORY.md", "# Notes\n" + "- a line\n" * 300)
    async with driven(desk) as drive:
        await drive.say("/memory")
        await drive.sees("lines below, e shows all")


async def test_it_is_searched_while_typed_and_the_folder_can_be_chosen(desk: Desk) -> None:
    await many(desk)
    there = Desk(desk.root / "other")
    there.home, there.env = desk.home, desk.env
    await talked(there, [{"text": "A heron."}], "which bird")
    desk.script([{"text": "ok"}])
    async with driven(desk) as drive:
        screen = await drive.memory("heron")
        assert len(screen._hits) == 1
        await drive.pilot.press("a")
        await drive.sees("nothing about 'heron' was said")
        await drive.pilot.press("slash", *"part 11")
        await drive.until(lambda: screen._hits, "hits")
        assert {hit.workspace for hit in screen._hits} == {desk.project}
        assert "part 11" in drive.shown()
        await drive.pilot.press("enter", "a")
        await drive.sees("all folders")
        await drive.pilot.press("slash", "escape")
        await drive.sees("MEMORY.md")
        await drive.sees("which bird")


async def test_a_running_turn_is_stopped_only_after_a_yes(desk: Desk) -> None:
    before = await talked(desk, [{"text": "A heron."}], "which bird")
    desk.script([{"text": "slow words " * 400, "delay_s": 0.05}])
    async with driven(desk) as drive:
        assert drive.app.session is not None
        now = drive.app.session.id
        await drive.say("talk")
        await drive.until(lambda: drive.app.session and drive.app.session.busy, "a turn")
        await drive.memory("heron")
        await drive.pilot.press("enter")
        await drive.until(lambda: isinstance(drive.app.screen, Confirm), "the question")
        assert "A turn runs; stop it and open which bird?" in drive.shown()
        await drive.pilot.press("n")
        await drive.until(lambda: drive.app.screen is drive.app.main, "the chat")
        assert drive.app.session.id == now
        assert drive.app.session.busy
        await drive.memory("heron")
        await drive.pilot.press("enter")
        await drive.until(lambda: isinstance(drive.app.screen, Confirm), "the question")
        await drive.pilot.press("y")
        await drive.until(lambda: drive.app.session and drive.app.session.id == before, "it")
        await drive.sees("A heron.")


async def test_what_stands_on_another_branch_is_said_so(desk: Desk) -> None:
    from stormclaw.store.finding import Hit
    from stormclaw.ui.memory_going import go_to

    desk.script([{"text": "ok"}])
    async with driven(desk) as drive:
        assert drive.app.session is not None
        go_to(drive.app, Hit(drive.app.session.id, "gone", 0.0, "user", "x", "t"))
        await drive.sees("on another branch; /tree shows it")


async def test_all_of_a_hit_is_copied(desk: Desk) -> None:
    await talked(desk, [{"text": "One.\n\nTwo herons\x1b[31m."}], "birds")
    async with driven(desk) as drive:
        await drive.memory("herons")
        await drive.pilot.press("y")
        await drive.sees("sent to the terminal's clipboard")
        assert drive.app.clipboard == "One.\n\nTwo herons[31m."


def an_editor(desk: Desk, line: str) -> str:
    program = desk.root / "editor"
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


async def test_the_notes_are_edited_and_what_changed_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = desk.write(".stormclaw/memory/MEMORY.md", "# Project notes\n\n- the port is 8080\n")
    monkeypatch.setenv("VISUAL", an_editor(desk, 'sed -i s/8080/9090/ "$1"; echo \'- x\' >> "$1"'))
    await talked(desk, [{"text": "ok"}], "hello")
    async with driven(desk) as drive:
        await drive.memory()
        await drive.sees("the port is 8080")
        assert "3 lines of notes" in drive.shown()
        await drive.pilot.press("e")
        await drive.sees("What you changed")
        assert "- - the port is 8080" in drive.shown()
        assert "+ - the port is 9090" in drive.shown()
        assert "notes changed" in drive.shown()
        assert notes.read_text() == "# Project notes\n\n- the port is 9090\n- x\n"


async def test_notes_begin_with_the_first_edit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", an_editor(desk, "echo '- first' > \"$1\""))
    await talked(desk, [{"text": "ok"}], "hello")
    async with driven(desk) as drive:
        await drive.memory()
        await drive.sees("Nothing is noted in this project")
        await drive.pilot.press("e")
        await drive.sees("+ - first")
        assert (desk.project / ".stormclaw/memory/MEMORY.md").read_text() == "- first\n"


async def test_notes_that_are_a_link_are_neither_shown_nor_edited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = desk.root / "secret"
    secret.write_text("root:x:0:0")
    path = desk.write(".stormclaw/memory/MEMORY.md", "")
    path.unlink()
    path.symlink_to(secret)
    monkeypatch.setenv("VISUAL", an_editor(desk, 'echo changed > "$1"'))
    await talked(desk, [{"text": "ok"}], "hello")
    async with driven(desk) as drive:
        await drive.memory()
        await drive.sees("it is a link")
        await drive.pilot.press("e")
        await drive.pilot.pause()
        assert "root:x" not in drive.shown()
        assert secret.read_text() == "root:x:0:0"


async def test_a_missing_editor_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-here")
    await talked(desk, [{"text": "ok"}], "hello")
    async with driven(desk) as drive:
        await drive.memory()
        await drive.pilot.press("e")
        await drive.sees("set $EDITOR")


@pytest.mark.parametrize("size", [(30, 8), (60, 20), (109, 16), (110, 15), (250, 70)])
async def test_it_fits_screens_of_every_size(desk: Desk, size: tuple[int, int]) -> None:
    await many(desk)
    async with driven(desk, size) as drive:
        screen = await drive.memory("part 3")
        await drive.sees("1 hit")
        assert screen.detail.display == (size[1] >= 16)
        await drive.pilot.press("down", "end", "home", "slash", *"part", "enter")
        await drive.pilot.resize_terminal(120, 36)
        await drive.sees("hits")
        await drive.pilot.press("slash", "escape")
        await drive.sees("MEMORY.md")
        await drive.pilot.press("escape")
        await drive.until(lambda: drive.app.screen is drive.app.main, "the chat")


async def test_a_session_that_is_gone_is_said_so(desk: Desk) -> None:
    before = await talked(desk, [{"text": "A heron."}], "which bird")
    desk.script([{"text": "ok"}])
    async with driven(desk) as drive:
        assert drive.app.session is not None
        now = drive.app.session.id
        await drive.memory("heron")
        rmtree(desk.home / "sessions" / before)
        await drive.pilot.press("enter")
        await drive.sees("no session")
        assert drive.app.session.id == now


async def test_a_broken_index_is_said_so(desk: Desk) -> None:
    await talked(desk, [{"text": "A heron."}], "which bird")
    desk.script([{"text": "ok"}])
    async with driven(desk) as drive:
        assert drive.app.runtime is not None
        path = Path(drive.app.runtime.place.settings.memory.path)
        drive.app.runtime.memory.close()
        for name in (path, *path.parent.glob(f"{path.name}-*")):
            name.unlink()
        path.mkdir()
        await drive.say("/memory heron")
        await drive.sees("Is a directory")


async def test_hostile_text_is_inert(desk: Desk) -> None:
    hostile = "heron [bold red]x[/] \x1b]0;title\x07 \u202eevil \x9b31m [link=file:///etc]y[/link]"
    await talked(desk, [{"text": hostile}], "[bold]heron[/bold]\x1b[2J")
    async with driven(desk) as drive:
        await drive.memory("heron")
        await drive.sees("[bold red]x[/]")
        shown = drive.shown()
        assert not any(sign in shown for sign in "\x1b\x07\x9b\u202e")
        assert "[link=file:///etc]" in shown

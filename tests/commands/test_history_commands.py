"""/tree, /rewind, /undo, /redo, /fork, /rename: what they do on real files and what they say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from scripted import Desk, Ear, call, calls

from stormclaw.commands.run import find, run_command
from stormclaw.protocol.command import Answer, Draft, OpenSession
from stormclaw.protocol.messages import ROOT, Label, Moved
from stormclaw.runtime import Runtime
from stormclaw.store import sessions

SCRIPT = (
    calls(call("write_file", path="a.txt", content="A\n")),
    {"text": "First."},
    calls(call("write_file", path="b.txt", content="B\n")),
    {"text": "Second."},
    {"text": "Third."},
)


@pytest.fixture
async def talked(desk: Desk) -> AsyncIterator[Runtime]:
    """Two turns, each of which wrote a file."""
    desk.configure({"security": {"autonomy": "full"}})
    desk.script(SCRIPT)
    runtime = await desk.open()
    for words in ("write a", "write b"):
        await say(runtime, words)
    yield runtime
    await runtime.close()


async def say(runtime: Runtime, words: str) -> None:
    ear = Ear(runtime.session)
    runtime.session.prompt(words)
    assert (await ear.end()).reason == "done"


def rows(answer: Answer) -> list[tuple[str, ...]]:
    return list(answer.table.rows) if answer.table else []


def texts(runtime: Runtime) -> list[tuple[str, int, str]]:
    return [(leaf.text, leaf.depth, leaf.label) for leaf in runtime.session.history.tree()]


def files(desk: Desk) -> list[str]:
    return sorted(path.name for path in desk.project.iterdir() if path.is_file())


async def test_the_tree_is_a_numbered_table(talked: Runtime) -> None:
    answer = await run_command(talked, "/tree")
    assert (answer.ok, answer.screen) == (True, "tree")
    shown = [(row[0], row[2], row[3]) for row in rows(answer)]
    assert shown == [("1", "1", "write a"), ("2", "1", "write b  < you are here")]


async def test_an_empty_session_has_no_tree_and_nothing_to_take_back(desk: Desk) -> None:
    desk.script(SCRIPT)
    runtime = await desk.open()
    answer = await run_command(runtime, "/tree")
    assert answer.text == "nothing was said in this session yet"
    for line in ("/undo", "/redo", "/fork", "/rewind both", "/rewind 1"):
        refused = await run_command(runtime, line)
        assert not refused.ok, line
        assert refused.text
        assert refused.change is None
    assert runtime.session.nodes() == ()
    await runtime.close()


async def test_rewind_alone_shows_what_there_is_and_changes_nothing(
    desk: Desk, talked: Runtime
) -> None:
    before = talked.session.nodes()
    answer = await run_command(talked, "/rewind")
    assert answer.screen == "tree"
    assert "[TURN] [both|conversation|files]" in answer.text
    assert len(rows(answer)) == 2
    assert (talked.session.nodes(), files(desk)) == (before, ["a.txt", "b.txt"])


@pytest.mark.parametrize(
    ("line", "said", "draft", "left", "spoken"),
    [
        ("/rewind 1", "2 turns back, 2 files put back", "write a", [], []),
        ("/rewind 2 both", "1 turn back, 1 file put back", "write b", ["a.txt"], ["write a"]),
        ("/rewind BOTH", "1 turn back, 1 file put back", "write b", ["a.txt"], ["write a"]),
        (
            "/rewind 2 conversation",
            "1 turn back",
            "write b",
            ["a.txt", "b.txt"],
            ["write a"],
        ),
        ("/rewind 2 files", "1 file put back", "", ["a.txt"], ["write a", "write b"]),
    ],
)
async def test_rewind_takes_back_what_it_is_told(
    desk: Desk,
    talked: Runtime,
    line: str,
    said: str,
    draft: str,
    left: list[str],
    spoken: list[str],
) -> None:
    answer = await run_command(talked, line)
    assert answer.ok
    assert answer.text.split("\n")[0] == f"{said}  /redo brings it back"
    assert answer.change == Draft(draft)
    assert files(desk) == left
    trunk = [leaf.text for leaf in talked.session.history.tree() if leaf.current]
    assert trunk == spoken
    again = await run_command(talked, "/redo")
    assert "brought back" in again.text
    assert again.change == Draft()
    assert files(desk) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("line", ["/rewind 3", "/rewind 0 files", "/rewind nothing like that"])
async def test_rewind_to_no_turn_changes_nothing(desk: Desk, talked: Runtime, line: str) -> None:
    before = talked.session.nodes()
    answer = await run_command(talked, line)
    assert not answer.ok
    assert "there is no turn" in answer.text
    assert (talked.session.nodes(), files(desk)) == (before, ["a.txt", "b.txt"])


async def test_undo_goes_back_turn_by_turn_and_redo_comes_again(
    desk: Desk, talked: Runtime
) -> None:
    for draft, left in (("write b", ["a.txt"]), ("write a", [])):
        answer = await run_command(talked, "/undo")
        assert answer.change == Draft(draft)
        assert files(desk) == left
    assert not (await run_command(talked, "/undo")).ok
    assert (await run_command(talked, "/redo")).text == "1 turn, 1 file brought back"
    assert files(desk) == ["a.txt"]
    assert (await run_command(talked, "/redo")).ok
    assert files(desk) == ["a.txt", "b.txt"]
    assert not (await run_command(talked, "/redo")).ok


async def test_a_file_somebody_edited_since_stays_and_is_named(desk: Desk, talked: Runtime) -> None:
    (desk.project / "b.txt").write_text("mine\n")
    answer = await run_command(talked, "/undo")
    first, second = answer.text.split("\n")
    assert first == "1 turn back  /redo brings it back"
    assert second == "b.txt stays as it is: changed by somebody else since"
    assert (desk.project / "b.txt").read_text() == "mine\n"


async def test_without_checkpoints_undo_says_that_files_stay(desk: Desk) -> None:
    desk.configure({"security": {"autonomy": "full"}, "checkpoints": {"enabled": False}})
    desk.script(SCRIPT)
    runtime = await desk.open()
    await say(runtime, "write a")
    refused = await run_command(runtime, "/rewind 1 files")
    assert not refused.ok
    assert "checkpoints.enabled" in refused.text
    answer = await run_command(runtime, "/undo")
    assert answer.text.startswith("1 turn back")
    assert "files stay: checkpoints are switched off" in answer.text
    assert files(desk) == ["a.txt"]
    await runtime.close()


@pytest.mark.parametrize(
    "line", ["/undo", "/redo", "/rewind 1", "/rewind files", "/fork here", "/tree 1"]
)
async def test_while_a_turn_runs_they_refuse(desk: Desk, line: str) -> None:
    desk.script([calls(call("write_file", path="a.txt", content="A\n")), {"text": "Done."}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write a")
    await ear.permission()
    answer = await run_command(runtime, line)
    assert not answer.ok
    assert "a turn runs; stop it first" in answer.text
    assert not any(isinstance(node.body, Moved | Label) for node in runtime.session.nodes(ROOT))
    assert (await run_command(runtime, "/tree")).ok
    runtime.session.interrupt()
    await runtime.close()


async def test_fork_names_the_place_and_a_branch_can_go_on_from_it(talked: Runtime) -> None:
    answer = await run_command(talked, "/fork  before  the third ")
    assert "'before the third'" in answer.text
    assert "/tree before the third comes back to it" in answer.text
    assert texts(talked)[1] == ("write b", 0, "before the third")
    await say(talked, "a third")
    back = await run_command(talked, "/rewind before the third conversation")
    assert back.ok
    assert back.change == Draft("write b")


async def test_tree_goes_on_from_the_end_of_a_turn(desk: Desk, talked: Runtime) -> None:
    assert (await run_command(talked, "/tree 2")).text == "you are there already"
    await run_command(talked, "/fork two")
    await run_command(talked, "/undo")
    await say(talked, "a third")
    answer = await run_command(talked, "/tree two")
    assert answer.text.startswith("on from the end of 'two', 1 turn left; files stay")
    assert answer.change == Draft()
    assert [leaf.text for leaf in talked.session.history.tree() if leaf.current] == [
        "write a",
        "write b",
    ]
    assert files(desk) == ["a.txt"]
    assert not (await run_command(talked, "/tree 9")).ok


async def test_branch_is_fork_and_makes_up_names(talked: Runtime) -> None:
    assert find("branch") == find("fork")
    assert "'fork 1'" in (await run_command(talked, "/branch")).text
    assert "'fork 2'" in (await run_command(talked, "/fork")).text
    assert texts(talked)[1][2] == "fork 2"


async def test_another_branch_is_indented_in_the_table(talked: Runtime) -> None:
    await run_command(talked, "/undo")
    await say(talked, "a third")
    said = [row[3] for row in rows(await run_command(talked, "/tree"))]
    assert said == ["write a", "  | write b", "a third  < you are here"]


async def test_rename_is_kept_and_hostile_titles_are_tamed(desk: Desk, talked: Runtime) -> None:
    assert not (await run_command(talked, "/rename")).ok
    assert not (await run_command(talked, "/rename \x1b\x07")).ok
    answer = await run_command(talked, "/rename a\x1b[31m  title\u202e of\nmine")
    assert answer.ok
    kept = sessions.load(desk.home, talked.session.id).title
    assert kept == talked.session.title
    assert kept.isprintable()
    await say(talked, "a third")
    assert sessions.load(desk.home, talked.session.id).title == kept


async def test_resume_still_lists_and_opens(talked: Runtime) -> None:
    listed = await run_command(talked, "/sessions")
    assert "write a" in rows(listed)[0]
    answer = await run_command(talked, f"/resume {talked.session.id}")
    assert answer.change == OpenSession(talked.session.id)


async def test_two_at_once_do_not_tear_anything(desk: Desk, talked: Runtime) -> None:
    answers = await asyncio.gather(run_command(talked, "/undo"), run_command(talked, "/undo"))
    assert all(answer.text for answer in answers)
    trunk = [leaf.text for leaf in talked.session.history.tree() if leaf.current]
    assert trunk in ([], ["write a"])
    assert files(desk) == [f"{text[-1]}.txt" for text in trunk]

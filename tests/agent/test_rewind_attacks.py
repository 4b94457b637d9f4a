"""What would lose a person's work on the way back: hands, clocks, kills, and two at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rewound import files, said, shell, talk, turn_ids
from scripted import Desk, Ear, call, calls

import stormclaw
from stormclaw.errors import UsageError

ROOT = Path(stormclaw.__file__).parent.parent
HELPERS = Path(__file__).parent.parent / "helpers"


def sed(before: str, after: str, name: str = "a.txt") -> dict[str, Any]:
    return shell(f"sed -i s/{before}/{after}/ {name}")


async def test_work_by_hand_outlives_undo_after_undo(desk: Desk) -> None:
    """The turn that comes first never touched the file; what was in it then is no state of it."""
    desk.write("a.txt", "one\n")
    async with talk(desk, shell("printf x > x.txt")) as (runtime, _):
        desk.write("a.txt", "one\nby hand\n")
        desk.script([sed("one", "two"), {"text": "done"}])
        await runtime.close()
        again = await desk.open(session_id=runtime.session.id)
        ear = Ear(again.session)
        again.session.prompt("2")
        await ear.end()
        history = again.session.history
        await history.undo()
        assert files(desk)["a.txt"] == "one\nby hand\n"
        returned = await history.undo()
        assert returned is not None
        assert files(desk) == {"a.txt": "one\nby hand\n"}
        assert returned.kept == ("a.txt",)
        await again.close()


async def test_work_by_hand_between_two_calls_is_warned_of(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        desk.write("a.txt", "two\nby hand\n")
        runtime.session.shell("sed -i s/two/three/ a.txt")
        await runtime.session.idle()
        history = runtime.session.history
        preview = await history.preview(turn_ids(history)[0])
        assert [(step.path, step.conflict) for step in preview.files] == [("a.txt", True)]
        returned = await history.rewind(preview.leaf, conversation=False, files=True)
        assert returned.kept == ("a.txt",)
        assert files(desk) == {"a.txt": "three\nby hand\n"}
        await history.rewind(preview.leaf, conversation=False, files=True, force=True)
        assert files(desk) == {"a.txt": "one\n"}
        await history.redo()
        assert files(desk) == {"a.txt": "three\nby hand\n"}


async def test_redo_takes_back_file_by_file_and_ends(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two"), sed("two", "three")) as (runtime, _):
        history = runtime.session.history
        first, second = turn_ids(history)
        for turn in (second, first):
            await history.rewind(turn, conversation=False, files=True)
        assert files(desk) == {"a.txt": "one\n"}
        for expected in ("two\n", "three\n"):
            assert await history.redo() is not None
            assert files(desk) == {"a.txt": expected}
        assert await history.redo() is None


async def test_a_prompt_waits_until_files_are_back(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        session = runtime.session
        back = asyncio.create_task(session.history.undo())
        await asyncio.sleep(0)
        assert session.shell("cp a.txt b.txt") == "queued"
        with pytest.raises(UsageError):
            await session.history.redo()
        await back
        await session.idle()
        assert files(desk) == {"a.txt": "one\n", "b.txt": "one\n"}
        assert [leaf.text for leaf in session.history.tree() if leaf.current] == ["!cp a.txt b.txt"]


async def test_esc_does_not_stop_halfway_back(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        session = runtime.session
        back = asyncio.create_task(session.history.undo())
        await asyncio.sleep(0)
        session.interrupt()
        returned = await back
        assert returned is not None
        assert returned.files == ("a.txt",)
        assert files(desk) == {"a.txt": "one\n"}
        assert said(runtime) == []


@pytest.mark.parametrize("offset_s", [-86_400.0, 86_400.0])
async def test_a_clock_that_jumps_changes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, offset_s: float
) -> None:
    """The clock is an hour off for the first turn, and is put right before the second one."""
    import time

    real = time.time
    desk.write("a.txt", "one\n")
    monkeypatch.setattr(time, "time", lambda: real() + offset_s)
    async with talk(desk, sed("one", "two")) as (runtime, _):
        monkeypatch.undo()
        runtime.session.shell("sed -i s/two/three/ a.txt")
        await runtime.session.idle()
        history = runtime.session.history
        await history.undo()
        assert files(desk) == {"a.txt": "two\n"}
        await history.undo()
        assert files(desk) == {"a.txt": "one\n"}


async def test_two_sub_agents_at_once(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    desk.write("b.txt", "one\n")
    desk.write("c.txt", "one\n")
    spawn = [call("spawn_agent", task="change it", name=name) for name in ("left", "right")]
    # Each waits for the other one, so both run at the same time.
    left = shell("touch l; until [ -e r ]; do sleep 0.01; done; sed -i s/one/two/ a.txt")
    right = shell("touch r; until [ -e l ]; do sleep 0.01; done; sed -i s/one/two/ b.txt")
    read = calls(call("read_file", path="c.txt"))
    edit = calls(call("edit_file", path="c.txt", old_string="one", new_string="two"))
    desk.script(
        [calls(*spawn), {"text": "done"}],
        {
            "root/left": [left, {"text": "changed"}],
            "root/right": [right, read, edit, {"text": "changed"}],
        },
    )
    desk.configure({"security": {"autonomy": "full"}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    assert set(files(desk).values()) == {"two\n", ""}
    returned = await runtime.session.history.undo()
    assert returned is not None
    assert returned.kept == ()
    assert files(desk) == dict.fromkeys(("a.txt", "b.txt", "c.txt"), "one\n")
    await runtime.close()


async def test_a_workspace_too_large_to_look_at_goes_back_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshots of named files cost nothing; those of everything are refused here."""
    desk.write("a.txt", "one\n")
    for number in range(60):
        desk.write(f"large/{number}", "x" * 100 + str(number))
    desk.configure({"checkpoints": {"max_total_bytes": 2000}})
    edit = calls(call("edit_file", path="a.txt", old_string="one", new_string="two"))
    read = calls(call("read_file", path="a.txt"))
    async with talk(desk, read, edit) as (runtime, _):
        assert files(desk)["a.txt"] == "two\n"
        history = runtime.session.history
        returned = await history.undo()
        assert returned is not None
        assert returned.files == ("a.txt",)
        assert files(desk)["a.txt"] == "one\n"
        await history.redo()
        assert files(desk)["a.txt"] == "two\n"


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from scripted import Desk
from stormclaw.runtime import open_runtime

root, session, verb, kill_at = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
desk = object.__new__(Desk)
desk.root, desk.home, desk.project = root, root / "home" / ".stormclaw", root / "project"
desk.env = dict(os.environ)
seen = 0
armed = False

def hook(event, args):
    global seen, armed
    if armed and event in {"os.rename", "os.remove"}:
        names = [os.fsdecode(name) for name in args if isinstance(name, (str, bytes, os.PathLike))]
        if names[0].startswith("/") and "refs/stormclaw" not in names[-1]:
            return  # Neither a file of the project nor the name of a snapshot.
        seen += 1
        if seen == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        elif kill_at == 0 and "refs/stormclaw" in names[-1]:
            armed = False  # The snapshot before files are put back has its name at this moment.
            (desk.project / "a.txt").write_text("by hand\\n")

sys.addaudithook(hook)

async def main():
    global armed
    runtime = await desk.open(session_id=session)
    armed = True
    returned = await getattr(runtime.session.history, verb)()
    armed = False
    await runtime.close()
    print(returned.files, returned.kept)

asyncio.run(main())
"""
"""Takes back, or brings back, and is killed at the n-th file that is renamed or removed.

At the 0-th: the person saves a file as soon as it is certain how things stood.
"""


async def beside(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(desk.root), *words],
        env={**desk.env, "PYTHONPATH": os.pathsep.join((str(HELPERS), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("verb", ["undo", "redo"])
async def test_a_kill_on_the_way_loses_nothing(desk: Desk, verb: str) -> None:
    before = {f"f{number}": f"{number} one\n" for number in range(4)}
    for name, text in before.items():
        desk.write(name, text)
    change = shell("sed -i s/one/two/ f0 f1 && mv f2 f5 && mv f3 f4")
    async with talk(desk, change) as (runtime, _):
        session_id = runtime.session.id
        changed = files(desk)
        assert changed != before
        if verb == "redo":
            await runtime.session.history.undo()
    start, end = (changed, before) if verb == "undo" else (before, changed)
    halves = set()
    for kill_at in range(1, 100):
        done = await beside(desk, session_id, verb, str(kill_at))
        found = files(desk)
        halves.add(tuple(sorted(found.items())))
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        again = await desk.open(session_id=session_id)
        history = again.session.history
        if verb == "undo":
            while await history.redo() is not None:
                pass
            assert files(desk) == start, kill_at
            await history.undo()
            assert files(desk) == end, kill_at
            await history.redo()
        else:
            while await history.redo() is not None:
                pass
            assert files(desk) == end, kill_at
            await history.undo()
        assert files(desk) == start, kill_at
        await again.close()
        if done.returncode == 0:
            break
    else:
        raise AssertionError("never came to an end")
    assert len(halves) > 3  # Some kills did leave half of it.


async def test_what_is_changed_while_files_go_back_stays(desk: Desk) -> None:
    """The person saves a file after it was looked at and before it is put back."""
    desk.write("a.txt", "one\n")
    desk.write("b.txt", "one\n")
    async with talk(desk, sed("one", "two", "a.txt b.txt")) as (runtime, _):
        session_id = runtime.session.id
    done = await beside(desk, session_id, "undo", "0")
    assert done.stdout == "('b.txt',) ('a.txt',)\n", done.stderr
    assert files(desk) == {"a.txt": "by hand\n", "b.txt": "one\n"}


async def test_files_without_snapshots_are_named(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    desk.configure({"checkpoints": {"enabled": False}})
    edit = calls(call("edit_file", path="a.txt", old_string="one", new_string="two"))
    read = calls(call("read_file", path="a.txt"))
    async with talk(desk, read, edit) as (runtime, _):
        session_id = runtime.session.id
    desk.configure({"checkpoints": {"enabled": True}})
    again = await desk.open(session_id=session_id)
    again.session.shell("printf x > x.txt")
    await again.session.idle()
    history = again.session.history
    turn = turn_ids(history)[1]
    returned = await history.rewind(turn, conversation=True, files=True)
    assert returned.files == ("x.txt",)
    assert [sentence.partition(":")[0] for sentence in returned.failed] == ["a.txt"]
    assert "a.txt" in str(again.session.desk.wire()[-1])
    assert files(desk) == {"a.txt": "two\n"}
    await history.redo()
    assert files(desk) == {"a.txt": "two\n", "x.txt": "x"}
    await again.close()


async def test_redo_without_snapshots_says_so_and_brings_the_conversation(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        session_id = runtime.session.id
        await runtime.session.history.undo()
    desk.configure({"checkpoints": {"enabled": False}})
    again = await desk.open(session_id=session_id)
    returned = await again.session.history.redo()
    assert returned is not None
    assert (returned.files, returned.turns) == ((), 1)
    assert "switched off" in returned.failed[0]
    assert said(again) == ["1"]
    assert files(desk) == {"a.txt": "one\n"}
    await again.close()


async def test_a_copy_of_a_session_says_that_files_stay(desk: Desk) -> None:
    """Its snapshots are the other session's."""
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        copy = await runtime.fork_session()
    again = await desk.open(session_id=copy)
    history = again.session.history
    sentence = "a command ran without a snapshot; what that changed stays"
    preview = await history.preview(turn_ids(history)[0])
    assert preview.blocked == sentence
    returned = await history.undo()
    assert returned is not None
    assert (returned.files, returned.turns, returned.failed) == ((), 1, (sentence,))
    assert files(desk) == {"a.txt": "two\n"}
    await again.close()


async def test_two_sessions_take_back_at_once(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, sed("one", "two")) as (runtime, _):
        other = await desk.open()
        other.session.shell("sed -i s/two/three/ a.txt")
        await other.session.idle()
        mine, theirs = await asyncio.gather(
            runtime.session.history.undo(), other.session.history.undo()
        )
        assert mine is not None
        assert theirs is not None
        # Whoever comes second sees what the first has left: mine goes back only after theirs.
        assert theirs.files == ("a.txt",)
        assert (mine.files, files(desk)["a.txt"]) in (((), "two\n"), (("a.txt",), "one\n"))
        await other.close()


async def test_what_stands_in_a_files_place_stays(desk: Desk) -> None:
    """A folder with things in it, a link to somewhere else; forced, too."""
    for name in ("a.txt", "d/x", "plain.txt"):
        desk.write(name, "one\n")
    async with talk(desk, sed("one", "two", "a.txt d/x plain.txt")) as (runtime, _):
        outside = desk.root / "outside"
        outside.mkdir()
        (outside / "x").write_text("mine\n")
        (desk.project / "d" / "x").unlink()
        (desk.project / "d").rmdir()
        (desk.project / "d").symlink_to(outside)
        (desk.project / "a.txt").unlink()
        desk.write("a.txt/in", "mine\n")
        history = runtime.session.history
        (first,) = turn_ids(history)
        returned = await history.rewind(first, conversation=False, files=True, force=True)
        assert returned.files == ("plain.txt",)
        assert [sentence.partition(":")[0] for sentence in returned.failed] == ["a.txt", "d/x"]
        assert files(desk) == {"a.txt/in": "mine\n", "plain.txt": "one\n"}
        assert (outside / "x").read_text() == "mine\n"

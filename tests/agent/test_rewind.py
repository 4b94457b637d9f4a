"""Going back: the conversation, the files, or both; by shell commands changed ones included."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from rewound import files, said, shell, talk, turn_ids
from scripted import Desk, Ear, call, calls

from stormclaw.agent.history.values import FileStep
from stormclaw.errors import UsageError
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import Moved


def git(desk: Desk, *words: str) -> None:
    env = {**desk.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(
        ["git", *who, *words], cwd=desk.project, env=env, check=True, capture_output=True
    )


SED = shell("sed -i s/one/two/ a.txt")
MOVE = shell("mv a.txt b.txt")
BUILD = shell("mkdir -p out && cat a.txt > out/a.o && printf built > done.txt")


@pytest.mark.parametrize("step", [SED, MOVE, BUILD], ids=["sed", "mv", "build"])
async def test_what_a_shell_command_changed_goes_back(desk: Desk, step: Mapping[str, Any]) -> None:
    desk.write("a.txt", "one\n")
    before = files(desk)
    async with talk(desk, step) as (runtime, _):
        changed = files(desk)
        assert changed != before
        history = runtime.session.history
        (first,) = turn_ids(history)
        returned = await history.rewind(first, conversation=True, files=True)
        assert files(desk) == before
        assert (returned.text, returned.turns, returned.failed) == ("1", 1, ())
        assert said(runtime) == []
        brought = await history.redo()
        assert brought is not None
        assert files(desk) == changed
        assert said(runtime) == ["1"]
        assert await history.redo() is None


async def test_git_checkout_goes_back(desk: Desk) -> None:
    git(desk, "init", "-q")
    desk.write("a.txt", "main\n")
    git(desk, "add", ".")
    git(desk, "commit", "-qm", "one")
    git(desk, "checkout", "-qb", "side")
    desk.write("a.txt", "side\n")
    desk.write("new.txt", "side only\n")
    git(desk, "add", ".")
    git(desk, "commit", "-qm", "two")
    git(desk, "checkout", "-q", "main")
    before = files(desk)
    async with talk(desk, shell("git checkout -q side")) as (runtime, _):
        assert files(desk) == {"a.txt": "side\n", "new.txt": "side only\n"}
        history = runtime.session.history
        preview = await history.preview(turn_ids(history)[0])
        assert [(step.path, step.fate) for step in preview.files] == [
            ("a.txt", "restored"),
            ("new.txt", "removed"),
        ]
        await history.rewind(preview.leaf, conversation=False, files=True)
        assert files(desk) == before
        assert said(runtime) == ["1"]


@pytest.mark.parametrize(
    ("conversation", "back", "words"),
    [
        (True, False, "stay as they were changed since: a.txt"),
        (False, True, "I put files back to how they were at another time: a.txt"),
        (True, True, ""),
    ],
)
async def test_the_model_is_told_of_files_that_are_not_as_it_knows_them(
    desk: Desk, conversation: bool, back: bool, words: str
) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, {"text": "hello"}, SED) as (runtime, _):
        history = runtime.session.history
        await history.learn()
        await history.rewind(turn_ids(history)[-1], conversation=conversation, files=back)
        wire = runtime.session.desk.wire()
        told = [text for text in map(str, wire) if "Read them again" in text]
        assert len(told) == bool(words)
        assert all(words in text for text in told)
        assert runtime.session.desk.wire()[-1] is wire[-1]


async def test_undo_undo_redo_redo(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    steps = [
        calls(call("edit_file", path="a.txt", old_string=old, new_string=new))
        for old, new in (("one", "two"), ("two", "three"))
    ]
    read = calls(call("read_file", path="a.txt"), call("time"))
    async with talk(desk, read, *steps) as (runtime, _):
        history = runtime.session.history
        states = ["three\n"]
        for _round in range(2):
            assert await history.undo() is not None
            states.append(files(desk)["a.txt"])
        assert states == ["three\n", "two\n", "one\n"]
        assert said(runtime) == ["1"]
        for expected, words in (("two\n", 2), ("three\n", 3)):
            assert await history.redo() is not None
            assert files(desk)["a.txt"] == expected
            assert len(said(runtime)) == words
        assert await history.redo() is None
        assert await history.undo() is not None  # An undo after all that works as the first did.
        assert files(desk)["a.txt"] == "two\n"


async def test_what_somebody_else_changed_stays_and_is_told(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    desk.write("b.txt", "one\n")
    desk.write("mine.txt", "mine\n")
    async with talk(desk, shell("sed -i s/one/two/ a.txt b.txt")) as (runtime, _):
        desk.write("b.txt", "by hand\n")
        desk.write("mine.txt", "changed\n")
        history = runtime.session.history
        (first,) = turn_ids(history)
        preview = await history.preview(first)
        assert preview.files == (
            FileStep("a.txt", "restored", 1, 1),
            FileStep("b.txt", "restored", 1, 1, conflict=True),
        )
        assert [file.path for file in preview.foreign] == ["mine.txt"]
        returned = await history.rewind(first, conversation=True, files=True)
        assert (returned.files, returned.kept) == (("a.txt",), ("b.txt",))
        assert files(desk) == {"a.txt": "one\n", "b.txt": "by hand\n", "mine.txt": "changed\n"}
        await history.redo()
        await history.rewind(first, conversation=True, files=True, force=True)
        assert files(desk) == {"a.txt": "one\n", "b.txt": "one\n", "mine.txt": "changed\n"}


async def test_a_command_of_ones_own_goes_back_too(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, {"text": "hello"}) as (runtime, _):
        runtime.session.shell("sed -i s/one/two/ a.txt")
        await runtime.session.idle()
        assert files(desk) == {"a.txt": "two\n"}
        history = runtime.session.history
        preview = await history.preview(turn_ids(history)[-1])
        assert [step.path for step in preview.files] == ["a.txt"]
        returned = await history.rewind(preview.leaf, conversation=True, files=True)
        assert returned.text == "!sed -i s/one/two/ a.txt"
        assert files(desk) == {"a.txt": "one\n"}


async def test_redo_leaves_what_was_changed_after_the_undo(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, SED) as (runtime, _):
        history = runtime.session.history
        await history.undo()
        desk.write("a.txt", "by hand\n")
        returned = await history.redo()
        assert returned is not None
        assert returned.kept == ("a.txt",)
        assert files(desk) == {"a.txt": "by hand\n"}


async def test_branches_in_one_file(desk: Desk) -> None:
    async with talk(desk, {"text": "a"}, {"text": "b"}) as (runtime, ear):
        history = runtime.session.history
        first, second = turn_ids(history)
        await history.go(first)
        assert said(runtime) == ["1"]
        runtime.session.prompt("3")
        await ear.end()
        assert [(leaf.text, leaf.depth) for leaf in history.tree()] == [
            ("1", 0),
            ("2", 1),
            ("3", 0),
        ]
        await history.label(second, "the  old way")
        await history.go(second)
        assert said(runtime) == ["1", "2"]
        assert {leaf.label for leaf in history.tree()} == {"", "the old way"}
        session_id = runtime.session.id
        await runtime.close()
        again = await desk.open(session_id=session_id)
        assert said(again) == ["1", "2"]
        assert again.session.history.tree() == history.tree()
        await again.close()


async def test_what_cannot_be_is_refused(desk: Desk) -> None:
    desk.configure({"checkpoints": {"enabled": False}})
    desk.write("a.txt", "one\n")
    async with talk(desk, SED) as (runtime, _ear):
        history = runtime.session.history
        (first,) = turn_ids(history)
        with pytest.raises(UsageError, match="no turn"):
            await history.rewind("nope", conversation=True, files=False)
        with pytest.raises(UsageError, match="switched off"):
            await history.rewind(first, conversation=False, files=True)
        preview = await history.preview(first)
        assert "switched off" in preview.blocked
        assert (await history.undo()) is not None
        assert files(desk) == {"a.txt": "two\n"}  # The conversation went back, and only that.
        assert await history.undo() is None


async def test_no_going_back_under_a_running_turn(desk: Desk) -> None:
    ask = calls(call("ask_user", question="Which?"))
    desk.script([ask, {"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.ask()
    history = runtime.session.history
    (turn,) = turn_ids(history)
    with pytest.raises(UsageError, match="running"):
        await history.rewind(turn, conversation=True, files=False)
    with pytest.raises(UsageError, match="running"):
        await history.undo()
    with pytest.raises(UsageError, match="running"):
        await history.go(turn)
    await runtime.close()


async def test_a_sub_agents_changes_go_back_too(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    desk.script(
        [calls(call("spawn_agent", task="change it", name="fixer")), {"text": "done"}],
        {"root/fixer": [SED, {"text": "changed"}]},
    )
    desk.configure({"security": {"autonomy": "full"}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("go")
    await ear.end()
    assert files(desk) == {"a.txt": "two\n"}
    assert await runtime.session.history.undo() is not None
    assert files(desk) == {"a.txt": "one\n"}
    await runtime.close()


async def test_a_folder_without_git_says_so_once_and_works_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("a.txt", "one\n")
    monkeypatch.setenv("PATH", "/nowhere")
    async with talk(desk, calls(call("write_file", path="n.txt", content="x"))) as (_runtime, ear):
        assert files(desk)["n.txt"] == "x"
        warned = [event for event in ear.of(Notice) if "taken back" in event.text]
        assert len(warned) == 1
        assert "git" in warned[0].text


async def test_moves_are_in_the_record(desk: Desk) -> None:
    desk.write("a.txt", "one\n")
    async with talk(desk, SED) as (runtime, _):
        await runtime.session.history.undo()
        move = runtime.session.nodes()[-1].body
        assert isinstance(move, Moved)
        assert (move.kind, move.turns, move.files) == ("undo", 1, ("a.txt",))
        assert move.before
        assert move.after

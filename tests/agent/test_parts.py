"""The small parts of the agent, each alone."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest

from stormclaw.agent.asks import NOBODY, Asks
from stormclaw.agent.budget import Purse
from stormclaw.agent.hub import Hub
from stormclaw.agent.instructions import InstructionReader, files
from stormclaw.agent.prompt import Brief, build
from stormclaw.protocol.asks import DENIED, Question, Reply
from stormclaw.protocol.events import Answered, Asked, Notice, TextDelta, ToolProgress
from stormclaw.protocol.messages import Usage
from stormclaw.store.durable import finish


def question(ask_id: str) -> Question:
    return Question(ask_id, "root", "really?")


async def test_neighbouring_text_merges_and_nothing_else() -> None:
    hub = Hub()
    line = hub.subscribe()
    for event in (
        TextDelta("root", "a"),
        TextDelta("root", "b"),
        TextDelta("root/x", "c"),
        Notice("root", "info", "n"),
        Notice("root", "info", "n"),
        ToolProgress("root", "1", "p"),
        ToolProgress("root", "1", "q"),
        ToolProgress("root", "2", "r"),
    ):
        hub.publish(event)
    assert line.waiting() == (
        TextDelta("root", "ab"),
        TextDelta("root/x", "c"),
        Notice("root", "info", "n"),
        Notice("root", "info", "n"),
        ToolProgress("root", "1", "pq"),
        ToolProgress("root", "2", "r"),
    )


async def test_a_closed_hub_ends_every_listener_after_what_is_in_line() -> None:
    hub = Hub()
    line = hub.subscribe()
    hub.publish(Notice("root", "info", "last"))
    hub.close()
    assert [event async for event in line] == [Notice("root", "info", "last")]


async def test_a_question_is_answered_once() -> None:
    hub = Hub()
    asks = Asks(hub, attended=True)
    line = hub.subscribe()
    waiting = asyncio.create_task(asks.put(question("q1")))
    assert isinstance(await anext(line), Asked)
    assert [ask.id for ask in asks.open] == ["q1"]
    assert asks.answer("q1", Reply("text", "yes"))
    assert not asks.answer("q1", Reply("text", "no"))
    assert await waiting == Reply("text", "yes")
    assert len(asks.open) == 0
    assert not asks.answer("never", DENIED)


async def test_nobody_there_means_no_at_once_and_is_published() -> None:
    hub = Hub()
    line = hub.subscribe()
    assert await Asks(hub, attended=False).put(question("q1")) == NOBODY
    assert line.waiting() == (
        Asked("root", question("q1")),
        Answered("root", "q1", NOBODY),
    )


async def test_deny_all_closes_everything_that_is_open() -> None:
    asks = Asks(Hub(), attended=True)
    waiting = [asyncio.create_task(asks.put(question(f"q{n}"))) for n in range(3)]
    await asyncio.sleep(0)
    asks.deny_all()
    assert await asyncio.gather(*waiting) == [DENIED] * 3


def test_a_childs_spending_comes_out_of_its_parents_purse() -> None:
    root = Purse("root", limit_usd=2.0, limit_tokens=1000)
    child = root.child("root/x", 0.5)
    assert (child.limit_usd, child.limit_tokens) == (1.0, 500)
    changed = child.spend(Usage(400, 200, cost_usd=0.25))
    assert [purse.agent for purse in changed] == ["root/x", "root"]
    assert root.usage.cost_usd == 0.25
    assert "500 tokens" in child.exhausted()
    assert root.exhausted() == ""
    root.spend(Usage(400, 0))
    assert "1000 tokens" in root.exhausted()
    assert root.child("root/y", 0.5).limit_tokens == 0


def test_a_purse_without_limits_is_never_empty() -> None:
    purse = Purse("root")
    purse.spend(Usage(10**9, 10**9, cost_usd=10**6))
    assert purse.exhausted() == ""


async def test_finish_ends_the_work_before_the_cancel_goes_on() -> None:
    began, may_end, done = asyncio.Event(), asyncio.Event(), []

    async def work() -> None:
        began.set()
        await may_end.wait()
        done.append(True)

    task = asyncio.create_task(finish(work()))
    await began.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


async def test_finish_lets_an_error_through_even_when_cancelled() -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        await may_end.wait()
        raise OSError("disk full")

    task = asyncio.create_task(finish(work()))
    await began.wait()
    task.cancel()
    may_end.set()
    with pytest.raises(OSError, match="disk full"):
        await task


def project(tmp_path: Path) -> tuple[Path, Path, Path]:
    home, root = tmp_path / "home", tmp_path / "repo"
    workspace = root / "pkg"
    workspace.mkdir(parents=True)
    home.mkdir()
    (root / ".git").mkdir()
    return home, root, workspace


def test_instructions_go_from_general_to_particular_first_name_wins(tmp_path: Path) -> None:
    home, root, workspace = project(tmp_path)
    (tmp_path / "AGENTS.md").write_text("above the repository: not ours")
    for path in (home / "STORMTROOPER.md", root / "AGENTS.md", root / "CLAUDE.md"):
        path.write_text(path.name)
    (workspace / "CLAUDE.md").write_text("deep")
    assert files(home, workspace) == (
        home / "STORMTROOPER.md",
        root / "AGENTS.md",
        workspace / "CLAUDE.md",
    )


def test_instructions_are_read_again_when_they_change(tmp_path: Path) -> None:
    home, root, workspace = project(tmp_path)
    reader = InstructionReader(home, workspace)
    assert reader.current() == ()
    (root / "AGENTS.md").write_text("one")
    assert [entry.text for entry in reader.current()] == ["one"]
    (root / "AGENTS.md").write_text("another")
    assert [entry.text for entry in reader.current()] == ["another"]


def test_a_link_out_of_the_project_is_not_told_to_a_model(tmp_path: Path) -> None:
    home, root, workspace = project(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("key")
    (workspace / "AGENTS.md").symlink_to(secret)
    (root / "AGENTS.md").write_text("fine")
    (root / "CLAUDE.md").symlink_to(root / "AGENTS.md")
    assert files(home, workspace) == (root / "AGENTS.md",)


def test_the_prompt_names_model_folder_branch_and_date(tmp_path: Path) -> None:
    brief = Brief(
        agent="root/scout",
        model="m-1",
        acts=False,
        workspace=tmp_path,
        branch="main",
        today=date(2026, 11, 22),
        walled=True,
        instructions=(),
        notes="remember the milk",
    )
    text = build(brief)
    for part in ("sub-agent scout", "m-1", str(tmp_path), "main", "2026-11-22", "the milk"):
        assert part in text

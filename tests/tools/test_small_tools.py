"""time, memory_write, spawn_agent, ask_user."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff
from stormclaw.protocol.effects import Remembers, Spawns
from stormclaw.protocol.messages import TurnReason, Usage
from stormclaw.protocol.tool import ChildReport, SpawnRequest, ToolContext, ToolResult
from stormclaw.tools import ask_user, memory_write, spawn_agent

Call = Callable[..., Awaitable[ToolResult]]


async def test_time(call: Call) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    result = await call("time")
    after = datetime.now(UTC)
    utc = datetime.fromisoformat(result.metadata["utc"])
    assert before <= utc <= after
    assert datetime.fromisoformat(result.metadata["local"]) == utc
    assert all(moment in result.output for moment in result.metadata.values())


@pytest.fixture
def notes(ctx: ToolContext) -> Path:
    return ctx.notes / "MEMORY.md"


async def test_the_first_note_makes_the_file(ctx: ToolContext, call: Call, notes: Path) -> None:
    args = memory_write.Args("Tests run with `make test`")
    assert memory_write.TOOL.effects(args, ctx) == (Remembers(notes),)
    assert memory_write.TOOL.preview is not None
    preview = await memory_write.TOOL.preview(args, ctx)
    assert not notes.exists()
    result = await call("memory_write", note="Tests run with `make test`")
    assert notes.read_text() == "# Project notes\n\n- Tests run with `make test`\n"
    assert isinstance(preview, Diff)
    assert (result.display, preview.created) == (preview, True)
    assert result.output == "Noted in .stormclaw/memory/MEMORY.md"
    assert memory_write.TOOL.headline(args).object == "Tests run with `make test`"


async def test_notes_find_their_section(call: Call, notes: Path) -> None:
    for note, section in [("a", None), ("b", "Build"), ("c", None), ("d", "## Build"), ("e", "X")]:
        await call("memory_write", note=note, section=section)
    await call("memory_write", note="two\nlines", section="Build")
    assert notes.read_text() == (
        "# Project notes\n\n- a\n- c\n\n## Build\n\n- b\n- d\n- two\n  lines\n\n## X\n\n- e\n"
    )


async def test_a_note_replaces_another(call: Call, notes: Path) -> None:
    await call("memory_write", note="port is 80")
    await call("memory_write", note="host is x")
    await call("memory_write", note="port is 8080", replace="port is 80")
    assert notes.read_text() == "# Project notes\n\n- port is 8080\n- host is x\n"
    with pytest.raises(ToolFailure, match="stands nowhere in"):
        await call("memory_write", note="x", replace="zebra")
    with pytest.raises(ToolFailure, match="stands 2 times in"):
        await call("memory_write", note="x", replace=" is ")
    with pytest.raises(ToolFailure, match="says so already"):
        await call("memory_write", note="- host is x")
    with pytest.raises(ToolFailure, match="`note` is empty"):
        await call("memory_write", note=" \n")


async def test_notes_keep_the_style_of_the_file(call: Call, notes: Path) -> None:
    notes.parent.mkdir(parents=True)
    notes.write_bytes(b"\xef\xbb\xbf# Mine\r\n\r\nText.\r\n")
    await call("memory_write", note="new")
    assert notes.read_bytes() == b"\xef\xbb\xbf# Mine\r\n\r\nText.\r\n- new\r\n"


async def test_notes_written_at_the_same_time_are_all_kept(call: Call, notes: Path) -> None:
    await asyncio.gather(*(call("memory_write", note=f"note {n}") for n in range(20)))
    assert sorted(notes.read_text().splitlines()[2:]) == sorted(f"- note {n}" for n in range(20))


async def test_a_folder_somebody_else_holds_does_not_stop_a_note(
    ctx: ToolContext, call: Call, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_write, "TRIES", 2)
    held = os.open(ctx.workspace, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        await call("memory_write", note="still")
    finally:
        os.close(held)
    assert "- still" in notes.read_text()


async def test_notes_that_cannot_be_written(call: Call, notes: Path) -> None:
    notes.mkdir(parents=True)
    with pytest.raises(ToolFailure, match="is a folder"):
        await call("memory_write", note="x")


@pytest.mark.parametrize(
    ("reason", "text", "output", "summary"),
    [
        ("done", " found it \n", "found it", "done, 6.0k tokens"),
        ("limit", "half", "[root/scout-1 did not finish: limit]\nhalf", "limit, 6.0k tokens"),
        (
            "failed",
            "",
            "[root/scout-1 did not finish: failed]\n(it gave no answer)",
            "failed, 6.0k tokens",
        ),
    ],
)
async def test_spawn_agent(
    call: Call,
    narrow: Callable[..., ToolContext],
    reason: TurnReason,
    text: str,
    output: str,
    summary: str,
) -> None:
    asked: list[SpawnRequest] = []

    async def spawn(request: SpawnRequest) -> ChildReport:
        asked.append(request)
        return ChildReport("root/scout-1", request.task, reason, text, Usage(5_000, 1_000))

    result = await call(
        "spawn_agent", ctx=narrow(spawn=spawn), task="look", name="scout", tools=["read_file"]
    )
    assert asked == [SpawnRequest("look", "scout", "", ("read_file",))]
    assert (result.output, result.summary, result.ok) == (output, summary, reason == "done")
    assert result.child is not None
    assert result.child.reason == reason


async def test_a_long_answer_of_a_child_is_cut(
    call: Call, narrow: Callable[..., ToolContext]
) -> None:
    async def spawn(request: SpawnRequest) -> ChildReport:
        return ChildReport("root/a", "t", "done", "x" * 500, Usage(1, 2, reported=False))

    result = await call("spawn_agent", ctx=narrow(spawn=spawn, max_output_chars=100), task="t")
    assert result.output == "x" * 100 + "\n… 400 characters left out"
    assert result.summary == "done, ~3 tokens"


async def test_spawn_agent_says_what_it_starts(ctx: ToolContext, call: Call) -> None:
    args = spawn_agent.Args("look\n  around", "scout")
    assert spawn_agent.TOOL.effects(args, ctx) == (Spawns("look\n  around"),)
    assert spawn_agent.TOOL.headline(args).object == "scout: look around"
    with pytest.raises(ToolFailure, match="`task` is empty"):
        await call("spawn_agent", task=" ")
    with pytest.raises(ToolFailure, match="no sub-agents here"):
        await call("spawn_agent", task="x")


async def test_ask_user(call: Call, narrow: Callable[..., ToolContext], ctx: ToolContext) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []

    async def question(text: str, options: tuple[str, ...]) -> str:
        asked.append((text, options))
        return "blue\n" + "x" * 80

    result = await call(
        "ask_user", ctx=narrow(question=question), question="Which?", options=["red", "blue"]
    )
    assert asked == [("Which?", ("red", "blue"))]
    assert result.output == "blue\n" + "x" * 80
    assert result.summary == "blue " + "x" * 55 + "…"
    assert ask_user.TOOL.effects(ask_user.Args("q"), ctx) == ()
    with pytest.raises(ToolFailure, match="nobody is there"):
        await call("ask_user", question="Which?")
    with pytest.raises(ToolFailure, match="`question` is empty"):
        await call("ask_user", question="")

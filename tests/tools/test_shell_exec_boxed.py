"""Shell lines inside real walls: the same ends, the same output, and nothing that stays behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from boxed import Box, box
from handy import context

from stormclaw.errors import ToolFailure
from stormclaw.processes import processes
from stormclaw.protocol.effects import WALLED_IN, Reach
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.security.sandbox import Sandbox, choose

Call = Callable[..., Coroutine[Any, Any, ToolResult]]


@pytest.fixture
def walls(tmp_path: Path) -> Iterator[Box]:
    yield from box(tmp_path)


def boxed(walls: Box, reach: Reach = WALLED_IN, **changes: Any) -> ToolContext:
    """A context whose lines run inside the walls."""

    def launch(line: str) -> Any:
        return walls.walls.launch(line, walls.workspace, walls.ground.environ, reach)

    usual = {"launch": launch, "lack": walls.walls.lack, "sandbox": walls.walls.level}
    return context(walls.workspace, walls.ground.home, reach=reach, **{**usual, **changes})


async def test_ends_and_output_are_as_without_walls(call: Call, walls: Box) -> None:
    ctx = boxed(walls)
    result = await call("shell_exec", ctx=ctx, command="echo out; echo err >&2; pwd; exit 3")
    assert result.output == f"out\nerr\n{walls.workspace}\n[exit 3]"
    assert result.metadata == {"exit_code": 3, "lines": 3, "left_out": 0}
    killed = await call("shell_exec", ctx=ctx, command="kill -9 $$")
    assert (killed.summary, killed.metadata["exit_code"]) == ("killed by SIGKILL, no output", -9)
    fine = await call("shell_exec", ctx=ctx, command="cat; test -t 0 || echo none")
    assert fine.output == "none\n[exit 0]"
    high = await call("shell_exec", ctx=ctx, command="exit 255")
    assert high.summary == "exit 255, no output"


async def test_live_output(call: Call, walls: Box) -> None:
    seen = asyncio.Event()
    live: list[str] = []

    def progress(piece: str) -> None:
        live.append(piece)
        seen.set()

    os.mkfifo(walls.workspace / "go")
    ctx = boxed(walls, progress=progress)
    task = asyncio.create_task(call("shell_exec", ctx=ctx, command="echo first; read x <go"))
    await seen.wait()
    assert live == ["first\n"]
    await asyncio.to_thread((walls.workspace / "go").write_text, "on\n")
    assert (await task).ok


TIDY = "trap 'echo tidy; exit 0' TERM; echo up >up; while :; do sleep 0.01; done"


async def test_who_listens_may_tidy_up(call: Call, walls: Box) -> None:
    live: list[str] = []
    os.mkfifo(walls.workspace / "up")
    ctx = boxed(walls, progress=live.append)
    task = asyncio.create_task(call("shell_exec", ctx=ctx, command=TIDY))
    assert await asyncio.to_thread((walls.workspace / "up").read_text) == "up\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "".join(live).endswith("tidy\n")  # bash may tell that its sleep was ended, too


STUBBORN = """
trap '' TERM
exec 3>pipe
python3 -c 'import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
os.fork()
os.write(3, b"x")
time.sleep(1000)' &
echo -n x >&3
while :; do sleep 1000; done
"""


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
async def test_the_whole_family_ends(call: Call, walls: Box, how: str) -> None:
    os.mkfifo(walls.workspace / "pipe")
    reading = os.open(walls.workspace / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    keep = os.open(walls.workspace / "pipe", os.O_WRONLY)
    ctx = boxed(walls, max_shell_timeout_s=6.0 if how == "timeout" else 60.0)
    task = asyncio.create_task(call("shell_exec", ctx=ctx, command=STUBBORN))
    task.add_done_callback(lambda _: os.close(keep))
    said = b""
    while len(said) < 3:
        more = await asyncio.to_thread(os.read, reading, 9)
        assert more, f"it ended when only {len(said)} of three were there"
        said += more
    if how == "cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert (await task).summary == "timeout after 6 s, no output"
    assert await asyncio.to_thread(os.read, reading, 9) == b""
    os.close(reading)


async def test_the_background_ends_with_its_command(call: Call, walls: Box) -> None:
    ctx = boxed(walls)
    result = await call("shell_exec", ctx=ctx, command="sleep 1000 & echo done")
    assert result.ok
    assert result.output.startswith("done\n[exit 0]\nWhat this command left in the background has")
    plain = await call("shell_exec", ctx=ctx, command="echo a && echo b 2>&1 | cat >&2")
    assert plain.output == "a\nb\n[exit 0]"


async def test_nothing_is_left_behind(call: Call, walls: Box) -> None:
    ctx = boxed(walls)
    await call("shell_exec", ctx=ctx, command="true")
    before = len(os.listdir("/proc/self/fd"))
    for command in ("true", "sleep 1000 &", "exit 3"):
        await call("shell_exec", ctx=ctx, command=command)
    with pytest.raises(ToolFailure):
        await call("shell_exec", ctx=ctx, command="x" * 3_000_000)
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(walls.workspace) == []
    mine = [proc for proc in processes().values() if proc.parent == os.getpid()]
    assert not [proc for proc in mine if proc.zombie]


async def test_a_lack_is_told_and_offered(call: Call, walls: Box) -> None:
    line = "getent hosts example.org || { echo 'Could not resolve host: example.org'; exit 6; }"
    result = await call("shell_exec", ctx=boxed(walls), command=line)
    assert result.lack is not None
    assert result.lack.reach == Reach(network=True)
    assert "kept this command from the network" in result.output
    assert "Only the person can allow that" in result.output
    with_it = boxed(walls, Reach(network=True))
    again = await call("shell_exec", ctx=with_it, command="echo 'Could not resolve host: x'; false")
    assert again.lack is None
    fine = await call("shell_exec", ctx=boxed(walls), command="echo Could not resolve host: x")
    assert fine.lack is None


async def test_guarded_files_are_told_of_but_never_offered(call: Call, walls: Box) -> None:
    ctx = boxed(walls)
    result = await call("shell_exec", ctx=ctx, command="echo x > .envrc")
    assert (result.ok, result.lack) == (False, None)
    assert "The sandbox guards this file" in result.output


async def test_a_workspace_that_is_gone(call: Call, walls: Box) -> None:
    walls.workspace.rmdir()
    with pytest.raises(ToolFailure, match="is not there; nothing was run"):
        await call("shell_exec", ctx=boxed(walls), command="true")


async def test_required_walls_that_are_missing_start_nothing(call: Call, ctx: ToolContext) -> None:
    none = Sandbox(why="this machine has none", required=True)

    def launch(line: str) -> Any:
        return none.launch(line, ctx.workspace, ctx.environ, WALLED_IN)

    changed = context(ctx.workspace, ctx.workspace, launch=launch)
    with pytest.raises(ToolFailure, match="required, and there is none: this machine has none"):
        await call("shell_exec", ctx=changed, command="touch done")
    assert os.listdir(ctx.workspace) == []


def test_choosing(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    where = {"workspace": work, "home": tmp_path / "claw", "user_home": tmp_path / "person"}
    off = choose("off", **where, environ={"PATH": os.environ["PATH"]})
    assert (off.level, off.required) == ("none", False)
    assert "off" in off.why
    walls = choose("required", **where, environ={"PATH": os.environ["PATH"]})
    assert walls.rungs
    assert all(rung.why for rung in walls.rungs)
    assert [rung.ok for rung in walls.rungs][-1] == (walls.level != "none")
    assert walls.required == (walls.level == "none")
    walls.close()

"""A program that talks in lines: its lines, its silence, its end, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stormclaw.errors import ProviderError
from stormclaw.processes import MARK, is_alive, look, processes
from stormclaw.providers._programs.process import Program, Silence, scrubbed

ECHO = "for line in sys.stdin: print('got', line.strip(), flush=True)"
IN_A_SESSION = """
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(child.pid, flush=True)
"""
STUBBORN = """
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
"""
WAIT = "signal.pause()"
DETACHED = """
code = "import subprocess, sys; p = subprocess.Popen(['sleep', '1000'], start_new_session=True);"
code += "print(p.pid, flush=True)"
subprocess.run([sys.executable, "-c", code])
"""


@asynccontextmanager
async def started(tmp_path: Path, *code: str, **environ: str) -> AsyncIterator[Program]:
    script = "\n".join(("import os, signal, subprocess, sys", *code))
    env = {"PATH": os.environ["PATH"], **environ}
    program = await Program.start([sys.executable, "-c", script], cwd=tmp_path, environ=env)
    try:
        yield program
    finally:
        await program.stop()


def runs(pid: int) -> bool:
    proc = look(pid)
    return proc is not None and is_alive(proc)


def children() -> set[int]:
    return {pid for pid, proc in processes().items() if proc.parent == os.getpid()}


async def test_lines_go_both_ways(tmp_path: Path) -> None:
    async with started(tmp_path, ECHO) as program:
        await program.write(b"one")
        assert await program.line(30) == b"got one"
        await program.write(b"two\n")
        assert await program.line(30) == b"got two"
        program.end_input()
        assert await program.line(30) is None
        assert await program.ended(30) == 0


async def test_silence_is_told_and_loses_no_line(tmp_path: Path) -> None:
    async with started(tmp_path, ECHO) as program:
        with pytest.raises(Silence):
            await program.line(0.01)
        await program.write(b"late")
        assert await program.line(30) == b"got late"


async def test_a_line_of_a_megabyte_is_one_line(tmp_path: Path) -> None:
    async with started(tmp_path, "print('x' * 3_000_000, flush=True)") as program:
        line = await program.line(30)
        assert line is not None
        assert len(line) == 3_000_000


async def test_the_end_of_stderr_is_kept(tmp_path: Path) -> None:
    code = "sys.stderr.write('y' * 100_000 + 'the reason'); sys.exit(3)"
    async with started(tmp_path, code) as program:
        assert await program.line(30) is None
        assert await program.ended(30) == 3
        assert program.stderr.endswith("the reason")
        assert len(program.stderr) < 10_000


async def test_stderr_is_told_without_colours_and_keys(tmp_path: Path) -> None:
    code = r"sys.stderr.write('\x1b[31mbad key\x1b[0m sk-or-v1-' + 'a1b2c3d4' * 8); sys.exit(3)"
    async with started(tmp_path, code) as program:
        assert await program.line(30) is None
        assert await program.ended(30) == 3
        assert program.stderr.startswith("bad key ")
        assert "a1b2c3d4" not in program.stderr


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        await Program.start([str(tmp_path / "nothing")], cwd=tmp_path, environ={})
    assert caught.value.kind == "not_found"


async def test_stop_ends_tools_in_sessions_of_their_own(tmp_path: Path) -> None:
    async with started(tmp_path, IN_A_SESSION, WAIT) as program:
        tool = int(await program.line(30) or b"0")
        assert runs(tool)
        await program.stop()
        assert not runs(tool)
        assert not runs(program.pid)
        assert not program.running


async def test_stop_ends_what_does_not_listen(tmp_path: Path) -> None:
    async with started(tmp_path, STUBBORN, IN_A_SESSION, "while True: signal.pause()") as program:
        tool = int(await program.line(30) or b"0")
        await program.stop()
        assert not runs(tool)
        assert not runs(program.pid)


async def test_stop_finds_a_detached_tool_by_its_mark(tmp_path: Path) -> None:
    async with started(tmp_path, DETACHED, WAIT, **{MARK: "home.1.2"}) as program:
        tool = int(await program.line(30) or b"0")
        assert runs(tool)
        await program.stop()
        assert not runs(tool)


async def test_an_orphan_that_holds_the_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with started(tmp_path, IN_A_SESSION, "os._exit(7)", **{MARK: "home.1.2"}) as program:
        tool = int(await program.line(30) or b"0")
        assert await program.line(30) is None
        assert program.code == 7
        await program.stop()
        assert not runs(tool)


async def test_a_cancelled_reader_leaves_nothing(tmp_path: Path) -> None:
    before = children()
    up = asyncio.Event()
    tools: list[int] = []

    async def talk() -> None:
        async with started(tmp_path, IN_A_SESSION, WAIT) as program:
            tools.append(int(await program.line(30) or b"0"))
            up.set()
            await program.line(None)

    task = asyncio.create_task(talk())
    await up.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not runs(tools[0])
    assert children() <= before


async def test_a_cancelled_stop_kills_at_once(tmp_path: Path) -> None:
    async with started(tmp_path, STUBBORN, IN_A_SESSION, "while True: signal.pause()") as program:
        tool = int(await program.line(30) or b"0")
        held = os.pidfd_open(tool)
        stopping = asyncio.create_task(program.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        await program.ended(30)
        # Ready once the process has ended.
        ended, _, _ = await asyncio.to_thread(select.select, [held], [], [], 30)
        os.close(held)
        assert ended
        assert not runs(program.pid)


def test_names_are_scrubbed_whole_and_by_their_beginning() -> None:
    environ = {"A": "1", "AB": "2", "OTEL_X": "3", "HOME": "/h"}
    assert scrubbed(environ, ["A", "OTEL_*"]) == {"AB": "2", "HOME": "/h"}

"""Runs a shell line with live output; what it started does not outlive a timeout or an Esc."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline, Shell
from stormclaw.protocol.effects import Effect, Runs
from stormclaw.protocol.shell_text import fold_continuations
from stormclaw.protocol.tool import Launch, Tool, ToolContext, ToolResult
from stormclaw.tools._files import reason
from stormclaw.tools._output import Captured
from stormclaw.tools._pipe import Pipe
from stormclaw.tools._procs import command_of, family_of
from stormclaw.tools._shell_end import End, told
from stormclaw.tools._shell_stop import stop


class Args(Struct, frozen=True):
    """The line, and how long it may take."""

    command: str
    timeout: Annotated[int, Meta(ge=1, description="Seconds it may take")] | None = None


def _seconds(args: Args, ctx: ToolContext) -> float:
    return min(args.timeout or ctx.shell_timeout_s, ctx.max_shell_timeout_s)


def _headline(args: Args) -> Headline:
    return Headline("shell", args.command or "?", "command")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    if not args.command.strip():
        raise ToolFailure("`command` is empty; nothing was run", summary="no command")
    if "\0" in args.command:
        raise ToolFailure("`command` has a NUL in it; nothing was run", summary="bad command")
    return (Runs(fold_continuations(args.command), ctx.workspace, ctx.reach),)


async def _preview(args: Args, ctx: ToolContext) -> Shell:
    return Shell(
        fold_continuations(args.command),
        str(ctx.workspace),
        _seconds(args, ctx),
        ctx.sandbox,
        ctx.reach.network,
        tuple(map(str, ctx.reach.folders)),
        () if ctx.reach.network else ctx.reach.hosts,
    )


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    line = fold_continuations(args.command)
    captured = Captured(ctx.max_output_chars, ctx.progress)
    with _pipe(captured) as pipe, _launched(line, ctx) as launch:
        process = await _start(launch, ctx, pipe)
        pipe.started()
        timed_out = await _wait(process, launch, _seconds(args, ctx))
        launch.finish()
        await pipe.drain()
        left = () if pipe.ended.is_set() else _left_running(process.pid)
    limit = _seconds(args, ctx) if timed_out else 0
    return told(captured, End(line, launch, process.returncode or 0, limit, left), ctx.lack)


@contextmanager
def _pipe(captured: Captured) -> Iterator[Pipe]:
    pipe = Pipe(captured)
    try:
        yield pipe
    finally:
        pipe.close()


@contextmanager
def _launched(command: str, ctx: ToolContext) -> Iterator[Launch]:
    """A line in its walls, which are taken down in any case."""
    launch = ctx.launch(command)
    try:
        yield launch
    finally:
        launch.finish()


async def _start(launch: Launch, ctx: ToolContext, pipe: Pipe) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *launch.argv,
            cwd=ctx.workspace,
            env={**launch.environ, "TERM": "dumb"},
            pass_fds=launch.descriptors,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe.writing,
            stderr=pipe.writing,
            start_new_session=True,
        )
    except OSError as problem:
        raise ToolFailure(f"the shell could not be started: {reason(problem)}") from problem
    finally:
        for descriptor in launch.descriptors:
            os.close(descriptor)


async def _wait(process: asyncio.subprocess.Process, launch: Launch, seconds: float) -> bool:
    """Wait for the shell; True when it had to be stopped. Cancelled, it stops everything first."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        await stop(process, launch)
        return True
    except asyncio.CancelledError:
        await stop(process, launch)
        raise
    return False


def _left_running(leader: int) -> tuple[str, ...]:
    return tuple(
        f"{proc.pid} {command_of(proc.pid)}" for proc in family_of(leader) if not proc.zombie
    )


TOOL = Tool(
    name="shell_exec",
    description=(
        "Run a bash line in the workspace: no terminal, no input. Start what does not end with `&` "
        "and its output in a file. To read, find or change files use the other tools."
    ),
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    preview=_preview,
    aliases=("shell", "Bash"),
    editable="command",
    own_time=True,
)

"""Sessions that have changed a project, for tests of going back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from scripted import Desk, Ear, call, calls

from stormclaw.agent.history.history import History
from stormclaw.protocol.messages import UserText
from stormclaw.runtime import Runtime

Files = dict[str, str]


def files(desk: Desk) -> Files:
    """What is in the project, but for git's own."""
    return {
        str(path.relative_to(desk.project)): path.read_text()
        for path in sorted(desk.project.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(desk.project).parts
    }


def shell(command: str) -> dict[str, Any]:
    """A scripted turn that runs a command."""
    return calls(call("shell_exec", command=command))


@asynccontextmanager
async def talk(desk: Desk, *turns: Mapping[str, Any]) -> AsyncIterator[tuple[Runtime, Ear]]:
    """A runtime at full autonomy after prompts `1`, `2` ... were answered by these turns."""
    done = {"text": "done"}
    desk.script([step for turn in turns for step in ((turn, done) if "calls" in turn else (turn,))])
    desk.configure({"security": {"autonomy": "full"}})
    runtime = await desk.open()
    ear = Ear(runtime.session)
    for number in range(1, len(turns) + 1):
        runtime.session.prompt(str(number))
        await ear.end()
    try:
        yield runtime, ear
    finally:
        await runtime.close()


def said(runtime: Runtime) -> list[str]:
    """What the person said on the branch that goes on."""
    bodies = (node.body for node in runtime.session.nodes())
    return [body.text for body in bodies if isinstance(body, UserText)]


def turn_ids(history: History) -> list[str]:
    """The turns of the branch that goes on, oldest first."""
    return [leaf.id for leaf in history.tree() if leaf.current]

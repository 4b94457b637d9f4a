"""The hook: what codex asks it reaches us, our word reaches codex, and no word means no."""

from __future__ import annotations

import asyncio
import json
import shlex
import stat
from typing import Any

import pytest

from stormclaw.protocol.provider import Ruling
from stormclaw.providers._codex.gate import Hooked, Hooks, listening
from stormclaw.providers._codex.hook import REFUSED

QUESTION = {
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "call_1",
    "cwd": "/ws",
}


async def hook(hooks: Hooks, said: bytes) -> tuple[int | None, bytes, bytes]:
    """What codex does: run the command, and read what it says."""
    process = await asyncio.create_subprocess_shell(
        hooks.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(said)
    return process.returncode, out, err


async def asked(ruling: Ruling, changed: dict[str, Any] | None = None) -> dict[str, Any]:
    inbox: asyncio.Queue[Hooked] = asyncio.Queue()
    async with listening(inbox) as hooks:
        running = asyncio.create_task(hook(hooks, json.dumps(QUESTION).encode()))
        question = await inbox.get()
        assert (question.id, question.tool, question.input, question.cwd) == (
            "call_1", "Bash", {"command": "ls"}, "/ws"
        )  # fmt: skip
        question.answer(ruling, changed)
        code, out, _ = await running
    assert code == 0
    specific: dict[str, Any] = json.loads(out)["hookSpecificOutput"]
    return specific


async def test_a_yes_leaves_the_rest_to_codex() -> None:
    assert await asked(Ruling(True)) == {"hookEventName": "PreToolUse"}


async def test_a_no_has_its_reason() -> None:
    said = await asked(Ruling(False, "not today"))
    assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("deny", "not today")
    assert (await asked(Ruling(False)))["permissionDecisionReason"], "codex ignores a bare no"


async def test_other_arguments_take_the_place_of_codex_own() -> None:
    said = await asked(Ruling(True), {"command": "ls -l"})
    assert (said["permissionDecision"], said["updatedInput"]) == ("allow", {"command": "ls -l"})


async def test_a_turn_that_ends_first_means_no() -> None:
    inbox: asyncio.Queue[Hooked] = asyncio.Queue()
    async with listening(inbox) as hooks:
        running = asyncio.create_task(hook(hooks, json.dumps(QUESTION).encode()))
        await inbox.get()
    code, out, err = await running
    assert (code, out) == (REFUSED, b"")
    assert b"not given" in err


async def test_nobody_there_means_no() -> None:
    inbox: asyncio.Queue[Hooked] = asyncio.Queue()
    async with listening(inbox) as hooks:
        pass
    code, out, err = await hook(hooks, b"{}")
    assert (code, out) == (REFUSED, b"")
    assert b"could not be asked" in err


@pytest.mark.parametrize("said", [b"no json", b"[]"])
async def test_what_is_no_question_gets_no_yes(said: bytes) -> None:
    inbox: asyncio.Queue[Hooked] = asyncio.Queue()
    async with listening(inbox) as hooks:
        code, _, _ = await hook(hooks, said)
    assert (code, inbox.empty()) == (REFUSED, True)


async def test_only_this_user_reaches_the_socket() -> None:
    from pathlib import Path

    async with listening(asyncio.Queue()) as hooks:
        folder = Path(shlex.split(hooks.command)[4]).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()

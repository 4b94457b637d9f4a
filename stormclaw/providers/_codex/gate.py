"""Where the hook codex runs before each of its calls reaches us, and what it is told.

Codex asks for approvals only as its policy says; a `PreToolUse` hook sees every call of every kind,
may refuse it with a reason its model reads, and may put other arguments in place.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.protocol.provider import Ruling
from stormclaw.providers._codex.hook import REFUSED
from stormclaw.providers._codex.rpc import AppServer, Message, Refused

LOG = logging.getLogger(__name__)

EVENT: Final = "PreToolUse"
PATIENCE_S: Final = 30 * 24 * 3600
"""Seconds codex waits for its hook: a person may be asked, and is in no hurry."""
LARGEST: Final = 64 * 1024 * 1024
HOOK: Final = Path(__file__).with_name("hook.py")


@dataclass(frozen=True, slots=True)
class Hooked:
    """Codex is about to make a call and waits for `reply`.

    Attributes:
        id: The call's id, as in the items that tell of it.
        tool: Codex' name of the tool.
        input: Its arguments.
        cwd: The folder a command would run in.
        reply: Takes the ruling.
    """

    id: str
    tool: str
    input: Mapping[str, Any]
    cwd: str
    reply: asyncio.Future[bytes]

    def answer(self, ruling: Ruling, changed: Mapping[str, Any] | None = None) -> None:
        """Let it be made or not.

        Args:
            ruling: Whether it may.
            changed: Arguments in place of codex' own, None for those.
        """
        said: dict[str, Any] = {"hookEventName": EVENT}
        if not ruling.allowed:
            reason = ruling.message or "not permitted"
            said |= {"permissionDecision": "deny", "permissionDecisionReason": reason}
        elif changed is not None:
            said |= {"permissionDecision": "allow", "updatedInput": dict(changed)}
        if not self.reply.done():
            self.reply.set_result(json.dumps({"hookSpecificOutput": said}).encode())


class Hooks:
    """The socket; made by `listening`.

    Attributes:
        command: What codex is to run.
    """

    def __init__(self, address: Path, inbox: asyncio.Queue[Any]) -> None:
        words = (sys.executable, "-I", "-S", str(HOOK), str(address))
        # Codex takes a hook that was killed for a yes; its shell says no in its place.
        otherwise = f"echo 'so it is not made' >&2; exit {REFUSED}"
        self.command = f"{shlex.join(words)} || /bin/sh -c {shlex.quote(otherwise)}"
        self._inbox = inbox

    @property
    def table(self) -> dict[str, Any]:
        """The hook as codex' configuration has it."""
        handler = {"type": "command", "command": self.command, "timeout": PATIENCE_S}
        return {EVENT: [{"hooks": [handler]}]}

    @property
    def flags(self) -> tuple[str, ...]:
        """The same as arguments for codex."""
        handler = f'type="command",command={json.dumps(self.command)},timeout={PATIENCE_S}'
        return ("-c", f"hooks.{EVENT}=[{{hooks=[{{{handler}}}]}}]")

    async def trusted(self, server: AppServer, workspace: Path) -> dict[str, Any] | None:
        """The table with our own hook, and no other, marked as one the person trusts.

        Codex runs no hook it does not know the hash of, and tells that hash only itself. None if
        it does not have our hook: its administrator may allow none.
        """
        try:
            answer = await server.request("hooks/list", {"cwds": [str(workspace)]})
        except Refused as problem:
            LOG.warning("codex tells of no hooks: %s", problem)
            return None
        for hook in _hooks(answer):
            if hook.get("command") == self.command:
                state = {str(hook.get("key")): {"trusted_hash": hook.get("currentHash")}}
                return {**self.table, "state": state}
        return None

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One question; the answer is empty, which means no, when the turn is over first."""
        with suppress(ConnectionError):
            try:
                if (asked := _read(await reader.read(-1))) is not None:
                    self._inbox.put_nowait(asked)
                    writer.write(await asked.reply)
                    await writer.drain()
            finally:
                writer.close()


def _hooks(answer: Message) -> list[Mapping[str, Any]]:
    data = answer.get("data")
    folders = data if isinstance(data, list) else []
    lists = (folder.get("hooks") for folder in folders if isinstance(folder, Mapping))
    return [
        hook
        for hooks in lists
        if isinstance(hooks, list)
        for hook in hooks
        if isinstance(hook, Mapping)
    ]


def _read(raw: bytes) -> Hooked | None:
    try:
        said = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(said, Mapping):
        return None
    given = said.get("tool_input")
    return Hooked(
        str(said.get("tool_use_id") or ""),
        str(said.get("tool_name") or "?"),
        given if isinstance(given, Mapping) else {"input": given},
        str(said.get("cwd") or ""),
        asyncio.get_running_loop().create_future(),
    )


@asynccontextmanager
async def listening(inbox: asyncio.Queue[Any]) -> AsyncIterator[Hooks]:
    """A socket only this user can reach; every call codex is about to make lands in `inbox`."""
    with tempfile.TemporaryDirectory(
        prefix="stormclaw-codex-", ignore_cleanup_errors=True
    ) as folder:
        os.chmod(folder, 0o700)  # noqa: PTH101 - no race: it was made so
        address = Path(folder) / "gate"
        hooks = Hooks(address, inbox)
        open_now: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(hooks.connected(reader, writer))
            open_now.add(task)
            task.add_done_callback(open_now.discard)

        server = await asyncio.start_unix_server(connected, address, limit=LARGEST)
        try:
            yield hooks
        finally:
            server.close()
            for task in open_now:
                task.cancel()
            await asyncio.gather(*open_now, return_exceptions=True)

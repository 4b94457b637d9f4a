"""CLIs that act by themselves and ask nobody: they get all rights or no tools at all.

Nothing such a program does passes our gate. So it may act only where the person has set autonomy
to `full`; anywhere else its tools are off, and it can talk. Each time it is told the conversation
whole.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import Status, ToolCall
from stormclaw.protocol.provider import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Delta,
    Observed,
    Provider,
    Remark,
)
from stormclaw.providers._codex.tools import bounded
from stormclaw.providers._codex.turn import Turn
from stormclaw.providers._errors import error_from_status, error_in_band
from stormclaw.providers._programs.events import CliEvent, Result
from stormclaw.providers._programs.hands import counted, local, retold
from stormclaw.providers._programs.process import Program, Silence, scrubbed
from stormclaw.providers.recovery import with_hint

START_S: Final = 120.0
"""Least silence that counts: these programs take seconds, on a busy machine many, to start."""
UNTOLD: Final = "[it did not tell how this ended]"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of such a program.

    Attributes:
        command: Its usual name.
        install: How to get it.
        login: How to log in.
        scrub: What is taken out of its environment.
        tools: Its tools as ours: name, and its argument names by ours.
        paths: Arguments of ours that are paths.
    """

    command: str
    install: str
    login: str
    scrub: tuple[str, ...]
    tools: Mapping[str, tuple[str, Mapping[str, str]]]
    paths: frozenset[str] = frozenset({"path"})


@dataclass(frozen=True, slots=True)
class Run:
    """How it is started for one answer.

    Attributes:
        args: Arguments after the program's name.
        environ: Variables besides the usual ones.
    """

    args: tuple[str, ...]
    environ: Mapping[str, str]


class Reader:
    """Makes events of the lines of one program."""

    @abstractmethod
    def read(self, line: Mapping[str, Any]) -> Iterator[CliEvent]:
        """The events in a line."""


class Ungated(Provider):
    """A program that acts and asks nobody.

    Args:
        name: Our name for it.
        settings: `command`, `args`, `model`.
        facts: What is known of it.
        patience_s: Least silence after which it is given up.
    """

    def __init__(
        self, name: str, settings: ModelSettings, facts: Facts, *, patience_s: float = START_S
    ) -> None:
        self.name = name
        self.model = settings.model
        self.settings = settings
        self._facts = facts
        self._patience_s = patience_s
        self._remarked: set[str] = set()

    def capabilities(self) -> Capabilities:
        """It acts by itself."""
        return Capabilities(context_window=self.settings.context_window, acts=True)

    @abstractmethod
    def run_of(self, request: ChatRequest, folder: Path, *, free: bool) -> Run:
        """How to start it.

        Args:
            request: What is asked.
            folder: Where files for this run may be put.
            free: Whether it may act; else it gets no tools.
        """

    @abstractmethod
    def reader(self) -> Reader:
        """A reader for one answer."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta | ChatResponse, None]:
        """One turn of the program.

        Raises:
            ProviderError: It is not there, or the turn failed.
        """
        free = request.hands is not None and request.hands.autonomy == "full"
        if request.hands is not None and (text := self._remark(free=free)):
            yield Remark(text)
        with tempfile.TemporaryDirectory(prefix="stormclaw-") as folder:
            try:
                async with aclosing(self._run(request, Path(folder), free=free)) as items:
                    async for item in items:
                        yield item
            except ProviderError as error:
                raise with_hint(error) from error.__cause__

    async def _run(
        self, request: ChatRequest, folder: Path, *, free: bool
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        run = self.run_of(request, folder, free=free)
        hands = request.hands
        environ = scrubbed(hands.environ if hands else os.environ, self._facts.scrub)
        workspace = hands.workspace if hands else folder
        wanted = self.settings.command or self._facts.command
        path = shutil.which(wanted, path=environ.get("PATH"))
        if path is None:
            raise ProviderError(
                "not_found", f"there is no {wanted} on PATH", hint=self._facts.install
            )
        argv = (path, *run.args, *self.settings.args)
        program = await Program.start(argv, cwd=workspace, environ={**environ, **run.environ})
        try:
            text = retold(request.messages)
            if request.system_prompt:
                text = f"<instructions>\n{request.system_prompt}\n</instructions>\n\n{text}"
            await program.write(text.encode())
            program.end_input()
            async with aclosing(self._listen(program, request, workspace, free=free)) as items:
                async for item in items:
                    yield item
        finally:
            await program.stop()

    async def _listen(
        self, program: Program, request: ChatRequest, workspace: Path, *, free: bool
    ) -> AsyncGenerator[Delta | ChatResponse, None]:
        model = request.model or self.settings.model
        turn = Turn(
            model,
            lambda item: call_of(item, self._facts, workspace),
            observed,
            lambda _: "",
            UNTOLD,
            program=self._facts.command,
            error=self._error,
        )
        reader = self.reader()
        while (line := await self._line(program, turn, free=free)) is not None:
            for event in reader.read(_parsed(line)):
                for item in turn.take(event):
                    yield item
                    if isinstance(item, ChatResponse):
                        return
        await program.ended(1.0)
        ended = Result(True, message=_last_words(program, self._facts.command))
        for item in turn.take(ended):
            yield item

    async def _line(self, program: Program, turn: Turn, *, free: bool) -> bytes | None:
        # Some tell of a call only when it is over: while one may run, silence says nothing.
        tool_s = self.settings.tool_timeout_s if free else 0.0
        limit_s = max(self.settings.idle_timeout_s, self._patience_s, tool_s)
        try:
            return await program.line(limit_s)
        except Silence:
            raise ProviderError(
                "timeout",
                f"{self._facts.command} said nothing for {limit_s:g} s",
                partial=turn.partial,
            ) from None

    def _error(self, result: Result, partial: str) -> ProviderError:
        message = result.message or f"{self._facts.command} failed without saying why"
        body = {"error": {"message": message, "code": result.reason or None}}
        if result.status >= 400:
            error = error_from_status(result.status, {}, body)
            error.partial = partial
        else:
            error = error_in_band(body, partial=partial)
        if error.kind == "auth":
            error.hint = self._facts.login
        return error

    def _remark(self, *, free: bool) -> str:
        """What is to be said of its rights, once; "" if it was."""
        who = self._facts.command
        text = (
            f"autonomy is full: nothing {who} does passes StormClaw's gate or sandbox"
            if free
            else f"{who} asks nobody before it acts, so its tools are off: it can only talk; "
            "security.autonomy: full would let it act"
        )
        fresh = text not in self._remarked
        self._remarked.add(text)
        return text if fresh else ""


def call_of(item: Mapping[str, Any], facts: Facts, workspace: Path) -> ToolCall:
    """A call in our words: `item` has id, name and input."""
    given = item.get("input")
    theirs = given if isinstance(given, Mapping) else {}
    name = str(item.get("name") or "?")
    ours, names = facts.tools.get(name, (f"{facts.command}:{name}", None))
    if names is None:
        arguments = dict(theirs)
    else:
        arguments = {
            our: _path(value, workspace) if our in facts.paths else value
            for our, their in names.items()
            if (value := theirs.get(their)) is not None
        }
    return ToolCall(str(item.get("id") or ""), ours, json.dumps(arguments, ensure_ascii=False))


def observed(call: ToolCall, item: Mapping[str, Any]) -> Observed:
    """Its end: `item` has output, failed, and the exit code where there is one."""
    output = bounded(str(item.get("output") or ""))
    code = item.get("exit")
    failed = bool(item.get("failed")) or (isinstance(code, int) and code != 0)
    status: Status = "failed" if failed else "done"
    if call.name != "shell_exec" or not isinstance(code, int):
        return Observed(call.id, status, output or "(no output)")
    count = counted(len(output.splitlines()), "line") if output else "no output"
    body = output.rstrip("\n") or "(no output)"
    return Observed(call.id, status, f"{body}\n[exit {code}]", f"exit {code}, {count}")


def _path(value: object, workspace: Path) -> object:
    return local(value, workspace) if isinstance(value, str) else value


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, Mapping) else {}


def _last_words(program: Program, name: str) -> str:
    """What it said before it ended without a closing line."""
    said = [line for line in program.stderr.splitlines() if line.strip()]
    last = f": {said[-1][:300]}" if said else ""
    return f"{name} ended with exit code {program.code}{last}"

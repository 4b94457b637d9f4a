"""A running claude, spoken to over its stdin and stdout: the control protocol and its lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Self

from stormclaw.errors import ProviderError
from stormclaw.providers._claude.errors import NO_SESSION, ended_error, turn_error
from stormclaw.providers._claude.lines import Line, Lines
from stormclaw.providers._claude.session import Place
from stormclaw.providers._claude.start import Start
from stormclaw.providers._programs.events import Result
from stormclaw.providers._programs.process import Program, Silence

GREETING: Final = "stormclaw-greeting"
LEAVING_S: Final = 2.0
"""How long a claude that has nothing to do may take to leave."""


class NoSession(Exception):
    """The session cannot be gone on with; a new one must be begun."""


class Talk:
    """One claude process, for as many turns as nothing goes wrong in.

    Attributes:
        start: How it was started.
        program: The process.
        lines: Its parser, which keeps what counts over several turns.
        place: The newest whole answer in its session, None before the first.
        session_id: Claude's id of the session, "" until it says it.
        version: Claude's, "" until it says it.
    """

    def __init__(self, start: Start, program: Program, place: Place | None) -> None:
        self.start = start
        self.program = program
        self.lines = Lines()
        self.place = place
        self.session_id = ""
        self.version = ""

    @classmethod
    async def open(cls, start: Start, place: Place | None, limit_s: float) -> Self:
        """Start claude, going on from a place, with our gate in place before it hears a word.

        Raises:
            NoSession: It cannot go on from there.
            ProviderError: It does not start, or not as it must.
        """
        program = await Program.start(start.command(place), cwd=start.cwd, environ=start.environ)
        talk = cls(start, program, place)
        try:
            await talk._greet(limit_s)
        except BaseException:
            await program.stop()
            raise
        return talk

    async def say(self, text: str) -> None:
        """Send the person's words; the turn begins.

        A slash at the very beginning would make them a command of claude's.
        """
        text = f" {text}" if text.startswith("/") else text
        content = [{"type": "text", "text": text}]
        await self.send({"type": "user", "message": {"role": "user", "content": content}})

    async def answer(self, request_id: str, response: Mapping[str, Any]) -> None:
        """Answer what claude asked."""
        told = {"subtype": "success", "request_id": request_id, "response": response}
        await self.send({"type": "control_response", "response": told})

    async def decline(self, request_id: str, reason: str) -> None:
        """Tell claude that there is no answer to what it asked."""
        told = {"subtype": "error", "request_id": request_id, "error": reason}
        await self.send({"type": "control_response", "response": told})

    async def send(self, line: Mapping[str, Any]) -> None:
        """Send it one line."""
        await self.program.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace"))

    async def leave(self) -> None:
        """End it, kindly at first: there is nothing it does."""
        self.program.end_input()
        await self.program.ended(LEAVING_S)
        await self.program.stop()

    async def _greet(self, limit_s: float) -> None:
        request = self.start.greeting()
        await self.send({"type": "control_request", "request_id": GREETING, "request": request})
        while True:
            line = await self._line(limit_s)
            match line:
                case {"type": "control_response", "response": {"request_id": id_, **told}}:
                    if id_ != GREETING:
                        continue
                    if told.get("subtype") != "success":
                        said = told.get("error") or "it did not say why"
                        raise ProviderError("protocol", f"claude does not take our gate: {said}")
                    return
                case {"type": "result"}:
                    await self._refused(line)
                case _:
                    for _ in self.lines.take(line):
                        pass

    async def _line(self, limit_s: float) -> Line:
        """A line of its beginning; lines that are none are passed over."""
        while True:
            try:
                raw = await self.program.line(limit_s)
            except Silence:
                raise ProviderError(
                    "timeout",
                    f"claude did not start within {limit_s:g} s",
                    hint="run `claude` in a terminal to see what it waits for",
                ) from None
            if raw is None:
                code = await self.program.ended(LEAVING_S)
                if NO_SESSION.search(self.program.stderr):
                    raise NoSession(self.program.stderr)
                raise ended_error(code, self.program.stderr, "")
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, Mapping):
                return line

    async def _refused(self, line: Line) -> None:
        """It ended the talk before it began."""
        for event in self.lines.take(line):
            if isinstance(event, Result):
                if NO_SESSION.search(event.message):
                    raise NoSession(event.message)
                raise turn_error(event, "")

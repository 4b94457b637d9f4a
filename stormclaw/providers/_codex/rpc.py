"""`codex app-server`: JSON-RPC in lines, its requests and notifications in one inbox."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from stormclaw.errors import ProviderError
from stormclaw.providers._programs.process import Program

LOG = logging.getLogger(__name__)

ANSWER_S: Final = 30.0
"""How long an answer to a request may take; starting a turn only means taking note of it."""
NO_SUCH_METHOD: Final = -32601

Message: TypeAlias = Mapping[str, Any]


class Refused(Exception):
    """The server answered a request with an error.

    Attributes:
        code: Its JSON-RPC code.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Told:
    """A notification, or a request that waits for `answer` (`id` is then not None)."""

    method: str
    params: Message
    id: int | str | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The program has ended; nothing more will come."""


class AppServer:
    """One running app-server.

    Args:
        program: The process.
        inbox: Gets a `Told` for all it says by itself, then one `Gone`.
    """

    def __init__(self, program: Program, inbox: asyncio.Queue[Any]) -> None:
        self.program = program
        self._inbox = inbox
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._reading = asyncio.create_task(self._read())

    async def request(self, method: str, params: Message, limit_s: float = ANSWER_S) -> Message:
        """Ask for something and wait for the answer.

        Raises:
            Refused: The server would not.
            ProviderError: It ended or said nothing.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(limit_s):
                return await answer
        except TimeoutError:
            raise ProviderError(
                "timeout", f"codex did not answer {method} within {limit_s:g} s"
            ) from None
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str) -> None:
        """Say something that needs no answer."""
        await self._send({"method": method})

    async def answer(self, number: int | str, result: Message | None) -> None:
        """Answer a request of the server; None says that there is no such method here."""
        if result is None:
            error = {"code": NO_SUCH_METHOD, "message": "this client cannot do that"}
            await self._send({"id": number, "error": error})
        else:
            await self._send({"id": number, "result": result})

    async def close(self) -> None:
        """End the program and all it started."""
        try:
            await self.program.stop()
        finally:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _send(self, message: Message) -> None:
        await self.program.write(json.dumps(message).encode())

    async def _read(self) -> None:
        try:
            while (line := await self.program.line(None)) is not None:
                self._take(line)
        except ProviderError as problem:
            LOG.warning("codex: %s", problem)
        finally:
            # The exit code and the last words are there a moment after the last line.
            await self.program.ended(1.0)
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ended(self.program))
            self._inbox.put_nowait(Gone())

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            LOG.debug("codex said a line that is no JSON")
            return
        if not isinstance(message, Mapping):
            return
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            params = message.get("params")
            told = Told(method, params if isinstance(params, Mapping) else {}, number)
            self._inbox.put_nowait(told)
        elif isinstance(number, int):
            answer = self._waiting.get(number)
            if answer is not None and not answer.done():
                _settle(answer, message)


def _settle(answer: asyncio.Future[Message], message: Message) -> None:
    error = message.get("error")
    result = message.get("result")
    if isinstance(error, Mapping):
        answer.set_exception(Refused(int(error.get("code") or 0), str(error.get("message") or "")))
    else:
        answer.set_result(result if isinstance(result, Mapping) else {})


def ended(program: Program) -> ProviderError:
    """The error that a program ended which should not have."""
    how = f"with exit code {program.code}" if program.code is not None else "without a word"
    said = program.stderr.splitlines()
    last = f": {said[-1][:300]}" if said else ""
    return ProviderError("provider", f"codex ended {how}{last}")

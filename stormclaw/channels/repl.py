"""The line-based conversation: `stormclaw agent`. Same session, same commands, no screen."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import IO

from stormclaw.channels.answers import lines_of
from stormclaw.channels.approval import described, reply_to
from stormclaw.channels.lines import Lines
from stormclaw.channels.result import OK
from stormclaw.commands.run import run_command
from stormclaw.protocol.asks import DENIED, Ask
from stormclaw.protocol.command import Draft, OpenSession, Quit, SwitchModel
from stormclaw.protocol.events import (
    Answered,
    Asked,
    Committed,
    Event,
    Notice,
    TextDelta,
    ToolEnded,
    TurnEnded,
    Withdrawn,
)
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import ROOT, AssistantTurn, ContextEdit, Note, Summary
from stormclaw.runtime import Runtime

LEAVE = frozenset({"exit", "quit", ":q"})


class Repl:
    """Reads a line, runs a turn, prints what comes, until the input ends or `/exit`."""

    def __init__(self, runtime: Runtime, out: IO[str] = sys.stdout) -> None:
        self._runtime = runtime
        self._out = out
        self._lines = Lines()
        self._column = 0
        self._notices: list[str] = []
        self._half = ""

    async def run(self) -> int:
        """Converse; returns the exit code."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: self._runtime.session.interrupt())
        self._print(
            f"stormclaw on {inert(self._runtime.model_label)}; /exit leaves, /help lists commands"
        )
        while True:
            self._write("> ")
            line = await self._lines.next()
            if line is None or line.strip() in LEAVE:
                self._print("")
                return OK
            if not line.strip():
                continue
            if line.startswith("/"):
                if not await self._command(line):
                    return OK
                continue
            await self._turn(line)

    async def _turn(self, text: str) -> None:
        session = self._runtime.session
        events = session.events()
        session.prompt(text)
        idle = asyncio.create_task(session.idle())
        idle.add_done_callback(lambda _: events.close())
        async for event in events:
            self._show(event)
            if isinstance(event, Asked):
                await self._ask(event.ask)
        await idle

    async def _ask(self, ask: Ask) -> None:
        self._fresh_line()
        self._write(inert(described(ask)))
        closing = asyncio.create_task(self._closed(ask))
        typing = asyncio.create_task(self._lines.next())
        await asyncio.wait({closing, typing}, return_when=asyncio.FIRST_COMPLETED)
        self._column = 0
        if typing.done():
            closing.cancel()
            line = typing.result()
            reply = DENIED if line is None else reply_to(ask, line)
            self._runtime.session.answer(ask.id, reply)
        else:
            typing.cancel()
            self._print("")

    async def _closed(self, ask: Ask) -> None:
        """Wait until a question is no longer open: an emergency stop closes it."""
        events = self._runtime.session.events()
        if ask not in self._runtime.session.open_asks:
            return
        async for event in events:
            if isinstance(event, Answered) and event.ask_id == ask.id:
                return

    async def _command(self, line: str) -> bool:
        """Run a slash command; False when it means to leave."""
        answer = await run_command(self._runtime, line)
        for shown in lines_of(answer):
            self._print(shown)
        match answer.change:
            case Quit():
                return False
            case OpenSession(session_id):
                await self._runtime.open_session(session_id)
                self._print(f"session {self._runtime.session.id}")
            case SwitchModel(target):
                self._print(inert(f"now on {await self._runtime.switch_model(target)}"))
            case Draft(text):
                if text:
                    self._print(f"you had said: {inert(text)}")
            case None:
                pass
        return True

    def _show(self, event: Event) -> None:
        match event:
            case TextDelta(agent=agent, text=text) if agent == ROOT:
                self._write(inert(self._held_back(text), prose=True))
            case Withdrawn(agent=agent) if agent == ROOT:
                self._fresh_line()  # What is printed stays; the notice says that it does not count.
            case Committed(agent=agent, node=node) if agent == ROOT:
                match node.body:
                    case AssistantTurn():
                        self._fresh_line()
                    case Note(text=text, detail=detail):
                        words = "; ".join(filter(None, (text, detail)))
                        self._print(inert(words, prose=True))
                    case Summary() as summary:
                        self._print(f"  summed up {_sizes(len(summary.replaces), summary)}")
                    case ContextEdit(by=by) as edit if by != "you":
                        what = by.replace("_", " ")
                        self._print(f"  {what}: held back {_sizes(len(edit.changes), edit)}")
                    case _:
                        pass
            case ToolEnded(agent=agent, outcome=outcome):
                self._fresh_line()
                who = "" if agent == ROOT else f"{agent.rpartition('/')[2]}: "
                headline = f"{outcome.headline.verb} {outcome.headline.object}"
                receipt = f"  [r{outcome.receipt}]" if outcome.receipt else ""
                self._print(inert(f"  {who}{headline}  {outcome.summary}{receipt}"))
            case Notice(level="warning" | "error", text=text):
                self._notices.append(inert(f"  {text}"))
                if not self._column:  # Words that are being written are not cut in two.
                    self._fresh_line()
            case TurnEnded(agent=agent) if agent == ROOT:
                self._fresh_line()
            case _:
                pass

    def _held_back(self, text: str) -> str:
        """The text that can be shown now: half of a line end waits for the other half."""
        text, self._half = self._half + text, ""
        if text.endswith("\r"):
            text, self._half = text[:-1], "\r"
        return text

    def _fresh_line(self) -> None:
        if self._column:
            self._print("")
        notices, self._notices = self._notices, []
        for notice in notices:
            self._print(notice)

    def _print(self, text: str) -> None:
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._column = len(text.rpartition("\n")[2])


def _sizes(messages: int, made: Summary | ContextEdit) -> str:
    """How much smaller the next request is."""
    return f"{messages} messages, ~{made.before:,} to ~{made.after:,} tokens (/context)"

"""What is done with a line a person sent, and with what a command answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, assert_never

from stormclaw.errors import StormClawError
from stormclaw.protocol.command import Answer, Draft, OpenSession, Quit, ScreenName, SwitchModel
from stormclaw.protocol.effects import AUTONOMY_LEVELS
from stormclaw.ui.sending import Goodbye, Silence, Slash, Words, read

if TYPE_CHECKING:
    from textual.screen import Screen

    from stormclaw.ui.app import StormApp

GO_ON = "Go on from where you stopped."
NOTE_LINES = 3
"""An answer of at most this many lines is a note in the transcript; a longer one gets a screen."""


def send(app: StormApp, text: str) -> None:
    """Do what a sent line means; before the runtime is open, keep it."""
    session = app.session
    match read(text):
        case Goodbye():
            app.leave()
        case Silence():
            _go_on(app)
        case Slash() | Words() if session is None:
            app.early.append(text)
            app.refresh_facts()
        case Slash(line):
            app.run_worker(run_command(app, line), group="command", exit_on_error=False)
        case Words(words):
            app.main.end_first_run()
            if session is not None:
                session.prompt(words)
            app.refresh_facts()
        case other:
            assert_never(other)


def take_back(app: StormApp) -> str:
    """The message queued last, out of the queue; "" if none is queued."""
    text = app.early.pop() if app.early else None
    if text is None and app.session is not None:
        text = app.session.unqueue()
    app.refresh_facts()
    return text or ""


def steer(app: StormApp, text: str, agent: str) -> None:
    """Words for a running turn; if it does not run, they start one."""
    if app.session is None or not app.session.steer(text, agent):
        send(app, text)


def cycle_autonomy(app: StormApp) -> None:
    """readonly, supervised, full, and around."""
    at = AUTONOMY_LEVELS.index(app.autonomy)
    app.autonomy = AUTONOMY_LEVELS[(at + 1) % len(AUTONOMY_LEVELS)]
    if app.runtime is not None:
        app.runtime.set_autonomy(app.autonomy)
    app.refresh_facts()


def _go_on(app: StormApp) -> None:
    """Enter on nothing: what was queued when a turn stopped, or the stopped turn itself."""
    session = app.session
    if session is None or session.busy:
        return
    if session.queued:
        session.prompt(session.unqueue() or GO_ON)
    elif app.failed:
        session.prompt(GO_ON)


async def run_command(app: StormApp, line: str) -> None:
    """Run a slash command and show what it answers."""
    from stormclaw.commands import run

    if app.runtime is None:
        return
    answer = await run.run_command(app.runtime, line)
    await show(app, line, answer)


async def show(app: StormApp, line: str, answer: Answer) -> None:
    """Do what the answer asks for; else show it, short ones as a note, long ones on a screen."""
    if isinstance(answer.change, Draft):
        from stormclaw.ui.tree_deeds import answered

        answered(app, answer, answer.change)
        return
    if answer.change is not None:
        await _change(app, answer.change)
    name = line.partition(" ")[0]
    rest = line.partition(" ")[2].strip()
    if answer.screen in SCREENS:
        SCREENS[answer.screen](app, answer, rest)
    elif answer.table is not None or answer.text.count("\n") >= NOTE_LINES:
        from stormclaw.ui.screens.table import TableScreen

        app.push_screen(TableScreen(name, answer.text, answer.table))
    elif answer.text:
        app.tell(answer.text, ok=answer.ok)


async def _change(app: StormApp, change: OpenSession | SwitchModel | Quit) -> None:
    from stormclaw.ui.opening import attach

    runtime = app.runtime
    if isinstance(change, Quit):
        app.leave()
    elif runtime is not None:
        try:
            if isinstance(change, OpenSession):
                await runtime.open_session(change.session_id)
                attach(app)
            else:
                now = (await runtime.switch_model(change.target)).rstrip("/")
                app.tell(f"{now} answers from here")
        except StormClawError as error:
            app.tell(str(error), ok=False)


def _pushed(module: str, name: str) -> Callable[[StormApp, Answer, str], None]:
    """Opens the screen `name` of `stormclaw.ui.screens.module`, imported when it is wanted."""

    def open_screen(app: StormApp, answer: Answer, rest: str) -> None:
        from importlib import import_module

        screen: Screen[Any] = getattr(import_module(f"stormclaw.ui.screens.{module}"), name)(rest)
        app.push_screen(screen)

    return open_screen


def _agents(app: StormApp, answer: Answer, rest: str) -> None:
    app.main.action_panel()


def _find(app: StormApp, answer: Answer, rest: str) -> None:
    app.call_later((app.chats or [app.main])[-1].open_find, rest)


SCREENS: Mapping[ScreenName | None, Callable[[StormApp, Answer, str], None]] = {
    "help": _pushed("help", "HelpScreen"),
    "connect": _pushed("connect", "ConnectScreen"),
    "resume": _pushed("sessions", "SessionsScreen"),
    "tree": _pushed("tree", "TreeScreen"),
    "receipts": _pushed("receipts", "ReceiptsScreen"),
    "memory": _pushed("memory", "MemoryScreen"),
    "model": _pushed("model", "ModelScreen"),
    "theme": _pushed("theme", "ThemeScreen"),
    "context": _pushed("context", "ContextScreen"),
    "agents": _agents,
    "find": _find,
}
"""Screens of our own; the answers of all other commands are shown as text and table."""

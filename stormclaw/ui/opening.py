"""From a painted screen to a session that answers, and from one session to another."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from stormclaw.errors import StormClawError
from stormclaw.protocol.messages import ROOT, Delegation
from stormclaw.ui.board import Board
from stormclaw.ui.deeds import send
from stormclaw.ui.history import History
from stormclaw.ui.listening import listen
from stormclaw.ui.trusting import ask_trust

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime
    from stormclaw.ui.app import StormApp

FILES = 50_000
"""Files of the workspace that are offered after `@`."""

LOG = logging.getLogger(__name__)
SHUT = "; nothing runs here, ctrl+d leaves"
"""What is left to do where no session could be opened."""


async def open_up(app: StormApp) -> None:
    """Open the runtime, show its session, send what was typed meanwhile."""
    start = app.start
    past = History.of(start.home, start.workspace)
    await asyncio.to_thread(past.load)
    app.main.composer.past = past
    try:
        runtime = await app.opener()
    except StormClawError as error:
        app.tell(f"not ready: {error}{SHUT}", ok=False)
        return
    except Exception:
        LOG.exception("the runtime did not open")
        app.tell(f"not ready: a fault of ours; it is in the log{SHUT}", ok=False)
        return
    if not app.is_running:
        await runtime.close()
        return
    app.runtime = runtime
    if app.autonomy != runtime.autonomy:
        runtime.set_autonomy(app.autonomy)
    runtime.subscribe(lambda: renew(app, runtime))
    attach(app)
    await _seen(app)
    app.after_paint()
    _know_commands(app)
    _know_files(app, runtime)
    renew(app, runtime)
    await ask_trust(app, runtime)
    early, app.early = app.early, []
    for text in [*([start.prompt] if start.prompt else []), *early]:
        send(app, text)
    if start.pick:
        send(app, "/resume")
    await look_at_chain(app)


async def _seen(app: StormApp) -> None:
    """Return when what was attached is on the screen; all else can wait for that."""
    seen = asyncio.Event()
    app.main.call_after_refresh(seen.set)
    await seen.wait()


def attach(app: StormApp) -> None:
    """Show the runtime's open session: its nodes now, its events from now on."""
    runtime = app.runtime
    if runtime is None:
        return
    session = app.session = runtime.session
    app.board, app.failed = Board(app.clock), False
    events = session.events()
    app.run_worker(listen(app, events), group="events", exclusive=True)
    for agent in ("root", *session.children()):
        app.board.load(session.nodes(agent))
    app.board.root.usage = session.usage
    for ask in session.open_asks:
        app.board.asks.append(ask)
    app.main.begin(session.nodes())
    for problem in session.problems:
        app.tell(problem, ok=False)
    app.show_asks()
    app.refresh_facts()


def show_anew(app: StormApp, agent: str) -> None:
    """The conversation of an agent goes on from another place: show that branch, at its end."""
    session, before = app.session, app.board
    if session is None:
        return
    app.board = board = Board(app.clock)
    board.agents[ROOT] = before.root  # What it used and what it knows stays as it is.
    nodes = session.nodes()
    board.load(nodes)
    for child in (node.body.child for node in nodes if isinstance(node.body, Delegation)):
        board.load(session.nodes(child))
    board.asks, board.receipts = before.asks, max(board.receipts, before.receipts)
    for chat in app.chats:
        if chat.agent == agent and chat.transcript is not None:
            chat.transcript.show(session.nodes(agent))
    app.main.end_first_run()


def renew(app: StormApp, runtime: Runtime) -> None:
    """Something around the session changed: model, autonomy, configuration, emergency stop."""
    app.autonomy = runtime.autonomy
    wanted = runtime.settings.ui.theme
    if wanted != app.configured_theme and wanted in app.available_themes:
        app.configured_theme = app.theme = wanted
    app.stopped = _stopped_since(runtime)
    app.refresh_facts()


def _stopped_since(runtime: Runtime) -> str:
    if not runtime.estopped:
        return ""
    from stormclaw.security.estop import since
    from stormclaw.ui.text import clock_time

    at = since(runtime.home)
    return clock_time(at) if at is not None else "just now"


def _know_commands(app: StormApp) -> None:
    from stormclaw.commands.run import commands

    completer = app.main.composer.completer
    if completer is not None:
        known = {name: (command.usage, command.summary) for name, command in commands().items()}
        completer.know_commands(known)


def _know_files(app: StormApp, runtime: Runtime) -> None:
    from stormclaw.tools.complete import workspace_files

    completer = app.main.composer.completer
    if completer is not None:
        completer.list_files = lambda: workspace_files(runtime.workspace, FILES)
        completer.preload()


async def look_at_chain(app: StormApp) -> None:
    """Verify the receipts once, beside everything else; the footer says what came of it."""
    log = app.runtime.receipts if app.runtime is not None else None
    if log is None:
        return
    try:
        verification = await asyncio.to_thread(log.verify)
    except StormClawError as error:
        app.tell(str(error), ok=False)
        return
    app.chain = verification.ok
    app.board.receipts = max(app.board.receipts, verification.count)
    app.refresh_facts()

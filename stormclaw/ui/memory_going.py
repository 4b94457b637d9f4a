"""From a hit to the place where it was said, in this session or in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stormclaw.protocol.command import Answer, OpenSession
from stormclaw.protocol.messages import ROOT
from stormclaw.ui.text import one_line

if TYPE_CHECKING:
    from stormclaw.store.finding import Hit
    from stormclaw.ui.app import StormApp
    from stormclaw.ui.screens.chat import Chat

ELSEWHERE = "that was said on another branch; /tree shows it"


def go_to(app: StormApp, hit: Hit) -> None:
    """Show a hit where it stands; another session is opened, after a question if a turn runs."""
    session = app.session
    if session is None:
        return
    if hit.conversation_id == session.id:
        app.run_worker(_show(app, hit), group="command", exit_on_error=False)
    elif session.busy:
        from stormclaw.ui.screens.confirm import Confirm

        title = one_line(hit.title) or hit.conversation_id
        question = f"A turn runs; stop it and open {title}?"
        app.push_screen(Confirm(question, "open it", "stay"), lambda yes: _open(app, hit, yes))
    else:
        _open(app, hit, yes=True)


def go_on_with(app: StormApp, session_id: str) -> None:
    """Open a session; this one is only left when it is another."""
    if app.session is not None and app.session.id != session_id:
        app.run_worker(_resume(app, session_id), group="command", exit_on_error=False)


def _open(app: StormApp, hit: Hit, yes: bool | None) -> None:
    async def there() -> None:
        await _resume(app, hit.conversation_id)
        if app.session is not None and app.session.id == hit.conversation_id:
            await _show(app, hit)

    if yes:
        app.run_worker(there(), group="command", exit_on_error=False)


async def _resume(app: StormApp, session_id: str) -> None:
    from stormclaw.ui.deeds import show

    await show(app, "/resume", Answer(change=OpenSession(session_id)))


async def _show(app: StormApp, hit: Hit) -> None:
    """The chat of whoever said it, at that place."""
    if hit.agent == ROOT:
        chat: Chat = app.main
    else:
        from stormclaw.ui.screens.zoom import ZoomScreen

        chat = ZoomScreen(app.board.agent(hit.agent))
        await app.push_screen(chat)
    chat.call_after_refresh(_scroll, app, chat, hit)


def _scroll(app: StormApp, chat: Chat, hit: Hit) -> None:
    if app.session is None or chat.transcript is None:
        return
    nodes = app.session.nodes(chat.agent)
    if chat.agent != ROOT and nodes and nodes[0].id == hit.turn_id:
        chat.transcript.scroll_to(y=0)  # Its task stands above the transcript.
    elif chat.transcript.go_to_node(nodes, hit.turn_id):
        chat.transcript.focus()
    else:
        chat.say(ELSEWHERE, "attention")

"""From the session's events to the screens: the app only listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stormclaw.protocol.events import Asked, Committed, Event, TurnEnded, TurnStarted
from stormclaw.protocol.messages import ROOT, Label, Moved

if TYPE_CHECKING:
    from stormclaw.agent.hub import Subscription
    from stormclaw.ui.app import StormApp


async def listen(app: StormApp, events: Subscription) -> None:
    """Draw what comes, until the session is closed."""
    async for event in events:
        take(app, event)


def take(app: StormApp, event: Event) -> None:
    """Show one event everywhere."""
    board = app.board
    asked_before = [ask.id for ask in board.asks]
    board.apply(event)
    turned = event.agent == ROOT and isinstance(event, TurnStarted | TurnEnded)
    if turned:
        app.failed = isinstance(event, TurnEnded) and event.reason == "failed"
        app.branch = app.runtime.branch if app.runtime is not None else app.branch
    if isinstance(event, Committed) and isinstance(event.node.body, Moved):
        from stormclaw.ui.opening import show_anew

        show_anew(app, event.agent)
    else:
        for chat in app.chats:
            chat.take(event)
    named = isinstance(event, Committed) and isinstance(event.node.body, Label | Moved)
    if (turned or named) and (renew := getattr(app.screen, "renew", None)):
        renew()
    if isinstance(event, Asked) and app.start.ui.bell and not app.app_focus:
        app.bell()
    if [ask.id for ask in board.asks] != asked_before:
        app.show_asks()
    app.heart.follow(busy=board.busy)
    app.heart.refresh_soon(at_once=turned)

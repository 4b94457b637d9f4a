"""Going to an agent: looking into it, messaging it, stopping its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stormclaw.protocol.messages import ROOT
from stormclaw.ui.agents import Agent

if TYPE_CHECKING:
    from stormclaw.ui.app import StormApp


def visit(app: StormApp, key: str, path: str) -> None:
    """Do what a key of the panel means: `zoom`, `message`, `stop`."""
    if key == "stop":
        ask_to_stop(app, path)
    elif path == ROOT:
        app.main.composer.focus()
    else:
        from stormclaw.ui.screens.zoom import ZoomScreen

        app.push_screen(ZoomScreen(app.board.agent(path), writing=key == "message"))


def first_child(app: StormApp) -> None:
    """Look into the agent that works, on a screen too narrow for the panel."""
    children = [agent for agent in app.board.tree() if agent.depth]
    busy: Agent | None = next((agent for agent in children if agent.busy), None)
    if children:
        visit(app, "zoom", (busy or children[-1]).path)


def ask_to_stop(app: StormApp, path: str) -> None:
    """Stop an agent and all below it, after one question that names them."""
    from stormclaw.ui.screens.confirm import Confirm

    agent = app.board.agent(path)
    if not agent.busy:
        chat = app.chats[-1]
        chat.say(f"{agent.name} does not work")
        return
    below = [child.name for child in app.board.below(path) if child.busy]
    others = f", and with it {', '.join(below)}" if below else ""

    def stop(yes: bool | None) -> None:
        if yes and not app.stop(path):
            app.chats[-1].say(f"{agent.name} had ended already")

    app.push_screen(Confirm(f"Stop {agent.name}{others}?", "stop", "let it work"), stop)

"""What the app does when the conversation went somewhere else: words, draft, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stormclaw.commands.back import left_alone

if TYPE_CHECKING:
    from stormclaw.agent.history.values import Returned
    from stormclaw.protocol.command import Answer, Draft
    from stormclaw.ui.app import StormApp

IN_HISTORY = "what you had said is in the history (ctrl+r)"
NEVER = (float("-inf"), "")
ESC_S = 1.0
"""A second esc within this time means more than the first."""


def came_back(app: StormApp, returned: Returned, words: str) -> None:
    """A calm line, the words that were said there, and what stayed, file by file."""
    told(app, words, left_alone(returned), failed=bool(returned.failed))
    hand_back(app, returned.text)


def answered(app: StormApp, answer: Answer, draft: Draft) -> None:
    """The same for what a command answered: its first line says what happened, the others not."""
    words, *others = answer.text.split("\n")
    told(app, words, others, failed=not answer.ok)
    hand_back(app, draft.text)


def told(app: StormApp, words: str, others: Sequence[str], *, failed: bool) -> None:
    """One line in the footer; what did not happen goes to the transcript, where it stays."""
    app.main.say(words, "muted" if others else "success")
    for line in others:
        # Through the session's events: behind the move, which draws the transcript anew.
        if app.runtime is not None:
            app.runtime.tell("error" if failed else "warning", line)


def hand_back(app: StormApp, text: str) -> None:
    """Put words into the composer; a draft there is kept, and they go to the history."""
    composer = app.main.composer
    if not text:
        return
    if not composer.text:
        composer.put(text)
        composer.focus()
        return
    past = composer.past
    if past is not None and past.remember(text):
        app.run_worker(lambda: past.write(text), thread=True, exit_on_error=False)
    app.tell(IN_HISTORY)


def second_escape(app: StormApp, first: tuple[float, str]) -> tuple[float, str]:
    """Esc with nothing else to do; twice it clears the draft, or opens the tree.

    Args:
        app: The app.
        first: When it was pressed before, by the app's clock, and the draft then: a draft that
            was written on since is not cleared.

    Returns:
        What to remember as `first`.
    """
    now, draft = app.clock(), app.main.composer.text
    if now - first[0] > ESC_S or draft != first[1]:
        if draft:
            app.main.say("esc again clears the draft")
        return now, draft
    if draft:
        app.main.composer.take()
        app.main.say(f"cleared; {app.signs.up} or ctrl+r brings it back")
    elif app.session is not None:
        from stormclaw.ui.screens.tree import TreeScreen

        app.push_screen(TreeScreen())
    return NEVER

"""`/tree`, `/rewind`, Esc Esc: the sessions screen with the cursor on the last turn."""

from __future__ import annotations

from stormclaw.ui.screens.sessions import SessionsScreen


class TreeScreen(SessionsScreen):
    """See `SessionsScreen`."""

    START = "turns"

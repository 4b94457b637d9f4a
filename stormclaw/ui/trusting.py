"""Asks whether to trust what the project brings, once for each state of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from stormclaw.config import trust
from stormclaw.errors import StormClawError

if TYPE_CHECKING:
    from stormclaw.runtime import Runtime
    from stormclaw.ui.app import StormApp


async def ask_trust(app: StormApp, runtime: Runtime) -> None:
    """Put the question if there is one; until it is answered the project only narrows."""
    place = runtime.place
    try:
        found = await asyncio.to_thread(
            trust.pending, place.home, place.workspace, place.loaded.warnings
        )
        seen = await asyncio.to_thread(trust.fingerprint, place.workspace) if found else ""
    except StormClawError as error:
        app.tell(f"this project stays untrusted: {error}", ok=False)
        return
    if not found:
        return
    from stormclaw.ui.screens.trust import TrustQuestion

    trusted = await app.push_screen_wait(TrustQuestion(found))
    try:
        if trusted:
            trust.trust(place.home, place.workspace, seen)
            runtime.reload()
        else:
            trust.decline(place.home, place.workspace)
    except (StormClawError, OSError) as error:
        app.tell(str(error), ok=False)
        return
    without = "opened without what the project asks for; /trust shows it and trusts it later"
    app.tell("the project is trusted as it is now" if trusted else without)

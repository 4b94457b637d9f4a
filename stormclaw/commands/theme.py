"""`/theme`: colours of the terminal app."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    text = "themes belong to the full-screen app; ui.theme in the config names one"
    return Answer(text, screen="theme")


COMMAND = Command("theme", "Colours", _run, "[NAME]")

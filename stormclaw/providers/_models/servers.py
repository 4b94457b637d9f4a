"""Every model of the servers that answer on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stormclaw.providers._loopback import get_json, listed_window
from stormclaw.providers._models.abilities import can_chat
from stormclaw.providers.choose import PROBE_S, usual_places

MOST = 200
"""Models of one server that are listed."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server and what it has.

    Attributes:
        preset: Whose usual port it is.
        base_url: Where it answers.
        models: (name, what it takes in tokens or 0), as it lists them.
    """

    preset: str
    base_url: str
    models: tuple[tuple[str, int], ...]


async def served(
    places: Sequence[tuple[str, str]] | None = None, limit_s: float = PROBE_S
) -> tuple[Served, ...]:
    """Ask the usual places, all at once; those that answer. Never raises.

    Args:
        places: (preset, base_url) of those to ask; None for the usual ones.
        limit_s: Seconds after which it is back at the latest.
    """
    asked = usual_places() if places is None else places
    answers = await asyncio.gather(*(_ask(name, url, limit_s) for name, url in asked))
    return tuple(answer for answer in answers if answer is not None)


async def _ask(preset: str, base_url: str, limit_s: float) -> Served | None:
    try:
        async with asyncio.timeout(limit_s):
            listed = await get_json(base_url, "/models")
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, RecursionError):
        return None
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    if not isinstance(entries, list):
        return None
    found = {
        entry["id"]: listed_window(entry)
        for entry in entries[:MOST]
        if isinstance(entry, Mapping) and isinstance(entry.get("id"), str) and entry["id"]
    }
    models = tuple((name, window) for name, window in found.items() if can_chat(name))
    return Served(preset, base_url, models) if models else None

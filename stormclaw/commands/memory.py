"""`/memory [QUERY]`: search all conversations; without a query, the notes and the last sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stormclaw.commands.ages import age
from stormclaw.errors import StoreError
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.protocol.messages import ROOT
from stormclaw.runtime import Runtime
from stormclaw.store.finding import Hit
from stormclaw.store.notes import read_notes
from stormclaw.store.sessions import list_sessions

LIMIT = 20
NOTES = Path(".stormclaw") / "memory"


async def _run(runtime: Runtime, rest: str) -> Answer:
    if not rest:
        return await asyncio.to_thread(_overview, runtime)
    hits = await asyncio.to_thread(runtime.memory.search, rest, LIMIT)
    if not hits:
        return Answer(f"nothing about {rest!r} in any conversation", screen="memory")
    text = "/memory ID shows all of one of these"
    if len(hits) == 1 and hits[0].place == rest.strip():
        return Answer(f"{hits[0].title}\n\n{hits[0].snippet}", screen="memory")
    rows = tuple((age(hit.timestamp), _who(hit), _said(hit), hit.place) for hit in hits)
    return Answer(text, Table(("when", "who", "said", "id"), rows), screen="memory")


def _overview(runtime: Runtime) -> Answer:
    try:
        notes = read_notes(runtime.workspace / NOTES)
    except StoreError as problem:
        notes = str(problem)
    known = list_sessions(runtime.home)[:LIMIT]
    rows = tuple((age(info.updated), info.title or "(nothing said)", info.id) for info in known)
    said = notes or "no notes in this project yet (MEMORY.md)"
    table = Table(("when", "conversation", "id"), rows) if rows else None
    return Answer(f"{said}\n\n/memory QUERY searches", table, screen="memory")


def _who(hit: Hit) -> str:
    return hit.role if hit.agent == ROOT else hit.agent.rpartition("/")[2]


def _said(hit: Hit) -> str:
    return " ".join(hit.snippet.split())


COMMAND = Command("memory", "Search all conversations; the notes", _run, "[QUERY]")

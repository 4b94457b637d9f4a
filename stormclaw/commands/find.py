"""`/find [WORDS]`: where words stand in this conversation, results of tools included."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import (
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.query import Query
from stormclaw.runtime import Runtime

MOST = 200
"""Lines listed; the rest is counted."""
BEFORE, SHOWN = 30, 160
"""Characters of a line kept before what was found, and in all."""


async def _run(runtime: Runtime, rest: str) -> Answer:
    if not rest:
        return Answer("find what? /find WORDS", screen="find")
    nodes = runtime.session.nodes()
    return await asyncio.to_thread(_answer, nodes, Query(rest))


def _answer(nodes: Sequence[Node], query: Query) -> Answer:
    rows: list[tuple[str, ...]] = []
    more = 0
    for node in nodes:
        for who, text in _texts(node):
            if not query.count(text):
                continue
            for line in text.split("\n"):
                if query.count(line) and len(rows) < MOST:
                    rows.append((node.id, who, _around(line, query)))
                elif query.count(line):
                    more += 1
    if not rows:
        return Answer(f"{query.words!r} is nowhere in this conversation", screen="find", ok=False)
    left_out = f"the first {MOST} lines, {more} more" if more else ""
    return Answer(left_out, Table(("node", "who", "line"), tuple(rows)), screen="find")


def _around(line: str, query: Query) -> str:
    """A long line from a little before what was found."""
    start = max(0, next(query.spans(line))[0] - BEFORE)
    return ("…" if start else "") + line[start : start + SHOWN]


def _texts(node: Node) -> Iterator[tuple[str, str]]:
    """(who, text) of everything a node says."""
    for who, text in _said(node):
        if text.strip():
            yield who, inert(text, prose=True)


def _said(node: Node) -> Iterator[tuple[str, str]]:
    match node.body:
        case UserText(text):
            yield "you", text
        case AssistantTurn() as turn:
            yield "thought", turn.thinking
            yield "answer", turn.text
        case ToolOutcome() as outcome:
            yield from _done(outcome)
        case Delegation(outcome):
            yield from _done(outcome)
        case Note() as note:
            yield "note", f"{note.text}\n{note.detail}"
        case Summary(text):
            yield "summary", text
        case ContextEdit() | Moved() | Label():
            return


def _done(outcome: ToolOutcome) -> Iterator[tuple[str, str]]:
    named = f"{outcome.headline.verb} {outcome.headline.object}  {outcome.summary}"
    yield outcome.tool, f"{named.rstrip()}\n{outcome.output}"


COMMAND = Command("find", "Find words in this conversation", _run, "[WORDS]")

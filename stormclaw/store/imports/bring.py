"""Makes a session of ours of a file from elsewhere: all of it, or nothing at all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.display import Display, Plain, Table
from stormclaw.protocol.messages import Body, Delegation, Node, ToolOutcome
from stormclaw.store import sessions, transcripts
from stormclaw.store.codec import node_from_line
from stormclaw.store.durable import store_error
from stormclaw.store.imports.look import NAMES, READERS, Found
from stormclaw.store.imports.native import from_json, session_of
from stormclaw.store.imports.report import Report
from stormclaw.store.imports.rows import text
from stormclaw.store.memory import Memory
from stormclaw.store.newborn import being_made
from stormclaw.store.session_ops import fit_title, totals
from stormclaw.store.sessions import SessionInfo, titled

_EARLIEST = 946_684_800.0
"""The year 2000: no session is older, whatever its rows say."""
_AT_ONCE = 500
"""Nodes the index takes in one go."""

Cleaner = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Brought:
    """An imported session.

    Attributes:
        info: The session, as listed.
        nodes: How many it has.
        skipped: What of the file did not become a node -> how often.
    """

    info: SessionInfo
    nodes: int
    skipped: Counter[str]


def bring(
    home: Path,
    found: Found,
    workspace: Path,
    *,
    again: bool = False,
    screen: Cleaner = str,
    mask: Cleaner = str,
) -> Brought:
    """Import a file as a new session.

    Args:
        home: The user folder.
        found: What to import, from `look`.
        workspace: The folder the session will work in.
        again: Do it although it was imported before.
        screen: Takes keys out of what calls of other assistants gave back.
        mask: Takes keys out of a title.

    Raises:
        UsageError: It was imported before, or the file is gone.
        StoreError: It cannot be read, there is nothing in it, or the disk does not keep it.
    """
    if not again:
        _refuse_twice(home, found)
    now = time.time()
    began = found.began if _EARLIEST < found.began <= now else min(found.changed, now)
    report = Report()
    with being_made(home, workspace, "", found.kind, now=began) as made:
        try:
            for node in _nodes(found, report, screen):
                made.add(node)
        except RecursionError as error:
            raise StoreError(f"{found.path}: something in it is nested too deeply") from error
        if not made.count:
            raise StoreError(f"{found.path}: nothing was said in it")
        made.know(origin=found.origin, **_facts(found, report, mask))
        if not made.info.title:
            made.know(title=titled(made.info, mask(report.first_prompt)).title)
        ended = report.ended if began <= report.ended <= now else now
        made.know(updated=ended)
    return Brought(made.info, made.count, report.skipped)


def remember(home: Path, info: SessionInfo, memory: Memory) -> None:
    """Put a whole session into the index, a few nodes at a time.

    Raises:
        StoreError: The index cannot be written; the session stays.
    """
    path = sessions.folder(home, info.id) / transcripts.FILE_NAME
    batch: list[Node] = []
    try:
        with path.open("rb") as file:
            for line in file:
                batch.append(node_from_line(line))
                if len(batch) == _AT_ONCE:
                    memory.index_all(info, batch)
                    batch.clear()
    except OSError as error:
        raise store_error("read", path, error) from error
    memory.index_all(info, batch)


def _refuse_twice(home: Path, found: Found) -> None:
    known = [info for info in sessions.list_sessions(home) if info.origin == found.origin]
    if known:
        raise UsageError(
            f"this session of {NAMES[found.kind]} is here already, as {known[0].id}; "
            "--again imports it once more"
        )


def _nodes(found: Found, report: Report, screen: Cleaner) -> Iterator[Node]:
    if found.kind == "stormclaw":
        for node in from_json(found.path):
            yield report.saw(node)
        return
    for node in READERS[found.kind](found.path, report):
        yield replace(node, body=_screened(node.body, screen))


def _facts(found: Found, report: Report, mask: Cleaner) -> dict[str, Any]:
    """What is known of the session beside its nodes, as fields of `SessionInfo`."""
    if found.kind != "stormclaw":
        title = ""
        with suppress(UsageError):
            title = fit_title(mask(report.title))
        provider = {"claude": "anthropic", "codex": "openai"}[found.kind]
        return {
            "title": title,
            "model": report.model,
            "provider": provider,
            "turns": report.turns,
        }
    stored = session_of(found.path)
    facts: dict[str, Any] = {key: text(stored, key) for key in ("model", "provider")}
    with suppress(UsageError):
        facts["title"] = fit_title(text(stored, "title"))
    return facts | totals(from_json(found.path))


def _screened(body: Body, screen: Cleaner) -> Body:
    if isinstance(body, Delegation):
        outcome = _screened(body.outcome, screen)
        return replace(body, outcome=outcome) if isinstance(outcome, ToolOutcome) else body
    if not isinstance(body, ToolOutcome):
        return body
    output = screen(body.output)
    if output == body.output:
        return body
    return replace(body, output=output, display=_clean(body.display, screen))


def _clean(display: Display | None, screen: Cleaner) -> Display | None:
    """The same without keys; diffs stay, as those of our own calls do."""
    match display:
        case Plain(text=shown):
            return Plain(screen(shown))
        case Table(rows=lines):
            return replace(display, rows=tuple(tuple(map(screen, line)) for line in lines))
        case _:
            return display

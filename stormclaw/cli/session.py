"""Sessions on disk: the record everything else can be rebuilt from."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from stormclaw.cli import session_change, session_export, session_import
from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store import sessions, transcripts
from stormclaw.store.branches import current
from stormclaw.store.codec import node_to_json

run = run_verb

_ID_SHOWN = 6
"""Letters of a node's id that are shown: enough for `session fork --at`."""


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw session`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    place = place_from(options)
    listing = sessions.survey(place.home, None if options.everywhere else place.workspace)
    entries = [
        {
            "id": info.id,
            "updated": datetime.fromtimestamp(info.updated, UTC).isoformat(timespec="seconds"),
            "turns": info.turns,
            "cost_usd": None if info.cost_usd is None else round(info.cost_usd, 6),
            "cost_estimated": info.cost_estimated,
            "model": f"{info.provider}/{info.model}",
            "title": info.title,
            "workspace": str(info.workspace),
            "origin": info.origin,
        }
        for info in listing.sessions
    ]
    show(entries, as_json=options.as_json, empty=f"no session in {place.workspace}")
    for problem in listing.problems:
        sys.stderr.write(f"left out: {inert(problem)}\n")
    return 0


def _show(options: argparse.Namespace) -> int:
    place = place_from(options)
    info = sessions.load(place.home, options.session_id)
    reading = transcripts.read(sessions.folder(place.home, info.id))
    nodes = reading.nodes if options.branch == "all" else current(reading.nodes)
    if options.as_json:
        show([node_to_json(node) for node in nodes], as_json=True)
    else:
        for node in nodes:
            print(inert(f"{node.id[:_ID_SHOWN]:<{_ID_SHOWN}}  {node.agent}: {_words(node.body)}"))
    for problem in reading.problems:
        sys.stderr.write(f"{inert(problem)}\n")
    return 0


def _words(body: Body) -> str:
    match body:
        case UserText(text=text):
            return f"> {text}"
        case AssistantTurn():
            return body.text or f"({len(body.calls)} calls)"
        case ToolOutcome():
            return f"{body.headline.verb} {body.headline.object}  {body.status} {body.summary}"
        case Delegation():
            return f"agent {body.child}: {body.reason}"
        case Note():
            return f"({body.text})"
        case Summary():
            return f"(summary of {len(body.replaces)} entries) {body.text}"
        case ContextEdit():
            return f"(context: {body.by}, {len(body.changes)} entries)"
        case Moved():
            return f"({body.kind}: {body.turns} turns, {len(body.files)} files)"
        case Label():
            return f"(label {body.text!r})"


def _one(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", metavar="ID", help="id, its beginning or its last letters")
    parser.add_argument(
        "--branch",
        choices=("current", "all"),
        default="current",
        help="the branch that goes on (default), or everything that was ever said",
    )


VERBS = {
    "list": Verb(
        "Sessions of this folder",
        "stormclaw session list --all",
        _list,
        lambda parser: parser.add_argument(
            "--all", dest="everywhere", action="store_true", help="of all folders"
        ),
        lists=True,
    ),
    "show": Verb(
        "What was said and done, with the ids `fork --at` takes",
        "stormclaw session show 20261122-0143",
        _show,
        _one,
        lists=True,
    ),
    **session_export.VERBS,
    **session_import.VERBS,
    **session_change.VERBS,
}

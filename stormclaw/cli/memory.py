"""The index over all conversations: list, search, show, clear, rebuild."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import ROOT
from stormclaw.store.finding import Hit
from stormclaw.store.memory import Memory

run = run_verb

SHORT = ("when", "role", "id", "text")
"""What a person is shown of a hit; JSON has all of it."""


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw memory`."""
    add_verbs(parser, VERBS)


@contextmanager
def _memory(options: argparse.Namespace) -> Iterator[Memory]:
    place = place_from(options)
    memory = Memory(Path(place.settings.memory.path), home=place.home)
    try:
        yield memory
    finally:
        memory.close()


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _list(options: argparse.Namespace) -> int:
    with _memory(options) as memory:
        entries = [
            {
                "conversation_id": talk.id,
                "updated": _when(talk.updated),
                "turns": talk.turns,
                "title": talk.title,
                "workspace": str(talk.workspace),
            }
            for talk in memory.conversations()
        ]
    show(entries, as_json=options.as_json, empty="no conversation yet")
    return 0


def _search(options: argparse.Namespace) -> int:
    query = " ".join(options.query)
    workspace = place_from(options).workspace if options.here else None
    with _memory(options) as memory:
        hits = memory.search(query, options.limit, workspace)
    whole = len(hits) == 1 and hits[0].place == query.strip()
    if whole and not options.as_json:
        print(f"[{_when(hits[0].timestamp)}] {hits[0].role}")
        print(inert(hits[0].snippet))
        return 0
    rows = [_found(hit) for hit in hits]
    if not options.as_json:
        rows = [{name: row[name] for name in SHORT} for row in rows]
    show(rows, as_json=options.as_json, empty=f"nothing about {query!r}")
    return 0


def _found(hit: Hit) -> dict[str, str]:
    return {
        "when": _when(hit.timestamp),
        "role": hit.role if hit.agent == ROOT else f"{hit.role} of {hit.agent}",
        "id": hit.place,
        "conversation_id": hit.conversation_id,
        "title": hit.title,
        "workspace": str(hit.workspace),
        "text": hit.snippet,
    }


def _show(options: argparse.Namespace) -> int:
    with _memory(options) as memory:
        turns = memory.show(options.conversation_id)
    if not turns:
        raise UsageError(
            f"no conversation {options.conversation_id!r}; `stormclaw memory list` shows them"
        )
    if options.as_json:
        show(
            [{name: getattr(turn, name) for name in turn.__slots__} for turn in turns], as_json=True
        )
        return 0
    for turn in turns:
        print(f"[{_when(turn.timestamp)}] {turn.role}")
        print(inert(turn.content) + "\n")
    return 0


def _clear(options: argparse.Namespace) -> int:
    """Empty the index after a yes: `--yes`, or one typed on a terminal."""
    place = place_from(options)
    if not (options.yes or _agreed(place)):
        print("nothing was cleared")
        return 1
    with _memory(options) as memory:
        removed = memory.clear()
    print(f"{removed} conversations left the index in {place.settings.memory.path}")
    print(f"the transcripts in {place.home / 'sessions'} are the record and stay;")
    print("`stormclaw memory reindex` brings back what they hold")
    return 0


def _agreed(place: Place) -> bool:
    """Whether somebody at a terminal says yes.

    Raises:
        UsageError: Nobody is there to be asked.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "this empties the index of all conversations (the transcripts stay); "
            "nobody is here to ask: add --yes to do it"
        )
    sys.stderr.write(
        f"This empties the index of all conversations, {place.settings.memory.path}.\n"
        f"The transcripts in {place.home / 'sessions'} stay. Clear it? [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _reindex(options: argparse.Namespace) -> int:
    with _memory(options) as memory:
        done = memory.reindex(place_from(options).home)
    print(f"{done.conversations} conversations, {done.entries} entries")
    for problem in done.problems:
        sys.stderr.write(f"left out: {inert(problem)}\n")
    return 0


def _query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="words to look for, or the id of a hit")
    parser.add_argument("--here", action="store_true", help="in sessions of this folder only")
    parser.add_argument("--limit", type=int, default=20, help="most hits (default 20)")


VERBS = {
    "list": Verb("All conversations", "stormclaw memory list", _list, lists=True),
    "search": Verb(
        "Find words in all conversations",
        "stormclaw memory search 'retry budget'",
        _search,
        _query,
        lists=True,
    ),
    "show": Verb(
        "One conversation",
        "stormclaw memory show 20261122-0143",
        _show,
        lambda parser: parser.add_argument("conversation_id", help="id or its beginning"),
        lists=True,
    ),
    "clear": Verb(
        "Empty the index of all conversations; their transcripts are the record and stay",
        "stormclaw memory clear --yes",
        _clear,
        lambda parser: parser.add_argument(
            "--yes", action="store_true", help="do not ask; needed where there is no terminal"
        ),
    ),
    "reindex": Verb("Rebuild the index from the transcripts", "stormclaw memory reindex", _reindex),
}

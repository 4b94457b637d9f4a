"""`session import`: sessions of Claude Code and Codex, and JSON exports, become sessions here."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.cli.options import place_from
from stormclaw.cli.session_export import claude_home
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb
from stormclaw.config.disk import user_home
from stormclaw.config.place import Place
from stormclaw.config.workspace import find_workspace
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.inert import inert

if TYPE_CHECKING:
    from stormclaw.store.imports.bring import Brought
    from stormclaw.store.imports.look import Found, Kind, Places

_TITLE = 60
_MOST_LISTED = 100


def _import(options: argparse.Namespace) -> int:
    from stormclaw.security.redact import redact
    from stormclaw.security.secrets import screen
    from stormclaw.store.imports.bring import bring

    place = place_from(options)
    if not options.source:
        return _list(options, place)
    found = _found(options, place)
    shows_keys = place.settings.security.secrets == "allow"
    brought = bring(
        place.home,
        found,
        _workspace(found, place),
        again=options.again,
        screen=str if shows_keys else lambda text: screen(text).text,
        mask=redact,
    )
    _remember(place, brought)
    _tell(options, place, brought)
    return 0


def _found(options: argparse.Namespace, place: Place) -> Found:
    from stormclaw.store.imports.look import NAMES, find, look

    path = Path(options.source)
    if not path.exists():
        if len(path.parts) > 1 or path.suffix:
            raise UsageError(f"{path} does not exist")
        path = find(_places(place), options.source, _kinds(options))
    found = look(path)
    if options.origin and found.kind != options.origin:
        raise UsageError(f"{path} is a session of {NAMES[found.kind]}, not what --from says")
    return found


def _kinds(options: argparse.Namespace) -> Sequence[Kind]:
    return (options.origin,) if options.origin else ("claude", "codex")


def _places(place: Place) -> Places:
    from stormclaw.store.imports.look import Places

    codex = Path(place.env.get("CODEX_HOME") or user_home(place.env) / ".codex")
    return Places(claude_home(place), codex)


def _workspace(found: Found, place: Place) -> Path:
    """The folder it worked in, as a session begun there has it; this one if that is not there."""
    cwd = Path(found.cwd) if "\0" not in found.cwd else Path()
    try:
        if not cwd.is_absolute() or not cwd.is_dir():
            return place.workspace
        return find_workspace(cwd, place.settings.workspace_dir, None, place.env)
    except (OSError, UsageError):
        return place.workspace


def _list(options: argparse.Namespace, place: Place) -> int:
    from stormclaw.store.imports.look import first_prompt, listed

    found, problems = listed(_places(place), place.workspace, _kinds(options))
    entries = [
        {
            "from": one.kind,
            "id": one.id,
            "updated": datetime.fromtimestamp(one.changed, UTC).isoformat(timespec="seconds"),
            "begins": " ".join(first_prompt(one).split())[:_TITLE],
            "file": str(one.path),
        }
        for one in found[:_MOST_LISTED]
    ]
    show(
        entries,
        as_json=options.as_json,
        empty=f"no session of Claude Code or Codex in {place.workspace}",
    )
    if len(found) > _MOST_LISTED:
        sys.stderr.write(f"and {len(found) - _MOST_LISTED} older ones\n")
    for problem in problems:
        sys.stderr.write(f"left out: {inert(problem)}\n")
    return 0


def _remember(place: Place, brought: Brought) -> None:
    from stormclaw.store.imports.bring import remember
    from stormclaw.store.memory import Memory

    memory = Memory(Path(place.settings.memory.path), home=place.home)
    try:
        remember(place.home, brought.info, memory)
    except StoreError as error:
        sys.stderr.write(f"not in the search index yet: {inert(str(error))}\n")
    finally:
        memory.close()


def _tell(options: argparse.Namespace, place: Place, brought: Brought) -> None:
    info = brought.info
    if options.as_json:
        facts = {
            "id": info.id,
            "title": info.title,
            "origin": info.origin,
            "workspace": str(info.workspace),
            "turns": info.turns,
            "nodes": brought.nodes,
            "skipped": dict(brought.skipped),
        }
        print(json.dumps(facts, indent=2))
        return
    print(inert(f"{info.id}  {info.title or '(untitled)'}"))
    print(f"{info.turns} turns, {brought.nodes} entries, from {inert(info.origin)}")
    for what, times in sorted(brought.skipped.items()):
        print(f"not taken over: {times} {inert(what)}")
    there = info.workspace != place.workspace
    way = f"cd {shlex.quote(str(info.workspace))} && " if there else ""
    print(f"go on with it: {inert(way)}stormclaw --resume {info.id}")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        default="",
        metavar="FILE|ID",
        help="a session file, or the id of a session of Claude Code or Codex; none: list them",
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("claude", "codex", "stormclaw"),
        help="whose session it is; found out from the file if not given",
    )
    parser.add_argument(
        "--again", action="store_true", help="although it was imported before: one more copy"
    )


VERBS = {
    "import": Verb(
        "A session of Claude Code or Codex, or a JSON export, as a session here",
        "stormclaw session import --from claude        (what there is for this folder)\n"
        "  stormclaw session import 5ff62947-7174\n"
        "  stormclaw session import session.json",
        _import,
        _arguments,
        lists=True,
    ),
}

"""`session fork`, `session rename`, `session rm`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.cli.asking import is_person
from stormclaw.cli.options import place_from
from stormclaw.cli.verbs import Verb
from stormclaw.config.place import Place
from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.inert import inert
from stormclaw.store import session_ops, sessions

if TYPE_CHECKING:
    from stormclaw.store.memory import Memory


@contextmanager
def _memory(place: Place) -> Iterator[Memory]:
    from stormclaw.store.memory import Memory

    memory = Memory(Path(place.settings.memory.path), home=place.home)
    try:
        yield memory
    finally:
        memory.close()


def _fork(options: argparse.Namespace) -> int:
    place = place_from(options)
    info = session_ops.fork(place.home, options.session_id, options.at)
    print(info.id)
    sys.stderr.write(
        f"{inert(info.title) or '(untitled)'}: {info.turns} turns of {info.origin}; "
        f"go on with it: stormclaw --resume {info.id}\n"
    )
    return 0


def _rename(options: argparse.Namespace) -> int:
    place = place_from(options)
    with _memory(place) as memory:
        info = session_ops.rename(place.home, options.session_id, " ".join(options.title), memory)
    print(inert(f"{info.id}  {info.title}"))
    return 0


def _rm(options: argparse.Namespace) -> int:
    place = place_from(options)
    chosen = list(dict.fromkeys(_chosen(place, wanted) for wanted in options.session_ids))
    if not (options.yes or _agreed(place, chosen)):
        print("nothing was removed")
        return 1
    code, removed = 0, 0
    with _memory(place) as memory:
        for session_id in chosen:
            try:
                workspace = _workspace(place, session_id)
                session_ops.remove(place.home, session_id, memory)
                _forget_snapshots(place, session_id, workspace)
            except StoreError as error:
                sys.stderr.write(f"stormclaw: {inert(str(error))}\n")
                code = 1
            else:
                removed += 1
                print(f"removed {session_id}")
    if removed:
        print(f"receipts of their calls stay in {inert(str(place.settings.receipts.path))}")
    return code


def _chosen(place: Place, wanted: str) -> str:
    """The id that is meant; a session that cannot be read is found by its whole id."""
    try:
        return sessions.load(place.home, wanted).id
    except StoreError:
        if sessions.folder(place.home, wanted).is_dir():
            return wanted
        raise


def _workspace(place: Place, session_id: str) -> Path | None:
    """The folder it worked in; None where its card cannot be read."""
    try:
        return sessions.load(place.home, session_id).workspace
    except StoreError:
        return None


def _forget_snapshots(place: Place, session_id: str, workspace: Path | None) -> None:
    """Let go of the copies of files that were made for it."""
    from stormclaw.store.checkpoints import Checkpoints

    if workspace is not None:
        checkpoints = Checkpoints(place.home, workspace, place.settings.checkpoints)
        if not checkpoints.problem():
            checkpoints.forget(session_id)


def _agreed(place: Place, chosen: list[str]) -> bool:
    """Whether somebody at a terminal says yes.

    Raises:
        UsageError: Nobody is there to be asked.
    """
    if not is_person():
        raise UsageError(
            f"this deletes {_counted(chosen)} for good; nobody is here to ask: add --yes to do it"
        )
    for session_id in chosen:
        sys.stderr.write(f"{session_id}  {inert(_title(place, session_id))}\n")
    sys.stderr.write(f"This deletes {_counted(chosen)} for good. Delete? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _title(place: Place, session_id: str) -> str:
    try:
        return sessions.load(place.home, session_id).title
    except StoreError as error:
        return f"({error})"


def _counted(chosen: list[str]) -> str:
    return "a session" if len(chosen) == 1 else f"{len(chosen)} sessions"


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", metavar="ID", help="id, its beginning or its last letters")
    parser.add_argument(
        "--at",
        default="",
        metavar="NODE",
        help="the last entry the new one has, as `session show` names it; the newest if not given",
    )


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", metavar="ID", help="id, its beginning or its last letters")
    parser.add_argument("title", nargs="+", metavar="TITLE", help="what to call it")


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_ids", nargs="+", metavar="ID", help="as `session list` shows")
    parser.add_argument(
        "--yes", action="store_true", help="do not ask; needed where there is no terminal"
    )


VERBS = {
    "fork": Verb(
        "A new session with what was said so far, or up to some entry; prints its id",
        "stormclaw session fork 20261122-0143 --at 3f9a1c",
        _fork,
        _where,
    ),
    "rename": Verb(
        "Give a session another title",
        "stormclaw session rename k3f9 retry budget, second try",
        _rename,
        _named,
    ),
    "rm": Verb(
        "Delete sessions for good, out of the search index too; receipts stay",
        "stormclaw session rm k3f9 --yes",
        _rm,
        _which,
    ),
}

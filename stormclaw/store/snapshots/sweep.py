"""Lets go of snapshots that are too old or too much, and packs what is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.durable import store_error
from stormclaw.store.snapshots.git import Deadline, GitFailed, OutOfTime
from stormclaw.store.snapshots.marks import FORGOTTEN
from stormclaw.store.snapshots.objects import save
from stormclaw.store.snapshots.room import Room
from stormclaw.store.snapshots.values import Mark

DAY_S = 86_400.0
_MANY_LOOSE = 1_000
_MANY_PACKS = 20
_PATIENCE_S = 600.0
_PASSING = ("new-*", "git/rules-*", "git/objects/pack/tmp_*", "git/objects/*/tmp_obj_*",
            "git/fast_import_crash_*", "git/.tmp-*")  # fmt: skip


def sweep(room: Room, keep_days: int, most_bytes: int, stopped: Callable[[], bool]) -> None:
    """See `Checkpoints.sweep`. Where somebody else is sweeping, nothing is left to do.

    Raises:
        StoreError: It could not be done.
    """
    try:
        with room.shelf.sweeping(Deadline(0.01)):
            _sweep(room, time.time() - keep_days * DAY_S, most_bytes, stopped)
    except OutOfTime:
        return
    except OSError as error:
        raise store_error("sweep", room.shelf.folder, error) from error


def _sweep(room: Room, oldest: float, most_bytes: int, stopped: Callable[[], bool]) -> None:
    deadline = Deadline(_PATIENCE_S, stopped)
    _remove_passing(room, oldest)
    forgotten = room.git.folder / FORGOTTEN
    let_go = _let_go_of_old(room, oldest) or forgotten.exists()
    objects = room.git.folder / "objects"
    loose, packs = _count(objects)
    if let_go or packs > _MANY_PACKS:
        _prune(room, deadline)
        forgotten.unlink(missing_ok=True)
    elif loose > _MANY_LOOSE:
        # Only moves objects, so nobody need wait.
        room.git.run("repack", "-d", "-l", "-q", deadline=deadline)
    if _size(objects) > most_bytes:
        _prune(room, deadline)
    while _size(objects) > most_bytes and _let_go_of_some(room):
        _prune(room, deadline)


def _remove_passing(room: Room, oldest: float) -> None:
    """Leavings of killed programs, and damaged stores but for a young one."""
    for pattern in _PASSING:
        for path in room.shelf.folder.glob(pattern):
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < time.time() - DAY_S:
                    _remove(path)
    asides = room.shelf.asides()
    for path in asides:
        if path != asides[-1] or path.stat().st_mtime < oldest:
            _remove(path)


def _let_go_of_old(room: Room, oldest: float) -> bool:
    let_go = False
    for name, marks in _chains(room).items():
        young = [mark for mark in marks if mark.checkpoint.at >= oldest]
        if len(young) < len(marks) or not marks:
            _keep(room, name, young)
            let_go = True
    return let_go


def _let_go_of_some(room: Room) -> bool:
    """A quarter of the sessions, oldest first; of the last one, its older half."""
    chains = _chains(room)
    ages = sorted(chains, key=lambda name: chains[name][-1].checkpoint.at if chains[name] else 0.0)
    if not ages:
        return False
    if len(ages) == 1:
        marks = chains[ages[0]]
        if len(marks) < 2:
            return False
        _keep(room, ages[0], marks[(len(marks) + 1) // 2 :])
        return True
    for name in ages[: max(1, len(ages) // 4)]:
        _keep(room, name, [])
    return True


def _chains(room: Room) -> dict[str, tuple[Mark, ...]]:
    """Every chain's snapshots, none where it is damaged. Chains of a newer kind are left out."""
    found = {}
    for name in room.marks.tips():
        try:
            found[name] = room.marks.chain_named(name, Deadline(_PATIENCE_S))
        except (OutOfTime, GitFailed):
            raise
        except StoreError:
            continue
    return found


def _keep(room: Room, name: str, marks: list[Mark] | tuple[Mark, ...]) -> None:
    """Cut a chain off below the oldest snapshot that stays, or drop it."""
    with room.shelf.naming(Deadline(_PATIENCE_S)):
        if not marks:
            room.marks.drop_named(name)
            return
        # A commit named there has no parents for git, and keeps its id.
        path = room.git.folder / "shallow"
        known = path.read_text("ascii").split() if path.exists() else []
        lines = [*dict.fromkeys([*known, marks[0].checkpoint.id])]
        save(path, "".join(f"{line}\n" for line in lines).encode())
        room.marks.forget_read()


def _prune(room: Room, deadline: Deadline) -> None:
    """Throw away what nothing names: nobody may be about to name it."""
    with room.shelf.looking(deadline) as looking, room.shelf.naming(deadline) as naming:
        held = (looking, naming)
        room.git.run("repack", "-a", "-d", "-q", deadline=deadline, hold=held)
        room.git.run("prune", "--expire=now", deadline=deadline, hold=held)


def _count(objects: Path) -> tuple[int, int]:
    """How many objects are files of their own, and how many packs there are."""
    loose = packs = 0
    for folder in os.scandir(objects):
        if len(folder.name) == 2:
            with contextlib.suppress(OSError):
                loose += sum(1 for _ in os.scandir(folder.path))
        elif folder.name == "pack":
            packs = sum(entry.name.endswith(".pack") for entry in os.scandir(folder.path))
    return loose, packs


def _size(objects: Path) -> int:
    """Bytes on the disk."""
    total = 0
    for folder, _, names in os.walk(objects):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118
    return total


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

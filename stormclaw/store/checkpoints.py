"""Snapshots of the workspace, in a git store outside of it, so that calls can be taken back.

This is the door of the `checkpoints_*` modules. Everything blocks, may be called from any thread
and by several programs at once, and nothing but `restore` ever writes in the workspace. The
snapshots are copies of the project's files: what is not ignored is in them, secrets too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.errors import StoreError
from stormclaw.store.durable import store_error
from stormclaw.store.snapshots.git import (
    Deadline,
    Git,
    GitFailed,
    OutOfTime,
    find_git,
    version_problem,
)
from stormclaw.store.snapshots.room import Room
from stormclaw.store.snapshots.scan import TooMuch
from stormclaw.store.snapshots.shelf import Shelf
from stormclaw.store.snapshots.values import ChangeKind, Checkpoint, FileChange, Moment

__all__ = ["ChangeKind", "Checkpoint", "Checkpoints", "FileChange", "Moment"]

T = TypeVar("T")

LEAST_REST_S, MOST_REST_S = 30.0, 600.0
READING_S = 60.0
"""How long git may take to answer what nobody's call waits for."""


class Checkpoints:
    """The snapshots of one workspace.

    Args:
        home: The user folder.
        workspace: The folder; nothing is touched yet.
        settings: How much, how long.
    """

    def __init__(self, home: Path, workspace: Path, settings: CheckpointsSettings) -> None:
        self._home = home
        self._workspace = workspace.absolute()
        self._settings = settings
        self._opening = threading.Lock()
        self._opened: Room | None = None
        self._program: str | None = None
        self._unusable = ""
        self._refused = ""
        self._set_aside = False
        self._closing = threading.Event()
        self._late = 0
        self._resting_until = 0.0

    def problem(self) -> str:
        """Why no snapshot can be taken, in one sentence; "" if they can."""
        if not self._settings.enabled:
            return "checkpoints are switched off (checkpoints.enabled)"
        if not self._workspace.is_dir():
            return f"{self._workspace} is not a folder"
        if self._program is None:
            program = find_git(self._workspace)
            missing = "git is not installed, so changes of files cannot be taken back"
            self._unusable = version_problem(program) if program else missing
            self._program = program
        return self._unusable or self._refused

    def take(
        self, session_id: str, call_id: str, moment: Moment, paths: Sequence[Path] | None = None
    ) -> Checkpoint:
        """Keep how the workspace stands.

        Args:
            session_id: Whose snapshot it is.
            call_id: The call it is taken around.
            moment: Before or after it.
            paths: The only files to look at, absolute or relative to the workspace; all if None,
                or if one of them is a folder.

        Raises:
            StoreError: It cannot be taken, or not in `time_limit_s`.
        """
        deadline = Deadline(self._settings.time_limit_s)

        def work(room: Room) -> Checkpoint:
            named = None if paths is None else room.named(paths)
            if named is None:
                self._must_not_rest()
            return room.take(session_id, call_id, moment, named, time.time(), deadline)

        try:
            taken = self._healed(work, deadline)
        except OutOfTime:
            if paths is None:
                self._late += 1
                pause_s = max(LEAST_REST_S, deadline.seconds * 2 ** min(self._late, 10))
                self._resting_until = time.monotonic() + min(pause_s, MOST_REST_S)
            raise
        if paths is None:
            self._late = 0
        return taken

    def of(self, session_id: str) -> tuple[Checkpoint, ...]:
        """A session's snapshots, oldest first.

        Raises:
            StoreError: They cannot be read.
        """
        room = self._room_if_any()
        if room is None:
            return ()
        return tuple(mark.checkpoint for mark in room.marks.chain(session_id, Deadline(READING_S)))

    def changes(
        self, older: str, newer: str, paths: Sequence[str] | None = None
    ) -> tuple[FileChange, ...]:
        """What became of files from one snapshot to another one, by path.

        A file that became ignored, or is not ignored any more, has not come or gone. One that was
        too large to be kept counts as modified.

        Args:
            older: Id of a snapshot.
            newer: Id of a snapshot.
            paths: The only ones that count; all if None.

        Raises:
            StoreError: They cannot be read.
        """
        return self._room().changes(older, newer, paths, Deadline(READING_S))

    def since(self, older: str) -> tuple[FileChange, ...]:
        """What became of files from a snapshot to now.

        Raises:
            StoreError: The snapshot cannot be read, or the workspace not be looked at.
        """
        deadline = Deadline(max(READING_S, self._settings.time_limit_s))
        return self._healed(lambda room: room.since(older, deadline), deadline)

    def restore(self, to: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Make exactly these files what they were at a snapshot.

        Each is written or removed as a whole; `.git`, ignored files, and files too large to be kept
        stay as they are.

        Args:
            to: Id of the snapshot.
            paths: Relative to the workspace, as `FileChange.path`.

        Returns:
            A sentence for each file that could not be put back.

        Raises:
            StoreError: The snapshot cannot be read; some files may have been put back.
        """
        return self._room().restore(to, paths, Deadline(READING_S * 10))

    def content(self, id: str, path: str) -> bytes | None:  # noqa: A002 - what it is
        """What a file (or a link) held at a snapshot; None if it was not there or not kept.

        Raises:
            StoreError: It cannot be read.
        """
        return self._room().content(id, path, Deadline(READING_S))

    def forget(self, session_id: str) -> None:
        """Let go of a session's snapshots; `sweep` frees the room.

        Raises:
            StoreError: They cannot be removed.
        """
        room = self._room_if_any()
        if room is not None:
            room.forget(session_id, Deadline(READING_S))

    def sweep(self) -> None:
        """Let go of what is too old or too much, and pack the rest. Takes seconds.

        Raises:
            StoreError: It could not be done.
        """
        from stormclaw.store.snapshots.sweep import sweep  # only in the background

        room = self._room_if_any()
        if room is not None:
            settings = self._settings
            sweep(room, settings.keep_days, settings.max_total_bytes, self._closing.is_set)

    def warm(self) -> None:
        """Look at everything once, however long it takes, so that the next look is a short one.

        Others' snapshots may come in between.

        Raises:
            StoreError: It cannot be done.
        """
        self._healed(lambda room: room.warm(self._closing.is_set), Deadline(READING_S))
        self._late = 0

    def close(self) -> None:
        """Make `warm` and `sweep` give up soon, wherever they are; all else goes on."""
        self._closing.set()

    def _must_not_rest(self) -> None:
        """Nobody is kept waiting by each call where looking takes too long; see `warm`.

        Raises:
            StoreError: The last look took too long, a short while ago.
        """
        rest_s = self._resting_until - time.monotonic()
        if self._late and rest_s > 0:
            raise StoreError(
                f"looking at {self._workspace} took longer than {self._settings.time_limit_s:g} s "
                f"(checkpoints.time_limit_s); it is tried again in {rest_s:.0f} s"
            )

    def _room(self) -> Room:
        """The opened store, made if there is none.

        Raises:
            StoreError: There can be none.
        """
        problem = self.problem()
        if problem and problem != self._refused:
            raise StoreError(problem)
        with self._opening:
            if self._opened is None or not self._opened.shelf.exists():
                workspace = Path(os.path.realpath(self._workspace))
                shelf = Shelf(self._home, workspace)
                making = Git(self._program or "git", shelf.store, workspace)
                shelf.make(making, Deadline(READING_S))
                self._opened = Room(making.program, shelf, self._settings)
            return self._opened

    def _room_if_any(self) -> Room | None:
        """The opened store; None if there is none, or nothing to open it with."""
        shelf = Shelf(self._home, Path(os.path.realpath(self._workspace)))
        return self._room() if shelf.exists() and self.problem() in {"", self._refused} else None

    def _healed(self, work: Callable[[Room], T], deadline: Deadline) -> T:
        """Do it; where the store is damaged, mend its index, or move it away and say so."""
        room = self._room()
        try:
            done = work(room)
            self._refused = ""
            return done
        except TooMuch as error:
            self._refused = str(error)
            raise
        except OSError as error:
            raise store_error("look at", self._workspace, error) from error
        except GitFailed as error:
            if not error.damage or not self._workspace.is_dir() or self._set_aside:
                raise
        with room.shelf.looking(deadline):
            room.shelf.drop_index()
        try:
            return work(room)
        except GitFailed as again:
            if not again.damage or not self._workspace.is_dir():
                raise
            self._set_aside = True
            raise room.shelf.damaged(again, deadline) from again
        except OSError as error:
            raise store_error("look at", self._workspace, error) from error

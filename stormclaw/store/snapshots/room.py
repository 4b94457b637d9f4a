"""One workspace's snapshots, opened: takes them, compares them, puts files back from them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.errors import StoreError
from stormclaw.store.durable import store_error
from stormclaw.store.snapshots.compare import Comparing, Standing
from stormclaw.store.snapshots.diff import content, states
from stormclaw.store.snapshots.files import Ground, Skip, forbidden
from stormclaw.store.snapshots.git import Deadline, Git, GitFailed, OutOfTime
from stormclaw.store.snapshots.marks import Gone, Marks
from stormclaw.store.snapshots.objects import EMPTY_TREE, grafted, put
from stormclaw.store.snapshots.restore import Restore
from stormclaw.store.snapshots.rules import Rules
from stormclaw.store.snapshots.scan import Scan, Seen
from stormclaw.store.snapshots.shelf import Shelf
from stormclaw.store.snapshots.tracked import Tracked
from stormclaw.store.snapshots.values import Checkpoint, FileChange, Mark, Moment, State

_SLICE_S = 3.0
_BREATH_S = 0.05
_WARMING_S = 3600.0


class Room:
    """An open store.

    Args:
        program: git.
        shelf: Where the store is; it has been made.
        settings: How much, how long.
    """

    def __init__(self, program: str, shelf: Shelf, settings: CheckpointsSettings) -> None:
        self.shelf = shelf
        self.prefix = shelf.prefix()
        self.git = Git(program, shelf.store, shelf.root())
        self.marks = Marks(self.git)
        self._most = settings.max_file_bytes
        self._rules = Rules(self.git, self.prefix, shelf.home)
        self._tracked = Tracked(self.git)
        self._scan = Scan(
            self.git,
            shelf,
            self._rules,
            self._tracked,
            self.prefix,
            self._most,
            settings.max_total_bytes,
        )
        self._comparing = Comparing(self.git, self._rules, self.prefix)

    def named(self, paths: Sequence[Path]) -> Mapping[str, str] | None:
        """Files to look at -> why not to, or ""; None if a folder is among them.

        Paths are relative to the workspace, links on the way resolved.
        """
        found: dict[str, str] = {}
        for path in paths:
            whole = self.shelf.workspace / path
            place = Path(os.path.realpath(whole.parent)) / whole.name
            if place.is_dir() and not place.is_symlink():
                return None
            if place != whole and not forbidden(literal := self._literal(whole)):
                # No file as long as a link is on the way, which may not be for ever.
                found.setdefault(os.fsdecode(literal), "")
            below = self._literal(place)
            if not below:
                found[str(path)] = "outside the workspace"
            else:
                found[os.fsdecode(below)] = "part of .git" if forbidden(below) else ""
        return found

    def _literal(self, place: Path) -> bytes:
        """A place's path in the workspace, empty if it is outside."""
        if place == self.shelf.workspace or not place.is_relative_to(self.shelf.workspace):
            return b""
        return os.fsencode(place.relative_to(self.shelf.workspace))

    def take(
        self,
        session_id: str,
        call_id: str,
        moment: Moment,
        named: Mapping[str, str] | None,
        at: float,
        deadline: Deadline,
    ) -> Checkpoint:
        """See `Checkpoints.take`."""
        if named is None:
            with self.shelf.looking(deadline) as held:
                seen = self._scan.look(deadline, held)
                skipped = {self._comparing.outer(path): why for path, why in seen.skipped.items()}
                checkpoint = Checkpoint("", call_id, moment, at, False, ())
                with self.shelf.naming(deadline):
                    older = self._newest(session_id, deadline)
                    parent = older.checkpoint.id if older else ""
                    mark = self.marks.add(
                        session_id, seen.tree, checkpoint, None, True, skipped, parent
                    )
            return mark.checkpoint
        with self.shelf.naming(deadline) as held:
            looked, skipped = self._look_at(named, deadline)
            older = self._newest(session_id, deadline)
            tree, whole = (older.tree, older.whole) if older else (EMPTY_TREE, False)
            changes = {self._comparing.inner(path): state for path, state in looked.items()}
            try:
                tree = grafted(self.git, tree, changes, (held,))
            except GitFailed as error:
                if not error.damage:
                    raise
                # The tree before is damaged: begin with these files alone.
                tree, whole = grafted(self.git, EMPTY_TREE, changes, (held,)), False
            checkpoint = Checkpoint("", call_id, moment, at, True, ())
            parent = older.checkpoint.id if older else ""
            mark = self.marks.add(session_id, tree, checkpoint, looked, whole, skipped, parent)
        return mark.checkpoint

    def changes(
        self, older: str, newer: str, paths: Sequence[str] | None, deadline: Deadline
    ) -> tuple[FileChange, ...]:
        """See `Checkpoints.changes`."""
        before, after = self._stored(older, deadline), self._stored(newer, deadline)
        only = None if paths is None else {self._comparing.inner(path) for path in paths}
        return self._comparing.between(before, after, only, deadline)

    def since(self, older: str, deadline: Deadline) -> tuple[FileChange, ...]:
        """See `Checkpoints.since`."""
        # Under a lock, so that no sweep takes away what was written only to be compared.
        with self.shelf.naming(deadline):
            then = self._at(older, deadline)
            if then.known is not None:
                now = self._named_now(then, then.known, deadline)
                return self._comparing.between(then, now, None, deadline)
        with self.shelf.looking(deadline) as held:
            then = self._at(older, deadline)
            seen: Seen = self._scan.look(deadline, held)
            now = Standing(seen.tree, None, frozenset(seen.skipped))
            return self._comparing.between(then, now, None, deadline)

    def restore(self, to: str, paths: Sequence[str], deadline: Deadline) -> tuple[str, ...]:
        """See `Checkpoints.restore`."""
        with self.shelf.naming(deadline):
            wanted, failed = self._wanted(to, paths, deadline)
        failed |= self._put_back(wanted, deadline)
        return tuple(f"{path}: {why}" for path, why in failed.items())

    def _wanted(
        self, to: str, paths: Sequence[str], deadline: Deadline
    ) -> tuple[dict[bytes, State | None], dict[str, str]]:
        """How these files stood, and those that must stay with the reason."""
        then = self._at(to, deadline)
        failed: dict[str, str] = {}
        wanted: dict[bytes, State | None] = {}
        for path in dict.fromkeys(paths):
            place = self._comparing.inner(path)
            if forbidden(os.fsencode(path)):
                failed[path] = "not a file of the workspace"
            elif place in then.skipped:
                failed[path] = "it was not kept in the snapshot"
            elif then.known is not None and place not in then.known:
                failed[path] = "the snapshot does not know how it was"
            else:
                wanted[place] = None
        wanted |= states(self.git, then.tree, wanted, deadline)
        gone = [place for place, state in wanted.items() if state is None]
        for place in self._ignored(to, then, gone, deadline):
            del wanted[place]
            failed[self._comparing.outer(place)] = "it is ignored, so it stays"
        return wanted, failed

    def content(self, checkpoint_id: str, path: str, deadline: Deadline) -> bytes | None:
        """See `Checkpoints.content`."""
        if forbidden(os.fsencode(path)):
            return None
        with self.shelf.naming(deadline):
            then = self._at(checkpoint_id, deadline)
            return content(self.git, then.tree, self._comparing.inner(path), deadline)

    def forget(self, session_id: str, deadline: Deadline) -> None:
        """See `Checkpoints.forget`."""
        with self.shelf.naming(deadline):
            self.marks.drop(session_id)

    def warm(self, stopped: Callable[[], bool]) -> None:
        """See `Checkpoints.warm`; the lock is given up from time to time."""
        end = Deadline(_WARMING_S, stopped)
        slice_s = _SLICE_S
        while True:
            with self.shelf.looking(end) as held:
                try:
                    seen = self._scan.look(Deadline(slice_s, stopped), held)
                    break
                except OutOfTime:
                    end.left()
                    slice_s *= 1.5
            time.sleep(_BREATH_S)
        # Were all contents really kept? A power cut may have taken some.
        arguments = ("rev-list", "--objects", "--quiet", "--no-walk", "HEAD", "--")
        if seen.tree != EMPTY_TREE:
            self.git.run(*arguments, deadline=end)

    def _look_at(
        self, named: Mapping[str, str], deadline: Deadline
    ) -> tuple[dict[str, State | None], dict[str, str]]:
        skipped = {path: why for path, why in named.items() if why}
        wanted = {self._comparing.inner(path): path for path, why in named.items() if not why}
        try:
            self._rules.renew(deadline)
        except OSError as error:
            raise store_error("write", self.git.folder / "info", error) from error
        for place in self._ignored_now(wanted, deadline):
            skipped[wanted.pop(place)] = "ignored"
        looked: dict[str, State | None] = {}
        with Ground(self.git.root) as ground:
            for place, path in sorted(wanted.items()):
                state = ground.read(place, self._most, lambda body: put(self.git, "blob", body))
                if isinstance(state, Skip):
                    skipped[path] = state.why
                else:
                    looked[path] = state
                deadline.left()
        return looked, skipped

    def _newest(self, session_id: str, deadline: Deadline) -> Mark | None:
        """The newest snapshot of a session; one that is damaged cannot be gone on from."""
        tip = self.marks.tip(session_id)
        try:
            return self.marks.find(tip, deadline) if tip else None
        except Gone:
            return None

    def _chain(self, mark: Mark, deadline: Deadline) -> tuple[Mark, ...]:
        return self.marks.chain(mark.session, deadline)

    def _stored(self, checkpoint_id: str, deadline: Deadline) -> Standing:
        mark = self.marks.find(checkpoint_id, deadline)
        before: tuple[Mark, ...] = ()
        if not mark.whole:
            before = self._chain(mark, deadline)
            ids = [each.checkpoint.id for each in before]
            before = before[: ids.index(checkpoint_id)] if checkpoint_id in ids else ()
        return self._comparing.stored(mark, before)

    def _at(self, checkpoint_id: str, deadline: Deadline) -> Standing:
        mark = self.marks.find(checkpoint_id, deadline)
        marks = self._chain(mark, deadline) if mark.looked is not None else ()
        return self._comparing.at(mark, marks)

    def _named_now(self, then: Standing, known: frozenset[bytes], deadline: Deadline) -> Standing:
        """How the files that `then` speaks of stand now."""
        named = {self._comparing.outer(path): "" for path in known}
        looked, skipped = self._look_at(named, deadline)
        inner = self._comparing.inner
        tree = grafted(self.git, then.tree, {inner(path): looked[path] for path in looked})
        return Standing(tree, known, frozenset(map(inner, skipped)))

    def _ignored(
        self, to: str, then: Standing, gone: Sequence[bytes], deadline: Deadline
    ) -> frozenset[bytes]:
        """Which of the files that are to go are ignored, or were: those stay."""
        looked = self.marks.find(to, deadline).looked or {}
        unseen = [path for path in gone if self._comparing.outer(path) not in looked]
        now = self._ignored_now(gone, deadline)
        before = self._comparing.ignored_at(then, unseen, deadline)
        return now | (before - self._tracked.known())

    def _ignored_now(self, paths: Iterable[bytes], deadline: Deadline) -> frozenset[bytes]:
        """Which of these are ignored, and not kept by the project's own git."""
        ignored = self._rules.ignored(paths, deadline)
        if not ignored:
            return ignored
        # Not written down, for the index knows nothing of it yet.
        stale = self._tracked.stale()
        return ignored - (self._tracked.found(deadline) if stale else self._tracked.known())

    def _put_back(self, wanted: Mapping[bytes, State | None], deadline: Deadline) -> dict[str, str]:
        putting = Restore(self.git, self.shelf.folder, self.prefix, self._most)
        try:
            with self.shelf.restoring(deadline):
                failed = putting.put_back(wanted, deadline)
        except OSError as error:
            raise StoreError(
                f"files of {self.shelf.workspace} cannot be put back: {error}"
            ) from error
        return {self._comparing.outer(path): why for path, why in failed.items()}

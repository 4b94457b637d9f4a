"""Who changed which file since a moment, and what going back to it does. Blocks: run in a thread.

The snapshots of a session form one line in time, whatever branch the conversation is on. Between a
call's two snapshots the call changed things; while no call was at work somebody else did. What is
not known to be a call's is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from stormclaw.agent.history.moments import at_work, begun, unkept
from stormclaw.agent.history.values import FileFate, FileStep, Foreign, Touched
from stormclaw.protocol.messages import Node
from stormclaw.store.checkpoints import Checkpoint, Checkpoints, FileChange

FATES: Mapping[str, FileFate] = {
    "added": "removed",
    "deleted": "recreated",
    "modified": "restored",
}
"""What became of a file since then -> what going back does to it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Going back to a moment.

    Attributes:
        to: The snapshot that stands for it, "" if no call has written since.
        files: What happens to which file.
        foreign: What somebody else changed and that stays.
        missing: Files that calls changed and no snapshot knows of.
        commands: How many commands ran without a snapshot.
    """

    to: str = ""
    files: tuple[FileStep, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    missing: tuple[str, ...] = ()
    commands: int = 0

    def lacks(self) -> tuple[str, ...]:
        """A sentence for everything of which there is no snapshot."""
        found = [f"{path}: there is no snapshot of how it was" for path in self.missing]
        if self.commands:
            ran = "a command" if self.commands == 1 else f"{self.commands} commands"
            found.append(f"{ran} ran without a snapshot; what that changed stays")
        return tuple(found)


class Changes:
    """What snapshots of a session differ in; differences never change, so each is looked up once.

    Args:
        checkpoints: Where the snapshots are.
        session_id: Whose.
        workspace: Absolute.
    """

    def __init__(self, checkpoints: Checkpoints, session_id: str, workspace: Path) -> None:
        self._checkpoints = checkpoints
        self._session_id = session_id
        self._workspace = workspace
        self._known: dict[tuple[str, str], tuple[FileChange, ...]] = {}

    def by_call(self) -> Mapping[str, tuple[Touched, ...]]:
        """What each call changed.

        Raises:
            StoreError: The snapshots cannot be read.
        """
        found: dict[str, tuple[Touched, ...]] = {}
        for older, newer in pairwise(self._checkpoints.of(self._session_id)):
            if at_work((older, newer)) == (True,):
                changes = self._between(older.id, newer.id)
                found[newer.call_id] = tuple(
                    Touched(change.path, change.added, change.removed) for change in changes
                )
        return found

    def plan(self, turn: Node, nodes: Sequence[Node]) -> Plan:
        """Going back to how things were when a turn began.

        Args:
            turn: The turn's first node.
            nodes: Everything, in the order written.

        Raises:
            StoreError: The snapshots cannot be read.
        """
        marks = self._checkpoints.of(self._session_id)
        since = marks[begun(marks, turn, nodes) :]
        missing, commands = unkept(turn, nodes, {mark.call_id for mark in marks})
        if not since:
            return Plan(missing=missing, commands=commands)
        ours: set[str] = set()
        others: dict[str, None] = {}
        for (older, newer), by_calls in zip(pairwise(since), at_work(since), strict=True):
            paths = [change.path for change in self._between(older.id, newer.id)]
            if by_calls:
                ours |= set(paths)
            else:
                others |= dict.fromkeys(paths)
        others |= {change.path: None for change in self._checkpoints.since(since[-1].id)}
        steps = [
            FileStep(
                change.path,
                FATES[change.kind],
                change.removed,
                change.added,
                change.path in others,
            )
            for change in self._checkpoints.since(since[0].id)
            if change.path in ours
        ]
        foreign = (path for path in others if path not in ours)
        missing = tuple(path for path in missing if path not in ours)
        return Plan(since[0].id, tuple(steps), tuple(self._seen(foreign)), missing, commands)

    def newest(self, beginning: str) -> Checkpoint | None:
        """The newest snapshot before what has a name that begins like this.

        Raises:
            StoreError: The snapshots cannot be read.
        """
        marks = reversed(self._checkpoints.of(self._session_id))
        return next(
            (
                mark
                for mark in marks
                if mark.moment == "before" and mark.call_id.startswith(beginning)
            ),
            None,
        )

    def put_back_since(self, mark: str, to: str) -> list[str]:
        """Files that are not as they were in one snapshot, but as in another one they were to be.

        Raises:
            StoreError: The snapshots cannot be read.
        """
        other = {change.path for change in self._checkpoints.since(to)}
        since = (change.path for change in self._checkpoints.since(mark))
        return [path for path in since if path not in other]

    def changed_since(self, mark: str, paths: Iterable[str]) -> frozenset[str]:
        """Which of these files are not as they were in a snapshot.

        Raises:
            StoreError: It cannot be read.
        """
        wanted = frozenset(paths)
        return frozenset(
            change.path for change in self._checkpoints.since(mark) if change.path in wanted
        )

    def _between(self, older: str, newer: str) -> tuple[FileChange, ...]:
        key = (older, newer)
        if key not in self._known:
            self._known[key] = self._checkpoints.changes(older, newer)
        return self._known[key]

    def _seen(self, paths: Iterable[str]) -> Iterable[Foreign]:
        for path in paths:
            try:
                at = (self._workspace / path).lstat().st_mtime
            except OSError:
                at = 0.0
            yield Foreign(path, at)


def chosen(files: Sequence[FileStep], *, force: bool) -> tuple[list[str], tuple[str, ...]]:
    """Paths to put back, and those that stay since somebody else changed them."""
    back = [step.path for step in files if force or not step.conflict]
    return back, tuple(step.path for step in files if step.conflict and not force)

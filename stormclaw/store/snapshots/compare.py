"""How files stood at a snapshot, and what that differs in from how they stand elsewhere.

A partial snapshot looked at named files only. Another file stood, at that moment, as the next
snapshot of the session that looked at it found it: whoever changed it in between was none of ours.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from stormclaw.store.snapshots.diff import differences
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.marks import observed
from stormclaw.store.snapshots.objects import grafted
from stormclaw.store.snapshots.rules import Rules, is_rule
from stormclaw.store.snapshots.values import FileChange, Mark, State


@dataclass(frozen=True, slots=True)
class Standing:
    """How files stood at some moment; paths are those in the work tree.

    Attributes:
        tree: Id of a tree with all that is known.
        known: The only files it speaks of; None if it speaks of all.
        skipped: Files that were there and could not be kept.
    """

    tree: str
    known: frozenset[bytes] | None
    skipped: frozenset[bytes]


class Comparing:
    """Answers questions about snapshots of one store.

    Args:
        git: The store and the work tree.
        rules: What is ignored.
        prefix: Path of the workspace in the work tree, ending in `/`, or empty.
    """

    def __init__(self, git: Git, rules: Rules, prefix: bytes) -> None:
        self._git = git
        self._rules = rules
        self._prefix = prefix

    def inner(self, path: str) -> bytes:
        """A path of the workspace in the work tree."""
        return self._prefix + os.fsencode(path)

    def outer(self, path: bytes) -> str:
        """A path of the work tree in the workspace."""
        return os.fsdecode(path.removeprefix(self._prefix))

    def stored(self, mark: Mark, before: Sequence[Mark]) -> Standing:
        """What a snapshot holds, files it did not look at as they were found last.

        Args:
            mark: The snapshot.
            before: Those of its session that are older.
        """
        known = None if mark.whole else self._inner_all(observed([*before, mark]))
        return Standing(mark.tree, known, self._inner_all(mark.skipped))

    def at(self, mark: Mark, marks: Sequence[Mark]) -> Standing:
        """How files stood at a snapshot, files it did not look at as they were found next.

        Args:
            mark: The snapshot.
            marks: All of its session, oldest first.

        Raises:
            StoreError: Something cannot be read.
        """
        place = next((n for n, each in enumerate(marks) if each.tree == mark.tree
                      and each.checkpoint.id == mark.checkpoint.id), None)  # fmt: skip
        before, later = ((), ()) if place is None else (marks[:place], marks[place + 1 :])
        if mark.looked is None:
            return self.stored(mark, before)
        states: dict[str, State | None] = dict(mark.looked)
        skipped = dict(mark.skipped)
        base = mark
        for each in later:
            if each.looked is None:
                base = each
            for path, why in each.skipped.items():
                if path not in states:
                    skipped.setdefault(path, why)
            if each.looked is None:
                break
            states = dict(each.looked) | states
        changes = {self.inner(path): state for path, state in states.items()}
        tree = grafted(self._git, base.tree, changes)
        known = None if base.whole else self._inner_all(chain(states, observed(before)))
        return Standing(tree, known, self._inner_all(skipped))

    def between(
        self, older: Standing, newer: Standing, paths: Collection[bytes] | None, deadline: Deadline
    ) -> tuple[FileChange, ...]:
        """What became of files from one state to another one.

        Args:
            older: From.
            newer: To.
            paths: The only ones that count; all if None.
            deadline: When to give up.

        Raises:
            StoreError: Something cannot be read.
        """
        for limit in (older.known, newer.known):
            if limit is not None:
                paths = limit if paths is None else limit.intersection(paths)
        found = differences(self._git, older.tree, newer.tree, paths, deadline)
        for path in self._switched(older, newer, found, deadline):
            del found[path]
        for path, change in found.items():
            lost = older.skipped if change.kind == "added" else newer.skipped
            if change.kind != "modified" and path in lost:
                found[path] = FileChange(change.path, "modified", 0, 0, binary=True)
        shown = (replace(found[path], path=self.outer(path)) for path in sorted(found))
        return tuple(shown)

    def ignored_at(
        self, standing: Standing, paths: Collection[bytes], deadline: Deadline
    ) -> frozenset[bytes]:
        """Which of these paths were ignored then.

        Raises:
            StoreError: git could not say.
        """
        if not paths:
            return frozenset()
        arguments = ("ls-tree", "-r", "-z", "--full-tree", "--name-only", standing.tree)
        names = self._git.run(*arguments, deadline=deadline).split(b"\0")
        rules = [name for name in names if is_rule(name)]
        return self._rules.ignored_in(standing.tree, rules, paths, deadline)

    def _switched(
        self,
        older: Standing,
        newer: Standing,
        found: Mapping[bytes, FileChange],
        deadline: Deadline,
    ) -> frozenset[bytes]:
        """Files that did not come or go: they are ignored since, or are not any more."""
        came = [path for path, change in found.items() if change.kind == "added"]
        went = [path for path, change in found.items() if change.kind == "deleted"]
        if not came and not went:
            return frozenset()
        arguments = ("--glob-pathspecs", "diff-tree", "-r", "--name-only", older.tree, newer.tree)
        if not self._git.run(*arguments, "--", "**/.gitignore", deadline=deadline):
            return frozenset()
        return self.ignored_at(older, came, deadline) | self.ignored_at(newer, went, deadline)

    def _inner_all(self, paths: chain[str] | Collection[str]) -> frozenset[bytes]:
        return frozenset(map(self.inner, paths))

"""What two trees differ in, and what one of them holds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Final

from stormclaw.errors import StoreError
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.values import ChangeKind, FileChange, State

_KINDS: Final[Mapping[bytes, ChangeKind]] = {
    b"A": "added",
    b"D": "deleted",
    b"M": "modified",
    b"T": "modified",
}
_ON_A_LINE = 60_000
"""Bytes of paths that are named to git; more are picked out afterwards."""


def differences(
    git: Git, older: str, newer: str, paths: Collection[bytes] | None, deadline: Deadline
) -> dict[bytes, FileChange]:
    """Path in the work tree -> what became of it; `FileChange.path` is the same path.

    Args:
        git: The store.
        older: A tree.
        newer: A tree.
        paths: The only ones that count; all if None.
        deadline: When to give up.

    Raises:
        StoreError: A tree cannot be read.
    """
    if older == newer or (paths is not None and not paths):
        return {}
    arguments: list[str | bytes] = [
        "--literal-pathspecs", "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames",
        "--no-ext-diff", "--no-textconv", "--full-index", older, newer, "--",
    ]  # fmt: skip
    if paths is not None and sum(map(len, paths)) < _ON_A_LINE:
        arguments += sorted(paths)
    answer = git.run(*arguments, deadline=deadline)
    found = _parsed(answer)
    if paths is None:
        return found
    return {path: change for path, change in found.items() if path in paths}


def _parsed(answer: bytes) -> dict[bytes, FileChange]:
    kinds: dict[bytes, ChangeKind] = {}
    found: dict[bytes, FileChange] = {}
    words = iter(answer.split(b"\0"))
    for word in words:
        if word.startswith(b":"):
            sign = word.rsplit(b" ", 1)[1][:1]
            kinds[next(words)] = _KINDS[sign]
        elif word:
            added, removed, path = word.split(b"\t", 2)
            binary = added == b"-"
            found[path] = FileChange(
                os.fsdecode(path),
                kinds[path],
                0 if binary else int(added),
                0 if binary else int(removed),
                binary,
            )
    for path, kind in kinds.items():  # Only the mode differs.
        found.setdefault(path, FileChange(os.fsdecode(path), kind, 0, 0, False))
    return found


def states(git: Git, tree: str, paths: Collection[bytes], deadline: Deadline) -> dict[bytes, State]:
    """How these files stand in a tree; those that are not in it are missing.

    Raises:
        StoreError: It cannot be read.
    """
    if not paths:
        return {}
    arguments: list[str | bytes] = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree"]
    if sum(map(len, paths)) < _ON_A_LINE:
        arguments += [tree, "--", *sorted(paths)]
    else:
        arguments += ["-r", tree]
    answer = git.run(*arguments, deadline=deadline)
    found: dict[bytes, State] = {}
    for entry in answer.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        if path in paths:
            mode, kind, name = head.split(b" ")
            if kind == b"blob":
                found[path] = (mode.decode(), name.decode())
    return found


def content(git: Git, tree: str, path: bytes, deadline: Deadline) -> bytes | None:
    """What a file or a link holds in a tree; None if it is not there.

    Raises:
        StoreError: It is there and cannot be read.
    """
    state = states(git, tree, {path}, deadline).get(path)
    return None if state is None else git.run("cat-file", "blob", state[1], deadline=deadline)


def contents(git: Git, names: Collection[str], deadline: Deadline) -> dict[str, bytes]:
    """Contents by their ids; those that cannot be read are missing.

    Raises:
        StoreError: git could not be asked.
    """
    found: dict[str, bytes] = {}
    if not names:
        return found
    feed = "".join(f"{name}\n" for name in names).encode()
    answer = git.run("cat-file", "--batch", deadline=deadline, feed=feed, good=(0, 128))
    at = 0
    while at < len(answer):
        end = answer.find(b"\n", at)
        words = answer[at:end].split()
        if end < 0 or len(words) < 2:
            raise StoreError(f"git cat-file answered {answer[at : at + 80]!r}")
        at = end + 1
        if len(words) == 3:
            size = int(words[2])
            found[words[0].decode()] = answer[at : at + size]
            at += size + 1
    return found

"""git's objects, written without starting git: contents, trees and commits as loose files.

The format of loose objects is git's oldest promise. Many contents at once go through
`git fast-import` into one pack instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TypeAlias

from stormclaw.store.durable import store_error, write_all
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.values import State

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
TREE_MODE = "40000"
_FEW = 150
"""Up to so many contents are written as files of their own."""

Put: TypeAlias = Callable[[bytes], str]
"""Keeps a content and returns its id."""

Entries: TypeAlias = dict[bytes, State]
"""Of a tree: name -> mode and id."""


def put(git: Git, kind: str, body: bytes) -> str:
    """Keep one object and return its id.

    Raises:
        StoreError: It cannot be written.
    """
    head = b"%s %d\0" % (kind.encode(), len(body))
    name = hashlib.sha1(head + body, usedforsecurity=False).hexdigest()
    place = git.folder / "objects" / name[:2]
    path = place / name[2:]
    try:
        try:
            os.utime(path)  # As young as its youngest use, so that nobody prunes it.
            if path.stat().st_size:  # Empty after a power cut.
                return name
        except FileNotFoundError:
            place.mkdir(mode=0o700, exist_ok=True)
        save(path, zlib.compress(head + body, 1), prefix="tmp_obj_", mode=0o400)
    except OSError as error:
        raise store_error("write a snapshot to", path, error) from error
    return name


def save(path: Path, payload: bytes, *, prefix: str = ".tmp-", mode: int = 0o600) -> None:
    """Replace a file: readers see the old bytes or the new ones. Not flushed.

    Raises:
        OSError: It could not be written.
    """
    temporary = path.with_name(f"{prefix}{secrets.token_hex(6)}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            write_all(fd, payload)
        finally:
            os.close(fd)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def keeper(git: Git, count: int, deadline: Deadline, hold: tuple[int, ...] = ()) -> Iterator[Put]:
    """A way to keep about `count` contents; all are in the store when the block has ended.

    Raises:
        StoreError: They could not be written.
    """
    if count <= _FEW:
        yield lambda content: put(git, "blob", content)
        return
    arguments = ("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done")
    with git.started(*arguments, hold=hold) as process:
        assert process.stdin is not None  # noqa: S101 - a pipe was asked for
        stream = process.stdin
        try:
            yield lambda content: _streamed(stream, content)
            stream.write(b"done\n")
            stream.close()
            # What has been read is worth a little more time than there was.
            code = process.wait(timeout=max(10.0, deadline.seconds))
        except BrokenPipeError:
            code = process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            raise deadline.missed() from None
        said = process.stderr.read() if process.stderr is not None else b""
        git.judge(code, said, ("fast-import",))


def _streamed(stream: IO[bytes], content: bytes) -> str:
    head = b"blob %d\0" % len(content)
    stream.write(b"blob\ndata %d\n" % len(content))
    stream.write(content)
    stream.write(b"\n")
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


class Trees:
    """Reads tree objects one after the other, from one git."""

    def __init__(self, git: Git, process: subprocess.Popen[bytes]) -> None:
        self._git = git
        self._process = process

    def entries(self, tree: str) -> Entries:
        """What a tree holds.

        Raises:
            GitFailed: It is not there.
        """
        if tree == EMPTY_TREE:
            return {}
        feed, answer = self._process.stdin, self._process.stdout
        assert feed is not None and answer is not None  # noqa: S101, PT018 - both were asked for
        with contextlib.suppress(BrokenPipeError):
            feed.write(f"{tree}\n".encode())
            feed.flush()
        words = answer.readline().split()
        if len(words) != 3 or words[1] != b"tree":
            self._git.judge(1, f"tree {tree} is missing".encode(), ("cat-file",))
        body = answer.read(int(words[2]) + 1)[:-1]
        return dict(_parsed(body))


def _parsed(body: bytes) -> Iterator[tuple[bytes, State]]:
    at = 0
    while at < len(body):
        blank = body.index(b" ", at)
        end = body.index(b"\0", blank)
        yield body[blank + 1 : end], (body[at:blank].decode(), body[end + 1 : end + 21].hex())
        at = end + 21


def put_tree(git: Git, entries: Entries) -> str:
    """Keep a tree and return its id."""

    def order(name: bytes) -> bytes:
        return name + b"/" if entries[name][0] == TREE_MODE else name

    lines = (
        b"%s %s\0%s" % (entries[name][0].encode(), name, bytes.fromhex(entries[name][1]))
        for name in sorted(entries, key=order)
    )
    return put(git, "tree", b"".join(lines))


def graft(git: Git, trees: Trees, tree: str, changes: Mapping[bytes, State | None]) -> str:
    """The tree with some files changed; None takes a file away. Returns its id.

    Raises:
        StoreError: It cannot be read or written.
    """
    entries = trees.entries(tree)
    below: dict[bytes, dict[bytes, State | None]] = {}
    for path, state in changes.items():
        name, _, rest = path.partition(b"/")
        if rest:
            below.setdefault(name, {})[rest] = state
        elif state is not None:
            entries[name] = state
        elif entries.get(name, (TREE_MODE,))[0] != TREE_MODE:
            del entries[name]
    for name, inner in below.items():
        mode, old = entries.get(name, (TREE_MODE, EMPTY_TREE))
        if mode != TREE_MODE:
            if not any(inner.values()):
                continue
            old = EMPTY_TREE
        new = graft(git, trees, old, inner)
        if new == EMPTY_TREE:
            entries.pop(name, None)
        else:
            entries[name] = (TREE_MODE, new)
    return put_tree(git, entries) if entries else EMPTY_TREE


def grafted(
    git: Git, tree: str, changes: Mapping[bytes, State | None], hold: tuple[int, ...] = ()
) -> str:
    """See `graft`; starts the git that reads."""
    if not changes:
        return tree
    with git.started("cat-file", "--batch", hold=hold) as process:
        return graft(git, Trees(git, process), tree, changes)


def put_commit(git: Git, tree: str, parent: str, message: str, at: float) -> str:
    """Keep a commit, `message` in ASCII, and return its id."""
    who = f"stormclaw <stormclaw@localhost> {int(at)} +0000"
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    text = "\n".join((*lines, f"author {who}", f"committer {who}", "", message, ""))
    if tree == EMPTY_TREE:
        put(git, "tree", b"")
    return put(git, "commit", text.encode("ascii"))

"""Whatever becomes of whatever files: putting back what changed makes them what they were."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints

Leaf: TypeAlias = tuple[str, bytes]
"""`file`, `program` or `link`, and what it holds."""
Tree: TypeAlias = Mapping[tuple[bytes, ...], Leaf]

NAMES = st.sampled_from([b"a", b"b", b"A", b"-x", b"\xff", b"n\nl", b":(top)", b"*", b"d", b" "])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
LEAVES = st.one_of(
    st.tuples(
        st.sampled_from(["file", "program"]), st.sampled_from([b"", b"1\n", b"2\n", b"\0\r"])
    ),
    st.tuples(st.just("link"), st.sampled_from([b"a", b"..", b"/nowhere", b"b/d"])),
)  # fmt: skip


def possible(found: Tree) -> Tree:
    """Without what would lie below a file."""
    return {
        path: leaf
        for path, leaf in found.items()
        if not any(path[:length] in found for length in range(1, len(path)))
    }


TREES = st.dictionaries(PATHS, LEAVES, max_size=8).map(possible)


def become(root: Path, wanted: Tree) -> None:
    """Make the folder hold exactly this, changing only what differs."""
    now = looked(root)
    for path in now:
        if now[path] != wanted.get(path):
            os.unlink(place(root, path))
    for folder, _, _ in os.walk(os.fsencode(root), topdown=False):
        if folder != os.fsencode(root) and not os.listdir(folder):
            os.rmdir(folder)
    for path, (kind, content) in wanted.items():
        if now.get(path) == (kind, content):
            continue
        target = place(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if kind == "link":
            os.symlink(content, target)
        else:
            with open(target, "wb") as file:
                file.write(content)
            os.chmod(target, 0o755 if kind == "program" else 0o644)


def place(root: Path, path: tuple[bytes, ...]) -> bytes:
    return os.path.join(os.fsencode(root), *path)


def looked(root: Path) -> Tree:
    found: dict[tuple[bytes, ...], Leaf] = {}
    top = os.fsencode(root)
    for folder, folders, names in os.walk(top):
        for name in [*names, *folders]:
            path = folder + b"/" + name
            parts = tuple(os.path.relpath(path, top).split(b"/"))
            if os.path.islink(path):
                found[parts] = ("link", os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    program = os.stat(path).st_mode & 0o100
                    found[parts] = ("program" if program else "file", file.read())
    return found


@settings(
    max_examples=tries(12, 400),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(first=TREES, second=TREES, third=TREES)
def test_any_tree_comes_back_after_any_changes(first: Tree, second: Tree, third: Tree) -> None:
    top = Path(tempfile.mkdtemp(prefix="stormclaw-test-"))
    try:
        root = top / "work"
        root.mkdir()
        kept = Checkpoints(top / "home", root, CheckpointsSettings())
        become(root, first)
        before = kept.take("one", "call", "before")
        assert looked(root) == first
        become(root, second)
        after = kept.take("one", "call", "after")
        changed = [change.path for change in kept.changes(before.id, after.id)]
        parts = {tuple(os.fsencode(path).split(b"/")) for path in changed}
        assert parts == {path for path in {*first, *second} if first.get(path) != second.get(path)}

        assert kept.restore(before.id, changed) == ()
        assert looked(root) == first
        assert kept.restore(after.id, changed) == ()
        assert looked(root) == second
        become(root, third)
        everything = [change.path for change in kept.since(before.id)]
        assert kept.restore(before.id, everything) == ()
        assert looked(root) == first
        assert kept.since(before.id) == ()
    finally:
        shutil.rmtree(top, ignore_errors=True)


@settings(
    max_examples=tries(12, 400),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(trees=st.lists(TREES, min_size=2, max_size=5))
def test_named_files_come_back_like_all(trees: list[Tree]) -> None:
    """Snapshots that only look at what is about to change are worth as much."""
    top = Path(tempfile.mkdtemp(prefix="stormclaw-test-"))
    try:
        root = top / "work"
        root.mkdir()
        kept = Checkpoints(top / "home", root, CheckpointsSettings())
        become(root, trees[0])
        marks = []
        ours: set[str] = set()
        for old, new in pairwise(trees):
            differing = {path for path in {*old, *new} if old.get(path) != new.get(path)}
            named = [Path(os.fsdecode(place(root, path))) for path in sorted(differing)]
            marks.append(kept.take("one", "call", "before", named))
            become(root, new)
            after = kept.take("one", "call", "after", named)
            changes = kept.changes(marks[-1].id, after.id)
            ours |= {change.path for change in changes}
        paths = [change.path for change in kept.since(marks[0].id) if change.path in ours]

        assert kept.restore(marks[0].id, paths) == ()
        assert looked(root) == trees[0]
    finally:
        shutil.rmtree(top, ignore_errors=True)

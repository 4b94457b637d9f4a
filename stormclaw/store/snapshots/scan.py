"""Looks at the workspace as a whole, and keeps what has changed since it was last looked at.

git says what changed: its index remembers how every file stood, its untracked cache how every
folder did. The files themselves are read here, so that no filter of anybody's ever sees them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stormclaw.errors import StoreError
from stormclaw.store.snapshots.files import Ground, Skip, forbidden
from stormclaw.store.snapshots.git import Deadline, Git, GitFailed, OutOfTime
from stormclaw.store.snapshots.objects import keeper
from stormclaw.store.snapshots.rules import Rules, is_rule
from stormclaw.store.snapshots.shelf import Shelf
from stormclaw.store.snapshots.tracked import Tracked
from stormclaw.store.snapshots.values import State

_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_GONE = "0"
_FEW = 50
_STATUS = (
    "status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames",
    "--ignore-submodules=all",
)  # fmt: skip
_HOLDER = b".stormclaw-holds-this-folder"
"""A name in the index that makes git look into a nested repository as into any other folder."""


class TooMuch(StoreError):
    """The workspace holds more than may be kept of it; nothing was kept."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The workspace as it was found.

    Attributes:
        tree: Id of its tree.
        skipped: Path -> why it was left out.
    """

    tree: str
    skipped: Mapping[bytes, str]


@dataclass(slots=True)
class Found:
    """What differs from the index: files to look at, files that went, folders to look into."""

    changed: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    folders: set[bytes] = field(default_factory=set)


class Scan:
    """Keeps the index of a store like the workspace.

    Args:
        git: The store and the work tree.
        shelf: The same store's locks and marks.
        rules: What is ignored.
        tracked: What is not, all the same.
        prefix: Path of the workspace in the work tree, ending in `/`, or empty.
        most_file: Bytes of a file.
        most_total: Bytes that one look may add; a few files are always taken.
    """

    def __init__(
        self,
        git: Git,
        shelf: Shelf,
        rules: Rules,
        tracked: Tracked,
        prefix: bytes,
        most_file: int,
        most_total: int,
    ) -> None:
        self._git = git
        self._shelf = shelf
        self._rules = rules
        self._tracked = tracked
        self._prefix = prefix
        own = os.path.relpath(os.path.realpath(shelf.home), os.path.realpath(git.root))
        self._own = os.fsencode(own) + b"/"
        self._most_file = most_file
        self._most_total = most_total

    def look(self, deadline: Deadline, held: int) -> Seen:
        """Find what changed and keep it. The index' lock is held.

        Raises:
            OutOfTime: What was read so far need not be read again.
            TooMuch: It will not do next time either, as things are.
            GitFailed: git failed.
        """
        rules_changed = self._rules.renew(deadline)
        found = self._changes(deadline, held)
        if found.folders:
            found.changed |= self._files_in(found.folders, deadline, held)
        ours = self._ours
        found.changed, found.gone = set(filter(ours, found.changed)), set(filter(ours, found.gone))
        if rules_changed or self._tracked.stale() or any(map(is_rule, found.changed | found.gone)):
            tracked = frozenset(filter(ours, self._tracked.renew(deadline)))
            ignored = self._ignored_now(deadline, held) - tracked
            found.changed = (found.changed | tracked) - ignored
            found.gone |= ignored
        elif found.gone & self._tracked.known():
            self._tracked.forget()
        tree = self._shelf.tree()
        if not found.changed and not found.gone and tree:
            return Seen(tree, {})
        try:
            return self._keep(found, tree, deadline, held)
        except BaseException:
            self._tracked.forget()
            raise

    def _keep(self, found: Found, tree: str, deadline: Deadline, held: int) -> Seen:
        lines: dict[bytes, State | None] = dict.fromkeys(found.gone)
        skipped: dict[bytes, str] = {}
        stopped: StoreError | None = None
        wanted = sorted(found.changed)
        with (
            Ground(self._git.root) as ground,
            keeper(self._git, len(wanted), deadline, (held,)) as put,
        ):
            self._must_fit(ground, wanted)
            for path in wanted:
                state = ground.read(path, self._most_file, put)
                if isinstance(state, Skip):
                    skipped[path] = state.why
                    state = None
                lines[path] = state
                try:
                    deadline.left()
                except OutOfTime as error:
                    stopped = error
                    break
        return self._settle(lines, skipped, tree, stopped, deadline, held)

    def _settle(
        self,
        lines: Mapping[bytes, State | None],
        skipped: dict[bytes, str],
        tree: str,
        stopped: StoreError | None,
        deadline: Deadline,
        held: int,
    ) -> Seen:
        if tree and all(path in skipped for path in lines):
            # Left out before already, unless one of them used to be small enough.
            known = self._indexed(skipped, deadline, held)
            lines = {path: state for path, state in lines.items() if path in known}
        if lines:
            grace = Deadline(max(deadline.seconds, 10.0)) if stopped else deadline
            self._shelf.unsettle()
            skipped |= self._write(lines, grace, held)
        if stopped is not None:
            raise stopped
        if lines or not tree:
            tree = self._git.run("write-tree", deadline=deadline, hold=(held,)).decode().strip()
            self._shelf.settle(self._git, tree)
        return Seen(tree, skipped)

    def _write(
        self, lines: Mapping[bytes, State | None], deadline: Deadline, held: int
    ) -> dict[bytes, str]:
        """Put the lines into the index -> the paths that git does not take, with the reason."""
        gone = [(path, None) for path, state in lines.items() if state is None]
        there = [(path, state) for path, state in lines.items() if state is not None]
        return self._written([*gone, *there], deadline, held)

    def _written(
        self, lines: list[tuple[bytes, State | None]], deadline: Deadline, held: int
    ) -> dict[bytes, str]:
        feed = b"".join(_line(path, state) for path, state in lines)
        try:
            self._git.run("update-index", "--replace", "-z", "--index-info", deadline=deadline,
                          feed=feed, hold=(held,))  # fmt: skip
        except GitFailed as error:
            if not error.damage or b"invalid path" not in str(error).lower().encode():
                raise
            if len(lines) == 1:
                return {lines[0][0]: "a name that git does not take"}
            half = len(lines) // 2
            return self._written(lines[:half], deadline, held) | self._written(
                lines[half:], deadline, held
            )
        return {}

    def _changes(self, deadline: Deadline, held: int) -> Found:
        found = Found()
        answer = self._git.run(*_STATUS, deadline=deadline, hold=(held,))
        for entry in answer.split(b"\0"):
            sign, path = entry[1:2], entry[3:]
            if sign == b"?":
                (found.folders if path.endswith(b"/") else found.changed).add(path)
            elif sign == b"D":
                found.gone.add(path)
                if self._is_folder(path):  # git does not tell of a folder in a file's place.
                    found.folders.add(path + b"/")
            elif sign in b"MTA" and path:
                found.changed.add(path)
        return found

    def _files_in(self, folders: set[bytes], deadline: Deadline, held: int) -> set[bytes]:
        """The files of folders that are new, those of nested repositories among them."""
        files: set[bytes] = set()
        entered: set[bytes] = set()
        while folders:
            listed = self._listed(folders, deadline, held)
            nested = {path for path in listed if path.endswith(b"/")} - entered
            files |= {path for path in listed if not path.endswith(b"/")}
            nested = {path for path in nested if self._ours(path.rstrip(b"/"))}
            if nested:
                self._shelf.unsettle()
                holders: list[tuple[bytes, State | None]] = [
                    (path + _HOLDER, ("100644", _EMPTY_BLOB)) for path in nested
                ]
                self._written(holders, deadline, held)
                files |= {path for path, _ in holders}  # Not there, so they go again.
            entered |= nested
            folders = nested
        return files

    def _listed(self, folders: Collection[bytes], deadline: Deadline, held: int) -> set[bytes]:
        arguments: tuple[str | bytes, ...] = ("ls-files", "-z", "--others", "--exclude-standard")
        if sum(map(len, folders)) < 50_000:
            arguments = ("--literal-pathspecs", *arguments, "--", *sorted(folders))
        answer = self._git.run(*arguments, deadline=deadline, hold=(held,))
        return set(answer.split(b"\0")) - {b""}

    def _ignored_now(self, deadline: Deadline, held: int) -> set[bytes]:
        """Files that are kept, but ignored by now."""
        arguments = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        answer = self._git.run(*arguments, deadline=deadline, hold=(held,))
        return set(answer.split(b"\0")) - {b""}

    def _indexed(self, paths: Iterable[bytes], deadline: Deadline, held: int) -> set[bytes]:
        known: set[bytes] = set()
        for part in _portions(paths):
            answer = self._git.run("--literal-pathspecs", "ls-files", "-z", "--cached", "--", *part,
                                   deadline=deadline, hold=(held,))  # fmt: skip
            known |= set(answer.split(b"\0"))
        return known

    def _is_folder(self, path: bytes) -> bool:
        place = os.path.join(os.fsencode(self._git.root), path)  # noqa: PTH118 - bytes as they are
        return os.path.isdir(place) and not os.path.islink(place)  # noqa: PTH112, PTH114

    def _ours(self, path: bytes) -> bool:
        return (
            path.startswith(self._prefix) and not path.startswith(self._own) and not forbidden(path)
        )

    def _must_fit(self, ground: Ground, paths: Sequence[bytes]) -> None:
        """Refuse to begin what would be more than may be kept."""
        sizes = (ground.size(path) for path in paths) if len(paths) > _FEW else ()
        if sum(size for size in sizes if size <= self._most_file) > self._most_total:
            raise TooMuch(
                f"{self._shelf.workspace} holds more than {self._most_total / 1e9:g} GB that is "
                "not ignored (checkpoints.max_total_bytes); put what need not be kept into "
                ".gitignore"
            )


def _line(path: bytes, state: State | None) -> bytes:
    mode, name = state or (_GONE, "0" * 40)
    return f"{mode} {name}\t".encode() + path + b"\0"


def _portions(paths: Iterable[bytes], most: int = 100_000) -> Iterator[list[bytes]]:
    """The paths in lists that fit on a command line."""
    part: list[bytes] = []
    size = 0
    for path in paths:
        if part and size + len(path) > most:
            yield part
            part, size = [], 0
        part.append(path)
        size += len(path)
    if part:
        yield part

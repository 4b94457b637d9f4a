"""Which files are ignored: by the project, by the person, and because they are our own."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.objects import save

MARK = ".stormclaw-restore-"
"""How the names of files begin that are being put back."""

_MOST = 1_048_576


def is_rule(path: bytes) -> bool:
    """Whether a file says what is ignored."""
    return path.rpartition(b"/")[2] == b".gitignore"


class Rules:
    """Keeps the store's own list of what is ignored like the project's and the person's.

    Args:
        git: The store.
        prefix: Path of the workspace within the work tree, ending in `/`, or empty.
        kept_out: Folder of the snapshots, which may lie within the workspace.
    """

    def __init__(self, git: Git, prefix: bytes, kept_out: Path) -> None:
        self._git = git
        self._prefix = prefix
        self._kept_out = kept_out
        self._personal: Path | None = None

    def renew(self, deadline: Deadline) -> bool:
        """Write the list anew if it has changed -> whether it had.

        Raises:
            OSError: It cannot be written.
        """
        root = self._git.root
        if self._personal is None:
            self._personal = _personal_list(self._git, deadline)
        lines = [_some(self._personal)]
        if folders := git_folders(root):
            lines.append(_some(folders[-1] / "info" / "exclude"))
        lines.append(_literal(MARK.encode()) + b"*")
        with contextlib.suppress(ValueError):
            own = os.fsencode(self._kept_out.resolve().relative_to(root.resolve()))
            lines.append(b"/" + _literal(own) + b"/")
        lines += _fence(self._prefix)
        text = b"\n".join(lines) + b"\n"
        path = self._git.folder / "info" / "exclude"
        with contextlib.suppress(FileNotFoundError):
            if path.read_bytes() == text:
                return False
        save(path, text)
        return True

    def ignored(self, paths: Iterable[bytes], deadline: Deadline) -> frozenset[bytes]:
        """Which of these paths are ignored as things are now.

        Raises:
            GitFailed: git could not say.
        """
        beyond = cache(lambda folder: _beyond_link(self._git.root, folder))
        reached = [path for path in paths if not beyond(path.rpartition(b"/")[0])]
        return _asked(self._git, reached, deadline)

    def ignored_in(
        self, tree: str, rules: Iterable[bytes], paths: Iterable[bytes], deadline: Deadline
    ) -> frozenset[bytes]:
        """Which of these paths were ignored as a tree has it.

        Args:
            tree: Its id.
            rules: Paths of the `.gitignore` files in it.
            paths: What is asked about.
            deadline: When to give up.

        Raises:
            GitFailed: git could not say.
        """
        place = Path(tempfile.mkdtemp(prefix="rules-", dir=self._git.folder))
        try:
            for rule in rules:
                content = self._git.run("cat-file", "blob", tree.encode() + b":" + rule,
                                        deadline=deadline)  # fmt: skip
                path = place / os.fsdecode(rule)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return _asked(Git(self._git.program, self._git.folder, place), paths, deadline)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _beyond_link(root: Path, folder: bytes) -> bool:
    """Whether there is a link on the way: nothing there is the workspace's, and git refuses it."""
    at = os.fsencode(root)
    for part in folder.split(b"/") if folder else ():
        at += b"/" + part
        if os.path.islink(at):  # noqa: PTH114 - bytes as they are
            return True
    return False


def _asked(git: Git, paths: Iterable[bytes], deadline: Deadline) -> frozenset[bytes]:
    # This command cannot be told that `:(top)` is a name, but `./:(top)` is one.
    feed = b"".join(b"./" + path + b"\0" for path in paths)
    if not feed:
        return frozenset()
    arguments = ("check-ignore", "-z", "--stdin", "--no-index")
    answer = git.run(*arguments, deadline=deadline, feed=feed, good=(0, 1))
    return frozenset(path.removeprefix(b"./") for path in answer.split(b"\0") if path)


def _personal_list(git: Git, deadline: Deadline) -> Path:
    """The person's own list: where their git keeps it. Asking that runs nothing."""
    kept = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM")  # fmt: skip
    environ = {name: os.environ.get(name) or None for name in kept}
    arguments = ["config", "--includes", "--type=path", "-z", "--get", "core.excludesFile"]
    asking = Git(git.program, git.folder, git.folder)
    answer = b""
    with contextlib.suppress(StoreError):
        answer = asking.run(*arguments, deadline=deadline, good=(0, 1), environ=environ)
    named = answer.split(b"\0")[0]
    if named:
        return Path(os.fsdecode(named))
    config = environ["XDG_CONFIG_HOME"] or f"{environ['HOME'] or '/nonexistent'}/.config"
    return Path(config) / "git" / "ignore"


def git_folders(root: Path) -> tuple[Path, ...]:
    """The folders of a project's own git, that of all its work trees last; () if there is none."""
    entry = root / ".git"
    try:
        if entry.is_dir():
            folder = entry
        else:
            text = os.fsdecode(_some(entry))
            if not text.startswith("gitdir: "):
                return ()
            folder = root / text.removeprefix("gitdir: ").rstrip("\r\n")
        common = os.fsdecode(_some(folder / "commondir")).strip()
        return (folder, folder / common) if common else (folder,)
    except (OSError, ValueError):
        return ()


def _some(path: Path) -> bytes:
    """The beginning of a regular file, empty if there is none; never waits."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        with contextlib.suppress(OSError):
            return file.read(_MOST)
    return b""


def _literal(path: bytes) -> bytes:
    """A pattern that means this path alone."""
    return b"".join(b"\\" + bytes([sign]) if sign in b"*?[]\\!# " else bytes([sign])
                    for sign in path)  # fmt: skip


def _fence(prefix: bytes) -> list[bytes]:
    """Patterns that leave out all but one folder of the work tree."""
    lines: list[bytes] = []
    above = b"/"
    for part in prefix.rstrip(b"/").split(b"/") if prefix else ():
        lines += [above + b"*", b"!" + above + _literal(part) + b"/"]
        above += _literal(part) + b"/"
    return lines

"""The folder of one workspace's snapshots: made, locked, and moved aside when it is damaged.

Two locks. `index.lock`, held while the workspace is looked at as a whole, is handed to every git
that is started then, so that one whose parent was killed keeps others out until it ends.
`names.lock` guards the sessions' names. What nobody names is only thrown away under both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from stormclaw.errors import StoreError
from stormclaw.store.durable import flocked, make_folder, store_error
from stormclaw.store.snapshots.git import Deadline, Git
from stormclaw.store.snapshots.objects import put_commit, save
from stormclaw.store.snapshots.place import folds, project_above

HEX = 40
_LOOK_UP_S = 0.5
NOTE = "stormclaw-tracked"
"""What of the index is due to the project's own one."""

_PREFIX = "stormclaw-prefix"
_NOWHERE = "ref: refs/heads/none\n"
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = {ignorecase}
\tprecomposeunicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tautocrlf = false
\tsafecrlf = false
\tquotepath = false
\tfsmonitor = false
\tuntrackedCache = true
\tpreloadIndex = true
\tsplitIndex = false
\tlogAllRefUpdates = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tcompression = 1
\tlooseCompression = 1
[index]
\tversion = 4
\tthreads = true
[status]
\tsubmoduleSummary = false
\taheadBehind = false
[gc]
\tauto = 0
\tautoDetach = false
\tcruftPacks = false
[pack]
\tthreads = 1
\twindowMemory = 100m
[maintenance]
\tauto = false
[advice]
\tstatusHints = false
"""
_ATTRIBUTES = (
    "* -text -ident !eol !crlf !working-tree-encoding !filter !diff !merge !export-subst\n"
)
"""Stands above every `.gitattributes`: bytes come back as they were."""


class Shelf:
    """Where the snapshots of one workspace are.

    Args:
        home: The user folder.
        workspace: Absolute, links resolved.
    """

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home = home / "checkpoints"
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:24]
        self.folder = self.home / name
        self.store = self.folder / "git"
        self.workspace = workspace

    def exists(self) -> bool:
        """Whether there are any snapshots."""
        return self.store.is_dir()

    def make(self, git: Git, deadline: Deadline) -> None:
        """Begin the store if there is none.

        Raises:
            StoreError: It cannot be made.
        """
        if self.exists():
            return
        try:
            make_folder(self.folder)
            for folder in (self.home, self.folder):
                folder.chmod(0o700)
            with self._lock("names", deadline):
                if self.exists():
                    return
                fresh = self.folder / f"new-{os.getpid()}"
                shutil.rmtree(fresh, ignore_errors=True)
                maker = Git(git.program, fresh, self.folder)
                maker.run("init", "-q", "--template=", deadline=deadline)
                (fresh / "info").mkdir(mode=0o700, exist_ok=True)
                (fresh / "info" / "attributes").write_text(_ATTRIBUTES)
                config = _CONFIG.format(ignorecase=str(folds(self.workspace)).lower())
                (fresh / "config").write_text(config)
                (fresh / _PREFIX).write_bytes(self._choose_prefix(maker, deadline))
                save(self.folder / "workspace", os.fsencode(self.workspace) + b"\n")
                fresh.replace(self.store)
        except OSError as error:
            raise store_error("make the snapshots' folder", self.folder, error) from error

    def prefix(self) -> bytes:
        """Path of the workspace in the project's work tree, ending in `/`; empty if it is its top.

        Chosen when the store was begun, for the trees in it are of that shape.

        Raises:
            StoreError: It cannot be read.
        """
        try:
            return (self.store / _PREFIX).read_bytes()
        except OSError as error:
            raise store_error("read", self.store / _PREFIX, error) from error

    def root(self) -> Path:
        """The work tree: the workspace, or the project's folder above it."""
        parts = self.prefix().count(b"/")
        return self.workspace.parents[parts - 1] if parts else self.workspace

    def _choose_prefix(self, maker: Git, deadline: Deadline) -> bytes:
        """`.gitignore` files above the workspace count as well, unless they ignore all of it."""
        above = project_above(self.workspace)
        if above is None:
            return b""
        below = os.fsencode(self.workspace.relative_to(above))
        asking = Git(maker.program, maker.folder, above)
        arguments = ("check-ignore", "-z", "--stdin", "--no-index")
        feed = b"./" + below + b"\0"
        ignored = asking.run(*arguments, deadline=deadline, feed=feed, good=(0, 1))
        return b"" if ignored or b"\n" in below else below + b"/"

    @contextlib.contextmanager
    def looking(self, deadline: Deadline) -> Iterator[int]:
        """Alone with the index -> the lock's descriptor, for the gits that are started.

        Raises:
            OutOfTime: Others had it all the while.
        """
        with self._lock("index", deadline) as held:
            # Nobody else is at it, so a lock of git's own is one that was left behind.
            for left in ("index.lock", "HEAD.lock"):
                with contextlib.suppress(FileNotFoundError):
                    (self.store / left).unlink()
            yield held

    @contextlib.contextmanager
    def naming(self, deadline: Deadline) -> Iterator[int]:
        """Alone with the sessions' names.

        Raises:
            OutOfTime: Others had them all the while.
        """
        with self._lock("names", deadline) as held:
            yield held

    @contextlib.contextmanager
    def sweeping(self, deadline: Deadline) -> Iterator[None]:
        """Alone in sweeping.

        Raises:
            OutOfTime: Somebody else is at it.
        """
        with self._lock("sweep", deadline):
            yield

    @contextlib.contextmanager
    def _lock(self, name: str, deadline: Deadline) -> Iterator[int]:
        path = self.folder / f"{name}.lock"
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise store_error("lock", path, error) from error
        try:
            with contextlib.ExitStack() as stack:
                waiting = True
                while waiting:
                    patience_s = min(deadline.left(), _LOOK_UP_S)
                    try:
                        stack.enter_context(flocked(fd, patience_s=patience_s))
                        waiting = False
                    except TimeoutError:
                        continue
                    except OSError as error:
                        raise store_error("lock", path, error) from error
                yield fd
        finally:
            os.close(fd)

    def tree(self) -> str:
        """The tree that the index stands for, "" if that is not known."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = (self.store / "stormclaw-tree").read_text("ascii").strip()
            return text if len(text) == HEX else ""
        return ""

    def unsettle(self) -> None:
        """The index is about to change: it stands for no known tree until `settle`."""
        (self.store / "stormclaw-tree").unlink(missing_ok=True)

    def settle(self, git: Git, tree: str) -> None:
        """The index stands for this tree now, and so does git's HEAD: that keeps `status` short.

        Raises:
            StoreError: It cannot be written.
        """
        commit = put_commit(git, tree, "", "the workspace as last seen", time.time())
        try:
            save(self.store / "HEAD", f"{commit}\n".encode())
            save(self.store / "stormclaw-tree", f"{tree}\n".encode())
        except OSError as error:
            raise store_error("write", self.store / "HEAD", error) from error

    def drop_index(self) -> None:
        """Forget the index: everything is read anew, and what the store lacks is written again."""
        try:
            self.unsettle()
            (self.store / "index").unlink(missing_ok=True)
            (self.store / NOTE).unlink(missing_ok=True)
            save(self.store / "HEAD", _NOWHERE.encode())
        except OSError as error:
            raise store_error("mend", self.store, error) from error

    def set_aside(self, deadline: Deadline) -> Path:
        """Move a damaged store away; the next snapshot begins a new one.

        Raises:
            StoreError: It cannot be moved.
        """
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        aside = self.folder / f"damaged-{stamp}-{os.getpid()}"
        try:
            with self.naming(deadline):
                self.store.replace(aside)
        except OSError as error:
            raise store_error("move away the damaged", self.store, error) from error
        return aside

    def asides(self) -> list[Path]:
        """Damaged stores that were moved away, oldest first."""
        return sorted(self.folder.glob("damaged-*"))

    @contextlib.contextmanager
    def restoring(self, deadline: Deadline) -> Iterator[None]:
        """Alone in putting files back.

        Raises:
            OutOfTime: Others did all the while.
        """
        with self._lock("restore", deadline):
            yield

    def damaged(self, error: StoreError, deadline: Deadline) -> StoreError:
        """Move the store away and say so."""
        aside = self.set_aside(deadline)
        return StoreError(
            f"the snapshots of {self.workspace} were damaged ({error}); they were moved to "
            f"{aside}, and new ones begin with the next call"
        )

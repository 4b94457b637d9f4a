"""Writes the files of a patch so that all of them change or none does."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._files import MAX_BYTES, open_regular
from stormclaw.tools._openat import FOLDER_ABOVE, closing, open_at, open_place
from stormclaw.tools._patch_tree import Entry
from stormclaw.tools._places import reason, root_of
from stormclaw.tools._write import write_atomically

Step = Callable[[], None]


@dataclass(slots=True)
class Commit:
    """The writing of one patch.

    Files are written first, each in one step, then those that go are put aside under the name of a
    temporary file, and only at the end is anything thrown away.
    """

    ctx: ToolContext
    undo: list[tuple[str, Step]] = field(default_factory=list)
    aside: list[tuple[Path, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self, entries: list[Entry]) -> list[str]:
        """Write all; what the model should know of single files.

        Raises:
            ToolFailure: One could not be written; everything is as it was, or it says what is not.
        """
        known = dict(self.ctx.seen.stamps)
        try:
            for entry in entries:
                if entry.after is not None:
                    self._write(entry)
            for entry in entries:
                if entry.after is None:
                    self._put_aside(entry)
        except BaseException as problem:
            left = self._put_back()
            self.ctx.seen.stamps.clear()
            self.ctx.seen.stamps.update(known)
            if not isinstance(problem, ToolFailure | OSError):
                raise
            words = reason(problem) if isinstance(problem, OSError) else str(problem)
            words = words.removesuffix("; nothing changed")
            state = (
                f"these could not be put back: {'; '.join(left)}"
                if left
                else "what had been written was put back as it was; nothing changed"
            )
            raise ToolFailure(f"{words}; {state}", summary="not written") from problem
        for real, name in self.aside:
            with contextlib.suppress(OSError), self._folder(real) as folder:
                os.unlink(name, dir_fd=folder)
        return self.notes

    def _write(self, entry: Entry) -> None:
        self._must_be_the_same(entry)
        new_folders = _missing(entry.real.parent)
        self.undo.append((entry.name, lambda: self._restore(entry, new_folders)))
        assert entry.after is not None  # noqa: S101 - the caller sorts them
        if entry.after != entry.before:
            note = write_atomically(entry.path, entry.after, entry.name, self.ctx.seen, self.ctx)
            if note:
                self.notes.append(f"{entry.name}: {note}")
        if entry.new_mode is not None:
            self._set_mode(entry, entry.new_mode)

    def _put_aside(self, entry: Entry) -> None:
        self._must_be_the_same(entry)
        name = f".stormclaw-{secrets.token_hex(8)}.tmp"
        with self._folder(entry.real) as folder:
            os.rename(entry.real.name, name, src_dir_fd=folder, dst_dir_fd=folder)

        def back() -> None:
            with self._folder(entry.real) as folder:
                os.rename(name, entry.real.name, src_dir_fd=folder, dst_dir_fd=folder)

        self.undo.append((entry.name, back))
        self.aside.append((entry.real, name))
        self.ctx.seen.stamps.pop(entry.real, None)

    def _restore(self, entry: Entry, new_folders: list[Path]) -> None:
        """A written file as it was: bytes, mode and times, or not there."""
        now = self._now(entry)
        if entry.before is None:
            if now is not None and now == entry.after:
                with self._folder(entry.real) as folder:
                    os.unlink(entry.real.name, dir_fd=folder)
            for made in new_folders:
                with contextlib.suppress(OSError), self._folder(made) as folder:
                    os.rmdir(made.name, dir_fd=folder)
            return
        if now != entry.before:
            write_atomically(entry.path, entry.before, entry.name, self.ctx.seen, self.ctx)
        with self._folder(entry.real) as folder:
            name = entry.real.name
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o7777 != entry.mode:
                self._set_mode(entry, entry.mode)
            os.utime(name, ns=entry.times, dir_fd=folder, follow_symlinks=False)

    def _put_back(self) -> list[str]:
        """Undo every step, the last first; what could not be undone."""
        left: list[str] = []
        for name, step in reversed(self.undo):
            try:
                step()
            except (OSError, ToolFailure) as problem:
                left.append(f"{name} ({problem})")
        return left

    def _must_be_the_same(self, entry: Entry) -> None:
        """What was looked at must still be there when it is replaced."""
        if self._now(entry) != entry.before:
            raise ToolFailure(f"{entry.name} changed while the patch was applied")

    def _now(self, entry: Entry) -> bytes | None:
        if not os.path.lexists(entry.real):
            return None
        with os.fdopen(open_regular(entry.path, entry.name, self.ctx), "rb") as file:
            return file.read(MAX_BYTES + 1) or b""

    def _set_mode(self, entry: Entry, mode: int) -> None:
        with (
            self._folder(entry.real) as folder,
            closing(open_at(folder, entry.real.name, os.O_RDONLY)) as descriptor,
        ):
            if mode < 0:  # a new file: what the system gave it, and the right to execute
                mode = os.fstat(descriptor).st_mode & 0o7777
                mode |= (mode & 0o444) >> 2
            os.fchmod(descriptor, mode)

    @contextlib.contextmanager
    def _folder(self, real: Path) -> Iterator[int]:
        root = root_of(real, self.ctx)
        with closing(open_place(real.parent, FOLDER_ABOVE, root)) as folder:
            yield folder


def _missing(folder: Path) -> list[Path]:
    """The folders that would be made, the innermost first."""
    missing: list[Path] = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    return missing

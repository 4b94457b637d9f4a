"""Tries a patch on a picture of the files it names, and finds out all that would go wrong."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._files import MAX_BYTES, binary_failure, open_regular, resolve, shown
from stormclaw.tools._near import nearest
from stormclaw.tools._openat import Moved, look
from stormclaw.tools._patch import Change
from stormclaw.tools._patch_apply import new_text, patched
from stormclaw.tools._places import moved, really, root_of
from stormclaw.tools._text import Binary, Decoded, decode, split_lines


@dataclass(slots=True)
class Entry:
    """One file: as it is and as it would be.

    Attributes:
        path: As `resolve` gives it; `real` is where it leads.
        name: For people and models.
        before: Its bytes, None if there is no such file; `mode` and `times` (ns) are its own.
        after: The bytes it would have, None if it would be gone.
        new_mode: Permission bits it would get; None to keep them.
        came_from: Name of the file that is moved or copied here.
        arrived: It was put here by this patch.
    """

    path: Path
    real: Path
    name: str
    before: bytes | None
    mode: int = 0
    times: tuple[int, int] = (0, 0)
    after: bytes | None = None
    new_mode: int | None = None
    came_from: str = ""
    arrived: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything would be different."""
        return self.before != self.after or self.new_mode not in (None, self.mode)


@dataclass(slots=True)
class Tree:
    """The files a patch names, in the order it names them; changed in memory only."""

    ctx: ToolContext
    entries: dict[Path, Entry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    leaving: set[Path] = field(default_factory=set)

    def run(self, changes: tuple[Change, ...]) -> list[Entry]:
        """Every file that would change.

        Raises:
            ToolFailure: The patch cannot be applied as a whole.
        """
        for change in changes:
            if change.at_once and (change.action == "delete" or change.target):
                self.leaving.add(self._real(change.path))
        for change in changes:
            self._apply(change)
        changed = [entry for entry in self.entries.values() if entry.changes]
        if not changed:
            raise ToolFailure(
                "the files already read like that; nothing changed", summary="no change"
            )
        for entry in changed:
            self._must_be_possible(entry)
        return changed

    def _apply(self, change: Change) -> None:
        entry = self._entry(change.path)
        goes = change.action == "delete" or (change.action == "update" and change.target)
        if goes and os.path.islink(entry.path):  # noqa: PTH114 - never raises
            raise ToolFailure(
                f"{entry.name} is a symbolic link, which a patch does not move or delete; nothing "
                "changed. Use shell_exec",
                summary="a link",
            )
        match change.action:
            case "add":
                self._add(entry, change)
            case "delete":
                self._delete(entry, change)
            case "update" | "copy":
                self._update(entry, change)

    def _add(self, entry: Entry, change: Change) -> None:
        self._must_be_free(entry)
        entry.after = self._encoded(entry, Decoded(""), new_text(change.parts))
        if change.executable and not entry.before:
            entry.new_mode = -1

    def _delete(self, entry: Entry, change: Change) -> None:
        content = self._content(entry)
        if change.parts and patched(self._text(entry, content).text, change.parts, entry.name)[0]:
            raise ToolFailure(
                f"{entry.name} holds more than the patch (line {change.line}) removes; nothing "
                "changed. Read it again",
                summary="not all removed",
            )
        entry.after = None

    def _update(self, entry: Entry, change: Change) -> None:
        lone = len(change.parts) == 1 and not change.target and change.action == "update"
        if lone and entry.after is None and change.parts[0].start == 1:
            part = change.parts[0]
            if not part.side("-"):  # diff names no file that is not there, models neither
                entry.after = self._encoded(entry, Decoded(""), new_text((part,)))
                return
        content = self._content(entry, original=change.at_once and bool(change.target))
        after = content
        if change.parts:
            decoded = self._text(entry, content)
            text, notes = patched(decoded.text, change.parts, entry.name)
            self.notes += [f"{entry.name} {note}" for note in notes]
            after = self._encoded(entry, decoded, text)
        goal = entry
        if change.target and self._real(change.target) != entry.real:
            goal = self._entry(change.target)
            self._must_be_free(goal)
            goal.came_from, goal.arrived = entry.name, True
            goal.new_mode = entry.mode
            if change.action == "update" and not entry.arrived:
                entry.after = None
        goal.after = after
        if change.executable is not None:
            mode = goal.mode if goal.new_mode is None else goal.new_mode
            goal.new_mode = _executable(mode) if change.executable else mode & ~0o111

    def _entry(self, path: str) -> Entry:
        """The picture of one file, taken when it is first named."""
        place = resolve(path, self.ctx)
        name = shown(place, self.ctx)
        real = really(place, name, self.ctx)
        if (known := self.entries.get(real)) is not None:
            return known
        entry = Entry(place, real, name, None)
        try:
            status = look(real, root_of(real, self.ctx))
        except Moved as problem:
            raise moved(name) from problem
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as problem:
            raise ToolFailure(f"{name} cannot be read: {problem.strerror}") from problem
        else:
            descriptor = open_regular(place, name, self.ctx)
            with os.fdopen(descriptor, "rb") as file:
                entry.before = file.read(MAX_BYTES + 1) or b""
            entry.mode = stat.S_IMODE(status.st_mode)
            entry.times = (status.st_atime_ns, status.st_mtime_ns)
            if len(entry.before) > MAX_BYTES:
                raise ToolFailure(
                    f"{name} is too large for a patch; nothing changed", summary="too large"
                )
        entry.after = entry.before
        self.entries[real] = entry
        return entry

    def _real(self, path: str) -> Path:
        place = resolve(path, self.ctx)
        return really(place, shown(place, self.ctx), self.ctx)

    def _content(self, entry: Entry, original: bool = False) -> bytes:
        """What is in a file that must be there and be as the agent knows it."""
        content = entry.before if original and entry.arrived else entry.after
        if content is None:
            if entry.before is None:
                open_regular(entry.path, entry.name, self.ctx)  # says what is near
            raise ToolFailure(
                f"{entry.name} is not there any more at this point of the patch; nothing changed",
                summary="no such file",
            )
        return content

    def _text(self, entry: Entry, content: bytes) -> Decoded:
        decoded = decode(content)
        if isinstance(decoded, Binary):
            raise binary_failure(entry.name, decoded.kind, len(content))
        return decoded

    def _encoded(self, entry: Entry, decoded: Decoded, text: str) -> bytes:
        try:
            return decoded.encode(text)
        except UnicodeEncodeError as problem:
            sign = problem.object[problem.start]
            raise ToolFailure(
                f"{entry.name} is written in {decoded.encoding}, which has no {sign!a}; nothing "
                "changed. Use other characters",
                summary=f"not in {decoded.encoding}",
            ) from problem

    def _must_be_free(self, entry: Entry) -> None:
        """A new file replaces none that the agent does not know as it is."""
        if entry.after is None or (entry.real in self.leaving and not entry.arrived):
            return
        stamp = self.ctx.seen.stamps.get(entry.real)
        if entry.after is entry.before and stamp and stamp[2] == _digest(entry.before or b""):
            return
        raise ToolFailure(
            f"{entry.name} exists already; nothing changed. Update it, or read it first if "
            "it is to be replaced",
            summary="exists already",
        )

    def _must_be_possible(self, entry: Entry) -> None:
        """What the disk would refuse is refused before anything is written."""
        if entry.before is not None:
            self._must_be_known(entry)
            if not os.access(entry.real, os.W_OK):
                raise ToolFailure(
                    f"{entry.name} is read-only (mode {entry.mode:04o}); nothing changed",
                    summary="read-only",
                )
        folder = entry.real.parent
        while not os.path.lexists(folder):
            if (above := self.entries.get(folder)) is not None and above.after is not None:
                break
            folder = folder.parent
        above = self.entries.get(folder)
        if not folder.is_dir() or (above is not None and above.after is not None):
            raise ToolFailure(
                f"{entry.name} cannot be written: {shown(folder, self.ctx)} is a file; nothing "
                "changed",
                summary="not a folder",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ToolFailure(
                f"{entry.name} cannot be written: its folder {shown(folder, self.ctx)} is "
                "read-only; nothing changed",
                summary="read-only folder",
            )

    def _must_be_known(self, entry: Entry) -> None:
        """A file the agent has read must still be as it was then."""
        stamp = self.ctx.seen.stamps.get(entry.real)
        if stamp is None or entry.before is None or stamp[2] == _digest(entry.before):
            return
        raise ToolFailure(
            f"{entry.name} changed since you read it; nothing changed now. Read it again first"
            + _as_it_is(entry),
            summary="changed since read",
        )


def _as_it_is(entry: Entry) -> str:
    """The text of a changed file where the patch would have changed it."""
    now, then = decode(entry.before or b""), decode(entry.after or b"")
    if isinstance(now, Binary) or isinstance(then, Binary):
        return ""
    old, new = split_lines(now.text), split_lines(then.text).texts
    first = next((at for at, text in enumerate(old.texts) if new[at : at + 1] != [text]), 0)
    near = nearest(old, "\n".join(old.texts[max(0, first - 2) : first + 6]))
    return f". The nearest text, with line numbers, as it is now:\n{near}" if near else ""


def _executable(mode: int) -> int:
    """With the right to execute for all who may read."""
    return mode | (mode & 0o444) >> 2


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

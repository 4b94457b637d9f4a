"""What the project and the person tell every model: STORMTROOPER.md, AGENTS.md or CLAUDE.md.

In each folder from the git root down to the workspace the first of these names that exists counts;
before them stands the person's own file in the StormClaw folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NAMES = ("STORMTROOPER.md", "AGENTS.md", "CLAUDE.md")
MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Instructions:
    """One file that was read.

    Attributes:
        path: Where it stands.
        text: What it says, cut at 64 KiB.
    """

    path: Path
    text: str

    @property
    def tokens(self) -> int:
        """Estimated size for a model."""
        return len(self.text) // 4


def files(home: Path, workspace: Path) -> tuple[Path, ...]:
    """The instruction files that count here, most general first."""
    own = home / NAMES[0]
    found = [own] if own.is_file() else []
    folders = _folders(workspace)
    for folder in folders:
        named = (folder / name for name in NAMES)
        found += [path for path in named if path.is_file() and _stays_in(folders[0], path)][:1]
    return tuple(found)


def _stays_in(project: Path, path: Path) -> bool:
    """A link within the project is fine; one out of it must not be told to the model."""
    return path.resolve().is_relative_to(project.resolve())


def _folders(workspace: Path) -> list[Path]:
    chain = [workspace, *workspace.parents]
    for depth, folder in enumerate(chain):
        if (folder / ".git").exists():
            return list(reversed(chain[: depth + 1]))
    return [workspace]


class InstructionReader:
    """Reads the files again only when one of them changed.

    Args:
        home: The StormClaw folder.
        workspace: Absolute.
    """

    def __init__(self, home: Path, workspace: Path) -> None:
        self._home = home
        self._workspace = workspace
        self._stamp: tuple[tuple[Path, int, int], ...] = ()
        self._read: tuple[Instructions, ...] = ()

    def current(self) -> tuple[Instructions, ...]:
        """What counts now; an unreadable file counts as absent."""
        stamp = []
        for path in files(self._home, self._workspace):
            try:
                status = path.stat()
            except OSError:
                continue
            stamp.append((path, status.st_mtime_ns, status.st_size))
        if tuple(stamp) != self._stamp:
            self._stamp = tuple(stamp)
            self._read = tuple(filter(None, (_read(path) for path, *_ in stamp)))
        return self._read


def _read(path: Path) -> Instructions | None:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES)
    except OSError:
        return None
    text = raw.decode("utf-8-sig", errors="replace").strip()
    return Instructions(path, text) if text else None

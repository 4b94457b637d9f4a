"""What in a workspace decides what runs later, and may therefore not be written by a program."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAMES = (".stormclaw", ".mcp.json", ".vscode", ".idea", ".envrc")
"""At the top of the workspace; guarded also where they are missing."""

MOST_REPOSITORIES = 64
"""Submodules guarded one by one; of more, none can be written."""
DEEPEST = 6
"""How far below `modules` a submodule's repository is looked for."""
MAX_POINTER = 4096


@dataclass(slots=True)
class Guarded:
    """The places of a workspace that get walls of their own.

    Attributes:
        writable: Repositories: written by git, each a mount of its own so that it cannot be moved.
        frozen: There, and not to be changed.
        missing: Not there, and not to be made: path -> what a harmless one holds, None for an
            empty folder.
        readable: Outside the workspace, and belonging to it: the rest of the repository.
    """

    writable: list[Path] = field(default_factory=list)
    frozen: list[Path] = field(default_factory=list)
    missing: dict[Path, str | None] = field(default_factory=dict)
    readable: list[Path] = field(default_factory=list)


def guarded(workspace: Path, user_home: Path) -> Guarded:
    """Look at a workspace as it is now: a few dozen looks at the disk."""
    places = Guarded()
    for name in NAMES:
        _freeze(places, workspace / name, workspace, None)
    if (workspace / ".hg").is_dir():
        _freeze(places, workspace / ".hg" / "hgrc", workspace, "")
    for folder in (workspace, *workspace.parents):
        if folder != workspace and (folder == user_home or folder in user_home.parents):
            break
        marker = folder / ".git"
        if os.path.lexists(marker):
            _git(places, marker, workspace)
            if folder != workspace and (places.writable or marker.is_dir()):
                places.readable.append(folder)
            break
    if not (workspace / ".git").exists() and _is_repository(workspace):
        _repository(places, workspace, workspace)  # a bare one
    return places


def _git(places: Guarded, marker: Path, workspace: Path) -> None:
    real = Path(os.path.realpath(marker))
    if marker.is_symlink():
        if workspace not in real.parents:
            return
        marker = real
    if marker.is_dir():
        places.writable.append(marker)
        if _is_repository(marker):
            _repository(places, marker, workspace)
        return
    places.frozen.append(marker)
    for repository in _pointed_to(marker):
        if workspace not in repository.parents:
            places.writable.append(repository)
        _repository(places, repository, workspace)


def _pointed_to(marker: Path) -> Iterator[Path]:
    """The repository a worktree's or submodule's `.git` file names, if that one names it back.

    Any program may have written the file; what it names becomes writable.
    """
    named = _text(marker)
    if not named.startswith("gitdir:"):
        return
    at = Path(os.path.realpath(marker.parent / named.removeprefix("gitdir:").strip()))
    if at.parent.name == "worktrees":
        back = _text(at / "gitdir")
        common = at.parent.parent
        if back and os.path.realpath(at / back) == str(marker) and _is_repository(common):
            yield common
    elif _is_repository(at):
        lines = (line.strip().partition("=") for line in _text(at / "config").splitlines())
        tree = next((value.strip() for key, _, value in lines if key.strip() == "worktree"), "")
        if tree and os.path.realpath(at / tree.strip('"')) == str(marker.parent):
            yield at


def _repository(places: Guarded, at: Path, workspace: Path) -> None:
    """Guard what git takes programs from in a repository, its worktrees and its submodules."""
    _freeze(places, at / "config", workspace, "[core]\n\trepositoryformatversion = 0\n")
    _freeze(places, at / "hooks", workspace, None)
    # Would lead git to another configuration; "." leads it to its own.
    _freeze(places, at / "commondir", workspace, ".\n")
    if "worktreeconfig" in _text(at / "config").lower():
        _freeze(places, at / "config.worktree", workspace, "")
    for tree in _folders(at / "worktrees"):
        places.frozen += [
            tree / name for name in ("commondir", "config.worktree") if (tree / name).is_file()
        ]
    modules = list(_submodules(at / "modules", DEEPEST))
    if len(modules) > MOST_REPOSITORIES:
        places.frozen.append(at / "modules")
        return
    for module in modules:
        _freeze(places, module / "config", workspace, "")
        _freeze(places, module / "hooks", workspace, None)
        _freeze(places, module / "commondir", workspace, ".\n")


def _submodules(folder: Path, depth: int) -> Iterator[Path]:
    for each in _folders(folder) if depth else ():
        if _is_repository(each):
            yield each
            yield from _submodules(each / "modules", depth - 1)
        else:
            yield from _submodules(each, depth - 1)


def _freeze(places: Guarded, path: Path, workspace: Path, harmless: str | None) -> None:
    if path.is_symlink():
        # A mount lands where a link leads; only what belongs to the project is worth one.
        real = Path(os.path.realpath(path))
        if workspace in real.parents and real.exists():
            places.frozen.append(real)
    elif path.exists():
        places.frozen.append(path)
    else:
        places.missing[path] = harmless


def _is_repository(folder: Path) -> bool:
    return all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs"))


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _text(path: Path) -> str:
    """The beginning of a regular file, "" of anything else: a pipe there would keep us waiting."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.fsdecode(os.read(descriptor, MAX_POINTER)).strip() if regular else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)

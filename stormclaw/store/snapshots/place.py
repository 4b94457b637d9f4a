"""What a workspace is like, found out by looking: nothing is written in it."""

from __future__ import annotations

import os
from pathlib import Path


def project_above(workspace: Path) -> Path | None:
    """The folder above the workspace that its `.git` is in; the person's home is no project."""
    if os.path.lexists(workspace / ".git"):
        return None
    home = Path(os.environ.get("HOME") or "/").resolve()
    for folder in workspace.parents:
        if folder in {home, Path(folder.anchor)}:
            return None
        if os.path.lexists(folder / ".git"):
            return folder
    return None


def folds(workspace: Path) -> bool:
    """Whether names in other letters are the same names there; nothing is written to find out."""
    try:
        for entry in os.scandir(workspace):
            other = entry.name.swapcase()
            if other != entry.name and len(other) == len(entry.name):
                there = (workspace / other).lstat()
                return os.path.samestat(there, entry.stat(follow_symlinks=False))
    except (OSError, ValueError):
        pass
    return False

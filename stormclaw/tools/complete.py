"""File names for the completion of a front end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from stormclaw.tools._search import list_all


async def workspace_files(workspace: Path, limit: int) -> list[str]:
    """Files a person may mean, relative to the workspace, in order of paths.

    Ignored files are left out, and names that are no UTF-8 text: nobody could type them.

    Args:
        workspace: An absolute folder.
        limit: At most so many; which ones of more is open.
    """
    return [name for name in await list_all(workspace, limit) if _is_text(name)]


async def modified(workspace: Path, names: Iterable[str]) -> dict[str, float]:
    """When files were last changed: name -> Unix time in seconds; missing ones are left out."""
    return await asyncio.to_thread(_modified, workspace, tuple(names))


def _modified(workspace: Path, names: tuple[str, ...]) -> dict[str, float]:
    times: dict[str, float] = {}
    for name in names:
        try:
            times[name] = os.stat(workspace / name, follow_symlinks=False).st_mtime  # noqa: PTH116
        except OSError:
            continue
    return times


def _is_text(name: str) -> bool:
    return name.isprintable() and not any("\ud800" <= sign <= "\udfff" for sign in name)

"""Notices when one of a few named files changes, also when it is made, replaced or removed."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from pathlib import Path

_log = logging.getLogger(__name__)

RECHECK_MS = 5_000
"""How often to look even without news: file systems of other machines send none."""

SETTLE_S = 0.05
"""How long a changed file must stay as it is."""


async def watch(
    files: Iterable[Path],
    on_change: Callable[[tuple[Path, ...]], Awaitable[None]],
    *,
    recheck_ms: int = RECHECK_MS,
) -> None:
    """Call `on_change` with the files whose content changed, until cancelled.

    Only the folders of the files are watched, not what is below them; of a file in a folder that
    does not exist yet, the nearest folder that does. Touching a file, or writing the same content
    again, is no change. What `on_change` raises ends the watch.

    Args:
        files: The files, existing or not.
        on_change: Gets the changed ones, in the order of `files`.
        recheck_ms: Milliseconds between looks without news.
    """
    named = tuple(dict.fromkeys(files))
    # At once, not in a thread: what changes from here on is a change.
    stamps = _stamps(named)
    while True:
        folders = await asyncio.to_thread(_folders, named)
        async with contextlib.aclosing(_news(folders, recheck_ms)) as news:
            async for _ in news:
                fresh = await _settled(named, stamps)
                changed = tuple(path for path in named if fresh[path] != stamps[path])
                stamps = fresh
                if changed:
                    await on_change(changed)
                if await asyncio.to_thread(_folders, named) != folders:
                    break


async def _settled(files: tuple[Path, ...], before: dict[Path, str]) -> dict[Path, str]:
    """The stamps once nobody is writing: an editor's half-written file is not worth a reload."""
    fresh = await asyncio.to_thread(_stamps, files)
    while fresh != before:
        await asyncio.sleep(SETTLE_S)
        before, fresh = fresh, await asyncio.to_thread(_stamps, files)
    return fresh


async def _news(folders: frozenset[Path], recheck_ms: int) -> AsyncGenerator[None]:
    """Yields when something may have changed; by the clock alone where watching is impossible."""
    from watchfiles import awatch

    watcher = awatch(
        *folders,
        recursive=False,
        watch_filter=None,
        rust_timeout=recheck_ms,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    try:
        async with contextlib.aclosing(watcher):
            async for _ in watcher:
                yield
    except (OSError, RuntimeError) as error:
        # No watches left, or a folder went away between two lines: look again by the clock.
        _log.warning("cannot watch %s: %s", ", ".join(map(str, folders)), error)
        await asyncio.sleep(recheck_ms / 1000)
        yield


def _stamps(files: Iterable[Path]) -> dict[Path, str]:
    return {path: _stamp(path) for path in files}


def _stamp(path: Path) -> str:
    """A digest of the content; "" for no readable file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


def _folders(files: Iterable[Path]) -> frozenset[Path]:
    """The folders to watch: of each file, and of what it links to."""
    return frozenset(
        _nearest(place.parent) for path in files for place in (path.absolute(), path.resolve())
    )


def _nearest(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if one.is_dir()), Path(folder.anchor))

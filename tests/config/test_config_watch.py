"""Watching named files: real files, real notifications."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stormclaw.config.watch import watch

PATIENCE_S = 60
"""When to call a missing notification a failure; nothing waits for it otherwise."""


@contextlib.asynccontextmanager
async def watching(
    *files: Path, recheck_ms: int = 50
) -> AsyncIterator[asyncio.Queue[tuple[Path, ...]]]:
    changes: asyncio.Queue[tuple[Path, ...]] = asyncio.Queue()
    # The short recheck finds a change made before the watcher stood.
    task = asyncio.create_task(watch(files, changes.put, recheck_ms=recheck_ms))
    await asyncio.sleep(0)
    try:
        yield changes
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S)
        assert task.cancelled()


async def next_of(changes: asyncio.Queue[tuple[Path, ...]]) -> tuple[Path, ...]:
    return await asyncio.wait_for(changes.get(), PATIENCE_S)


async def test_a_changed_file_is_reported(tmp_path: Path) -> None:
    file, other = tmp_path / "config.yaml", tmp_path / "other.yaml"
    file.write_text("a: 1")
    async with watching(file, other) as changes:
        file.write_text("a: 2")
        assert await next_of(changes) == (file,)
        other.write_text("new")
        assert await next_of(changes) == (other,)


async def test_notifications_come_without_the_clock(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    async with watching(file, recheck_ms=10 * PATIENCE_S * 1000) as changes:
        # When the watcher stands is its own affair: write until it says something.
        for attempt in range(100):
            file.write_text(f"a: {attempt}")
            with contextlib.suppress(TimeoutError):
                assert await asyncio.wait_for(changes.get(), 0.2) == (file,)
                break
        else:
            pytest.fail("no notification")
        file.write_text("the last")
        assert await next_of(changes) == (file,)


async def test_replaced_removed_and_made_again(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a: 1")
    async with watching(file) as changes:
        (tmp_path / "new").write_text("a: 2")
        (tmp_path / "new").replace(file)
        assert await next_of(changes) == (file,)
        file.unlink()
        assert await next_of(changes) == (file,)
        file.write_text("a: 3")
        assert await next_of(changes) == (file,)


async def test_a_file_whose_folder_does_not_exist_yet(tmp_path: Path) -> None:
    file = tmp_path / "project" / ".stormclaw" / "config.yaml"
    async with watching(file) as changes:
        file.parent.mkdir(parents=True)
        file.write_text("a: 1")
        assert await next_of(changes) == (file,)
        file.write_text("a: 2")
        assert await next_of(changes) == (file,)


async def test_the_folder_goes_away_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "config.yaml"
    file.parent.mkdir()
    file.write_text("a: 1")
    async with watching(file) as changes:
        shutil.rmtree(file.parent)
        assert await next_of(changes) == (file,)
        file.parent.mkdir()
        file.write_text("a: 2")
        assert await next_of(changes) == (file,)


async def test_a_change_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    real, link = tmp_path / "dotfiles" / "config.yaml", tmp_path / "home" / "config.yaml"
    real.write_text("a: 1")
    link.symlink_to(real)
    async with watching(link) as changes:
        real.write_text("a: 2")
        assert await next_of(changes) == (link,)


async def test_neighbours_and_rewrites_of_the_same_are_no_change(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a: 1")
    async with watching(file) as changes:
        (tmp_path / "neighbour").write_text("x")
        file.write_text("a: 1")
        file.touch()
        file.write_text("a: 2")
        assert await next_of(changes) == (file,)
        assert changes.empty()


async def test_what_the_listener_raises_ends_the_watch(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"

    async def fail(changed: tuple[Path, ...]) -> None:
        raise LookupError(changed[0].name)

    task = asyncio.create_task(watch([file], fail, recheck_ms=50))
    await asyncio.sleep(0)
    file.write_text("a: 1")
    with pytest.raises(LookupError, match=r"config\.yaml"):
        await asyncio.wait_for(task, PATIENCE_S)

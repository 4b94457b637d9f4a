"""What snapshots of a large repository cost, beside a bare `git status` in the same minutes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.rows import Beside, Limit, Row, middle
from benchmarks.world import World
from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints

FILES = 50_000
IN_A_FOLDER = 20
RUNS = 15
MOST_UNCHANGED_MS = 150
_ALL = "a snapshot of 50,000 files"


def checkpoints(world: World) -> list[Row]:
    """Whole and partial snapshots of 50,000 files, putting files back, and the room it takes."""
    place = world.place()
    root = place.workspace / "large"
    _project(root)
    try:
        return _measured(world, root, place.home)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _measured(world: World, root: Path, home: Path) -> list[Row]:
    kept = Checkpoints(home, root, CheckpointsSettings(time_limit_s=300))
    first = _ms(lambda: kept.take("bench", "first", "before"))
    size = _size(home / "checkpoints")
    kept.warm()  # git reads all files once more, to believe its index.
    named = [root / "p3" / "s3" / f"f{number}.py" for number in range(2)]
    folders = [root / f"p{number}" / f"s{number}" for number in range(10)]
    changed = [path for folder in folders for path in folder.iterdir()]
    paths = [str(path.relative_to(root)) for path in changed]
    bare: list[float] = []
    whole: list[float] = []
    spent: list[float] = []
    two: list[float] = []
    few: list[float] = []
    back: list[float] = []
    for turn in range(world.runs(RUNS) + 1):
        bare_ms = _ms(lambda: _status(root))
        cpu_before = _cpu_ms()
        whole_ms = _ms(lambda: kept.take("bench", "unchanged", "before"))
        cpu_ms = _cpu_ms() - cpu_before
        two_ms = _ms(lambda: kept.take("bench", "named", "before", named))
        if turn:
            every = (bare_ms, whole_ms, cpu_ms, two_ms)
            for found, took in zip((bare, whole, spent, two), every, strict=True):
                found.append(took)
    for turn in range(world.runs(RUNS) + 1):
        before = kept.take("bench", "few", "before")
        for path in changed:
            path.write_text(f"turn {turn}\n")
        few_ms = _ms(lambda: kept.take("bench", "few", "after"))
        back_ms = _ms(partial(_restored, kept, before.id, paths))
        if turn:
            few.append(few_ms)
            back.append(back_ms)
    beside = Beside("git status", middle(bare))
    files = Beside("the files", _size(root, skip=".git") / 1e6)
    return [
        _row(f"{_ALL}, nothing changed", whole, beside, Limit(MOST_UNCHANGED_MS)),
        Row(f"{_ALL}, nothing changed: processor", middle(spent), "ms", runs=tuple(spent)),
        _row("a snapshot of 2 named files among 50,000", two, beside),
        _row(f"{_ALL}, {len(changed)} changed", few, beside),
        _row(f"{len(changed)} files put back among 50,000", back, beside),
        Row("the first snapshot of 50,000 files", first / 1000, "s"),
        Row("that snapshot on the disk", size / 1e6, "MB", files),
    ]


def _row(figure: str, runs: list[float], beside: Beside, limit: Limit | None = None) -> Row:
    return Row(figure, middle(runs), "ms", beside, limit, tuple(runs))


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _cpu_ms() -> float:
    """Of this program and of those it has waited for."""
    return sum(os.times()[:4]) * 1000


def _restored(kept: Checkpoints, to: str, paths: list[str]) -> None:
    if failed := kept.restore(to, paths):
        raise RuntimeError(failed[0])


def _status(root: Path) -> None:
    subprocess.run(["git", "status", "--porcelain"], cwd=root, env=_environ(), check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def _environ() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}


def _project(root: Path) -> None:
    """A repository with everything in its index."""
    dice = random.Random(1)
    words = [f"word_{number} = {number % 97}\n" for number in range(3000)]
    for folder in range(FILES // IN_A_FOLDER):
        place = root / f"p{folder % 50}" / f"s{folder}"
        place.mkdir(parents=True)
        for number in range(IN_A_FOLDER):
            text = "".join(dice.choices(words, k=dice.randint(20, 250)))
            (place / f"f{number}.py").write_text(text)
    for arguments in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *arguments], cwd=root, env=_environ(), check=True)


def _size(folder: Path, skip: str = "") -> int:
    total = 0
    for place, folders, names in os.walk(folder):
        if skip in folders:
            folders.remove(skip)
        total += sum(os.lstat(os.path.join(place, name)).st_blocks * 512 for name in names)
    return total

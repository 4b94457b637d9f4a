"""Snapshots do not grow for ever: old ones go, the oldest go when there are too many."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.errors import StoreError
from stormclaw.store.checkpoints import Checkpoints

DAY = 86_400.0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def opened(tmp_path: Path, max_total_bytes: int = 2_000_000_000) -> Checkpoints:
    settings = CheckpointsSettings(max_total_bytes=max_total_bytes)
    return Checkpoints(tmp_path / "home", tmp_path / "work", settings)


def size(tmp_path: Path) -> int:
    found = 0
    for folder, _, names in os.walk(tmp_path / "home"):
        found += sum((Path(folder) / name).stat().st_size for name in names)
    return found


def noise(seed: int, count: int = 100_000) -> bytes:
    return random.Random(seed).randbytes(count)


def test_old_sessions_go_and_young_ones_stay(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = opened(tmp_path)
    now = time.time()
    for number, age in enumerate((40, 31, 29, 0)):
        (workspace / "a").write_bytes(noise(number))
        with monkeypatch.context() as at:
            at.setattr(time, "time", lambda age=age: now - age * DAY)
            kept.take(f"s{number}", "call", "before")
    full = size(tmp_path)

    kept.sweep()

    assert [len(kept.of(f"s{number}")) for number in range(4)] == [0, 0, 1, 1]
    assert kept.content(kept.of("s2")[0].id, "a") == noise(2)
    assert size(tmp_path) < full - 150_000


def test_of_a_long_session_the_old_part_goes(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = opened(tmp_path)
    now = time.time()
    taken = []
    for number, age in enumerate((40, 35, 20, 10, 0)):
        (workspace / "a").write_bytes(noise(number))
        with monkeypatch.context() as at:
            at.setattr(time, "time", lambda age=age: now - age * DAY)
            paths = [workspace / "a"] if number == 2 else None
            taken.append(kept.take("one", f"call-{number}", "before", paths))
    full = size(tmp_path)

    kept.sweep()

    assert kept.of("one") == tuple(taken[2:])
    assert opened(tmp_path).of("one") == tuple(taken[2:])
    assert kept.content(taken[2].id, "a") == noise(2)
    with pytest.raises(StoreError):
        kept.content(taken[0].id, "a")
    assert size(tmp_path) < full - 150_000
    more = kept.take("one", "call", "after")
    assert kept.of("one") == (*taken[2:], more)


def test_the_oldest_sessions_go_when_there_is_too_much(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path, max_total_bytes=450_000)
    for number in range(8):
        (workspace / "a").write_bytes(noise(number))
        kept.take(f"s{number}", "call", "before")

    kept.sweep()

    left = [number for number in range(8) if kept.of(f"s{number}")]
    assert left == list(range(8 - len(left), 8))
    assert 1 <= len(left) <= 4
    assert kept.content(kept.of("s7")[0].id, "a") == noise(7)
    assert size(tmp_path) < 550_000


def test_the_last_session_loses_its_older_half(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path, max_total_bytes=350_000)
    taken = []
    for number in range(8):
        (workspace / "a").write_bytes(noise(number))
        taken.append(kept.take("one", f"call-{number}", "before"))

    kept.sweep()

    left = kept.of("one")
    assert left == tuple(taken[-len(left) :])
    assert 1 <= len(left) <= 3


def test_a_forgotten_session_frees_its_room(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path)
    (workspace / "a").write_bytes(noise(1))
    kept.take("one", "call", "before")
    (workspace / "a").write_bytes(noise(2))
    two = kept.take("two", "call", "before")
    full = size(tmp_path)

    kept.forget("one")
    kept.sweep()

    assert size(tmp_path) < full - 80_000
    assert kept.content(two.id, "a") == noise(2)
    assert kept.since(two.id) == ()


def test_many_small_objects_are_packed(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path)
    first = kept.take("one", "call", "before")
    for number in range(400):
        path = workspace / f"d{number}" / "a"
        path.parent.mkdir()
        path.write_text(f"{number}\n")
        if number % 100 == 0:
            kept.take("one", f"call-{number}", "after")
    for number in range(120):
        (workspace / "d1" / "a").write_text(f"again {number}\n")
        kept.take("one", f"again-{number}", "after", [workspace / "d1" / "a"])
    last = kept.take("one", "call", "after")

    def loose() -> int:
        return len(list((tmp_path / "home").glob("checkpoints/*/git/objects/??/*")))

    assert loose() > 700
    for number in range(120, 260):
        (workspace / "d1" / "a").write_text(f"again {number}\n")
        kept.take("one", f"again-{number}", "after", [workspace / "d1" / "a"])
    kept.sweep()

    assert loose() < 300
    assert len(kept.changes(first.id, last.id)) == 400
    assert len(kept.of("one")) == 266


def test_leavings_and_old_damage_go(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path)
    kept.take("one", "call", "before")
    (folder,) = (tmp_path / "home" / "checkpoints").iterdir()
    long_ago = time.time() - 60 * DAY
    leavings = [
        "new-17/x",
        "git/rules-abc/x",
        "git/objects/pack/tmp_pack_x",
        "git/objects/aa/tmp_obj_x",
        "damaged-20200101-000000-1/x",
    ]
    for name in leavings:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        for each in (path, path.parent):
            os.utime(each, (long_ago, long_ago))

    kept.sweep()

    assert not [name for name in leavings if (folder / name).exists()]
    assert len(kept.of("one")) == 1


def test_a_chain_that_cannot_be_read_is_let_go(tmp_path: Path, workspace: Path) -> None:
    kept = opened(tmp_path)
    one = kept.take("one", "call", "before")
    (workspace / "a").write_text("1")
    kept.take("two", "call", "before")
    (folder,) = (tmp_path / "home" / "checkpoints").iterdir()
    (folder / "git" / "objects" / one.id[:2] / one.id[2:]).unlink()

    kept.sweep()

    assert kept.of("one") == ()
    assert len(kept.of("two")) == 1

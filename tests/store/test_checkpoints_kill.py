"""Several programs at once, killed at any moment, on a store that may be damaged."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from thorough import tries

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.errors import StoreError
from stormclaw.store.checkpoints import Checkpoints

Start = Callable[..., "subprocess.Popen[str]"]

KILLS = int(os.environ.get("STORMCLAW_KILLS", tries(12, 100))) // 2

TAKER = """
import random, sys
from pathlib import Path
from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints
home, work, session, count = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
kept = Checkpoints(home, work, CheckpointsSettings(time_limit_s=60))
print("ready", flush=True)
for number in range(count):
    named = None if number % 3 else [work / f"f{number % 5}"]
    print(kept.take(session, f"call-{number}", "before", named).id, flush=True)
"""

RESTORER = """
import sys
from pathlib import Path
from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints
home, work, one, two = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
kept = Checkpoints(home, work, CheckpointsSettings())
paths = [f"f{number}" for number in range(30)] + ["swap", "swap/x"]
print("ready", flush=True)
while True:
    kept.restore(one, paths)
    kept.restore(two, paths)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    for number in range(30):
        (place / f"f{number}").write_text("1" * 20_000)
    return place


@pytest.fixture
def kept(tmp_path: Path, workspace: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "home", workspace, CheckpointsSettings(time_limit_s=60))


def store(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "home").glob("checkpoints/*/git")
    return found


def test_several_programs_and_threads_at_once(
    tmp_path: Path, kept: Checkpoints, workspace: Path, child: Start
) -> None:
    programs = [child(TAKER, tmp_path / "home", workspace, f"p{n}", 6) for n in range(3)]
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(6):
                (workspace / name).write_text(str(number))
                taken = kept.take(name, f"call-{number}", "before")
                assert kept.content(taken.id, name) == str(number).encode()
                kept.sweep()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    for number, program in enumerate(programs):
        written, _ = program.communicate(timeout=120)
        assert program.returncode == 0
        ids = written.split()[1:]
        assert [each.id for each in kept.of(f"p{number}")] == ids
        assert len(ids) == 6


def test_two_programs_in_one_session_lose_nothing(
    tmp_path: Path, kept: Checkpoints, workspace: Path, child: Start
) -> None:
    programs = [child(TAKER, tmp_path / "home", workspace, "same", 5) for _ in range(2)]

    ids = [line for each in programs for line in each.communicate(timeout=120)[0].split()[1:]]

    assert sorted(each.id for each in kept.of("same")) == sorted(ids)
    assert len(set(ids)) == 10


def test_a_program_killed_while_it_takes_leaves_a_store_that_works(
    tmp_path: Path, kept: Checkpoints, workspace: Path, child: Start
) -> None:
    dice = random.Random(7)
    promised: list[str] = []
    for number in range(KILLS):
        for name in range(30):
            (workspace / f"f{name}").write_text(f"{number}-{name}" * 2_000)
        program = child(TAKER, tmp_path / "home", workspace, "one", 50)
        assert program.stdout is not None
        program.stdout.readline()
        try:
            program.wait(timeout=dice.uniform(0, 0.25))
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
        promised += program.communicate()[0].split()
    taken = kept.take("one", "last", "before")

    known = [each.id for each in kept.of("one")]
    assert set(promised) <= set(known)
    assert known[-1] == taken.id
    for name in range(30):
        content = (workspace / f"f{name}").read_bytes()
        assert kept.content(taken.id, f"f{name}") == content
    for each in promised:
        assert kept.content(each, "f0") is not None
    assert not list((tmp_path / "home").glob("checkpoints/*/damaged-*"))


def test_a_program_killed_while_it_puts_back_leaves_whole_files(
    tmp_path: Path, kept: Checkpoints, workspace: Path, child: Start
) -> None:
    dice = random.Random(8)
    (workspace / "swap").write_text("1" * 20_000)
    one = kept.take("one", "call", "before")
    for number in range(30):
        (workspace / f"f{number}").write_text("2" * 30_000)
    (workspace / "swap").unlink()
    (workspace / "swap").mkdir()
    (workspace / "swap" / "x").write_text("2" * 30_000)
    two = kept.take("one", "call", "after")
    whole = {"1" * 20_000, "2" * 30_000}

    for _ in range(KILLS):
        program = child(RESTORER, tmp_path / "home", workspace, one.id, two.id)
        assert program.stdout is not None
        program.stdout.readline()
        try:
            program.wait(timeout=dice.uniform(0, 0.1))
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
        program.communicate()
        for number in range(30):
            assert (workspace / f"f{number}").read_text() in whole
    paths = [f"f{number}" for number in range(30)] + ["swap", "swap/x"]
    assert kept.restore(one.id, paths) == ()

    assert sorted(os.listdir(workspace)) == sorted([*paths[:30], "swap"])
    assert kept.since(one.id) == ()


def test_locks_that_git_left_behind_are_no_hindrance(
    tmp_path: Path, kept: Checkpoints, workspace: Path
) -> None:
    kept.take("one", "call", "before")
    for name in ("index.lock", "HEAD.lock"):
        (store(tmp_path) / name).write_text("left behind")
    (workspace / "f1").write_text("2")

    taken = kept.take("one", "call", "after")

    assert kept.content(taken.id, "f1") == b"2"


def test_somebody_who_never_lets_go_is_waited_for_no_longer_than_the_limit(
    tmp_path: Path, workspace: Path
) -> None:
    kept = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings(time_limit_s=5))
    kept.take("one", "call", "before")
    with (store(tmp_path).parent / "index.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        hurried = CheckpointsSettings(time_limit_s=0.2)
        with pytest.raises(StoreError, match=r"given up after 0\.2 s"):
            Checkpoints(tmp_path / "home", workspace, hurried).take("one", "call", "after")
        named = kept.take("one", "call", "after", [workspace / "f1"])
        assert named.partial  # Looking at named files waits for nobody who looks at all.
    assert len(kept.of("one")) == 2


def test_background_work_ends_when_it_is_told_to(
    tmp_path: Path, kept: Checkpoints, workspace: Path
) -> None:
    kept.take("one", "call", "before")
    ended: list[str] = []

    def work(name: str) -> None:
        try:
            getattr(kept, name)()
        except StoreError as error:
            ended.append(str(error))

    with (store(tmp_path).parent / "index.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        warming = threading.Thread(target=work, args=("warm",))
        warming.start()
        kept.close()
        warming.join(timeout=60)
    assert not warming.is_alive()
    assert ended == ["the snapshot was given up, for StormClaw is closing"]
    assert len(kept.of("one")) == 1
    kept.take("one", "call", "after")


def test_calls_are_not_kept_waiting_one_after_the_other(
    tmp_path: Path, kept: Checkpoints, workspace: Path
) -> None:
    kept.take("one", "call", "before")
    late = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings(time_limit_s=2))
    with (store(tmp_path).parent / "index.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for each, said in ((late, "given up after 2 s"), (late, "it is tried again in")):
            with pytest.raises(StoreError, match=said):
                each.take("one", "call", "after")
    with pytest.raises(StoreError, match="it is tried again in"):
        late.take("one", "call", "after")
    assert late.problem() == ""
    late.warm()
    assert not late.take("one", "call", "after").partial


class TestDamage:
    @pytest.mark.parametrize("junk", [b"", b"junk", b"DIRC\0\0\0\x02\xff\xff\xff\xff"])
    def test_a_damaged_index_is_made_anew(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path, junk: bytes
    ) -> None:
        before = kept.take("one", "call", "before")
        (store(tmp_path) / "index").write_bytes(junk)
        (workspace / "f1").write_text("2")

        after = kept.take("one", "call", "after")

        assert [change.path for change in kept.changes(before.id, after.id)] == ["f1"]
        assert not list(store(tmp_path).parent.glob("damaged-*"))

    @pytest.mark.parametrize("name", ["HEAD", "index", "stormclaw-tree", "info/exclude"])
    def test_a_lost_file_is_made_anew(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path, name: str
    ) -> None:
        kept.take("one", "call", "before")
        (store(tmp_path) / name).write_bytes(b"")
        (workspace / "f1").write_text("2")

        after = kept.take("one", "call", "after")

        assert kept.content(after.id, "f1") == b"2"
        assert len(kept.of("one")) == 2

    @pytest.mark.parametrize("named", [False, True], ids=["all", "named"])
    def test_a_chain_whose_end_is_lost_is_begun_anew(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path, named: bool
    ) -> None:
        paths = [workspace / "f1"] if named else None
        lost = kept.take("one", "call", "before", paths)
        (store(tmp_path) / "objects" / lost.id[:2] / lost.id[2:]).unlink()
        other = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())

        taken = other.take("one", "call", "after", paths)

        assert other.of("one") == (taken,)
        assert other.content(taken.id, "f1") == b"1" * 20_000

    def test_a_store_without_its_head_keeps_the_rest(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path
    ) -> None:
        before = kept.take("one", "call", "before")
        (store(tmp_path) / "HEAD").unlink()

        after = kept.take("one", "call", "after")

        assert kept.of("one") == (before, after)

    def test_a_store_beyond_repair_is_moved_away_and_begun_anew(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path
    ) -> None:
        kept.take("one", "call", "before")
        (store(tmp_path) / "config").write_text("[core\n")

        with pytest.raises(StoreError, match=r"were damaged .* moved to .*damaged-"):
            kept.take("one", "call", "after")
        taken = kept.take("one", "call", "after")

        assert kept.of("one") == (taken,)
        assert len(list(store(tmp_path).parent.glob("damaged-*"))) == 1

    def test_contents_that_are_gone_are_written_again(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path
    ) -> None:
        kept.take("one", "call", "before")
        for path in store(tmp_path).glob("objects/??/*"):
            path.unlink()
        for path in store(tmp_path).glob("objects/pack/*"):
            path.unlink()

        kept.warm()
        taken = kept.take("two", "call", "before")

        assert kept.content(taken.id, "f7") == b"1" * 20_000
        (workspace / "f7").write_text("2")
        assert kept.restore(taken.id, ["f7"]) == ()
        assert (workspace / "f7").read_text() == "1" * 20_000

    def test_a_damaged_content_is_not_put_back(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path
    ) -> None:
        (workspace / "f1").write_text("precious")
        before = kept.take("one", "call", "before")
        known = set(store(tmp_path).glob("objects/??/*"))
        (workspace / "f1").write_text("2")
        (workspace / "f2").write_text("2")
        for path in known:
            content = path.read_bytes()
            path.chmod(0o600)
            path.write_bytes(content[:-6] + b"\0" * 6)
        with pytest.raises(StoreError):
            kept.restore(before.id, ["f1", "f2"])
        assert (workspace / "f1").read_text() == "2"

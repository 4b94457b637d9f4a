"""Snapshots of the workspace: taken, compared, put back; of everything, or of named files only."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.errors import StoreError
from stormclaw.store.checkpoints import Checkpoints, FileChange


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def kept(tmp_path: Path, workspace: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())


def kinds(changes: tuple[FileChange, ...]) -> dict[str, str]:
    return {change.path: change.kind for change in changes}


def write(path: Path, text: str = "text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_nothing_is_touched_before_the_first_snapshot(
    tmp_path: Path, kept: Checkpoints, workspace: Path
) -> None:
    assert kept.problem() == ""
    assert kept.of("one") == ()
    kept.forget("one")
    kept.sweep()

    assert os.listdir(tmp_path) == ["work"]
    assert os.listdir(workspace) == []


def test_a_call_s_changes_are_told_and_taken_back(kept: Checkpoints, workspace: Path) -> None:
    write(workspace / "a.txt", "one\ntwo\n")
    write(workspace / "deep" / "er" / "b.txt")
    before = kept.take("one", "call-1", "before")
    write(workspace / "a.txt", "one\n2\n3\n")
    (workspace / "deep" / "er" / "b.txt").unlink()
    write(workspace / "new" / "c.txt")
    after = kept.take("one", "call-1", "after")

    assert kept.changes(before.id, after.id) == (
        FileChange("a.txt", "modified", 2, 1, binary=False),
        FileChange("deep/er/b.txt", "deleted", 0, 1, binary=False),
        FileChange("new/c.txt", "added", 1, 0, binary=False),
    )
    assert kinds(kept.changes(before.id, after.id, ["a.txt"])) == {"a.txt": "modified"}
    assert kept.restore(before.id, ["a.txt", "deep/er/b.txt", "new/c.txt"]) == ()
    assert kept.since(before.id) == ()
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"
    assert not (workspace / "new").exists()
    assert kept.restore(after.id, ["a.txt", "deep/er/b.txt", "new/c.txt"]) == ()
    assert kept.since(after.id) == ()


def test_a_session_s_snapshots_come_oldest_first(
    tmp_path: Path, kept: Checkpoints, workspace: Path
) -> None:
    taken = [kept.take("one", f"call-{number}", "before") for number in range(3)]
    other = kept.take("two", "call", "restore")

    again = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())
    assert again.of("one") == tuple(taken) == kept.of("one")
    assert again.of("two") == (other,)
    assert other.moment == "restore"
    assert not other.partial
    assert again.of("three") == ()


def test_a_forgotten_session_is_gone_and_others_are_not(kept: Checkpoints) -> None:
    kept.take("one", "call", "before")
    two = kept.take("two", "call", "before")

    kept.forget("one")

    assert kept.of("one") == ()
    assert kept.of("two") == (two,)


@pytest.mark.parametrize("session_id", ["../../x", "", "a b", "é\udcff", "x.lock", "refs/heads/y"])
def test_a_session_may_have_any_name(
    tmp_path: Path, kept: Checkpoints, workspace: Path, session_id: str
) -> None:
    taken = kept.take(session_id, "call\udcff\n", "before")

    again = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())
    assert again.of(session_id) == (taken,)
    assert taken.call_id == "call\udcff\n"
    assert sorted(os.listdir(tmp_path)) == ["home", "work"]


def test_content_is_what_the_file_held(kept: Checkpoints, workspace: Path) -> None:
    (workspace / "b").write_bytes(b"\0\xff\r\n")
    (workspace / "link").symlink_to("b")
    taken = kept.take("one", "call", "before")

    assert kept.content(taken.id, "b") == b"\0\xff\r\n"
    assert kept.content(taken.id, "link") == b"b"
    assert kept.content(taken.id, "none") is None
    assert kept.content(taken.id, "../b") is None


def test_looking_at_what_is_there_now_leaves_no_snapshot(
    kept: Checkpoints, workspace: Path
) -> None:
    taken = kept.take("one", "call", "before")
    write(workspace / "a")

    assert kinds(kept.since(taken.id)) == {"a": "added"}
    assert kept.of("one") == (taken,)


def test_only_named_paths_are_put_back(kept: Checkpoints, workspace: Path) -> None:
    write(workspace / "ours", "1")
    write(workspace / "theirs", "1")
    before = kept.take("one", "call", "before")
    write(workspace / "ours", "2")
    write(workspace / "theirs", "2")

    assert kept.restore(before.id, ["ours"]) == ()

    assert (workspace / "ours").read_text() == "1"
    assert (workspace / "theirs").read_text() == "2"


class TestNamedFiles:
    def test_only_they_are_looked_at(self, kept: Checkpoints, workspace: Path) -> None:
        write(workspace / "a", "1\n")
        write(workspace / "b", "1\n")
        before = kept.take("one", "call", "before", [workspace / "a", workspace / "new"])
        write(workspace / "a", "2\n")
        write(workspace / "b", "2\n")
        write(workspace / "new", "2\n")
        after = kept.take("one", "call", "after", [Path("a"), Path("new")])

        assert before.partial
        assert kinds(kept.changes(before.id, after.id)) == {"a": "modified", "new": "added"}
        assert kinds(kept.since(before.id)) == {"a": "modified", "new": "added"}
        assert kept.restore(before.id, ["a", "new", "b"]) == (
            "b: the snapshot does not know how it was",
        )
        assert (workspace / "a").read_text() == "1\n"
        assert (workspace / "b").read_text() == "2\n"
        assert not (workspace / "new").exists()

    def test_a_file_named_by_a_later_call_comes_back_too(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        write(workspace / "a", "1\n")
        write(workspace / "b", "1\n")
        first = kept.take("one", "call-1", "before", [workspace / "a"])
        write(workspace / "a", "2\n")
        kept.take("one", "call-1", "after", [workspace / "a"])
        kept.take("one", "call-2", "before", [workspace / "b"])
        write(workspace / "b", "2\n")
        kept.take("one", "call-2", "after", [workspace / "b"])

        assert kinds(kept.since(first.id)) == {"a": "modified", "b": "modified"}
        assert kept.restore(first.id, ["a", "b"]) == ()
        assert (workspace / "a").read_text() == (workspace / "b").read_text() == "1\n"
        assert kept.content(first.id, "b") == b"1\n"

    def test_what_somebody_changed_before_the_next_whole_look_is_not_ours(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        write(workspace / "a", "1\n")
        write(workspace / "b", "1\n")
        whole = kept.take("one", "call-0", "before")
        kept.take("one", "call-0", "after")
        write(workspace / "b", "theirs\n")
        before = kept.take("one", "call-1", "before", [workspace / "a"])
        write(workspace / "a", "2\n")
        after = kept.take("one", "call-1", "after", [workspace / "a"])
        shell = kept.take("one", "call-2", "before")
        write(workspace / "b", "ours\n")
        kept.take("one", "call-2", "after")

        assert kinds(kept.changes(before.id, after.id)) == {"a": "modified"}
        assert kinds(kept.changes(after.id, shell.id)) == {"b": "modified"}
        assert kept.restore(before.id, ["a", "b"]) == ()
        assert (workspace / "a").read_text() == "1\n"
        assert (workspace / "b").read_text() == "theirs\n"
        assert kept.restore(whole.id, ["b"]) == ()
        assert (workspace / "b").read_text() == "1\n"

    def test_a_file_that_becomes_a_folder(self, kept: Checkpoints, workspace: Path) -> None:
        write(workspace / "a", "1\n")
        before = kept.take("one", "call", "before", [workspace / "a", workspace / "a" / "b"])
        (workspace / "a").unlink()
        write(workspace / "a" / "b", "2\n")
        after = kept.take("one", "call", "after", [workspace / "a" / "b", Path("c")])

        assert not kept.since(after.id)
        assert kept.restore(before.id, ["a", "a/b"]) == ()
        assert (workspace / "a").read_text() == "1\n"

    def test_a_named_folder_means_everything(self, kept: Checkpoints, workspace: Path) -> None:
        write(workspace / "d" / "a")

        taken = kept.take("one", "call", "before", [workspace / "d"])

        assert not taken.partial
        assert kept.content(taken.id, "d/a") == b"text\n"

    def test_what_is_outside_ignored_or_git_s_own_is_left_out(
        self, tmp_path: Path, kept: Checkpoints, workspace: Path
    ) -> None:
        write(workspace / ".gitignore", "secret\n")
        write(workspace / "secret", "key")
        write(tmp_path / "outside", "key")
        (workspace / "out").symlink_to(tmp_path)
        paths = ["secret", "../outside", "out/outside", ".git/config", "out"]

        taken = kept.take("one", "call", "before", [workspace / path for path in paths])

        assert kept.content(taken.id, "secret") is None
        assert kept.content(taken.id, "out/outside") is None
        assert kept.content(taken.id, "out") == os.fsencode(tmp_path)
        assert [said.rpartition(": ")[2] for said in taken.skipped] == [
            "part of .git",
            "outside the workspace",
            "outside the workspace",
            "ignored",
        ]
        assert kept.restore(taken.id, ["secret"]) == ("secret: it was not kept in the snapshot",)

    def test_no_whole_look_is_needed_even_to_compare(
        self, kept: Checkpoints, workspace: Path, tmp_path: Path
    ) -> None:
        for number in range(20):
            write(workspace / f"f{number}")
        before = kept.take("one", "call", "before", [workspace / "f3"])
        write(workspace / "f3", "2")

        assert kinds(kept.since(before.id)) == {"f3": "modified"}
        assert not list((tmp_path / "home").glob("checkpoints/*/git/index"))


class TestModes:
    def test_the_x_bit_and_links_come_back(self, kept: Checkpoints, workspace: Path) -> None:
        run = write(workspace / "run")
        run.chmod(0o755)
        (workspace / "link").symlink_to("nowhere")
        before = kept.take("one", "call", "before")
        run.chmod(0o644)
        (workspace / "link").unlink()
        write(workspace / "link", "a file")
        after = kept.take("one", "call", "after")

        assert kinds(kept.changes(before.id, after.id)) == {"link": "modified", "run": "modified"}
        assert kept.restore(before.id, ["run", "link"]) == ()
        assert stat.S_IMODE(run.stat().st_mode) == 0o755
        assert os.readlink(workspace / "link") == "nowhere"
        assert kept.restore(after.id, ["run", "link"]) == ()
        assert (workspace / "link").read_text() == "a file"
        assert not (workspace / "link").is_symlink()

    def test_a_file_that_is_there_keeps_its_mode(self, kept: Checkpoints, workspace: Path) -> None:
        secret = write(workspace / "secret", "1")
        secret.chmod(0o600)
        before = kept.take("one", "call", "before")
        write(secret, "2")

        assert kept.restore(before.id, ["secret"]) == ()
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert secret.read_text() == "1"


class TestRefusals:
    def test_without_git(
        self, kept: Checkpoints, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))

        assert "git is not installed" in kept.problem()
        with pytest.raises(StoreError, match="git is not installed"):
            kept.take("one", "call", "before")
        assert kept.of("one") == ()
        assert os.listdir(tmp_path) == ["work"]

    def test_an_old_git_is_refused(
        self, kept: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = write(tmp_path / "bin" / "git", "#!/bin/sh\necho git version 2.19.1\n")
        old.chmod(0o755)
        monkeypatch.setenv("PATH", str(old.parent))

        assert kept.problem() == "git 2.19.1 is too old: 2.20 is needed"

    def test_the_project_s_own_git_is_not_run(
        self, kept: Checkpoints, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trap = write(workspace / "bin" / "git", f"#!/bin/sh\ntouch {tmp_path}/trapped\n")
        trap.chmod(0o755)
        monkeypatch.setenv("PATH", f"{trap.parent}:{os.environ['PATH']}:.")

        kept.take("one", "call", "before")

        assert not (tmp_path / "trapped").exists()

    def test_switched_off(self, tmp_path: Path, workspace: Path) -> None:
        kept = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings(enabled=False))

        with pytest.raises(StoreError, match="switched off"):
            kept.take("one", "call", "before")

    def test_no_workspace(self, tmp_path: Path) -> None:
        kept = Checkpoints(tmp_path / "home", tmp_path / "none", CheckpointsSettings())

        with pytest.raises(StoreError, match="is not a folder"):
            kept.take("one", "call", "before")

    def test_no_time(self, tmp_path: Path, workspace: Path) -> None:
        settings = CheckpointsSettings(time_limit_s=0.0)
        kept = Checkpoints(tmp_path / "home", workspace, settings)

        with pytest.raises(StoreError, match="given up after 0 s"):
            kept.take("one", "call", "before")
        assert kept.of("one") == ()

    def test_more_than_may_be_kept(self, tmp_path: Path, workspace: Path) -> None:
        settings = CheckpointsSettings(max_total_bytes=1000)
        kept = Checkpoints(tmp_path / "home", workspace, settings)
        for number in range(60):
            write(workspace / "data" / f"f{number}", "x" * 20)

        with pytest.raises(StoreError, match="max_total_bytes"):
            kept.take("one", "call", "before")
        assert "max_total_bytes" in kept.problem()
        assert not list((tmp_path / "home").glob("checkpoints/*/git/objects/??/*"))
        write(workspace / ".gitignore", "data/\n")
        assert not kept.take("one", "call", "before").partial
        assert kept.problem() == ""

    @pytest.mark.parametrize("wrong", ["", "HEAD", "--all", "0" * 40, "abc"])
    def test_what_is_not_a_snapshot(self, kept: Checkpoints, wrong: str) -> None:
        taken = kept.take("one", "call", "before")

        for ask in (
            lambda: kept.changes(wrong, taken.id),
            lambda: kept.since(wrong),
            lambda: kept.restore(wrong, ["a"]),
            lambda: kept.content(wrong, "a"),
        ):
            with pytest.raises(StoreError):
                ask()

    def test_no_room_to_write(self, small_disk: Path, workspace: Path) -> None:
        kept = Checkpoints(small_disk / "home", workspace, CheckpointsSettings())
        (workspace / "big").write_bytes(os.urandom(200_000))

        with pytest.raises(StoreError, match=r"No space left|cannot|failed"):
            kept.take("one", "call", "before")
        assert not list(small_disk.glob("home/checkpoints/*/damaged-*"))

    def test_a_home_that_cannot_be_written(self, tmp_path: Path, workspace: Path) -> None:
        write(tmp_path / "home", "a file")
        kept = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())

        with pytest.raises(StoreError, match="home"):
            kept.take("one", "call", "before")


def test_the_store_is_for_this_user_alone(kept: Checkpoints, tmp_path: Path) -> None:
    old = os.umask(0o000)
    try:
        kept.take("one", "call", "before")
    finally:
        os.umask(old)

    for folder in ((tmp_path / "home" / "checkpoints"), *(tmp_path / "home").glob("checkpoints/*")):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_git_finds_nothing_wrong_with_the_store(
    kept: Checkpoints, workspace: Path, tmp_path: Path
) -> None:
    for number in range(300):
        write(workspace / f"d{number % 7}" / f"f{number}", str(number))
    kept.take("one", "call", "before")
    write(workspace / "d1" / "f1", "2")
    kept.take("one", "call", "after", [workspace / "d1" / "f1", workspace / "d2" / "f2"])
    (workspace / "d2" / "f2").unlink()
    kept.take("one", "call", "after", [workspace / "d2" / "f2"])

    (store,) = (tmp_path / "home").glob("checkpoints/*/git")
    done = subprocess.run(
        ["git", "--git-dir", store, "fsck", "--full", "--strict", "--no-dangling"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr

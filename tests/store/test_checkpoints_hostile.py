"""Odd names, odd files, nested repositories, and configuration that must not count."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints

ODD = [
    b"-rf",
    b"--help",
    b"new\nline",
    b'tab\tquote"back\\slash',
    b"\xff\xfe not utf-8",
    b":(glob)**",
    b":!all",
    b"*?[a]",
    b" blank ",
    b"#hash",
    b"!bang",
    b"git~1",
    b".git ",
    b".gitmodules",
    b".gitattributes",
    "é".encode(),
    "e\u0301".encode(),
    b"Case",
    b"case",
    b"x" * 255,
    b"{a,b}",
    b"$(touch x)",
    b"@",
    b"HEAD",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def kept(tmp_path: Path, workspace: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "home", workspace, CheckpointsSettings(max_file_bytes=100_000))


def git(where: Path, *arguments: str) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@localhost",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@localhost",
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=where, env=environ, capture_output=True, check=True,
    )  # fmt: skip
    return os.fsdecode(done.stdout)


def files(root: Path) -> dict[bytes, bytes]:
    """All files and links below, but for git's own."""
    found: dict[bytes, bytes] = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        if b".git" in folders:
            folders.remove(b".git")
        for name in [*names, *(each for each in folders if os.path.islink(folder + b"/" + each))]:
            path = folder + b"/" + name
            link = os.path.islink(path)
            below = os.path.relpath(path, os.fsencode(root))
            if link or os.path.isfile(path):
                with_kind = os.readlink(path) if link else Path(os.fsdecode(path)).read_bytes()
                found[below] = (b"link " if link else b"file ") + with_kind
    return found


def paths(changes: object) -> list[str]:
    assert isinstance(changes, tuple)
    return [change.path for change in changes]


@pytest.mark.parametrize("named", [False, True], ids=["all", "named"])
@pytest.mark.parametrize("name", ODD)
def test_odd_names(kept: Checkpoints, workspace: Path, name: bytes, named: bool) -> None:
    path = Path(os.fsdecode(os.fsencode(workspace) + b"/d/" + name))
    path.parent.mkdir()
    path.write_bytes(b"1\n")
    (workspace / "other").write_text("1\n")
    only = [path] if named else None
    before = kept.take("one", "call", "before", only)
    path.write_bytes(b"2\n")
    after = kept.take("one", "call", "after", only)
    path.unlink()

    below = os.fsdecode(b"d/" + name)
    assert paths(kept.changes(before.id, after.id)) == [below]
    assert paths(kept.changes(before.id, after.id, [below])) == [below]
    assert kept.changes(before.id, after.id, ["d/none", "other"]) == ()
    assert kept.content(before.id, below) == b"1\n"
    assert kept.restore(after.id, [below]) == ()
    assert path.read_bytes() == b"2\n"
    assert kept.restore(before.id, [below]) == ()
    assert path.read_bytes() == b"1\n"
    assert kept.since(before.id) == ()


def test_git_folders_in_any_letters_are_never_touched(kept: Checkpoints, workspace: Path) -> None:
    for name in (".git", ".GIT", "sub/.Git"):
        (workspace / name).mkdir(parents=True)
        (workspace / name / "config").write_text("1")
    (workspace / "a").write_text("1")
    before = kept.take("one", "call", "before")
    (workspace / ".GIT" / "config").write_text("2")
    (workspace / "a").write_text("2")

    assert paths(kept.since(before.id)) == ["a"]
    failed = kept.restore(before.id, [".git/config", ".GIT/config", "sub/.Git/config", ".git"])
    assert len(failed) == 4
    assert (workspace / ".GIT" / "config").read_text() == "2"


def test_paths_that_lead_out_are_refused(kept: Checkpoints, workspace: Path) -> None:
    (workspace / "a").write_text("1")
    outside = workspace.parent / "outside"
    outside.write_text("1")
    taken = kept.take("one", "call", "before")

    wrong = ["../outside", str(outside), "", ".", "d/../../outside", "a/", "//a"]
    assert len(kept.restore(taken.id, wrong)) == len(wrong)
    assert outside.read_text() == "1"


def test_a_folder_that_became_a_link_is_not_followed(
    kept: Checkpoints, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("theirs")
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("1")
    empty = kept.take("one", "call", "before", [workspace / "d" / "g"])
    before = kept.take("one", "call", "before")
    (workspace / "d" / "f").unlink()
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)

    assert kept.restore(before.id, ["d/f"]) == (
        "d/f: a file or a link stands where its folder was",
    )
    (outside / "g").write_text("theirs")
    assert kept.restore(empty.id, ["d/g"]) == ()
    assert (outside / "f").read_text() == (outside / "g").read_text() == "theirs"
    assert paths(kept.since(before.id)) == ["d", "d/f"]
    assert kept.restore(before.id, ["d", "d/f"]) == ()
    assert (workspace / "d" / "f").read_text() == "1"
    assert (outside / "f").read_text() == "theirs"


def test_files_and_folders_change_places(kept: Checkpoints, workspace: Path) -> None:
    (workspace / "a").write_text("1")
    (workspace / "b" / "c").mkdir(parents=True)
    (workspace / "b" / "c" / "d").write_text("1")
    before = kept.take("one", "call", "before")
    old = files(workspace)
    (workspace / "a").unlink()
    (workspace / "a" / "x").mkdir(parents=True)
    (workspace / "a" / "x" / "y").write_text("2")
    (workspace / "b" / "c" / "d").unlink()
    (workspace / "b" / "c").rmdir()
    (workspace / "b" / "c").write_text("2")
    after = kept.take("one", "call", "after")
    new = files(workspace)

    changed = paths(kept.changes(before.id, after.id))
    assert kept.restore(before.id, changed) == ()
    assert files(workspace) == old
    assert kept.restore(after.id, changed) == ()
    assert files(workspace) == new


def test_a_folder_with_other_things_in_it_stays(kept: Checkpoints, workspace: Path) -> None:
    (workspace / "a").write_text("1")
    before = kept.take("one", "call", "before")
    (workspace / "a").unlink()
    (workspace / "a").mkdir()
    (workspace / "a" / "theirs").write_text("2")

    assert kept.restore(before.id, ["a"]) == (
        "a: a folder stands in its place, with other things in it",
    )
    assert (workspace / "a" / "theirs").read_text() == "2"


def test_large_files_are_named_and_never_lost(kept: Checkpoints, workspace: Path) -> None:
    large = workspace / "large"
    small = workspace / "grows"
    large.write_bytes(b"x" * 100_001)
    small.write_bytes(b"x")
    before = kept.take("one", "call", "before")
    assert before.skipped == ("large: larger than 100000 bytes",)
    small.write_bytes(b"y" * 200_000)
    fresh = workspace / "fresh"
    fresh.write_bytes(b"z" * 200_000)
    after = kept.take("one", "call", "after")

    assert {change.path: change.kind for change in kept.changes(before.id, after.id)} == {
        "grows": "modified"
    }
    assert len(after.skipped) == 3
    failed = kept.restore(before.id, ["large", "grows", "fresh"])
    assert sorted(line.split(":")[0] for line in failed) == ["fresh", "grows", "large"]
    assert large.stat().st_size == 100_001
    assert small.stat().st_size == fresh.stat().st_size == 200_000
    small.write_bytes(b"back")
    assert kept.restore(after.id, ["grows"]) == ("grows: it was not kept in the snapshot",)
    assert kept.restore(before.id, ["grows"]) == ()
    assert small.read_bytes() == b"x"


def test_pipes_and_sockets_do_not_stop_anything(kept: Checkpoints, workspace: Path) -> None:
    (workspace / "a").write_text("1")
    (workspace / "b").write_text("1")
    before = kept.take("one", "call", "before")
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(workspace)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        (workspace / "a").unlink()
        os.mkfifo(workspace / "a")
        after = kept.take("one", "call", "after")
        named = kept.take("one", "call", "after", [workspace / "pipe", workspace / "socket"])

        assert after.skipped == ("a: neither a file nor a link",)
        assert len(named.skipped) == 2
        assert kept.restore(before.id, ["a"]) == (
            "a: what stands there now is neither a file nor a link",
        )


def test_what_cannot_be_read_is_named(kept: Checkpoints, workspace: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (workspace / "a").write_text("1")
    (workspace / "locked").write_text("1")
    (workspace / "locked").chmod(0)

    taken = kept.take("one", "call", "before")

    assert taken.skipped == ("locked: cannot be read: Permission denied",)
    assert kept.content(taken.id, "a") == b"1"
    (workspace / "locked").chmod(0o600)


def test_a_folder_that_cannot_be_written_is_said(kept: Checkpoints, workspace: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("1")
    (workspace / "b").write_text("1")
    before = kept.take("one", "call", "before")
    (workspace / "d" / "a").write_text("2")
    (workspace / "b").write_text("2")
    (workspace / "d").chmod(0o500)

    assert kept.restore(before.id, ["d/a", "b"]) == ("d/a: Permission denied",)
    assert (workspace / "b").read_text() == "1"
    (workspace / "d").chmod(0o700)


class TestIgnored:
    def test_every_form_of_ignoring(
        self, kept: Checkpoints, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        git(workspace, "init", "-q")
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
        (tmp_path / "person").mkdir()
        (tmp_path / "person" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
        (tmp_path / "person" / "mine").write_text("*.personal\n")
        (workspace / ".git" / "info" / "exclude").write_text("/excluded\n")
        (workspace / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
        (workspace / "deep").mkdir()
        (workspace / "deep" / ".gitignore").write_text("*\n!.gitignore\n!seen\n")
        for name in ("a.log", "keep.log", "excluded", "x.personal", "deep/hidden", "deep/seen"):
            (workspace / name).write_text("1")
        (workspace / "build").mkdir()
        (workspace / "build" / "out").write_text("1")

        taken = kept.take("one", "call", "before")

        told = git(workspace, "-c", f"core.excludesFile={tmp_path}/person/mine",
                   "ls-files", "-o", "--exclude-standard").split()  # fmt: skip
        assert sorted(told) == [
            ".gitignore", "deep/.gitignore", "deep/seen", "keep.log",
        ]  # fmt: skip
        everything = map(os.fsdecode, files(workspace))
        found = [path for path in everything if kept.content(taken.id, path) is not None]
        assert sorted(found) == sorted(told)

    def test_ignored_files_are_neither_seen_nor_removed(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        (workspace / ".gitignore").write_text("*.log\n")
        before = kept.take("one", "call", "before")
        (workspace / "a.log").write_text("1")

        assert kept.since(before.id) == ()
        assert kept.restore(before.id, ["a.log"]) == ("a.log: it is ignored, so it stays",)
        assert (workspace / "a.log").exists()

    def test_a_file_that_becomes_ignored_has_not_gone(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        (workspace / "a.log").write_text("1")
        before = kept.take("one", "call", "before")
        (workspace / ".gitignore").write_text("*.log\n")
        after = kept.take("one", "call", "after")

        assert paths(kept.changes(before.id, after.id)) == [".gitignore"]
        assert kept.content(after.id, "a.log") is None
        assert kept.restore(after.id, ["a.log"]) == ("a.log: it is ignored, so it stays",)
        assert kept.restore(before.id, [".gitignore"]) == ()
        assert kept.restore(after.id, ["a.log"]) == ("a.log: it is ignored, so it stays",)
        assert (workspace / "a.log").read_text() == "1"

    def test_a_file_that_was_ignored_is_not_taken_for_a_new_one(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        (workspace / ".gitignore").write_text("*.log\n")
        (workspace / "a.log").write_text("precious")
        before = kept.take("one", "call", "before")
        (workspace / ".gitignore").write_text("\n")
        after = kept.take("one", "call", "after")

        assert kept.content(after.id, "a.log") == b"precious"
        assert paths(kept.changes(before.id, after.id)) == [".gitignore"]
        assert paths(kept.since(before.id)) == [".gitignore"]
        assert kept.restore(before.id, ["a.log", ".gitignore"]) == (
            "a.log: it is ignored, so it stays",
        )
        assert (workspace / "a.log").read_text() == "precious"

    def test_what_the_project_s_git_keeps_is_not_ignored(
        self, kept: Checkpoints, workspace: Path
    ) -> None:
        git(workspace, "init", "-q")
        (workspace / ".gitignore").write_text("dist/\n*.gen\n")
        (workspace / "dist").mkdir()
        for name in ("dist/kept", "dist/other", "a.gen", "b.gen"):
            (workspace / name).write_text("1")
        git(workspace, "add", "-f", "dist/kept", "a.gen")
        index = (workspace / ".git" / "index").read_bytes()
        before = kept.take("one", "call", "before")
        named = kept.take("two", "call", "before", [workspace / "a.gen", workspace / "b.gen"])
        for name in ("dist/kept", "dist/other", "b.gen"):
            (workspace / name).write_text("2")
        (workspace / "a.gen").unlink()
        after = kept.take("one", "call", "after")

        assert named.skipped == ("b.gen: ignored",)
        assert paths(kept.changes(before.id, after.id)) == ["a.gen", "dist/kept"]
        assert kept.restore(before.id, ["a.gen", "dist/kept"]) == ()
        assert (workspace / "dist" / "kept").read_text() == "1"
        assert kept.since(before.id) == ()
        assert kept.restore(after.id, ["a.gen"]) == ()
        assert not (workspace / "a.gen").exists()
        assert (workspace / ".git" / "index").read_bytes() == index
        git(workspace, "rm", "-q", "--cached", "dist/kept")
        assert kept.content(kept.take("one", "call", "after").id, "dist/kept") is None
        assert (workspace / "dist" / "kept").read_text() == "1"

    def test_rules_above_the_workspace_count(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        workspace = project / "pack[age]" / "one"
        workspace.mkdir(parents=True)
        (project / "other").mkdir()
        git(project, "init", "-q")
        (project / ".gitignore").write_text("*.log\npack*/one/secret\n")
        for name in ("a", "a.log", "secret", "sub/a"):
            (workspace / name).parent.mkdir(exist_ok=True)
            (workspace / name).write_text("1")
        (project / "other" / "b").write_text("1")
        (project / "c").write_text("1")
        kept = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())
        before = kept.take("one", "call", "before")
        for name in ("a", "a.log", "secret", "sub/a"):
            (workspace / name).write_text("2")
        (project / "c").write_text("2")
        (workspace / "new").write_text("2")
        named = kept.take("one", "call", "after", [workspace / "secret", workspace / "a"])

        assert paths(kept.since(before.id)) == ["a", "new", "sub/a"]
        assert named.skipped == ("secret: ignored",)
        assert kept.restore(before.id, ["a", "new", "sub/a"]) == ()
        assert (workspace / "a").read_text() == "1"
        assert (project / "c").read_text() == "2"

    def test_a_workspace_that_is_ignored_as_a_whole_is_kept_all_the_same(
        self, tmp_path: Path
    ) -> None:
        project = tmp_path / "project"
        workspace = project / "out"
        workspace.mkdir(parents=True)
        git(project, "init", "-q")
        (project / ".gitignore").write_text("out/\n")
        (workspace / "a").write_text("1")
        kept = Checkpoints(tmp_path / "home", workspace, CheckpointsSettings())

        taken = kept.take("one", "call", "before")

        assert kept.content(taken.id, "a") == b"1"

    def test_a_home_inside_the_workspace_is_left_out(self, workspace: Path) -> None:
        (workspace / ".gitignore").write_text("!*\n!**/\n")
        kept = Checkpoints(workspace / "my home", workspace, CheckpointsSettings())
        kept.take("one", "call", "before")
        kept.take("one", "call", "after")

        assert paths(kept.since(kept.of("one")[0].id)) == []


class TestRepositories:
    def test_nested_repositories_are_kept_file_by_file(
        self, kept: Checkpoints, workspace: Path, tmp_path: Path
    ) -> None:
        other = tmp_path / "other"
        for place in (workspace, other, workspace / "nested", workspace / "nested" / "deeper"):
            place.mkdir(exist_ok=True)
            git(place, "init", "-q")
        (other / "s").write_text("1")
        git(other, "add", ".")
        git(other, "commit", "-qm", "x")
        git(workspace, "submodule", "--quiet", "add", str(other), "sub")
        (workspace / "nested" / "n").write_text("1")
        (workspace / "nested" / ".gitignore").write_text("*.o\n")
        (workspace / "nested" / "x.o").write_text("1")
        (workspace / "nested" / "deeper" / "d").write_text("1")
        (workspace / "empty").mkdir()
        git(workspace / "empty", "init", "-q")
        heads = [(place / ".git").stat().st_mtime_ns for place in (workspace, workspace / "nested")]
        before = kept.take("one", "call", "before")
        for name in ("nested/n", "nested/deeper/d", "nested/new", "sub/s", "nested/x.o", "empty/e"):
            (workspace / name).write_text("2")
        after = kept.take("one", "call", "after")

        changed = paths(kept.changes(before.id, after.id))
        assert changed == ["empty/e", "nested/deeper/d", "nested/n", "nested/new", "sub/s"]
        assert kept.restore(before.id, changed) == ()
        assert (workspace / "nested" / "n").read_text() == "1"
        assert (workspace / "nested" / "deeper" / "d").read_text() == "1"
        assert (workspace / "sub" / "s").read_text() == "1"
        assert not (workspace / "nested" / "new").exists()
        assert (workspace / "nested" / "x.o").read_text() == "2"
        assert heads == [
            (place / ".git").stat().st_mtime_ns for place in (workspace, workspace / "nested")
        ]
        assert kept.since(before.id) == ()

    def test_a_work_tree(self, kept: Checkpoints, workspace: Path, tmp_path: Path) -> None:
        main = tmp_path / "main"
        main.mkdir()
        git(main, "init", "-q")
        (main / "a").write_text("1")
        git(main, "add", ".")
        git(main, "commit", "-qm", "x")
        (main / ".git" / "info" / "exclude").write_text("secret\n")
        workspace.rmdir()
        git(main, "worktree", "add", "-q", str(workspace))
        (workspace / "secret").write_text("key")
        before = kept.take("one", "call", "before")
        (workspace / "a").write_text("2")

        assert kept.content(before.id, "secret") is None
        assert paths(kept.since(before.id)) == ["a"]
        assert kept.restore(before.id, ["a"]) == ()
        assert git(workspace, "status", "--porcelain") == "?? secret\n" or not git(
            workspace, "status", "--porcelain"
        )


def test_no_configuration_counts_and_bytes_come_back(
    kept: Checkpoints, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = f"touch {tmp_path}/trapped; cat"
    config = (
        f'[core]\n\tautocrlf = true\n\tfsmonitor = "{trap}"\n\thooksPath = {tmp_path}/hooks\n'
        f"\tattributesFile = {tmp_path}/attributes\n"
        f'[filter "evil"]\n\tclean = "{trap}"\n\tsmudge = "{trap}"\n\trequired = true\n'
        f'[diff "evil"]\n\tcommand = "{trap}"\n\ttextconv = "{trap}"\n'
    )
    person = tmp_path / "person"
    person.mkdir()
    (person / ".gitconfig").write_text(config)
    monkeypatch.setenv("HOME", str(person))
    for name, value in {"GIT_DIR": "/x", "GIT_INDEX_FILE": "/x", "GIT_CONFIG_COUNT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", trap)
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "post-checkout", "reference-transaction"):
        (tmp_path / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/trapped\n")
        (tmp_path / "hooks" / hook).chmod(0o755)
    git(workspace, "init", "-q")
    with (workspace / ".git" / "config").open("a") as file:
        file.write(config)
    every = "* text eol=crlf ident filter=evil diff=evil working-tree-encoding=UTF-16\n"
    (workspace / ".gitattributes").write_text(every)
    (tmp_path / "attributes").write_text(every)
    content = b"one\r\ntwo\n$Id$\n\xff\xfe\0"
    (workspace / "a").write_bytes(content)
    before = kept.take("one", "call", "before")
    kept.take("one", "call", "before")
    (workspace / "a").write_bytes(b"2")
    after = kept.take("one", "call", "after")

    assert len(kept.changes(before.id, after.id)) == 1
    assert kept.restore(before.id, ["a"]) == ()
    assert (workspace / "a").read_bytes() == content
    assert kept.since(before.id) == ()
    assert not (tmp_path / "trapped").exists()


def test_taking_writes_nothing_in_the_workspace(kept: Checkpoints, workspace: Path) -> None:
    git(workspace, "init", "-q")
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("1")

    def stamps() -> dict[str, tuple[int, int]]:
        found = {}
        for folder, _, names in os.walk(workspace):
            for path in (folder, *(f"{folder}/{name}" for name in names)):
                status = os.stat(path)
                found[path] = (status.st_mtime_ns, status.st_ctime_ns)
        return found

    old = stamps()
    before = kept.take("one", "call", "before")
    kept.take("one", "call", "after", [workspace / "d" / "a"])
    kept.since(before.id)
    kept.warm()
    kept.sweep()

    assert stamps() == old

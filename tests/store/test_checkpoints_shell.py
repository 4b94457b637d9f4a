"""What shell commands did to a project is taken back exactly, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from stormclaw.config.settings import CheckpointsSettings
from stormclaw.store.checkpoints import Checkpoints

Tree: TypeAlias = Mapping[str, tuple[str, bytes]]
Shell: TypeAlias = Callable[[str], None]

MAKEFILE = """\
all: app report.txt
app: main.o util.o
\t$(CC) -o app main.o util.o
%.o: %.c
\t$(CC) -c $<
report.txt: app
\t./app > report.txt
"""


def tree(root: Path) -> Tree:
    """Every file and link but git's own, with its x bit."""
    found: dict[str, tuple[str, bytes]] = {}
    for folder, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for path in (Path(folder) / name for name in [*names, *links]):
            below = str(path.relative_to(root))
            if path.is_symlink():
                found[below] = ("link", os.fsencode(os.readlink(path)))
            else:
                kind = "program" if path.stat().st_mode & 0o100 else "file"
                found[below] = (kind, path.read_bytes())
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "src" / "one.py").write_text("colour = 1\nprint(colour)\n")
    (place / "src" / "two.py").write_text("from one import colour\n")
    (place / "readme.md").write_text("# The colour\n")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "latest").symlink_to("src/one.py")
    (place / ".gitignore").write_text("*.o\n__pycache__/\n")
    return place


@pytest.fixture
def shell(project: Path) -> Shell:
    environ = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost",
    }  # fmt: skip

    def run(line: str) -> None:
        subprocess.run(["/bin/sh", "-ec", line], cwd=project, env=environ, check=True)

    return run


@pytest.fixture
def kept(tmp_path: Path, project: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "home", project, CheckpointsSettings())


LINES = {
    "sed": "sed -i 's/colour/color/g' src/*.py readme.md",
    "mv": "mv src lib && mv readme.md lib/README && ln -sf lib/one.py latest && mv run.sh run",
    "rm": "rm -rf src readme.md latest",
    "touch": "touch src/one.py && chmod -x run.sh && : > readme.md && mkdir empty",
    "swap": "rm latest && mkdir latest && echo x > latest/x && rm -r src && ln -s latest src",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_line_is_taken_back_and_done_again(
    kept: Checkpoints, project: Path, shell: Shell, line: str
) -> None:
    old = tree(project)
    before = kept.take("one", "call", "before")
    shell(line)
    after = kept.take("one", "call", "after")
    new = tree(project)
    changed = [change.path for change in kept.changes(before.id, after.id)]
    assert new != old

    assert kept.restore(before.id, changed) == ()
    assert tree(project) == old
    assert kept.restore(after.id, changed) == ()
    assert tree(project) == new
    assert kept.restore(before.id, changed) == ()
    assert tree(project) == old
    assert kept.since(before.id) == ()


def test_git_checkout_is_taken_back_and_git_is_left_alone(
    kept: Checkpoints, project: Path, shell: Shell
) -> None:
    shell("git init -q . && git add -A && git commit -qm one && git checkout -qb other")
    shell("git mv src/one.py src/uno.py && echo more >> readme.md && git commit -qam two")
    shell("git checkout -q -")
    (project / "readme.md").write_text("# Not committed\n")
    (project / "untracked").write_text("1\n")
    old = tree(project)
    before = kept.take("one", "call", "before")
    shell("git checkout -qf other && git clean -qfd")
    after = kept.take("one", "call", "after")
    head = (project / ".git" / "HEAD").read_bytes()
    index = (project / ".git" / "index").read_bytes()

    changed = [change.path for change in kept.changes(before.id, after.id)]
    assert changed == ["readme.md", "src/one.py", "src/uno.py", "untracked"]
    assert kept.restore(before.id, changed) == ()
    assert tree(project) == old
    assert (project / ".git" / "HEAD").read_bytes() == head
    assert (project / ".git" / "index").read_bytes() == index


@pytest.mark.skipif(not shutil.which("make") or not shutil.which("gcc"), reason="no compiler here")
def test_a_build_is_taken_back_but_for_what_is_ignored(
    kept: Checkpoints, project: Path, shell: Shell
) -> None:
    (project / "main.c").write_text("int util(void); int main(void) { return util(); }\n")
    (project / "util.c").write_text(
        '#include <stdio.h>\nint util(void) { return puts("1") < 0; }\n'
    )
    (project / "Makefile").write_text(MAKEFILE)
    old = tree(project)
    before = kept.take("one", "call", "before")
    shell("make -s CC=gcc")
    after = kept.take("one", "call", "after")
    new = tree(project)

    changed = kept.changes(before.id, after.id)
    assert {change.path: change.binary for change in changed} == {"app": True, "report.txt": False}
    assert kept.restore(before.id, [change.path for change in changed]) == ()
    assert set(tree(project)) - set(old) == {"main.o", "util.o"}
    assert kept.restore(after.id, ["app", "report.txt"]) == ()
    assert tree(project) == new
    shell("./app")


def test_compiled_python_that_is_not_ignored(
    kept: Checkpoints, project: Path, shell: Shell
) -> None:
    (project / ".gitignore").unlink()
    old = tree(project)
    before = kept.take("one", "call", "before")
    shell(f"{sys.executable} -m compileall -q src")
    after = kept.take("one", "call", "after")

    changed = [change.path for change in kept.changes(before.id, after.id)]
    assert len(changed) == 2
    assert all("__pycache__" in path for path in changed)
    assert kept.restore(before.id, changed) == ()
    assert tree(project) == old
    assert not (project / "src" / "__pycache__").exists()


def test_what_somebody_else_changed_meanwhile_stays(
    kept: Checkpoints, project: Path, shell: Shell
) -> None:
    before = kept.take("one", "call", "before")
    shell("sed -i 's/colour/color/g' src/*.py && rm readme.md")
    after = kept.take("one", "call", "after")
    (project / "theirs.txt").write_text("theirs\n")
    (project / "run.sh").write_text("theirs\n")
    (project / "src" / "two.py").write_text("theirs\n")

    ours = {change.path for change in kept.changes(before.id, after.id)}
    theirs = {change.path for change in kept.since(after.id)}
    assert theirs == {"theirs.txt", "run.sh", "src/two.py"}
    assert kept.restore(before.id, sorted(ours - theirs)) == ()
    assert (project / "src" / "one.py").read_text() == "colour = 1\nprint(colour)\n"
    assert (project / "readme.md").exists()
    for name in theirs:
        assert (project / name).read_text() == "theirs\n"


def test_a_file_changed_within_a_tick_of_the_clock_is_seen(
    kept: Checkpoints, project: Path
) -> None:
    path = project / "readme.md"
    for number in range(30):
        path.write_text(f"{number:04}")
        taken = kept.take("one", f"call-{number}", "before")
        assert kept.content(taken.id, "readme.md") == f"{number:04}".encode()


def test_the_same_length_and_an_old_time_do_not_hide_a_change(
    kept: Checkpoints, project: Path
) -> None:
    path = project / "readme.md"
    path.write_text("1111")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = kept.take("one", "call", "before")
    kept.take("one", "call", "before")
    other = project / "other"
    other.write_text("2222")
    os.utime(other, (1_000_000_000, 1_000_000_000))
    other.replace(path)

    assert [change.path for change in kept.since(before.id)] == ["readme.md"]

"""The small parts of the walls: placeholders, a run's own folders, tools that may be seen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.security.walls.guarded import guarded
from stormclaw.security.walls.placeholders import Placeholders
from stormclaw.security.walls.toolchains import tools

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls are for Linux")


def test_placeholders_go_with_the_last_who_needs_them(tmp_path: Path) -> None:
    work, claw = tmp_path / "wörk", tmp_path / "claw"
    work.mkdir()
    missing = {work / ".envrc": None, work / "commondir": ".\n"}
    one, other = Placeholders(claw, work), Placeholders(claw, work)
    first = one.hold(missing)
    second = other.hold(missing)
    assert (work / "commondir").read_text() == ".\n"
    one.release(first)
    assert sorted(os.listdir(work)) == [".envrc", "commondir"]
    other.release(second)
    assert os.listdir(work) == []


def test_what_somebody_made_of_a_placeholder_stays(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine").mkdir()
    places = Placeholders(tmp_path / "claw", work)
    held = places.hold({work / name: None for name in ("a", "b", "mine")} | {work / "c": "x"})
    (work / "a" / "settings").write_text("theirs")
    (work / "c").write_text("theirs")
    places.release(held)
    assert sorted(os.listdir(work)) == ["a", "c", "mine"]


def test_placeholders_of_a_killed_run_go_with_the_next_one(tmp_path: Path) -> None:
    work, claw = tmp_path / "line\nbreak", tmp_path / "claw"
    work.mkdir()
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from stormclaw.security.walls.placeholders import Placeholders\n"
        "work, claw = map(Path, sys.argv[1:])\n"
        "Placeholders(claw, work).hold({work / '.envrc': None})\nos.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(work), str(claw)], check=False)
    assert os.listdir(work) == [".envrc"]
    places = Placeholders(claw, work)
    places.release(places.hold({work / ".envrc": None}))
    assert os.listdir(work) == []


def test_a_pipe_for_a_git_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert guarded(tmp_path, Path("/nobody")).writable == []


def test_links_are_not_followed_out_of_the_workspace(tmp_path: Path) -> None:
    work, secret = tmp_path.resolve() / "work", tmp_path / "secret"
    work.mkdir()
    secret.mkdir()
    (work / ".vscode").symlink_to(secret)
    (work / ".git").symlink_to(secret)
    (work / ".idea").symlink_to(work / "settings")
    (work / "settings").mkdir()
    places = guarded(work, Path("/nobody"))
    assert places.writable == []
    assert places.frozen == [work / "settings"]


def test_dotfiles_in_git_do_not_open_the_home(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    (home / "code" / "app").mkdir(parents=True)
    places = guarded(home / "code" / "app", home)
    assert (places.writable, places.readable) == ([], [])


def test_many_submodules_are_closed_as_one(tmp_path: Path) -> None:
    work = tmp_path.resolve()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    for number in range(70):
        module = work / ".git" / "modules" / f"m{number}"
        module.mkdir(parents=True)
        (module / "HEAD").touch()
        (module / "objects").mkdir()
        (module / "refs").mkdir()
    assert work / ".git" / "modules" in guarded(work, Path("/nobody")).frozen


def test_tools_that_may_be_seen(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    home, work = base / "person", base / "work"
    for name in (".cargo/bin", ".cargo/registry", ".ssh", ".config/tool/bin", "scripts", "bin"):
        (home / name).mkdir(parents=True)
    (home / ".cargo" / "credentials.toml").touch()
    for folder in (work / ".venv" / "bin", base / "opt" / "bin", base / "python" / "bin"):
        folder.mkdir(parents=True)
    (base / "python" / "bin" / "python3").touch()
    (work / ".venv" / "pyvenv.cfg").write_text(f"home = {base}/python/bin\n")
    places = [".cargo/bin", ".ssh", ".config/tool/bin", "scripts", "bin", ".", ""]
    path = [str(home / place) for place in places] + [str(base / "opt" / "bin"), "/", "bin", "/usr"]
    environ = {"PATH": ":".join(path), "CARGO_HOME": str(home / ".cargo"), "JAVA_HOME": str(home)}
    found = {str(each.relative_to(base)) for each in tools(home, work, environ)}
    assert found == {
        "person/.cargo/bin", "person/.cargo/registry", "person/scripts", "person/bin", "opt",
        "python",
    }  # fmt: skip


def test_a_project_cannot_name_a_folder_of_secrets_its_python(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    home, work = base / "person", base / "work"
    (home / ".ssh").mkdir(parents=True)
    (work / ".venv").mkdir(parents=True)
    for named in (home / ".ssh", home, Path("/")):
        (work / ".venv" / "pyvenv.cfg").write_text(f"home = {named}\n")
        assert tools(home, work, {}) == ()


@linux
def test_the_runs_own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stormclaw.security.walls.nest import Nest

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ann\n[include]\n\tpath = ~/.gitconfig-work\n"
        '[url "https://ann:ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/"]\n'
        "\tinsteadOf = gh:\n"
    )
    (home / ".gitconfig-work").write_text("[core]\n\tautocrlf = input\n")
    (home / ".npmrc").write_text("fund=false\n//registry.example.org/:_authToken=abcdef\n")
    nest = Nest(home, tmp_path / "work")
    settings = (nest.home / ".gitconfig").read_text()
    assert "name = Ann" in settings
    assert "ghp_abcdefghijklmnop" not in settings
    assert settings.endswith("gpgsign = false\n")
    assert (nest.home / ".gitconfig-work").exists()
    assert (nest.home / ".npmrc").read_text() == "fund=false\n"
    assert nest.path.stat().st_mode & 0o777 == 0o700
    (nest.home / "ro").mkdir()
    (nest.home / "ro" / "file").touch()
    (nest.home / "ro").chmod(0o500)
    nest.close()
    assert not nest.path.exists()


@linux
def test_what_a_killed_run_left_is_swept_and_what_lives_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stormclaw.security.walls.nest import Nest

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead = tmp_path / "stormclaw-abcdefgh"
    (dead / "home").mkdir(parents=True)
    (tmp_path / "stormclaw-notanest").mkdir()
    living = Nest(tmp_path, tmp_path / "work")
    again = Nest(tmp_path, tmp_path / "work")
    assert not dead.exists()
    assert (tmp_path / "stormclaw-notanest").exists()
    assert living.home.exists()
    living.close()
    again.close()


@linux
@pytest.mark.parametrize("folder", [".ssh", ".ssh/keys", ".gnupg"])
def test_some_folders_are_never_opened(folder: str, tmp_path: Path) -> None:
    from boxed import box

    for walls in box(tmp_path):
        for closed in (walls.user_home / folder, walls.ground.home, Path("/")):
            with pytest.raises(ToolFailure, match="no program is let into"):
                walls.run("true", closed)

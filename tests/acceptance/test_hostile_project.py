"""A project that wants to be more than text: nothing of it runs, hangs us, or is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted import Desk, call, calls

Run = Callable[..., "subprocess.CompletedProcess[str]"]

IMPORTED = ("yaml", "msgspec", "textual", "openai", "watchfiles", "sqlite3", "json", "rich",
            "tree_sitter", "shutil", "pygments", "sitecustomize", "usercustomize")  # fmt: skip


def planted(desk: Desk) -> Path:
    """Modules of all the names we import, which would leave a trace."""
    trace = desk.root / "imported"
    for name in IMPORTED:
        desk.write(f"{name}.py", f"open({str(trace)!r}, 'a').write({name!r})\nraise SystemExit(9)")
    return trace


def test_nothing_of_the_project_is_imported(desk: Desk, run: Run) -> None:
    trace = planted(desk)
    desk.script([calls(call("shell_exec", command="ls")), {"text": "fine"}])
    for words in (["tool", "list"], ["config", "validate"], ["-p", "go"], ["agent", "-m", "go"]):
        done = run(*words)
        assert done.returncode in (0, 3), (words, done.stderr)
    assert not trace.exists()


@pytest.mark.parametrize("path", ["", ":", ".", "./"])
def test_not_through_the_python_path_either(desk: Desk, path: str) -> None:
    trace = planted(desk)
    done = subprocess.run(
        [sys.executable, "-m", "stormclaw", "tool", "list"],
        cwd=desk.project,
        env={**desk.env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    # The interpreter itself looks for `sitecustomize` there before we are asked.
    names = set(IMPORTED) - {"sitecustomize", "usercustomize"}
    if trace.exists():
        assert not any(name in trace.read_text() for name in names)
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [".git/HEAD", ".git", "AGENTS.md", ".gitignore",
                                  ".stormclaw/memory/MEMORY.md", ".git/info/exclude"])  # fmt: skip
def test_a_pipe_in_place_of_a_file_we_read_hangs_nothing(desk: Desk, run: Run, name: str) -> None:
    path = desk.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    desk.write("a.txt", "here")
    desk.script([calls(call("list_files", path=".")), {"text": "listed {{last_output}}"}])
    done = run("-p", "go")
    assert done.returncode == 0, done.stderr
    assert "a.txt" in done.stdout


def test_a_repository_cannot_make_us_run_anything(desk: Desk, run: Run) -> None:
    """Every setting of git that names a program names one here; looking around runs none."""
    trace = desk.root / "ran"
    evil = desk.write("evil.sh", f"#!/bin/sh\ntouch {trace}\n")
    evil.chmod(0o755)
    git = ["git", "-C", str(desk.project)]
    subprocess.run([*git, "init", "-q"], check=True, env=desk.env)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external",
                "core.askPass", "credential.helper", "filter.x.clean", "filter.x.smudge",
                "diff.x.textconv", "alias.status", "core.gitProxy", "gpg.program"):  # fmt: skip
        subprocess.run([*git, "config", key, str(evil)], check=True, env=desk.env)
    subprocess.run([*git, "config", "core.hooksPath", str(desk.project)], check=True, env=desk.env)
    desk.write(".gitattributes", "* filter=x diff=x\n")
    desk.write(".gitignore", "*.log\n")
    desk.write("a.txt", "needle")
    looks = calls(
        call("list_files", path="."),
        call("glob", pattern="**/*"),
        call("grep", pattern="needle"),
        call("read_file", path="a.txt"),
    )
    desk.script([looks, {"text": "looked"}])
    done = run("-p", "go")
    assert done.returncode == 0, done.stderr
    assert not trace.exists()


def test_settings_of_the_project_only_narrow_and_are_named(desk: Desk, run: Run) -> None:
    desk.script([{"text": "ok"}])
    desk.write(".stormclaw/config.yaml", "security: {autonomy: full}\n")
    done = run("-p", "go")
    assert done.returncode == 0
    assert "config trust" in done.stderr
    listed = run("config", "trust")
    assert "security.autonomy = full" in listed.stdout
    assert "--yes" in listed.stdout
    assert "ignored" in run("config", "validate").stdout
    assert "trusted" in run("config", "trust", "--yes").stdout
    assert "config trust" not in run("-p", "go").stderr
    assert "no longer" in run("config", "untrust").stdout
    assert "config trust" in run("-p", "go").stderr

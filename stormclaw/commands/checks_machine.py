"""Checks of the machine: the sandbox, and the programs tools lean on."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stormclaw.commands.checkup import Check, Patient, Result, State

VERSION = re.compile(r"\d+(?:\.\d+)+")
PROGRAMS_OF_GIT = re.compile(
    r"core\.(?:fsmonitor|hookspath|pager|sshcommand|editor|gitproxy|askpass|worktree)"
    r"|filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|merge\..*\.driver"
    r"|diff\.external|credential\..*helper|credential\.helper|alias\..*|include(?:if)?\..*"
    r"|gpg\..*program|uploadpack\..*|remote\..*\.(?:vcs|uploadpack|receivepack)",
    re.I,
)
"""Keys of a repository's own configuration that name programs, or more configuration."""


def sandbox(patient: Patient) -> Iterator[Result]:
    """Which walls hold here, and what became of each kind that was tried?"""
    from stormclaw.security.redact import scrubbed_environ
    from stormclaw.security.sandbox import choose

    wanted = patient.settings.security.sandbox
    state: State
    walls = choose(
        wanted,
        workspace=patient.workspace,
        home=patient.home,
        user_home=Path(patient.env.get("HOME") or Path.home()),
        environ=scrubbed_environ(patient.env),
    )
    walls.close()
    if walls.level != "none":
        yield "ok", f"{walls.level}: {walls.why}"
    elif wanted == "off":
        todo = "shell commands run without walls; `sandbox: auto` puts them back"
        yield "warning", walls.why, todo
    else:
        state = "problem" if wanted == "required" else "warning"
        todo = "install bubblewrap, or allow user namespaces; until then full autonomy asks"
        yield state, f"none: {walls.why}", todo
    for rung in walls.rungs:
        state = "warning" if walls.level == "none" else "ok"
        yield state, f"tried {rung.name}: {'holds' if rung.ok else 'does not hold'}; {rung.why}"


def git(patient: Patient) -> Iterator[Result]:
    """Is it there, is this a repository, does its own configuration name programs?"""
    program = shutil.which("git", path=patient.env.get("PATH"))
    if program is None:
        yield "warning", "not installed; branches, diffs and undo need it", "install git"
        return
    version = _version([program, "--version"], patient)
    top = next((one for one in (patient.workspace, *patient.workspace.parents)
                if (one / ".git").exists()), None)  # fmt: skip
    if top is None:
        todo = "`git init` here lets changes be compared and taken back"
        yield "ok", f"git {version}; {patient.workspace} is no repository", todo
        return
    yield "ok", f"git {version}; repository {top}"
    named = sorted(set(_programs_named(program, top / ".git" / "config", patient)))
    if named:
        text = f"the repository's own configuration names programs: {', '.join(named[:5])}"
        todo = "StormClaw's own git calls ignore them, yours do not: look into .git/config"
        yield "warning", text, todo


def ripgrep(patient: Patient) -> Iterator[Result]:
    """Is the search program there?"""
    from stormclaw.tools._rg import find_rg

    program = find_rg()
    if program is None:
        yield "warning", "not found; searches are slow without it", "install ripgrep (rg)"
    elif version := _version([program, "--version"], patient):
        yield "ok", f"ripgrep {version} ({program})"
    else:
        yield "warning", f"{program} does not run", "install ripgrep (rg) again"


def bash(patient: Patient) -> Iterator[Result]:
    """Is the shell there that lines are judged for?"""
    program = shutil.which("bash", path=patient.env.get("PATH"))
    if program is None:
        yield "problem", "no bash on the PATH: no command can be run", "install bash"
        return
    version = _version([program, "--version"], patient)
    if int(version.partition(".")[0] or 0) < MIN_BASH:
        text = f"bash {version or '?'} ({program}) is old; newer syntax fails in it"
        yield "warning", text, "install bash 4 or later and put it first on the PATH"
    else:
        yield "ok", f"bash {version} ({program})"


MIN_BASH = 4


def parsers(patient: Patient) -> Iterator[Result]:
    """Are both shell parsers there? Without them every command is asked about or denied."""
    from stormclaw.security.shell.shell_read import parser_path

    program = parser_path()
    version = _version([program, "--version"], patient) if program else ""
    second = all(map(importlib.util.find_spec, ("tree_sitter", "tree_sitter_bash")))
    if version and second:
        yield "ok", f"shfmt {version} and tree-sitter-bash"
        return
    missing = ([] if version else ["shfmt"]) + ([] if second else ["tree-sitter-bash"])
    text = f"{' and '.join(missing)} missing: no shell line can be judged, so none runs unasked"
    yield "problem", text, "install StormClaw again with its dependencies"


def _programs_named(program: str, config: Path, patient: Patient) -> Iterator[str]:
    """Keys that name programs; reading a configuration file by name runs none of them."""
    listed = _said([program, "config", "--file", str(config), "--name-only", "--list"], patient)
    return (name for name in listed.splitlines() if PROGRAMS_OF_GIT.fullmatch(name))


def _version(argv: Sequence[str], patient: Patient) -> str:
    found = VERSION.search(_said(argv, patient))
    return found[0] if found else ""


def _said(argv: Sequence[str], patient: Patient) -> str:
    environ = {"PATH": patient.env.get("PATH", ""), "LC_ALL": "C", "HOME": "/nonexistent"}
    try:
        done = subprocess.run(
            argv,
            cwd="/",
            env={**environ, "GIT_CONFIG_NOSYSTEM": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


CHECKS: Mapping[str, Check] = {
    "sandbox": sandbox,
    "git": git,
    "ripgrep": ripgrep,
    "bash": bash,
    "shell parsers": parsers,
}

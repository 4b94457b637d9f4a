"""Where packages come from: code from an address instead of the package index is not ordinary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.shell_words import Arg

PYTHON = frozenset({"pip", "pipx", "uv", "uvx", "poetry", "pdm", "pipenv", "hatch", "conda", "rye"})
NODE = frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"})
OTHERS = frozenset({"gem", "bundle", "cargo", "deno", "composer", "go"})
INSTALLERS = PYTHON | NODE | OTHERS

_ADDRESS = re.compile(
    r"(?:.*[ @])?(?:git|hg|svn|bzr)\+|.*(?:^|[ @=])(?:https?|ftp|ssh|git|file)://|git@[\w.-]+:|"
    r"(?:github|gitlab|bitbucket|gist):",
    re.I | re.S,
)
_NODE_SHORTHAND = re.compile(r"(?![@.~/])[\w.-]+/[\w.-]+(?:#.*)?")
_INSTALLS = frozenset({"install", "i", "add", "in", "ci", "update", "up", "upgrade", "download",
                       "wheel", "inject", "run", "x", "dlx", "exec", "create", "init", "tool",
                       "sync", "compile", "require", "get", "pip", "isntall", "link",
                       "cache"})  # fmt: skip


_OWN_ARGUMENTS = frozenset({"run", "run-script", "test", "r", "t", "start", "bench", "build"})
"""Subcommands whose words are for a script of the project."""


_REQUIRES = re.compile(r"-\w*[rce]|--(req\w*|constr\w*|editable|with(-\w+)?|from|overrides?|"
                       r"build-constraints?|spec|package|index\w*)")  # fmt: skip


def _required(command: Command, ours: list[Arg]) -> Iterable[Finding]:
    """Lists of packages that no file holds, and packages beside the project's own."""
    for option, arg in pairwise([*ours, Arg("", "")]):
        name, equals, value = option.text.partition("=")
        if not _REQUIRES.fullmatch(name) or command.name in NODE | OTHERS:
            continue
        text, raw = (value, option.raw) if equals else (arg.text, arg.raw)
        if text in ("-", "/dev/stdin") or "<(" in raw or re.match(r"/(dev|proc)/", text):
            yield command.found("high", "installs what a command prints", "package from an address")
        elif _ADDRESS.match(text):
            yield command.found("high", f"code from {raw}, past the package index",
                                "package from an address", liftable=True)  # fmt: skip


def judge_sources(command: Command, args: Iterable[Arg]) -> Iterable[Finding]:
    """Findings for packages named by address.

    Args:
        command: The installer.
        args: Its own words, without those of a command it runs.
    """
    name = command.name
    if name not in INSTALLERS:
        return
    ours = list(args)[1:]
    texts = [arg.text for arg in ours]
    ours = ours[: texts.index("--")] if "--" in texts else ours
    words = [arg for arg in ours if not re.match(r"-[a-zA-Z]$|--[\w-]+$", arg.text)]
    operands = [arg.text for arg in words if not arg.text.startswith("-")]
    chosen = operands[0] if operands else ""
    yield from _required(command, ours)
    if chosen in _OWN_ARGUMENTS and name != "deno":
        return
    for arg in words:
        if _ADDRESS.match(arg.text):
            yield command.found("high", f"code from {arg.raw}, past the package index",
                                "package from an address", liftable=True)  # fmt: skip
            return
    if name in NODE and (chosen in _INSTALLS or name in ("npx", "bunx", "pnpx")):
        packages = operands[1:] if chosen in _INSTALLS else operands[:1]
        if any(map(_NODE_SHORTHAND.fullmatch, packages)):
            yield command.found("high", "code from a repository, past the package index",
                                "package from an address", liftable=True)  # fmt: skip

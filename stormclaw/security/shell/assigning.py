"""A variable is set: what that changes for the programs that run with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.environment import PATH_LISTS, poison
from stormclaw.security.shell.operands import judge_arg
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_tree import Assign, Call
from stormclaw.security.shell.shell_words import Arg, plain

_PROJECT_TOOLS = re.compile(
    r"PATH=\"?(?:(?:\$\{?PWD\}?|\$\(pwd\)|\.)/(?:node_modules/\.bin|\.?venv/bin):)+\$\{?PATH\}?\"?"
)
"""The folders that hold the project's own copies of programs, before all others."""

_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})


def judge_assign(assign: Assign, call: Call, scope: Scope) -> Iterator[Finding]:
    """Findings for `NAME=value`; the scope learns it where it lasts beyond the one command."""
    args = scope.value(assign.value) if assign.value else []
    value = args[0].text if args else ""
    known = value if assign.value is not None and not assign.append else None
    program = plain(call.words[0].form) if call.words else ""
    own = program == "read" and assign.name == "IFS"
    reason = "" if own else poison(assign.name, known)
    if reason and assign.name == "PATH" and _PROJECT_TOOLS.fullmatch(assign.raw):
        yield Finding(assign.raw, "medium", "programs of the project come first", "project tools")
    elif reason:
        shown = assign.raw if len(assign.raw) <= 200 else f"{assign.raw[:200]}…"
        yield Finding(shown, "high", reason, f"environment: {assign.name}")
    if assign.name in PATH_LISTS:
        shell = Command((Arg("=", "="),), assign.raw, scope, scope.policy)
        for part in value.split(":"):
            if part and "\0" not in part:
                yield from judge_arg(shell, Arg(part, assign.raw), "names")
    if not call.words or program in _DECLARES:
        scope.learn(assign)

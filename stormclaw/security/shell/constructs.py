"""What loops, tests and branches are worth by themselves, whatever runs inside them."""

from __future__ import annotations

from collections.abc import Iterator

from stormclaw.security.finding import Finding
from stormclaw.security.shell.environment import poison
from stormclaw.security.shell.operands import refused
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.shell_builtins import EVALUATED
from stormclaw.security.shell.shell_tree import Call, Chain, Group, Statement
from stormclaw.security.shell.shell_words import Arg, plain

_ALWAYS = frozenset({"true", ":"})


def judge_group(group: Group, args: list[Arg], scope: Scope) -> Iterator[Finding]:
    """Findings for a construct: the variable it sets, what it tests, whether it ever ends.

    Args:
        group: The construct.
        args: Its own words after expansion.
        scope: What is known there.
    """
    raw = " ".join(word.raw for word in group.words)
    if group.variable and (reason := poison(group.variable, None)):
        yield Finding(group.variable, "high", reason, f"environment: {group.variable}")
    if any(word.evaluates for word in group.words):
        yield Finding(raw, "high", "an expansion that runs code", "evaluated name")
    if group.kind == "test" and any(EVALUATED.search(arg.text) for arg in args):
        yield Finding(raw, "high", "runs code while it tests", "evaluated name")
    elif group.kind == "loop":
        yield from refused(args, scope)
        if _endless(group) and any(map(_leaves_running, group.body)):
            yield Finding("…", "high", "starts programs without end", "endless background")
    yield from refused(scope.arguments(group.files), scope)


def _endless(group: Group) -> bool:
    """`while true`, `while :`, `for ((;;))`."""
    if group.variable:
        return False
    first = group.body[0] if group.body else None
    if isinstance(first, Call) and first.words:
        return plain(first.words[0].form) in _ALWAYS or (not group.words and len(group.body) == 1)
    return True


def _leaves_running(statement: Statement) -> bool:
    """Whether something in it goes on in the background."""
    match statement:
        case Group(kind="background"):
            return True
        case Group(body=body):
            return any(map(_leaves_running, body))
        case Chain(_, left, right):
            return _leaves_running(left) or _leaves_running(right)
        case _:
            return False

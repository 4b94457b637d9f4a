"""What a wrapper adds to the command inside it: its own risk, and a floor under the other's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stormclaw.security.finding import Finding, at_least, severity, worst
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.environment import poison
from stormclaw.security.shell.package_sources import judge_sources
from stormclaw.security.shell.patterns import destructive
from stormclaw.security.shell.places import forbidden, judge_family
from stormclaw.security.shell.removals import swallows
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.shipped_subcommands import FAMILIES
from stormclaw.security.shell.wrappers import UNKNOWN_ARG, Peeled
from stormclaw.security.shell.yields import DECODERS

MAX_FED = 64
"""Most words of known text that are handed to the command of `xargs`."""


def judge_wrapper(command: Command, peeled: Peeled) -> Finding:
    """What a wrapper is worth by itself, the command inside left aside."""
    barred = forbidden(command)
    if barred:
        return barred
    found = [*destructive(command)]
    if command.name in ("find", "xargs", "parallel", "fd"):
        found += (each for inner in peeled.commands for each in swallows(command, inner))
    reason = peeled.reason or f"{command.name} runs a command"
    own = command.found(peeled.risk, reason, f"wrapper: {command.name}",
                        liftable=peeled.risk == "medium")  # fmt: skip
    family = FAMILIES.get(command.name)
    if family is not None and peeled.outer:
        found += judge_family(replace(command, args=peeled.outer), family)
    head = [arg for inner in peeled.commands for arg in inner[:1]]
    tail = sum(len(inner) for inner in peeled.commands)
    found += judge_sources(command, (*command.args[: len(command.args) - tail], *head))
    return worst([*found, own])


def poisoned(command: Command, peeled: Peeled) -> Iterator[Finding]:
    """Findings for the variables that `env NAME=value` sets for the command inside."""
    for assign in peeled.assigns:
        name, _, value = assign.text.partition("=")
        reason = poison(name, None if assign.dynamic else value)
        if reason:
            yield command.found("high", reason, f"environment: {name}")


def filled(inner: tuple[Arg, ...], command: Command) -> tuple[Arg, ...]:
    """The command of `xargs` with the words it is fed, where the line itself says them."""
    if UNKNOWN_ARG not in inner or command.stdin is None:
        return inner
    words = [Arg(word, word) for word in command.stdin.split()[:MAX_FED]]
    if not any("{}" in arg.text for arg in inner):
        return tuple(each for arg in inner for each in (words if arg == UNKNOWN_ARG else [arg]))
    made = [arg for arg in inner if arg != UNKNOWN_ARG]
    return tuple(_replaced(arg, words) if "{}" in arg.text else arg for arg in made)


def _replaced(arg: Arg, words: list[Arg]) -> Arg:
    texts = [arg.text.replace("{}", word.text) for word in words] or [""]
    return replace(arg, text=texts[0], others=tuple(texts[1:]))


def hides(command: Command) -> Iterator[Finding]:
    """A finding for `xargs` that is fed what was decoded or fetched before."""
    if command.name in ("xargs", "parallel") and command.upstream & DECODERS:
        yield command.found("high", "runs a command on text that nobody has seen", "hidden words")


def raised(finding: Finding, floor: Finding) -> Finding:
    """A command inside a wrapper is at least as risky as the wrapper."""
    if severity(floor.risk) <= severity(finding.risk) or finding.granted:
        return finding
    lifted = at_least(finding, floor.risk, floor.reason, floor.rule)
    step = f"{floor.risk}: {floor.reason} ({floor.rule})"
    liftable = lifted.grant if floor.grant else None
    return replace(lifted, grant=liftable or floor.grant, steps=(*finding.steps, step))

"""Where a command stands: on which list, and what its options and operands make of that."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stormclaw.security.finding import Finding, worst
from stormclaw.security.paths import inside, resolve
from stormclaw.security.shell.build_values import build_values
from stormclaw.security.shell.command import Command, grant_for, subcommand
from stormclaw.security.shell.containers import inside as container_inside
from stormclaw.security.shell.containers import judge_inside, lasting, loses
from stormclaw.security.shell.databases import client, judge_database
from stormclaw.security.shell.family_cases import family_by_hand, only_looks, written_and_run
from stormclaw.security.shell.git_rules import judge_git
from stormclaw.security.shell.interpreters import (
    interpreter,
    judge_interpreter,
    judge_script,
    module_command,
)
from stormclaw.security.shell.local_clients import LOCAL_CLIENTS, judge_local_client
from stormclaw.security.shell.network import CLIENTS, judge_network
from stormclaw.security.shell.operands import judge_arg, judge_operands, system_folder
from stormclaw.security.shell.package_sources import judge_sources
from stormclaw.security.shell.patterns import destructive
from stormclaw.security.shell.programs import Line, Program, base_name, given, take_apart
from stormclaw.security.shell.removals import removes
from stormclaw.security.shell.shell_builtins import BUILTINS
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.shipped import SEDS, shipped
from stormclaw.security.shell.shipped_subcommands import FAMILIES, Family
from stormclaw.security.shell.special_cases import by_hand, link_parts, sed_parts
from stormclaw.security.shell.telling_words import telling
from stormclaw.security.shell.wrappers import SHELLS, shell_script

UNLISTED = "not on any list"
TOOL_FOLDERS = re.compile(r"(^|/)(\.?venv|node_modules/\.bin|env|virtualenv)(/bin)?/[^/]+$")
"""Where a project keeps its own copies of listed programs."""

USER_TOOLS = (".local/bin", ".cargo/bin", "go/bin", ".pyenv/shims", ".nvm", ".bun/bin")
_TELLS = frozenset({"--version", "-V", "--help", "version"})


def judge_command(command: Command) -> Finding:
    """The finding for a command whose wrappers are off; its steps tell everything else."""
    findings = [_unless_allowed(each, command) for each in _findings(command)]
    chosen = worst(findings)
    steps = tuple(dict.fromkeys(f"{f.risk}: {f.reason} ({f.rule})" for f in findings))
    lifted = _lift(chosen, findings, command)
    return replace(lifted, steps=steps)


def forbidden(command: Command) -> Finding | None:
    """Whether the program is a forbidden one, under whatever name it is reached."""
    names = {base_name(command.args[0].text).casefold(), _last(command.args[0].text)}
    for place in command.scope.paths(command.args[0].text) or ():
        real = resolve(place)
        if "/" in command.args[0].text and isinstance(real, Path):
            names.add(real.name.casefold())
    origin = command.policy.origin("security.forbidden_commands")
    for rule in command.policy.forbidden_commands:
        words = rule.split()
        alone = len(words) == 1 and words[0].casefold() in names
        if alone or (len(words) > 1 and _starts_with(command, words)):
            found = command.found("blocked", f"{rule} is forbidden", f"forbidden_commands: {rule}")
            return replace(found, origin=origin)
    return None


def _findings(command: Command) -> Iterator[Finding]:
    name = command.args[0]
    if not name.literal:
        yield command.found("high", "which program runs is only known then", "dynamic command")
        return
    barred = forbidden(command)
    if barred:
        yield barred
    yield from destructive(command)
    yield from removes(command)
    yield from telling(command)
    yield from build_values(command)
    yield from written_and_run(command)
    yield from _standing(command)


def _standing(command: Command) -> Iterator[Finding]:
    name, text = command.name, command.args[0].text
    kind, family = interpreter(name), FAMILIES.get(name)
    if text in command.scope.functions:
        yield command.found("low", "a function of this line, judged itself", "function")
        for arg in command.args[1:]:
            yield from judge_arg(command, arg, "read")
        return
    inner = module_command(command)
    if inner is not None:
        yield from telling(replace(command, args=inner))
        yield from build_values(replace(command, args=inner))
        yield from _standing(replace(command, args=inner))
        return
    if "/" in text:
        at = list(_program_place(command))
        yield from at
        if not at or at[-1].rule == "runs a project file":
            return
    if text in BUILTINS:
        yield from BUILTINS[text](command)
    elif name == "git":
        yield from judge_git(command)
    elif name in CLIENTS:
        yield from judge_network(command)
    elif name in LOCAL_CLIENTS:
        yield from judge_local_client(command)
    elif client(name):
        yield from judge_database(command, client(name))
    elif (contained := container_inside(command)) is not None:
        yield from judge_inside(command, contained)
        if contained.command:
            yield from _in_container(replace(command, args=contained.command))
    elif name in SHELLS:
        yield from _shell_file(command)
    elif kind is not None:
        yield from judge_interpreter(command, kind)
    elif family is not None:
        yield from judge_family(command, family)
    else:
        yield from _listed(command, shipped(name))


def _in_container(command: Command) -> Iterator[Finding]:
    """What a command loses or runs is as bad in a container; the files there are its own."""
    yield from filter(lasting, _findings(command))


def _program_place(command: Command) -> Iterator[Finding]:
    """A program given with its folder: of the system, of the project, or from elsewhere."""
    text = command.args[0].text
    places = command.scope.paths(text)
    if places is None:
        yield command.found("high", "the folder it runs in is unknown", "dynamic command")
        return
    for place in places:
        folder = resolve(place.parent)
        if isinstance(folder, str):
            yield command.found("blocked", folder, "unreadable path")
        elif inside(folder, command.policy):
            if place in command.scope.written or folder / place.name in command.scope.written:
                yield command.found("high", "runs a file that this line writes", "written and run")
            if TOOL_FOLDERS.search(str(place)):
                yield command.found("medium", "a program of the project", "project tools",
                                    liftable=True)  # fmt: skip
                return
            found = list(judge_script(command, command.args[0], "./FILE"))
            yield from found[:-1]
            for arg in command.args[1:]:
                yield from judge_arg(command, arg, "read")
            yield replace(found[-1], rule="runs a project file")
        elif system_folder(folder) or any(
            (command.policy.user_home / each) in (folder, *folder.parents) for each in USER_TOOLS
        ):
            yield command.found("low", "an installed program", "system folders")
        else:
            outside = command.found("blocked", "a program outside the workspace", "workspace_only")
            yield replace(outside, origin=command.policy.origin("security.workspace_only"))


def _shell_file(command: Command) -> Iterator[Finding]:
    script = shell_script(command.args)
    if not script:
        yield command.found("low", "tells its version", f"shipped list: {command.name}")
        return
    if command.texts[1] == "-n" and script[0] is command.args[2]:
        yield command.found("low", "only reads the script", f"{command.name} -n")
        yield from judge_arg(command, script[0], "read")
        return
    yield from judge_script(command, script[0], command.name)
    for arg in script[1:]:
        yield from judge_arg(command, arg, "read")


def _listed(command: Command, program: Program | None) -> Iterator[Finding]:
    name = command.name
    if program is None:
        yield from _unlisted(command)
        return
    args = command.args[1:]
    if name == "tar" and args and re.fullmatch(r"[A-Za-z]+", args[0].text):
        args = (replace(args[0], text=f"-{args[0].text}"), *args[1:])
    line = take_apart(args, program)
    reason = "only looks" if program.risk == "low" else f"shipped list: {name}"
    yield command.found(program.risk, reason, f"shipped list: {name}",
                        liftable=program.risk != "low")  # fmt: skip
    yield from _options(command, line, program)
    yield from by_hand(command, line)
    if name == "cd" and not line.operands:
        yield from judge_arg(command, Arg("~", "~"), "names")
    if name in SEDS | {"sed"}:
        program, line = sed_parts(command, program, line)
    if name == "ln":
        line = link_parts(command, line)
    yield from judge_operands(command, line, program)


def _options(command: Command, line: Line, program: Program) -> Iterator[Finding]:
    for option in line.options:
        if given(option.name, program.high):
            reason = (
                f"{command.name} {option.name} reaches beyond what {command.name} is listed for"
            )
            yield command.found("high", reason, f"{command.name} {option.name}")
        elif given(option.name, program.medium):
            yield command.found("medium", f"{command.name} {option.name} writes",
                                f"{command.name} {option.name}", liftable=True)  # fmt: skip


def judge_family(command: Command, family: Family) -> Iterator[Finding]:
    """Findings for a program whose first operand chooses what it does."""
    name = command.name
    line = take_apart(command.args[1:], family.program)
    first, second = (*(operand.text for operand in line.operands[:2]), "", "")[:2]
    sub = family.named(first, second)
    rule = f"shipped list: {name} {sub.replace('/', ' ')}".rstrip()
    if " ".join(command.texts[1:]) in family.exact or only_looks(command, line):
        yield command.found("low", "only looks", rule)
    elif sub in family.high:
        yield command.found("high", f"{name} {sub} is on no list", UNLISTED, liftable=True)
    elif sub in family.low or (not sub and set(command.texts[1:]) & _TELLS):
        yield command.found("low", "only looks", rule)
    elif sub in family.medium or "*" in family.medium or sub in family.runs:
        yield command.found("medium", rule, rule, liftable=True)
    else:
        yield command.found("high", f"{name} {sub}".rstrip() + " is on no list", UNLISTED,
                            liftable=True)  # fmt: skip
    yield from _options(command, line, family.program)
    yield from loses(command, first, line.operands[1:])
    yield from judge_sources(command, command.args)
    yield from family_by_hand(command, line)
    rest = Line(line.options, line.operands[1:])
    yield from judge_operands(command, rest, family.program)


def _unlisted(command: Command) -> Iterator[Finding]:
    text = command.args[0].text
    if len(command.args) == 2 and command.args[1].text in _TELLS and "/" not in text:
        yield command.found("medium", "only tells about itself", "version", liftable=True)
        return
    yield command.found("high", f"{text} is on no list", UNLISTED, liftable=True)
    for arg in command.args[1:]:
        yield from judge_arg(command, arg, "read")
    inner = [arg for arg in command.args[1:] if not arg.text.startswith("-")][:1]
    if inner:
        passed = forbidden(replace(command, args=tuple(inner)))
        if passed:
            yield passed


def _unless_allowed(finding: Finding, command: Command) -> Finding:
    """`not on any list` becomes medium where the person's own list has the command."""
    if finding.rule != UNLISTED:
        return finding
    for rule in command.policy.allowed_commands:
        if _starts_with(command, shlex.split(rule, posix=True)):
            origin = command.policy.origin("security.allowed_commands")
            return replace(finding, risk="medium", reason="on your own list",
                           rule=f"allowed_commands: {rule}", origin=origin)  # fmt: skip
    return finding


def _lift(chosen: Finding, findings: list[Finding], command: Command) -> Finding:
    """Apply the person's standing grant, if it covers everything that speaks against it."""
    against = [finding for finding in findings if finding.risk != "low"]
    if not against:
        return chosen
    if any(finding.grant is None for finding in against):
        return replace(chosen, grant=None)
    grant = grant_for(command.args)
    if grant is None or not command.policy.covers(grant):
        return replace(chosen, grant=grant)
    origin = command.policy.grant_origin(grant)
    return replace(chosen, risk="medium", reason="allowed by you", rule=f"granted: {grant.match}",
                   origin=origin, grant=grant, granted=True)  # fmt: skip


def _starts_with(command: Command, words: list[str]) -> bool:
    """Whether a command begins with these words; options of git before its subcommand aside."""
    texts = list(command.texts)
    if command.name == "git" and len(words) > 1:
        sub, rest = subcommand(command.args)
        texts = [command.name, sub, *(arg.text for arg in rest)]
    return bool(words) and texts[: len(words)] == words


def _last(text: str) -> str:
    return text.rsplit("/", 1)[-1].casefold()

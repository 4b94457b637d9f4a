"""What a shell line may reach beyond its walls: the network, some hosts, folders outside."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from stormclaw.protocol.effects import Grant, Reach, Runs
from stormclaw.security.finding import Finding
from stormclaw.security.folders import judge_folder, open_folders
from stormclaw.security.host_reach import by_host, judge_hosts
from stormclaw.security.paths import resolve
from stormclaw.security.policy import Policy
from stormclaw.security.shell.operands import system_folder
from stormclaw.security.shell.places import TOOL_FOLDERS
from stormclaw.security.shell.programs import base_name

MAX_WORDS = 200
"""Longest text of a command that a standing permission is offered for, in characters."""

_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?&?[<>]")


def judge_reach(
    run: Runs, findings: Iterable[Finding], policy: Policy
) -> tuple[tuple[Finding, ...], Reach]:
    """What a line needs or asks for on top of the usual, and what it may reach if it runs.

    The walls stand around a whole line: where one of its commands gets the network, all others do.

    Args:
        run: The line.
        findings: What its commands were judged to be.
        policy: What it is judged by.

    Returns:
        More findings, one for each command that would get the network and each folder; and the
        reach, which holds nothing that was not judged here.
    """
    folders = tuple(judge_folder(path, policy) for path in run.reach.folders)
    asked = _real(zip(run.reach.folders, folders, strict=True))
    opened = Reach(folders=tuple(dict.fromkeys((*asked, *open_folders(policy)))))
    if not policy.walled:
        return folders, opened | Reach(network=True)
    commands = tuple(finding for finding in findings if not _is_redirect(finding))
    if run.reach.network or any(finding.network for finding in commands):
        network = tuple(dict.fromkeys(_network(commands, run.command, policy)))
        if not run.reach.network and by_host(policy) and not all(map(_free, network)):
            hosts, names = judge_hosts(run.reach.hosts, policy)
            return (*hosts, *folders), opened | Reach(hosts=names)
        return (*network, *folders), opened | Reach(network=True)
    if _always(commands, policy):
        return folders, opened | Reach(network=True)
    if run.reach.hosts and by_host(policy):
        hosts, names = judge_hosts(run.reach.hosts, policy)
        return (*hosts, *folders), opened | Reach(hosts=names)
    return folders, opened


def _real(judged: Iterable[tuple[Path, Finding]]) -> Iterator[Path]:
    """Where the folders asked for really are; closed ones and the workspace's own left out."""
    for path, finding in judged:
        real = resolve(path)
        if isinstance(real, Path) and finding.risk != "blocked" and finding.rule != "workspace":
            yield real


def _network(commands: Iterable[Finding], line: str, policy: Policy) -> Iterator[Finding]:
    """A finding for every command that would get the network."""
    needy = tuple(dict.fromkeys(words for each in commands for words in each.network))
    told = False
    for command in commands:
        for words in command.network:
            told = True
            named = words if _is_itself(command.text, words) else _name(command)
            yield _judged(command, named, f"{words} works over the network", policy)
        if not command.network and command.risk != "low":
            told = True
            why = f"shares the line with {needy[0]}" if needy else "asked for the network"
            yield _judged(command, _name(command), why, policy)
    if not told:
        whole = Finding(line, "low", "", "")
        yield _judged(whole, line, "asked for the network", policy)


def _judged(command: Finding, words: str, why: str, policy: Policy) -> Finding:
    """May this command, known by these words, talk to other hosts?"""
    short = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"
    shown = f"network for {short}"
    rule = _configured(command, words, policy)
    if rule:
        origin = policy.origin("security.sandbox_network")
        return Finding(shown, "low", "on your network list", f"sandbox_network: {rule}", origin)
    if policy.sandbox_hosts and not by_host(policy):
        why = f"{why}; a {policy.sandbox} sandbox cannot tell hosts apart"
    if len(words) > MAX_WORDS or not words:
        return Finding(shown, "medium", why, "network")
    grant = Grant("network", words)
    if policy.covers(grant):
        origin, rule = policy.grant_origin(grant), f"granted network: {words}"
        reason = "the network you allowed it"
        return Finding(shown, "medium", reason, rule, origin, grant, granted=True)
    return Finding(shown, "medium", why, "network", grant=grant)


def _free(network: Finding) -> bool:
    """Whether a command has the whole network for good."""
    return network.granted or network.risk == "low"


def _always(commands: Iterable[Finding], policy: Policy) -> bool:
    """Whether all that this line does is done by commands that may always use the network."""
    doing = [command for command in commands if command.risk != "low"]
    named = [(command, _name(command)) for command in doing]
    return bool(doing) and all(
        _configured(command, name, policy) or policy.covers(Grant("network", name))
        for command, name in named
    )


def _name(command: Finding) -> str:
    """How a command is named in a permission: as its own would be, or else as it stands."""
    if command.grant is not None and command.grant.kind == "command":
        return command.grant.match
    return command.text.strip()


def _is_itself(text: str, words: str) -> bool:
    """Whether a command starts the program of that name, and not a file that is called so."""
    program = words.partition(" ")[0]
    places = (each for each in _split(text) if "/" in each and base_name(each) == program)
    return all(
        TOOL_FOLDERS.search(place) or (place.startswith("/") and system_folder(Path(place).parent))
        for place in places
    )


def _configured(command: Finding, words: str, policy: Policy) -> str:
    """The configured leading words that cover a command, "" if none do."""
    texts = [_split(words), _split(command.text)]
    for rule in policy.sandbox_network:
        leading = _split(rule)
        if leading and any(text[: len(leading)] == leading for text in texts):
            return rule
    return ""


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _is_redirect(finding: Finding) -> bool:
    """Whether a finding is about a file that the shell opens, not about a command."""
    return bool(_REDIRECT.match(finding.text))

"""docker and podman: what a container is given of this machine, and what runs inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.operands import judge_arg
from stormclaw.security.shell.patterns import destructive
from stormclaw.security.shell.programs import Line, base_name, entry, given, take_apart
from stormclaw.security.shell.shell_words import Arg

CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose"})

_RUN = entry(
    "medium", "text",
    texts="-e --env -p --publish -w --workdir --name -u --user -h --hostname -l --label --network "
          "--net --entrypoint --platform --pull --restart -m --memory --cpus --shm-size --link "
          "--add-host --expose --dns --ip --log-driver --log-opt --stop-signal --stop-timeout "
          "--health-cmd --network-alias --ulimit --runtime --gpus --cidfile -a --attach --index "
          "--tmpfs -v --volume --mount --env-file --volumes-from",
    high="--privileged --cap-add --security-opt --device --pid --ipc --userns --uts --cgroupns "
         "--device-cgroup-rule --cgroup-parent --sysctl",
)  # fmt: skip
_LOSES: Mapping[str, frozenset[str]] = {
    "volume": frozenset({"rm", "remove", "prune"}),
    "system": frozenset({"prune"}),
    "context": frozenset({"use", "create", "update", "rm", "import"}),
}
"""Subcommands that lose what containers keep, or turn to another machine."""

_LASTING = frozenset({"inline code", "database statement", "database loss", "find -delete",
                      "removes files", "sqlite3 commands"})  # fmt: skip

_AWAY = re.compile(r"[\w+]+://|git@|github\.com[/:]")
_RUNNING = frozenset({"run", "exec", "create"})
_SHELL_TEXT = frozenset({"sh", "bash", "zsh", "ash", "dash"})
_HOST_WIDE = frozenset({"host"})


@dataclass(frozen=True, slots=True)
class Inside:
    """A `run` or `exec` taken apart: options, and the command that runs in the container."""

    line: Line
    command: tuple[Arg, ...]


def inside(command: Command) -> Inside | None:
    """What `docker run IMAGE CMD`, `exec` or `compose exec` runs; None for everything else."""
    rest = list(command.args[1:])
    if command.name not in CONTAINERS:
        return None
    while rest and (rest[0].text in ("compose", "container") or rest[0].text.startswith("-")):
        option = rest.pop(0).text
        if option in ("-f", "--file", "-p", "--project-name", "--profile", "--env-file",
                      "--project-directory") and rest:  # fmt: skip
            rest.pop(0)
    if not rest or rest.pop(0).text not in _RUNNING:
        return None
    own: list[Arg] = []
    while rest and rest[0].text.startswith("-"):
        option_arg = rest.pop(0)
        own.append(option_arg)
        if option_arg.text == "--":
            break
        found = take_apart([option_arg], _RUN).options
        if found and given(found[-1].name, _RUN.takes_value) and found[-1].value is None and rest:
            own.append(rest.pop(0))
    return Inside(take_apart(own, _RUN), tuple(rest[1:]))


def judge_inside(command: Command, found: Inside) -> Iterator[Finding]:
    """Findings for a command in a container: its mounts, its rights, what it runs."""
    name = command.name
    yield command.found("medium", "runs in a container", f"shipped list: {name} run",
                        liftable=True)  # fmt: skip
    for option in found.line.options:
        value = option.value.text if option.value else ""
        if given(option.name, _RUN.high) or (_is_network(option.name) and value in _HOST_WIDE):
            yield command.found("high", f"{name} {option.name} opens this machine to a container",
                                f"{name} {option.name}",
                                liftable=_is_network(option.name))  # fmt: skip
        if option.value is None:
            continue
        if option.name in ("-v", "--volume") or _abbreviates(option.name, "--volume"):
            yield from _mounted(command, option.value, option.value.text.split(":")[0])
        elif _abbreviates(option.name, "--mount"):
            source = re.search(r"(?:^|,)(?:src|source)=([^,]*)", option.value.text)
            yield from _mounted(command, option.value, source[1] if source else "")
        elif _abbreviates(option.name, "--env-file"):
            yield from judge_arg(command, option.value, "read")
    if found.command:
        yield from _inner(command, found.command)


def loses(command: Command, sub: str, operands: tuple[Arg, ...]) -> Iterator[Finding]:
    """Findings for subcommands that lose volumes, turn elsewhere or build what is elsewhere."""
    if sub in ("build", "buildx") and any(_AWAY.match(arg.text) for arg in operands):
        yield command.found("high", "builds what an address sends", "build from an address",
                            liftable=True)  # fmt: skip
    chosen = {arg.text for arg in operands[:1]}
    if chosen & _LOSES.get(sub, frozenset()):
        yield command.found("high", f"{command.name} {sub} {operands[0].text} loses what "
                            "containers keep", "container data", liftable=True)  # fmt: skip


def lasting(finding: Finding) -> bool:
    """Whether what is bad about a command outside is as bad in a container."""
    known = finding.rule.startswith(("destructive", "telling word"))
    return finding.risk == "high" and (known or finding.rule in _LASTING)


def _mounted(command: Command, value: Arg, source: str) -> Iterator[Finding]:
    """A folder of this machine in a container is written: never the way to docker itself."""
    if "docker.sock" in value.text or "podman.sock" in value.text:
        yield command.found("high", "hands on the container engine", "engine socket")
    if "\0" in source or source.startswith((".", "/", "~")):
        yield from judge_arg(command, Arg(source.rstrip("/") or "/", value.raw), "read")
        if "\0" in source:
            yield command.found("high", "which folder it hands on is only known then",
                                "unknown mount")  # fmt: skip


def _inner(command: Command, inner: tuple[Arg, ...]) -> Iterator[Finding]:
    """Inside, files are the container's own; what is forbidden stays so, and shell text is high."""
    yield from destructive(replace(command, args=inner))
    name = base_name(inner[0].text)
    barred = {rule.split()[0] for rule in command.policy.forbidden_commands}
    if not inner[0].literal:
        yield command.found("high", "which program runs is only known then", "dynamic command")
    elif name in barred:
        origin_rule = f"forbidden_commands: {name}"
        yield command.found("blocked", f"{name} is forbidden", origin_rule)
    elif name in _SHELL_TEXT and any(re.fullmatch(r"-\w*c", arg.text) for arg in inner[1:]):
        yield command.found("high", "shell text inside a container", "inline code", liftable=True)


def _is_network(name: str) -> bool:
    return name in ("--network", "--net")


def _abbreviates(name: str, known: str) -> bool:
    return name.startswith("--") and len(name) > 3 and known.startswith(name)

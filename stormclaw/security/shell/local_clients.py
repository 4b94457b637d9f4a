"""Clients that developers point at their own servers: nc -z, http, ab; elsewhere they are high."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.network import is_loopback
from stormclaw.security.shell.programs import Program, entry, given, take_apart

_TEXTS = "-c -n -t -d -H -m -w -i -p -q --duration --connections --threads --requests -A -T -C"

LOCAL_CLIENTS: Mapping[str, Program] = {
    **dict.fromkeys(("nc", "ncat", "netcat"), entry(
        "medium", "text", texts="-w -q -i -p -s -I -O -X -x",
        high="-e -c -l -k --exec --sh-exec --lua-exec --listen --keep-open -x --proxy")),
    **dict.fromkeys(("http", "https", "httpie", "xh"), entry(
        "medium", "text", texts="-a --auth --timeout -A --auth-type --verify", writes="-o --output",
        high="--session --session-read-only --config-dir --proxy --cert")),
    **dict.fromkeys(("ab", "wrk", "hey", "oha", "autocannon", "bombardier", "siege"), entry(
        "medium", "text", texts=_TEXTS, high="-s --script -P -X")),
    **dict.fromkeys(("websocat", "wscat", "grpcurl"), entry(
        "medium", "text", texts="-d -H -c --connect -import-path -proto", high="-E --exec -b")),
    "wait-on": entry("medium", "text", texts="-t --timeout -d -i -l --interval"),
    "wait-for-it": entry("medium", "text", texts="-t --timeout"),
    **dict.fromkeys(("ping", "ping6"), entry("medium", "text", texts="-c -i -w -W -s -t -I")),
    **dict.fromkeys(("dig", "nslookup", "host"), entry("medium", "text", texts="-t -p -q -x")),
}  # fmt: skip
"""What talks to the host its operand names."""

_LOOKS_UP = frozenset({"ping", "ping6", "dig", "nslookup", "host"})
"""Asking for a host's name or life tells little; a name that is made up when it runs tells all."""

_METHODS = frozenset(
    {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "list", "describe"}
)
_HOST = re.compile(
    r"(?:\w+://|(?:https?-get|tcp|socket):/*)?(\[[^\]]+\]|[^:/@]*)(?::\d+)?(?:[:/].*)?"
)


def judge_local_client(command: Command) -> Iterator[Finding]:
    """Findings for a client: medium for this machine, high for any other."""
    name = command.name
    program = LOCAL_CLIENTS[name]
    line = take_apart(command.args[1:], program)
    yield command.found("medium", "talks to a program on this machine", f"shipped list: {name}",
                        liftable=True)  # fmt: skip
    for option in line.options:
        if given(option.name, program.high):
            yield command.found("high", f"{name} {option.name} runs or hands on more than it shows",
                                f"{name} {option.name}")  # fmt: skip
    if any(arg.dynamic for arg in command.args[1:]):
        yield command.found("high", "sends a value that is only known when it runs", "upload")
    scans = name not in ("nc", "ncat", "netcat") or any("z" in o.name for o in line.options)
    if not scans or (command.fed and name not in _LOOKS_UP):
        yield command.found("high", "sends what arrives on its input", "upload", liftable=True)
    hosts = [arg.text for arg in line.operands if arg.text not in _METHODS]
    if name not in _LOOKS_UP and not _near(name, hosts):
        yield command.found("high", "talks to another machine", "other machine", liftable=True)


def _near(name: str, operands: list[str]) -> bool:
    """Whether the first operand that names a host names this machine."""
    chosen = operands if name == "wait-on" else operands[:1]
    hosts = [match[1] for text in chosen if (match := _HOST.fullmatch(text))]
    return bool(hosts) and all(host == "" or is_loopback(host) for host in hosts)

"""Programs that take a command and run it: where the command begins on their line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stormclaw.protocol.effects import Risk
from stormclaw.security.shell.programs import words


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program takes its command.

    Attributes:
        values: Options that take the next word.
        positionals: Operands before the command (`timeout 5 cmd`).
        assigns: Whether `NAME=value` may stand before the command.
        code: Options whose value is shell text to run.
        feeds: Whether it adds arguments nobody knows yet.
        risk: What it is itself, at least.
        reason: Why.
        poison: Options that change what runs: high.
    """

    values: frozenset[str] = frozenset()
    positionals: int = 0
    assigns: bool = False
    code: frozenset[str] = frozenset()
    feeds: bool = False
    risk: Risk = "low"
    reason: str = ""
    poison: frozenset[str] = frozenset()


def _wrapper(
    values: str = "",
    positionals: int = 0,
    *,
    assigns: bool = False,
    code: str = "",
    feeds: bool = False,
    risk: Risk = "low",
    reason: str = "",
    poison: str = "",
) -> Wrapper:
    sets = map(words, (values, code, poison))
    value_set, code_set, poison_set = sets
    return Wrapper(value_set, positionals, assigns, code_set, feeds, risk, reason, poison_set)


_ROOT = "works with another person's rights"

WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u --unset", assigns=True, code="-S --split-string", poison="-C --chdir"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -t --class --classdata"),
    "chrt": _wrapper(positionals=1),
    "taskset": _wrapper(positionals=1),
    "time": _wrapper("-f --format", poison="-o --output"),
    "timeout": _wrapper("-s --signal -k --kill-after", 1),
    "gtimeout": _wrapper("-s --signal -k --kill-after", 1),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "xvfb-run": _wrapper("-n -s --server-args", risk="medium", reason="runs a command"),
    "xargs": _wrapper(
        "-I -n -P -L -d -s -E -a --replace --max-args --max-procs --delimiter --arg-file "
        "--max-lines --max-chars --eof -R -J -S",
        feeds=True, risk="medium", reason="runs a command on what arrives", poison="-a --arg-file",
    ),
    "busybox": _wrapper(risk="medium", reason="many programs in one"),
    "toybox": _wrapper(risk="medium", reason="many programs in one"),
    "sudo": _wrapper("-u -g -p -C -h -r -t -T -U -D -R --user --group --prompt --chdir --host",
                     assigns=True, risk="high", reason=_ROOT),
    "doas": _wrapper("-u -C", risk="high", reason=_ROOT),
    "su": _wrapper("-s --shell -g -G", 1, code="-c --command", risk="high", reason=_ROOT),
    "runuser": _wrapper("-u -s -g", 0, code="-c --command", risk="high", reason=_ROOT),
    "pkexec": _wrapper("--user", risk="high", reason=_ROOT),
    "chroot": _wrapper("--userspec --groups", 1, risk="high", reason="leaves this file system"),
    "unshare": _wrapper("-R -w -S -G", risk="high", reason="leaves this file system"),
    "nsenter": _wrapper("-t -S -G", risk="high", reason="enters another name space"),
    "flock": _wrapper("-w -E --timeout", 1, code="-c --command"),
    "watch": _wrapper("-n --interval", risk="medium", reason="runs a command again and again"),
    "strace": _wrapper("-e -s -p -o -a -E -u -P", risk="high", reason="looks into a process"),
    "ltrace": _wrapper("-e -s -p -o -a -u", risk="high", reason="looks into a process"),
    "script": _wrapper(code="-c --command", positionals=1, risk="high", reason="records a shell"),
    "parallel": _wrapper("-j --jobs -a -I --delay", feeds=True, risk="high",
                         reason="runs commands on what arrives"),
    "hyperfine": _wrapper("-w -r -m -M --warmup --runs -n --command-name",
                          code="-p --prepare -s --setup -c --cleanup", risk="medium",
                          reason="runs shell text", poison="-S --shell --export-json -L"),
    "setarch": _wrapper(positionals=1), "linux32": _wrapper(), "linux64": _wrapper(),
    "valgrind": _wrapper("-o", risk="medium", reason="runs a command"),
    "nyc": _wrapper("-r --reporter -x --exclude", risk="medium", reason="runs a command"),
    "c8": _wrapper("-r --reporter -x --exclude", risk="medium", reason="runs a command"),
    "cross-env": _wrapper(assigns=True, risk="medium", reason="runs a command"),
    "env-cmd": _wrapper("-f --file -e --environments", risk="medium", reason="runs a command"),
    "dotenv": _wrapper("-e -f -c --file", risk="medium", reason="runs a command"),
    "direnv": _wrapper(positionals=2, risk="high", reason="loads an environment of its own"),
    "rlwrap": _wrapper("-a -f", risk="medium", reason="runs a command"),
    "dbus-run-session": _wrapper(risk="medium", reason="runs a command"),
    "eatmydata": _wrapper(), "chronic": _wrapper(), "proxychains": _wrapper("-f", risk="high",
                                                                             reason="reroutes"),
}  # fmt: skip
"""Command after options; what is not listed here and runs commands is on no list: high."""

"""What the model and the person are told about a shell line that has ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from stormclaw.protocol.tool import Lack, Launch, ToolResult
from stormclaw.tools._output import Captured
from stormclaw.tools._shell_stop import NAMESPACES
from stormclaw.tools._text import counted

TOLD_BY_SHELLS = 128
"""Added to a signal's number in an exit code."""
DEADLY = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT,
     signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGALRM,
     signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSYS}
)  # fmt: skip
BACKGROUND = re.compile(r"(?<![&>|<\\])&(?![&>\d])|\b(?:nohup|setsid|disown|daemon)\b")
"""Where a line starts something it does not wait for; a mention in quotes does no harm."""
GUARDED = re.compile(
    r"(?:\.git/(?:config|hooks|commondir)|\.stormclaw|\.mcp\.json|\.vscode|\.idea|\.envrc)[^\n]{0,200}"
    r"(?:read-only file system|device or resource busy|is a directory|permission denied)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class End:
    """How a shell line ended.

    Attributes:
        line: The line.
        launch: How it was started.
        code: Exit code; a signal as its negative.
        limit: Seconds after which it was stopped, 0 if it was not.
        left: What still runs, a line each.
    """

    line: str
    launch: Launch
    code: int
    limit: float
    left: tuple[str, ...]


def told(
    captured: Captured, end: End, lack_of: Callable[[Launch, int, str], Lack | None]
) -> ToolResult:
    """The result of a line: its output, how it ended, and what is worth knowing besides.

    Args:
        captured: Its output.
        end: How it ended.
        lack_of: Tells what the walls kept from it.
    """
    end = replace(end, code=_code(end))
    text, lines, left_out = captured.finish()
    lack = lack_of(end.launch, end.code, text) if end.code and not end.limit else None
    words = f"exit {end.code}" if end.code >= 0 else f"killed by {signal.Signals(-end.code).name}"
    if end.limit:
        words = f"timeout after {end.limit:g} s"
    body = text.rstrip("\n") or "(no output)"
    summary = f"{words}, {counted(lines, 'line') if lines else 'no output'}"
    return ToolResult(
        "\n".join([body, f"[{words}]", *_remarks(end, text, left_out, lack)]),
        summary=summary,
        ok=end.code == 0 and not end.limit,
        lack=lack,
        metadata={
            "exit_code": None if end.limit else end.code,
            "lines": lines,
            "left_out": left_out,
        },
    )


def _code(end: End) -> int:
    """The exit code as without walls: the keeper of a namespace tells of a signal as shells do."""
    if end.launch.level == NAMESPACES and end.code - TOLD_BY_SHELLS in DEADLY:
        return TOLD_BY_SHELLS - end.code
    return end.code


def _remarks(end: End, text: str, left_out: int, lack: Lack | None) -> Iterator[str]:
    boxed = end.launch.level == NAMESPACES
    if left_out:
        yield "To read what was left out, send the output to a file or filter it."
    if end.left:
        yield "Still running in the background, their further output is lost: " + "; ".join(
            end.left
        )
    if boxed and BACKGROUND.search(end.line):
        yield (
            "What this command left in the background has ended with it: the sandbox keeps nothing "
            "running. Start a server and use it within one command."
        )
    if end.limit:
        yield "It was stopped with all it had started. `timeout` can ask for longer."
    if lack is not None:
        yield _kept(lack)
    elif end.code and boxed and GUARDED.search(text):
        yield (
            "The sandbox guards this file: it decides what runs later, and only the person can "
            "change it, outside. Do not try another way."
        )


def _kept(lack: Lack) -> str:
    wanted = ["the network"] if lack.reach.network else []
    wanted += [f"talking to {host}" for host in lack.reach.hosts]
    wanted += [f"writing to {folder}" for folder in lack.reach.folders]
    return (
        f"The sandbox kept this command from {' and '.join(wanted)} (seen in: {lack.sign}). "
        "Only the person can allow that; do not work around it."
    )

"""What a shell line would run, and how risky that is: the door to the shell classifier."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

from stormclaw.protocol.shell_text import CONTINUATION, fold_continuations
from stormclaw.security.finding import Finding, severity
from stormclaw.security.policy import Policy
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.walk import Walk

MAX_BYTES = 64 * 1024

_SPLIT_OPERATOR = re.compile(r"[$<>&|`(]\\\n")


def judge_line(
    line: str, cwd: Path, policy: Policy, clock: Callable[[], float] = time.monotonic
) -> tuple[Finding, ...]:
    """A finding for every command and redirect of a shell line, in order; never empty.

    Args:
        line: What would run (`bash -c LINE`); judged as it runs, its continuations folded.
        cwd: Where it would run.
        policy: What it is judged by.
        clock: Seconds, only ever growing; judging has a time budget.
    """
    shown = line if len(line) <= 200 else f"{line[:200]}…"
    if "\0" in line or not line.strip():
        why = "holds a NUL byte" if "\0" in line else "is empty"
        return (Finding(shown, "blocked", f"the command {why}", "shell text"),)
    if len(line.encode(errors="surrogatepass")) > MAX_BYTES:
        return (Finding(shown, "high", "longer than 64 KiB, too long to judge", "shell text"),)
    line = fold_continuations(line)
    findings = _judged(line, cwd, policy, clock)
    if CONTINUATION in line:
        # Left where bash does not fold; should it fold all the same, that is held too.
        findings = max(findings, _folded(line, cwd, policy, clock), key=_severity)
    hidden = _hidden_characters(line)
    if hidden:
        reason = f"holds characters that cannot be seen: {hidden}"
        findings = (Finding(shown, "high", reason, "shell text"), *findings)
    return findings


def _folded(
    line: str, cwd: Path, policy: Policy, clock: Callable[[], float]
) -> tuple[Finding, ...]:
    """The verdict on the line with its continuations folded, as bash reads some of them."""
    folded = _judged(line.replace(CONTINUATION, ""), cwd, policy, clock)
    unreadable = any(finding.rule == "shell parser" for finding in folded)
    if unreadable and not _SPLIT_OPERATOR.search(line):
        return ()
    return folded


def _judged(
    line: str, cwd: Path, policy: Policy, clock: Callable[[], float]
) -> tuple[Finding, ...]:
    walk = Walk(policy, clock)
    try:
        walk.text(line, Scope(policy, frozenset({cwd})))
    except RecursionError:
        walk.findings.append(Finding(line[:200], "high", "too deeply nested", "shell parser"))
    if not walk.findings:
        return (Finding(line[:200], "low", "runs nothing", "no commands"),)
    return tuple(walk.findings)


def _severity(findings: tuple[Finding, ...]) -> int:
    return max((severity(finding.risk) for finding in findings), default=-1)


def _hidden_characters(line: str) -> str:
    """Control, bidirectional and zero-width characters in a line, named; "" if there are none."""
    suspicious = sorted({c for c in line if c not in "\n\t" and _hides(c)})
    return ", ".join(f"U+{ord(c):04X}" for c in suspicious[:5])


def _hides(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")

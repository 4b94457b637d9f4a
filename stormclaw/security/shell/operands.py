"""The files a command names: operands, option values and redirects, under the path policy."""

from __future__ import annotations

import fnmatch
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from stormclaw.protocol.effects import Risk
from stormclaw.security.finding import Finding, severity, worst
from stormclaw.security.paths import is_under, judge_read, judge_write, resolve
from stormclaw.security.policy import Policy
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.programs import Line, Operands, Program, given
from stormclaw.security.shell.scope import Scope, looks_like_path
from stormclaw.security.shell.shell_words import UNSEEN, Arg

HARMLESS_DEVICES = frozenset(
    {"/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty",
     "/dev/urandom", "/dev/random", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2"}
)  # fmt: skip

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/Library")
"""Programs and headers: a command may be asked to read there, never to write."""

TEXT_GIVEN = ("-e", "--regexp", "-f", "--file", "--from-file", "--files", "--reference")
"""Options that stand for the text operand: every operand is a file then."""

NO_TEXT: Mapping[Operands, Operands] = {"first-text": "read", "text-write": "write"}

_STRICT: frozenset[Operands] = frozenset({"write", "last-write", "text-write", "pair"})
_GLUED = re.compile(r"-[A-Za-z0-9]*?((?:/|~/|\.\./).*)", re.S)
_SECRET_SAMPLES = (".env", ".env.local", "id_rsa", "id_ed25519", "server.pem", "server.key",
                   "credentials", ".netrc", ".npmrc", ".git-credentials")  # fmt: skip


def judge_operands(command: Command, line: Line, program: Program) -> Iterator[Finding]:
    """What the files of a command line say about it; nothing for files that are fine."""
    for option in line.options:
        value = option.value
        if value is None or given(option.name, program.texts):
            continue
        writing = given(option.name, program.writes)
        known = writing or given(option.name, program.values)
        if known or looks_like_path(value.text):
            yield from judge_arg(command, value, "write" if writing else "read")
    for arg in command.args[1:]:
        if arg.text.startswith("@") and looks_like_path(arg.text[1:]):
            yield from judge_arg(command, replace(arg, text=arg.text[1:]), "read")
        glued = _GLUED.fullmatch(arg.text)
        if glued and not arg.text.startswith("--") and not _listed(arg.text, program):
            yield from judge_arg(command, replace(arg, text=glued[1]), "read")
    kind = program.operands
    if line.has(*TEXT_GIVEN):
        kind = NO_TEXT.get(kind, kind)
    strict = program.risk == "low" or kind in _STRICT
    for arg, use in _uses(line.operands, kind):
        yield from judge_arg(command, arg, use, strict=strict and use != "names")


def judge_arg(command: Command, arg: Arg, use: str, *, strict: bool = False) -> Iterator[Finding]:
    """What one file operand says.

    Args:
        command: Whose it is.
        arg: The operand.
        use: read, names, write or text.
        strict: A file that nobody can name beforehand is high instead of medium.
    """
    if use == "text" or "://" in arg.text or from_process(arg):
        return
    for text in (arg.text, *arg.others):
        prefix, dynamic, _ = text.partition("\0")
        if not dynamic:
            yield from _judge_text(command, arg, text, use)
            continue
        if looks_like_path(prefix):
            yield from _judge_text(command, arg, prefix, use)
        reason = f"{arg.raw} is only known when it runs"
        wild = strict and not prefix and command.scope.nobody_knows(arg.raw)
        yield command.found("high" if wild else "medium", reason, "unknown operand", liftable=True)


def refused(args: Iterable[Arg], scope: Scope) -> Iterator[Finding]:
    """What the path policy refuses of words that are only named: items of a loop, file tests."""
    shell = Command((Arg("for", "for"),), "", scope, scope.policy)
    for arg in args:
        for finding in judge_arg(replace(shell, text=arg.raw), arg, "names"):
            if severity(finding.risk) > severity("medium"):
                yield finding


def from_process(arg: Arg) -> bool:
    """Whether it is `<(command)`: no file, and the command is judged by itself."""
    return arg.text == "\0" and bool(re.fullmatch(r"[<>]\(.*\)", arg.raw, re.S))


def judge_redirect(op: str, target: Arg, text: str, scope: Scope) -> Finding | None:
    """What a redirect says; None for one that reads or writes nothing of interest."""
    if op in (">&", "<&") and re.fullmatch(r"\d*-?", target.text):
        return None
    writing = ">" in op
    if target.text in HARMLESS_DEVICES or from_process(target):
        return None
    if target.unknown:
        prefix = target.text.partition("\0")[0]
        outside = looks_like_path(prefix) and _judged(prefix, scope, writing=writing, shown=text)
        if isinstance(outside, Finding) and outside.risk in ("high", "blocked"):
            return outside
        named: Risk = (
            "high" if not prefix and (writing or scope.nobody_knows(target.raw)) else "medium"
        )
        reason = f"the file behind {target.raw} is only known when it runs"
        return Finding(text, named, reason, "unknown redirect")
    judged = [_judged(each, scope, writing=writing, shown=text)
              for each in (target.text, *target.others)]  # fmt: skip
    finding = worst(judged)
    return None if finding.risk == "low" else finding


def system_folder(path: Path) -> bool:
    """Whether a resolved path belongs to the installed system."""
    return any(is_under(path, Path(os.path.realpath(folder))) for folder in SYSTEM_FOLDERS)


def _judge_text(command: Command, arg: Arg, text: str, use: str) -> Iterator[Finding]:
    if text in HARMLESS_DEVICES or text in ("", "-"):
        return
    finding = _judged(text, command.scope, writing=use == "write", shown=arg.raw)
    if (
        (arg.glob or UNSEEN in text)
        and use == "read"
        and finding.risk == "low"
        and _may_be_secret(text)
    ):
        finding = replace(finding, risk="medium", reason="may match files that hold keys",
                          rule="secret file pattern")  # fmt: skip
    if finding.risk == "low" or (use == "names" and finding.rule.startswith("secret file")):
        return
    liftable = finding.risk == "medium"
    made = command.found(finding.risk, finding.reason, finding.rule, liftable=liftable)
    yield replace(made, origin=finding.origin)


def _judged(text: str, scope: Scope, *, writing: bool, shown: str) -> Finding:
    """The path policy on a word of a shell line."""
    places = scope.paths(_before_glob(text) if text.startswith(("/", "~")) else text)
    if places is None:
        leaves = ".." in text.split("/")
        reason = "the folder it would run in is only known when it runs"
        return Finding(shown, "high" if leaves else "medium", reason, "unknown folder")
    return worst([_place(place, scope.policy, writing, shown) for place in places])


def _place(place: Path, policy: Policy, writing: bool, shown: str) -> Finding:
    if str(place).startswith("~"):
        origin = policy.origin("security.workspace_only")
        return Finding(shown, "blocked", "another person's home folder", "workspace_only", origin)
    judge = judge_write if writing else judge_read
    finding = judge(place, policy, shown)
    real = resolve(place)
    if finding.rule != "workspace_only" or isinstance(real, str):
        return finding
    if not writing and system_folder(real):
        if real.name in policy.forbidden_commands:
            reason = f"hands on the forbidden command {real.name}"
            origin = policy.origin("security.forbidden_commands")
            return Finding(shown, "blocked", reason, f"forbidden_commands: {real.name}", origin)
        return Finding(shown, "medium", "reads a system folder", "system folders")
    shared = [Path(os.path.realpath(folder)) for folder in ("/tmp", tempfile.gettempdir())]  # noqa: S108 - judged, not used
    if any(is_under(real, top) and not is_under(policy.workspace, top) for top in shared):
        return Finding(shown, "high", "uses the shared temporary folder", "temporary folder")
    return finding


def _uses(operands: tuple[Arg, ...], kind: Operands) -> Iterator[tuple[Arg, str]]:
    """Each operand with what is done to it."""
    last = len(operands) - 1
    for index, arg in enumerate(operands):
        match kind:
            case "read" | "names" | "text" | "write":
                yield arg, kind
            case "first-text":
                yield arg, "text" if index == 0 else "read"
            case "text-write":
                yield arg, "text" if index == 0 else "write"
            case "last-write":
                yield arg, "write" if index == last and index > 0 else "read"
            case "pair":
                yield arg, "write" if index == 1 else "read"


def _listed(text: str, program: Program) -> bool:
    """Whether the value glued to a short option was already taken apart by the table."""
    return any(text.startswith(name) for name in program.takes_value if not name.startswith("--"))


def _before_glob(text: str) -> str:
    """The part of an absolute pattern that is certain."""
    match = re.search(r"[*?\[]", text)
    return text if not match else text[: text.rfind("/", 0, match.start()) + 1] or "/"


def _may_be_secret(text: str) -> bool:
    if UNSEEN in text:
        return True
    name = text.rsplit("/", 1)[-1]
    literal = re.sub(r"[*?\[\]]", "", name)
    return len(literal) >= 2 and any(fnmatch.fnmatchcase(each, name) for each in _SECRET_SAMPLES)

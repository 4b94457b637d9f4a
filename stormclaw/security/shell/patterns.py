"""Destructive commands: what has lost people their work, looked for in parsed commands only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stormclaw.protocol.effects import Risk
from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command, subcommand
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.wrappers import SHELLS

FETCHERS = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "axel",
                      "nc", "ncat", "netcat", "socat"})  # fmt: skip
INTERPRETERS = frozenset({"python", "pypy", "node", "perl", "ruby", "php", "lua", "deno", "bun",
                          "osascript", "tclsh", "Rscript"})  # fmt: skip
RUNS_TEXT = SHELLS | {"eval", "source", "."}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of damage.

    Attributes:
        name: For the rule, as the person knows it.
        risk: `blocked` for good, or `high`.
        why: What would be lost.
        matches: Whether a command is of this kind.
    """

    name: str
    risk: Risk
    why: str
    matches: Callable[[Command], bool]


def destructive(command: Command) -> Iterator[Finding]:
    """Every pattern that a command matches."""
    for pattern in PATTERNS:
        if pattern.matches(command):
            yield command.found(pattern.risk, pattern.why, f"destructive pattern: {pattern.name}")


def _flags(command: Command) -> tuple[set[str], list[Arg]]:
    """Short options as letters, long ones whole; and the operands."""
    letters: set[str] = set()
    operands: list[Arg] = []
    ended = False
    for arg in command.args[1:]:
        if ended or not arg.text.startswith("-") or arg.text == "-":
            operands.append(arg)
        elif arg.text == "--":
            ended = True
        elif arg.text.startswith("--"):
            letters.add(arg.text.split("=", 1)[0])
        else:
            letters |= set(arg.text[1:])
    return letters, operands


def _long(flags: set[str], *names: str) -> bool:
    return any(flag.startswith("--") and len(flag) > 3 and name.startswith(flag)
               for flag in flags for name in names)  # fmt: skip


def _everything(command: Command, arg: Arg) -> bool:
    """Whether an operand is the root, a home folder, the workspace, or all in one of them."""
    for text in (arg.text, *arg.others):
        if re.fullmatch(r"(\./)?(\*|\.\*|\{\*,\.\*\}|\.\[!\.\]\*)", text) or text in (".", "./"):
            return True
        bare = re.sub(r"/+(\*|\.\*|\.)?$", "", text) or "/"
        places = command.scope.paths(bare) or ()
        tops = (Path("/"), command.policy.user_home, command.policy.workspace)
        normal = [Path(re.sub(r"/+", "/", str(place))) for place in places]
        if any(place in tops or place in command.policy.workspace.parents for place in normal):
            return True
        if re.fullmatch(r"(\.\./?)+\*?", text) or re.fullmatch(r"~\w*/?\*?", text):
            return True
    return False


def _removes_all(command: Command) -> bool:
    flags, operands = _flags(command)
    if command.name in ("rimraf", "del", "del-cli", "trash", "trash-put"):
        return any(_everything(command, arg) for arg in operands)
    recursive = bool(flags & {"r", "R"}) or _long(flags, "--recursive", "--no-preserve-root")
    return command.name == "rm" and recursive and any(_everything(command, a) for a in operands)


def _opens_all(command: Command) -> bool:
    flags, operands = _flags(command)
    if command.name != "chmod" or not (flags & {"R"} or _long(flags, "--recursive")):
        return False
    return any(_everything(command, arg) for arg in operands[1:])


def _chowns(command: Command) -> bool:
    flags, _ = _flags(command)
    recursive = bool(flags & {"R"}) or _long(flags, "--recursive")
    return command.name in ("chown", "chgrp") and recursive


def _fetched_code(command: Command) -> bool:
    if command.name in RUNS_TEXT:
        return bool(FETCHERS & (command.upstream | command.embedded))
    if command.name not in INTERPRETERS:
        return False
    _, operands = _flags(command)
    bare = not operands and len(command.args) == 1
    reads_stdin = bare or command.args[-1].text in ("-", "/dev/stdin")
    return bool(FETCHERS & command.embedded or (reads_stdin and FETCHERS & command.upstream))


def _stops_machine(command: Command) -> bool:
    words = command.texts
    if command.name in ("shutdown", "reboot", "halt", "poweroff"):
        return True
    if command.name in ("init", "telinit"):
        return bool({"0", "6"} & set(words[1:]))
    ends = {"poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"}
    return command.name in ("systemctl", "loginctl") and bool(ends & set(words[1:]))


def _writes_disk(command: Command) -> bool:
    if command.name == "dd":
        return any(text.startswith(("if=", "of=")) for text in command.texts[1:])
    return command.name in ("wipefs", "blkdiscard", "fdisk", "parted", "sgdisk", "shred")


def _git(command: Command) -> tuple[str, set[str], list[str]]:
    """Subcommand, flags and operands of a git command; ("", ...) for anything else."""
    if command.name != "git":
        return "", set(), []
    name, rest = subcommand(command.args)
    inner = Command((Arg(name, name), *rest), command.text, command.scope, command.policy)
    flags, operands = _flags(inner)
    return name, flags, [arg.text for arg in operands]


def _git_reset(command: Command) -> bool:
    name, flags, _ = _git(command)
    return name == "reset" and _long(flags, "--hard", "--merge", "--keep")


_EVERYTHING_IN_GIT = frozenset({".", "./", ":/", "*", ":", "./*", "**", "-A"})


def _git_discards(command: Command) -> bool:
    name, flags, operands = _git(command)
    every = bool(_EVERYTHING_IN_GIT & set(operands)) or any(
        text.startswith(":/") for text in operands
    )
    if name == "checkout":
        moved = "B" in flags or _long(flags, "--pathspec-from-file")
        return every or "f" in flags or moved or _long(flags, "--force") or _many(command, operands)
    if name == "switch":
        forced = _long(flags, "--force", "--discard-changes", "--force-create")
        return bool(flags & {"f", "C"}) or forced
    staged = "S" in flags or _long(flags, "--staged")
    worktree = "W" in flags or _long(flags, "--worktree")
    every = every or _long(flags, "--pathspec-from-file") or _many(command, operands)
    return name == "restore" and every and (worktree or not staged)


def _many(command: Command, operands: list[str]) -> bool:
    """Whether operands name more than one file: a folder, a pattern, several paths."""
    if "-b" in command.texts or "--orphan" in command.texts:
        return False
    paths = [each for each in operands if any(p.exists() for p in command.scope.paths(each) or ())]
    folders = any(p.is_dir() for each in operands for p in command.scope.paths(each) or ())
    wild = any(re.search(r"[*?\[]|^:|/$", each) for each in operands)
    named = command.texts.index("--") if "--" in command.texts else len(command.texts)
    return folders or wild or len(paths) > 1 or len(command.texts) - named > 2


def _git_clean(command: Command) -> bool:
    name, flags, _ = _git(command)
    dry = "n" in flags or _long(flags, "--dry-run")
    return name == "clean" and not dry


_KNOWN_REMOTES = frozenset({"origin", "upstream", "fork"})


def _git_push(command: Command) -> bool:
    name, flags, operands = _git(command)
    forced = "f" in flags or "d" in flags or _long(
        flags, "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete",
        "--prune", "--all", "--branches",
    )  # fmt: skip
    elsewhere = bool(operands) and operands[0] not in _KNOWN_REMOTES and len(operands) > 0
    refs = any(text.startswith(("+", ":")) for text in operands)
    return name == "push" and (forced or refs or elsewhere)


def _git_branch(command: Command) -> bool:
    name, flags, _ = _git(command)
    forced = "f" in flags or _long(flags, "--force")
    return name == "branch" and (bool({"D", "M"} & flags) or forced)


def _git_removes(command: Command) -> bool:
    name, flags, operands = _git(command)
    if name != "rm" or "n" in flags or _long(flags, "--dry-run"):
        return False
    kept = _long(flags, "--cached")
    every = any(text in _EVERYTHING_IN_GIT or text.startswith(":/") for text in operands)
    forced = "f" in flags or _long(flags, "--force")
    return (forced and not kept) or ("r" in flags and every)


def _git_loses(command: Command) -> bool:
    name, flags, operands = _git(command)
    first = operands[0] if operands else ""
    forced = "f" in flags or _long(flags, "--force")
    return (
        (name == "read-tree" and _long(flags, "--reset"))
        or (name == "checkout-index" and forced)
        or (name == "submodule" and first == "deinit" and forced)
        or (name == "update-ref" and ("d" in flags or "stdin" in flags))
        or (name == "stash" and first in ("drop", "clear"))
        or (name == "reflog" and first in ("expire", "delete"))
        or (name == "gc" and _long(flags, "--prune"))
        or name in ("filter-branch", "filter-repo", "prune")
        or (name == "maintenance" and first in ("start", "register"))
        or (name == "worktree" and first == "remove" and ("f" in flags or _long(flags, "--force")))
    )


PATTERNS: tuple[Pattern, ...] = (
    Pattern("rm -rf / or *", "blocked", "removes everything", _removes_all),
    Pattern("mkfs", "blocked", "formats a disk",
            lambda c: c.name == "mkfs" or c.name.startswith("mkfs.")),
    Pattern("dd if=", "blocked", "overwrites raw devices or files", _writes_disk),
    Pattern("shutdown, reboot", "blocked", "stops the machine", _stops_machine),
    Pattern("chmod -R /", "blocked", "changes the rights of everything", _opens_all),
    Pattern("chown -R", "blocked", "changes the owner of everything", _chowns),
    Pattern("curl | sh", "blocked", "runs what the network sends", _fetched_code),
    Pattern("git reset --hard", "high", "loses uncommitted work", _git_reset),
    Pattern("git checkout -- .", "high", "loses uncommitted work", _git_discards),
    Pattern("git clean -f", "high", "deletes files that git does not know", _git_clean),
    Pattern("git push --force", "high", "rewrites what others have, or goes elsewhere", _git_push),
    Pattern("git branch -D", "high", "loses commits", _git_branch),
    Pattern("git rm -r .", "high", "deletes files and what is not committed", _git_removes),
    Pattern("git history loss", "high", "loses commits or stashes", _git_loses),
)  # fmt: skip
"""Fork bombs are found where functions are walked: they are no single command."""

FORK_BOMB = Pattern("fork bomb", "blocked", "a function that starts itself without end",
                    lambda _: False)  # fmt: skip

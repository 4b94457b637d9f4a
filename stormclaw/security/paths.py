"""Which files may be read or written: judged where a path really leads, links resolved."""

from __future__ import annotations

import fnmatch
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from stormclaw.protocol.effects import Grant
from stormclaw.security.finding import Finding
from stormclaw.security.policy import Policy

KERNEL_FOLDERS = ("/proc", "/dev", "/sys")
"""Not files at all: reading or writing there talks to the kernel or to devices."""

PROTECTED_NAMES = frozenset(
    {
        ".git",
        ".stormclaw",
        ".mcp.json",
        ".envrc",
        ".vscode",
        ".idea",
        ".hg",
        ".svn",
        ".jj",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        ".husky",
        ".cargo",
        ".devcontainer",
        ".devcontainer.json",
        ".claude",
        ".cursor",
        ".pypirc",
    }
)
"""Names that make something run later; what lies below them counts too."""

SHELL_NAMES = frozenset(
    {".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
     ".kshrc", ".gitconfig", ".ssh", ".gnupg", ".config", ".local", "launchagents", ".netrc"}
)  # fmt: skip
"""The same outside the workspace, where `workspace_only: false` lets writes go at all."""

SECRET_NAMES = (
    ".env", ".env.*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx",
    "*.keystore", "*.jks", "*.kdbx", "credentials", "credentials.json", "auth.json",
    "secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml", ".htpasswd",
)  # fmt: skip
"""File names that hold keys; reading one is asked even inside the workspace."""

HARMLESS_SAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
"""Names that look like the ones above and hold nothing."""

NOTES_FOLDER = ".stormclaw/memory"


def judge_read(
    path: Path, policy: Policy, text: str = "", real: Path | str | None = None
) -> Finding:
    """May `path` be read?

    Args:
        path: As it was given.
        policy: The rules.
        text: How it was written, for the person.
        real: What `resolve` said of it, where that was asked already.
    """
    shown = text or shorten(path, policy)
    real = resolve(path) if real is None else real
    if isinstance(real, str):
        return Finding(shown, "blocked", real, "unreadable path")
    refusal = _refusal(real, policy, shown, reading=True)
    if refusal:
        return refusal
    if is_secret(real.name) or is_secret(path.name):
        return Finding(shown, "medium", "may hold keys or passwords", f"secret file: {real.name}")
    return Finding(shown, "low", "reads inside the workspace", "workspace")


def judge_write(
    path: Path, policy: Policy, text: str = "", real: Path | str | None = None
) -> Finding:
    """May `path` be created, changed or removed? Arguments as for `judge_read`."""
    shown = text or shorten(path, policy)
    real = resolve(path) if real is None else real
    if isinstance(real, str):
        return Finding(shown, "blocked", real, "unreadable path")
    refusal = _refusal(real, policy, shown, reading=False)
    if refusal:
        return refusal
    protected = protected_name(real, policy) or protected_name(lexical(path), policy)
    if protected:
        reason = f"{protected} decides what runs later"
        return Finding(shown, "high", reason, f"protected: {protected}")
    return _granted(Finding(shown, "medium", "writes to the workspace", "workspace writes"),
                    write_grant(real, policy), policy)  # fmt: skip


def judge_note(path: Path, policy: Policy, real: Path | str | None = None) -> Finding:
    """May this project note be written? Anything but a project note is an ordinary write."""
    real = resolve(path) if real is None else real
    notes = policy.workspace / NOTES_FOLDER
    if isinstance(real, str) or not is_under(real, notes):
        return judge_write(path, policy, real=real)
    shown = shorten(path, policy)
    if _forbidden(real, policy):
        return judge_write(path, policy, real=real)
    finding = Finding(shown, "medium", "changes what later sessions are told", "project notes")
    return _granted(finding, Grant("note", NOTES_FOLDER), policy)


def resolve(path: Path) -> Path | str:
    """Where `path` really leads, or why that cannot be said.

    Files that do not exist yet are resolved from their deepest existing parent.
    """
    if "\0" in str(path):
        return "holds a NUL byte"
    try:
        real = Path(os.path.realpath(path))
        if os.path.islink(real):  # noqa: PTH114 - does not raise on names that are too long
            return "a link that leads back to itself"
    except (OSError, ValueError) as error:
        return f"cannot be resolved: {error}"
    return real


def lexical(path: Path) -> Path:
    """`path` without `.` and `..`, links left as they are."""
    return Path(os.path.normpath(path))


def inside(path: Path, policy: Policy) -> bool:
    """Whether a resolved path lies in the workspace."""
    return path == policy.workspace or policy.workspace in path.parents


def is_under(path: Path, folder: Path) -> bool:
    """Whether `path` is `folder` or lies below it, upper and lower case being the same.

    Loose on purpose: it is used to refuse, and some file systems do not tell cases apart.
    """
    wanted = [_folded(part) for part in folder.parts]
    return [_folded(part) for part in path.parts[: len(wanted)]] == wanted


def is_secret(name: str) -> bool:
    """Whether a file of this name usually holds keys."""
    folded = _folded(name)
    if any(fnmatch.fnmatchcase(folded, sample) for sample in HARMLESS_SAMPLES):
        return False
    return any(fnmatch.fnmatchcase(folded, pattern) for pattern in SECRET_NAMES)


def protected_name(path: Path, policy: Policy) -> str:
    """The part of a path that makes something run later, "" if there is none."""
    if not is_under(path, policy.workspace):
        outside = (_folded(part) for part in path.parts)
        return next((part for part in outside if part in PROTECTED_NAMES | SHELL_NAMES), "")
    for part in path.parts[len(policy.workspace.parts) :]:
        folded = _folded(part)
        if folded in PROTECTED_NAMES:
            notes = policy.workspace / NOTES_FOLDER
            return "" if notes in path.parents else folded
    return ""


def shorten(path: Path, policy: Policy) -> str:
    """The path as a person knows it: relative to the workspace where it lies inside."""
    try:
        return str(path.relative_to(policy.workspace))
    except ValueError:
        return str(path)


def write_grant(real: Path, policy: Policy) -> Grant | None:
    """The narrowest standing permission that covers writing `real`."""
    if not inside(real, policy) or real == policy.workspace:
        return None
    relative = real.relative_to(policy.workspace)
    at_root = len(relative.parts) == 1
    return Grant("write", str(relative if at_root else relative.parent))


def _granted(finding: Finding, grant: Grant | None, policy: Policy) -> Finding:
    if grant is None:
        return finding
    standing = next((held for held in _covering(grant) if policy.covers(held)), None)
    if standing is None:
        return Finding(
            finding.text, finding.risk, finding.reason, finding.rule, finding.origin, grant=grant
        )
    rule = f"granted: {standing.match}"
    return Finding(
        finding.text, finding.risk, finding.reason, rule, policy.grant_origin(standing),
        grant=standing, granted=True,
    )  # fmt: skip


def _covering(grant: Grant) -> Iterable[Grant]:
    """`grant` and every wider one: a folder covers what lies below it."""
    yield grant
    if grant.kind == "write":
        for folder in Path(grant.match).parents:
            if folder != Path():
                yield Grant("write", str(folder))


def _refusal(real: Path, policy: Policy, shown: str, *, reading: bool) -> Finding | None:
    forbidden = _forbidden(real, policy)
    if forbidden:
        origin = policy.origin("security.forbidden_paths")
        reason = f"lies under the forbidden path {forbidden}"
        return Finding(shown, "blocked", reason, f"forbidden_paths: {forbidden}", origin)
    if any(is_under(real, Path(folder)) for folder in KERNEL_FOLDERS):
        return Finding(shown, "blocked", "is a device or kernel interface", "kernel folders")
    own = is_under(real, policy.home) and not (
        inside(real, policy) and is_under(policy.workspace, policy.home)
    )
    readable = reading and any(is_under(real, folder) for folder in policy.readable)
    if own and not readable:
        return Finding(shown, "blocked", "belongs to StormClaw itself", "own folder")
    if inside(real, policy) or readable:
        return None
    if policy.workspace_only:
        reason = f"leads outside the workspace, to {real}"
        origin = policy.origin("security.workspace_only")
        return Finding(shown, "blocked", reason, "workspace_only", origin)
    return None


def _forbidden(real: Path, policy: Policy) -> Path | None:
    return next((folder for folder in policy.forbidden_paths if is_under(real, folder)), None)


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in plain if unicodedata.category(char) != "Cf")

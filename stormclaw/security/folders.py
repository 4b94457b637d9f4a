"""Which folders outside the workspace a walled-in program may be let write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stormclaw.protocol.effects import Grant
from stormclaw.security.finding import Finding
from stormclaw.security.paths import (
    KERNEL_FOLDERS,
    PROTECTED_NAMES,
    inside,
    is_under,
    protected_name,
    resolve,
    shorten,
)
from stormclaw.security.policy import Policy

SYSTEM_FOLDERS = (
    *KERNEL_FOLDERS, "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/run", "/sbin",
    "/usr", "/var/db", "/var/lib", "/var/run", "/var/spool", "/Applications", "/Library", "/System",
)  # fmt: skip
"""What the machine runs on."""

PEOPLE = ("/home", "/Users")
"""Where each person's folder lies."""

PERSONAL_FOLDERS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config", ".password-store",
    ".mozilla", ".thunderbird", ".pki", ".local/bin", ".local/lib", ".local/share/applications",
    ".local/share/dbus-1", ".local/share/keyrings", ".local/share/systemd", "bin", ".cargo/bin",
    "go/bin", ".bun/bin", ".deno/bin", ".pyenv/shims", "Library/Keychains", "Library/LaunchAgents",
    "Library/Preferences", "Library/Application Support",
)  # fmt: skip
"""Below a person's folder: keys, and what runs later without being asked."""


def judge_folder(path: Path, policy: Policy) -> Finding:
    """May programs write below `path`, an absolute folder?

    The boundary of the workspace does not count, for crossing it is what is asked; everything
    that is closed stays closed, and so does every folder that holds something closed.
    """
    shown = f"write to {shorten(path, policy)}"
    real = resolve(path)
    if isinstance(real, str):
        return Finding(shown, "blocked", real, "unreadable path")
    refusal = _refusal(real, policy)
    if refusal:
        return replace(refusal, text=shown)
    if inside(real, policy):
        return Finding(shown, "low", "lies in the workspace", "workspace")
    listed = (each for each in policy.sandbox_folders if may_open(each, policy))
    configured = next((each for each in listed if is_below(real, each)), None)
    if configured is not None:
        origin = policy.origin("security.sandbox_folders")
        return Finding(
            shown, "low", "a folder of your list", f"sandbox_folders: {configured}", origin
        )
    standing = next((each for each in _granted(policy) if is_below(real, Path(each.match))), None)
    if standing is not None:
        origin, rule = policy.grant_origin(standing), f"granted folder: {standing.match}"
        reason = "a folder you allowed"
        return Finding(shown, "medium", reason, rule, origin, standing, granted=True)
    reason = "programs would write outside the workspace"
    return Finding(shown, "medium", reason, "sandbox folders", grant=Grant("folder", str(real)))


def open_folders(policy: Policy) -> tuple[Path, ...]:
    """The folders every shell command may write: configured or granted, and not closed.

    A granted folder that became a link to elsewhere is not the one that was granted.
    """
    if policy.autonomy == "readonly":
        return ()
    wanted = (*policy.sandbox_folders, *(Path(grant.match) for grant in _granted(policy)))
    return tuple(dict.fromkeys(path for path in wanted if may_open(path, policy)))


def may_open(path: Path, policy: Policy) -> bool:
    """Whether a configured or granted folder lies where folders can be opened at all."""
    real = resolve(path)
    if isinstance(real, str) or not path.is_absolute() or inside(real, policy):
        return False
    return real == path and _refusal(real, policy) is None


def is_below(path: Path, folder: Path) -> bool:
    """Whether `path` is `folder` or lies below it, to the letter: it is used to allow."""
    return path == folder or folder in path.parents


def _granted(policy: Policy) -> Iterator[Grant]:
    """The folders that were granted and can be opened still."""
    folders = (grant for grant in policy.grants if grant.kind == "folder")
    return (grant for grant in folders if may_open(Path(grant.match), policy))


def _refusal(real: Path, policy: Policy) -> Finding | None:
    """Why this folder can never be opened; None if it can."""
    for path in policy.forbidden_paths:
        if _touches(real, path):
            origin = policy.origin("security.forbidden_paths")
            reason = _words(real, path, "the forbidden path")
            return Finding("", "blocked", reason, f"forbidden_paths: {path}", origin)
    if real != policy.workspace and is_under(policy.workspace, real):
        return Finding("", "blocked", "holds the workspace itself", "own folder")
    if inside(real, policy):
        name = protected_name(real, policy)
        reason = f"{name} decides what runs later"
        return Finding("", "blocked", reason, f"protected: {name}") if name else None
    if _touches(real, policy.home):
        return Finding("", "blocked", "belongs to StormClaw itself, or holds it", "own folder")
    at_top = len(real.parts) <= 2 or str(real.parent) in PEOPLE
    if at_top or any(is_under(real, Path(folder)) for folder in SYSTEM_FOLDERS):
        return Finding("", "blocked", "is a folder of the system", "system folders")
    person = resolve(policy.user_home)
    homes = {policy.user_home, *((person,) if isinstance(person, Path) else ())}
    for folder in (home / name for home in homes for name in PERSONAL_FOLDERS):
        if _touches(real, folder):
            reason = _words(real, folder, "keys or programs of yours in")
            return Finding("", "blocked", reason, f"personal folders: {folder.name}")
    if any(is_under(home, real) for home in homes):
        return Finding("", "blocked", "holds everything of yours", "personal folders")
    protected = next((part for part in real.parts if part.casefold() in PROTECTED_NAMES), "")
    if protected:
        reason = f"{protected} decides what runs later"
        return Finding("", "blocked", reason, f"protected: {protected}")
    return None


def _touches(real: Path, closed: Path) -> bool:
    return is_under(real, closed) or is_under(closed, real)


def _words(real: Path, closed: Path, what: str) -> str:
    verb = "lies under" if is_under(real, closed) else "holds"
    return f"{verb} {what} {closed}"

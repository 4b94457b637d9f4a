"""Which folder a session works in: named, configured, the git root, or the current one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stormclaw.config.disk import expand, user_home
from stormclaw.errors import UsageError

FALLBACK = "stormclaw-workspace"


def find_workspace(
    start: Path,
    configured: str,
    flag: Path | None,
    env: Mapping[str, str],
    *,
    must_exist: bool = True,
) -> Path:
    """The workspace: `flag`, else `configured`, else the git root around `start`, else `start`.

    Never the home folder or `/` itself: there it is `~/stormclaw-workspace`, which need not
    exist yet (`create_workspace`).

    Args:
        start: The current folder.
        configured: `workspace_dir`; "" and `auto` mean not set.
        flag: `--workspace`.
        env: For `~` and `$HOME`.
        must_exist: Whether a named folder must be there; `init` passes False.

    Returns:
        Absolute, links resolved.

    Raises:
        UsageError: The named folder is not there, or is no folder.
    """
    home = _resolved(user_home(env))
    named = _named(start, configured, flag, env)
    if named is not None:
        if not named.is_dir() and (must_exist or named.exists()):
            reason = "is not a folder" if named.exists() else "does not exist"
            source = "--workspace" if flag is not None else "workspace_dir"
            raise UsageError(f"{source}: {named} {reason}; create it, or name another")
        found = named
    else:
        found = _git_root(_resolved(start), home) or _resolved(start)
    return home / FALLBACK if _too_wide(found, home) else found


def create_workspace(workspace: Path) -> bool:
    """Make the folder if it is missing -> whether it was made now.

    Raises:
        UsageError: It cannot be made; the message says why.
    """
    if workspace.is_dir():
        return False
    try:
        workspace.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"{workspace} cannot be created: {error.strerror or error}") from None
    return True


def git_root(folder: Path) -> Path | None:
    """The nearest folder at or above with a `.git` (a folder, or a file in a worktree)."""
    for candidate in (folder, *folder.parents):
        try:
            if (candidate / ".git").exists():
                return candidate
        except OSError:
            return None
    return None


def _git_root(start: Path, home: Path) -> Path | None:
    """The git root, unless it is the home folder: dotfiles in git do not make it a project."""
    root = git_root(start)
    return None if root is None or _too_wide(root, home) else root


def _named(start: Path, configured: str, flag: Path | None, env: Mapping[str, str]) -> Path | None:
    text = str(flag) if flag is not None else configured.strip()
    if flag is None and text in ("", "auto"):
        return None
    try:
        return _resolved(start / expand(text, env) if flag is None else start / flag)
    except ValueError as error:
        raise UsageError(f"workspace_dir: {text}: {error}") from None


def _too_wide(folder: Path, home: Path) -> bool:
    return folder in (home, Path(folder.anchor))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise UsageError(f"{path} cannot be resolved; is it a link to itself?") from None

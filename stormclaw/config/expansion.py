"""Which settings are paths, and how `~`, `$VAR` and relative paths in them are filled in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stormclaw.config.disk import expand
from stormclaw.config.shapes import Key, pattern_of
from stormclaw.config.values import url_complaint

USER_FOLDER = "~/.stormclaw"


class Folders(NamedTuple):
    """What paths start from.

    Attributes:
        home: What `~/.stormclaw` stands for.
        workspace: Where a relative forbidden path starts; None leaves it relative.
        start: Where any other relative path starts; None is the current folder.
    """

    home: Path
    workspace: Path | None
    start: Path | None = None


def expanded(key: Key, value: Any, env: Mapping[str, str], folders: Folders) -> Any:
    """A setting with `~`, `$VAR` and its relative path filled in.

    Args:
        key: Which setting; most are returned as they are.
        value: Its sound value.
        env: For `$VAR` and `~`.
        folders: For relative paths.

    Raises:
        ValueError: A variable is not set, a user unknown, a URL with its variables is none.
    """
    fill = _EXPANDED.get(pattern_of(key))
    return fill(value, env, folders) if fill else value


def _path(text: str, env: Mapping[str, str], folders: Folders) -> str:
    """An absolute path; "" and `auto` are no paths."""
    if text in ("", "auto"):
        return text
    plain = Path(_tildes(text, env, folders))
    if not plain.is_absolute():
        plain = (folders.start or Path.cwd()) / plain
    return os.path.normpath(plain)


def _tildes(text: str, env: Mapping[str, str], folders: Folders) -> str:
    if text == USER_FOLDER or text.startswith(f"{USER_FOLDER}/"):
        return f"{folders.home}{expand(text.removeprefix(USER_FOLDER), env)}"
    return expand(text, env)


def _forbidden(texts: tuple[str, ...], env: Mapping[str, str], folders: Folders) -> tuple[str, ...]:
    """A relative one is meant in every workspace, whoever wrote it."""
    plain = (_tildes(text, env, folders) for text in texts)
    return tuple(
        os.path.normpath(folders.workspace / text) if folders.workspace else text for text in plain
    )


def _url(text: str, env: Mapping[str, str], _folders: Folders) -> str:
    url = expand(text, env)
    if complaint := url_complaint(url):
        raise ValueError(f"{complaint}, and not {text} with its variables filled in")
    return url


def _headers(
    headers: Mapping[str, str], env: Mapping[str, str], _folders: Folders
) -> dict[str, str]:
    return {name: expand(text, env) for name, text in headers.items()}


_EXPANDED: Mapping[str, Callable[[Any, Mapping[str, str], Folders], Any]] = {
    "workspace_dir": _path,
    "memory.path": _path,
    "receipts.path": _path,
    "security.forbidden_paths": _forbidden,
    "providers.models.*.script": _path,
    "providers.models.*.base_url": _url,
    "providers.models.*.headers": _headers,
}

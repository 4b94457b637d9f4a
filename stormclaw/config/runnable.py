"""What a project brings along that could run or widen what is allowed: found, listed, hashed.

Trust is bound to a hash of exactly this. Nothing here runs or is believed; a file that is no plain
file, or more of them than anybody would read, cannot be trusted at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stormclaw.errors import UsageError

FILES: tuple[str, ...] = (".stormclaw/config.yaml", ".mcp.json", ".stormclaw/mcp.json")
FOLDERS: Mapping[str, Kind] = {
    ".stormclaw/hooks": "hook",
    ".stormclaw/plugins": "plugin",
    ".stormclaw/commands": "command",
    ".stormclaw/skills": "skill",
    ".stormclaw/sops": "workflow",
    ".stormclaw/workflows": "workflow",
}
"""Relative to the project, with what their files are."""

MOST_FILES = 500
MOST_BYTES = 4 * 1024 * 1024
"""Beyond this there is nothing a person could have read before saying yes."""

Kind: TypeAlias = Literal["setting", "mcp server", "hook", "plugin", "command", "skill", "workflow"]


@dataclass(frozen=True, slots=True)
class Runnable:
    """One thing trust would let have its way.

    Attributes:
        kind: What it is.
        what: The setting and its value, the command, the file's name.
        where: File, with the line where known, relative to the project.
    """

    kind: Kind
    what: str
    where: str


def fingerprint(project: Path) -> str:
    """A hash of everything trust is about, of what is missing too.

    Raises:
        UsageError: One of the files cannot be read, is no plain file, or it is too much.
    """
    digest = hashlib.sha256()
    for name, content in _contents(project):
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape") + content)
    return digest.hexdigest()


def covered(project: Path) -> tuple[Path, ...]:
    """The files of this project that trust is about, those that exist."""
    return tuple(project / name for name in _names(project) if os.path.lexists(project / name))


def runnables(project: Path) -> tuple[Runnable, ...]:
    """What is there besides settings: servers, hooks, plugins, commands, in the order of `covered`.

    Settings are listed by whoever loads them: what was ignored is what trust would grant.
    """
    found: list[Runnable] = []
    for name in FILES[1:]:
        found += _servers(project, name)
    for folder, kind in FOLDERS.items():
        found += [
            Runnable(kind, name.removeprefix(f"{folder}/"), name)
            for name in _files_in(project, folder)
        ]
    return tuple(found)


def _servers(project: Path, name: str) -> Iterator[Runnable]:
    if not os.path.lexists(project / name):
        return
    try:
        declared = json.loads(_content(project / name, name))["mcpServers"]
        entries = [(str(key), _command(value)) for key, value in declared.items()]
    except (UsageError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        yield Runnable("mcp server", "a file that cannot be read as a list of servers", name)
        return
    yield from (Runnable("mcp server", f"{key}: {command}", name) for key, command in entries)


def _command(server: Any) -> str:
    if "url" in server:
        return str(server["url"])
    return " ".join((str(server["command"]), *map(str, server.get("args", ()))))


def _names(project: Path) -> Iterator[str]:
    yield from FILES
    for folder in FOLDERS:
        yield from _files_in(project, folder)


def _files_in(project: Path, folder: str) -> Iterator[str]:
    """Every file below a folder, links included but not followed, sorted, as relative names."""
    count = 0
    for at, folders, names in os.walk(project / folder):
        linked = [name for name in folders if (Path(at) / name).is_symlink()]
        for name in sorted((*names, *linked)):
            count += 1
            if count > MOST_FILES:
                raise UsageError(f"{project / folder} holds more than {MOST_FILES} files")
            yield str((Path(at) / name).relative_to(project))
        folders.sort()


def _contents(project: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    for name in _names(project):
        path = project / name
        if not os.path.lexists(path):
            yield name, b"absent"
            continue
        content = _content(path, name)
        total += len(content)
        if total > MOST_BYTES:
            raise UsageError(f"{project} brings more than {MOST_BYTES >> 20} MiB that could run")
        link = os.fsencode(path.readlink()) if path.is_symlink() else b""
        yield name, b"present" + link + b"\0" + content


def _content(path: Path, name: str) -> bytes:
    """The bytes of a plain file; never waits for a pipe or a device.

    Raises:
        UsageError: It cannot be read, or is no plain file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"{name} is no plain file, so it cannot be trusted")
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None

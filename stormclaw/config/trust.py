"""Which projects' own configuration the person trusts: bound to its content, not to the folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stormclaw.config.disk import file_error, present, read_text, write_text
from stormclaw.config.runnable import Runnable, covered, fingerprint, runnables
from stormclaw.errors import Problem, UsageError

__all__ = [
    "answered",
    "asks_for",
    "covered",
    "decline",
    "fingerprint",
    "is_trusted",
    "pending",
    "trust",
    "untrust",
]

FILE_NAME = "trust.json"
VERSION = 1

Answer: TypeAlias = Literal["trusted", "open without", ""]


def asks_for(workspace: Path, ignored: Iterable[Problem]) -> tuple[Runnable, ...]:
    """Everything trust would let this project have, for a person to read before they answer.

    Args:
        workspace: The project.
        ignored: What of its settings was ignored, as `layers.load` reports it.

    Raises:
        UsageError: It is more than anybody would read.
    """
    own = str(workspace / ".stormclaw")
    settings = (
        Runnable("setting", f"{problem.key} = {problem.value}", _place(problem.file, workspace))
        for problem in ignored
        if problem.file.startswith(own)
    )
    return (*settings, *runnables(workspace))


def answered(home: Path, workspace: Path) -> Answer:
    """What the person said about this project exactly as it stands; "" if nothing.

    Raises:
        ConfigError: The list of trusted folders is damaged.
    """
    folder = str(workspace.resolve())
    record = _read(home)
    if folder not in record["folders"] and folder not in record["without"]:
        return ""
    try:
        now = fingerprint(workspace)
    except UsageError:
        return ""
    if record["folders"].get(folder) == now:
        return "trusted"
    return "open without" if record["without"].get(folder) == now else ""


def is_trusted(home: Path, workspace: Path) -> bool:
    """Whether the person trusts this project's configuration exactly as it stands.

    Raises:
        ConfigError: The list of trusted folders is damaged.
    """
    return answered(home, workspace) == "trusted"


def trust(home: Path, workspace: Path, seen: str | None = None) -> None:
    """Trust this project's configuration as it stands.

    Args:
        home: The user folder.
        workspace: The project.
        seen: `fingerprint` of what the person was shown.

    Raises:
        UsageError: It changed since it was shown, or cannot be read.
        ConfigError: The list of trusted folders is damaged.
        OSError: The list cannot be written.
    """
    now = fingerprint(workspace)
    if seen is not None and seen != now:
        raise UsageError("the project's configuration changed while you looked at it; look again")
    _keep(home, workspace, "folders", now)


def decline(home: Path, workspace: Path) -> None:
    """Remember that the person opens the project without what it asks for, as it stands.

    Raises:
        UsageError: It cannot be read; it will be asked about again.
        ConfigError: The list of trusted folders is damaged.
        OSError: The list cannot be written.
    """
    _keep(home, workspace, "without", fingerprint(workspace))


def untrust(home: Path, workspace: Path) -> bool:
    """End the trust -> whether there was any.

    Raises:
        ConfigError: The list of trusted folders is damaged.
        OSError: The list cannot be written.
    """
    record = _read(home)
    if record["folders"].pop(str(workspace.resolve()), None) is None:
        return False
    _write(home, record)
    return True


def _place(file: str, workspace: Path) -> str:
    return file.removeprefix(f"{workspace}/")


_Record = dict[str, dict[str, str]]
"""`folders` (trusted) and `without` (not): resolved folder -> fingerprint."""


def _keep(home: Path, workspace: Path, answer: str, now: str) -> None:
    record, folder = _read(home), str(workspace.resolve())
    for folders in record.values():
        folders.pop(folder, None)
    record[answer][folder] = now
    _write(home, record)


def _read(home: Path) -> _Record:
    path = home / FILE_NAME
    if not present(path):
        return {"folders": {}, "without": {}}
    try:
        content: Any = json.loads(read_text(path))
        version = content["version"]
        record = {"folders": dict(content["folders"]), "without": dict(content.get("without", {}))}
        sound = all(isinstance(one, str) for part in record.values() for one in part.values())
    except (ValueError, TypeError, LookupError, AttributeError):
        raise file_error(path, "is damaged; delete it and trust your projects again") from None
    if version != VERSION or not sound:
        raise file_error(path, f"has version {version}; this StormClaw reads {VERSION}")
    return record


def _write(home: Path, record: _Record) -> None:
    sorted_parts = {name: dict(sorted(folders.items())) for name, folders in record.items()}
    write_text(home / FILE_NAME, json.dumps({"version": VERSION, **sorted_parts}, indent=2) + "\n")


def pending(home: Path, workspace: Path, ignored: Iterable[Problem]) -> tuple[Runnable, ...]:
    """What to ask the person about before work begins; () when nothing, or answered already.

    Raises:
        UsageError: It is more than anybody would read; it stays untrusted.
        ConfigError: The list of trusted folders is damaged.
    """
    return () if answered(home, workspace) else asks_for(workspace, ignored)

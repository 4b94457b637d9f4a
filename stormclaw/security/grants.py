"""Standing grants: what a person allowed for good, one line each in `~/.stormclaw/grants.jsonl`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from stormclaw.errors import StoreError
from stormclaw.protocol.effects import Grant
from stormclaw.security.policy import grant_key

FILE = "grants.jsonl"
Kind = Literal["command", "write", "host", "note", "network", "folder", "network-host"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Standing:
    """The grants of one project.

    Attributes:
        grants: In the order they were given, each once.
        origins: `grant:KIND:MATCH` -> `path:line`, for `Policy.origins`.
        problems: Lines that could not be read, each with place and reason; they grant nothing.
    """

    grants: tuple[Grant, ...]
    origins: Mapping[str, str]
    problems: tuple[str, ...]


def path(home: Path) -> Path:
    """The file of all standing grants."""
    return home / FILE


def load(home: Path, project: Path) -> Standing:
    """The grants given for `project`; one bad line never hides the others.

    Args:
        home: StormClaw's own folder.
        project: The workspace; grants of other projects are left out.
    """
    file = path(home)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return Standing((), {}, ())
    except OSError as error:
        return Standing((), {}, (f"{file}: cannot be read: {error.strerror or error}",))
    here = _name(project)
    origins: dict[str, str] = {}
    grants: list[Grant] = []
    problems: list[str] = []
    for number, line in _lines(content):
        place = f"{file}:{number}"
        grant = _read(line)
        if isinstance(grant, str):
            problems.append(f"{place}: {grant}")
        elif grant[0] == here and grant[1] not in grants:
            grants.append(grant[1])
            origins[grant_key(grant[1])] = place
    return Standing(tuple(grants), origins, tuple(problems))


def append(home: Path, project: Path, grant: Grant) -> str:
    """Write a grant down for good; returns `path:line`.

    One write, flushed to the disk; the file is readable by its owner alone.

    Raises:
        StoreError: The disk does not take it.
    """
    record = {"version": 1, "project": _name(project), "kind": grant.kind, "match": grant.match}
    line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
    file = path(home)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(file) as descriptor:
            before = _content(descriptor)
            torn = bool(before) and not before.endswith(b"\n")
            payload = b"\n" + line if torn else line
            if os.write(descriptor, payload) != len(payload):
                raise StoreError(f"{file}: only a part of the grant could be written")
            os.fsync(descriptor)
    except OSError as error:
        raise StoreError(f"{file}: the grant cannot be written: {error.strerror}") from error
    return f"{file}:{_number(before)}"


def forget(home: Path, project: Path, grant: Grant) -> bool:
    """Take a standing grant back; False if there is none.

    The file is replaced as a whole: either the grant is gone or nothing has changed. Every other
    line stays as it is, those that cannot be read too.

    Raises:
        StoreError: The disk does not take it; the grant still stands.
    """
    file, here = path(home), _name(project)
    if not file.exists():
        return False
    try:
        with _locked(file) as descriptor:
            before = _content(descriptor).split(b"\n")
            kept = [line for line in before if _read(line) != (here, grant)]
            if len(kept) == len(before):
                return False
            _replace(file, b"\n".join(kept))
    except OSError as error:
        raise StoreError(f"{file}: the grant cannot be taken back: {error.strerror}") from error
    return True


@contextmanager
def _locked(file: Path) -> Iterator[int]:
    """The file, open for appending, with every other StormClaw kept out."""
    import fcntl

    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_still(file, descriptor):  # replaced while we waited: its successor counts
                continue
            os.fchmod(descriptor, 0o600)
            yield descriptor
            return
        finally:
            os.close(descriptor)


def _is_still(file: Path, descriptor: int) -> bool:
    try:
        named, opened = file.stat(), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def _replace(file: Path, content: bytes) -> None:
    """Put `content` in the place of a file, which may be a link to one."""
    real = Path(os.path.realpath(file))
    descriptor, temporary = tempfile.mkstemp(dir=real.parent, prefix=".grants-")
    try:
        with os.fdopen(descriptor, "wb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        Path(temporary).replace(real)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(real.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _number(before: bytes) -> int:
    """The line the next record stands on; a torn last line is closed first."""
    return before.count(b"\n") + (1 if before.endswith(b"\n") or not before else 2)


def _content(descriptor: int) -> bytes:
    chunks: list[bytes] = []
    offset = 0
    while chunk := os.pread(descriptor, 1 << 16, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _read(line: bytes) -> tuple[str, Grant] | str:
    """The project and grant of a line, or what is wrong with it."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "not a JSON object; it grants nothing"
    if not isinstance(record, dict):
        return "not a JSON object; it grants nothing"
    if record.get("version") != 1:
        return f"version {record.get('version')!r} is not known here; it grants nothing"
    project, kind, match = (record.get(key) for key in ("project", "kind", "match"))
    if not (isinstance(project, str) and isinstance(match, str) and match and kind in KINDS):
        return "project, kind or match is missing or wrong; it grants nothing"
    return project, Grant(kind, match)


def _name(project: Path) -> str:
    return os.path.realpath(project)

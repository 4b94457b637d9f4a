"""Walks a folder as git does: what its ignore files hide is named and not entered.

From the strongest to the weakest: `.ignore` (as ripgrep knows it), `.gitignore`, the repository's
`info/exclude`, the person's `core.excludesFile`; within one kind the deepest folder decides. A
pattern hides what it matches whether it is tracked or not. Outside git, `.gitignore` counts too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from stormclaw.tools._gitconfig import GitSettings, exclude_bytes, git_settings, read_some
from stormclaw.tools._gitignore import Rules, parse
from stormclaw.tools._openat import FOLDER, closing, open_at, open_place
from stormclaw.tools._write import is_temporary

NAMES = (".ignore", ".gitignore")
_NOTHING = Rules(())


@dataclass(frozen=True, slots=True)
class Level:
    """The rules that begin in one folder.

    Attributes:
        base: The folder as Latin-1, with a trailing slash.
        rules: Of `.ignore`, `.gitignore`, `info/exclude` and the person's list.
        root: True where a repository begins: git's rules of the folders above do not count.
    """

    base: str
    rules: tuple[Rules, Rules, Rules, Rules]
    root: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in the walk; `path` is relative to its start, undecodable bytes escaped."""

    path: str
    kind: str
    """file, folder, link or other."""
    depth: int
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """What is known before a walk.

    Attributes:
        base: Where it begins, as Latin-1 with a trailing slash.
        settings: Of git, empty outside.
        levels: From the top of the file system down to the start, itself included.
    """

    base: str
    settings: GitSettings
    levels: tuple[Level, ...]


Asked = tuple[tuple[int, Rules], ...]
"""The rules to ask about the entries of one folder, strongest first, and where paths begin."""


def starting(start: Path) -> Start:
    """Read all that is above a folder and in it; `start` is absolute, links resolved."""
    folders = (*reversed(start.parents), start)
    root = next((up for up in reversed(folders) if (up / ".git").exists()), None)
    settings = git_settings(root) if root is not None else GitSettings()
    levels: list[Level] = []
    for folder in folders:
        in_git = root is not None and os.path.lexists(folder / ".git")
        names = {*NAMES, *((".git",) if in_git else ())}
        if (found := level_at(folder, names, settings)) is not None:
            levels.append(found)
    return Start(latin(_slashed(folders[-1])), settings, tuple(levels))


def level_at(
    folder: Path, names: set[str], settings: GitSettings, descriptor: int | None = None
) -> Level | None:
    """The rules that begin in a folder, None if there are none.

    Args:
        folder: Absolute.
        names: What is in it, as far as it matters here.
        settings: Of git.
        descriptor: The folder, open, where it is.
    """
    root = ".git" in names
    if not root and not names.intersection(NAMES):
        return None
    # git does not follow a link that stands for one of its files in the work tree.
    own = [
        parse(read_some(name if descriptor is not None else folder / name, descriptor,
                        os.O_NOFOLLOW), fold=settings.fold)
        if name in names else _NOTHING
        for name in NAMES
    ]  # fmt: skip
    exclude = parse(exclude_bytes(folder), fold=settings.fold) if root else _NOTHING
    person = parse(settings.excludes, fold=settings.fold) if root else _NOTHING
    rules = (own[0], own[1], exclude, person)
    return Level(latin(_slashed(folder)), rules, root) if root or any(rules) else None


def asked_in(levels: tuple[Level, ...]) -> Asked:
    """Which rules to ask in a folder, in which order."""
    asked: list[tuple[int, Rules]] = []
    for source in range(4):
        for level in reversed(levels):
            if level.rules[source]:
                asked.append((len(level.base), level.rules[source]))
            if level.root and source:
                break
    return tuple(asked)


def is_ignored(path: str, name: str, asked: Asked, *, folder: bool) -> bool:
    """Whether an entry is hidden by itself; `path` absolute and as Latin-1, `name` its end."""
    for begin, rules in asked:
        said = rules.verdict(path[begin:], name, folder=folder)
        if said is not None:
            return said
    return False


def latin(path: str) -> str:
    """A path as the rules want it: its bytes as Latin-1."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def walk(
    start: Path, *, depth: int = 0, stop: Event | None = None, at: int | None = None
) -> Iterator[Entry]:
    """Everything below a folder, in order of names; ignored entries are named, not entered.

    Args:
        start: An absolute folder, links resolved; it is walked even if it is itself ignored.
        depth: How deep to go, 0 for all the way.
        stop: Set from another thread to end the walk.
        at: Descriptor of the folder, which is then not opened by its path; stays open.
    """
    known = starting(start)
    if at is not None:
        yield from _walk(at, start, known, depth, stop)
        return
    try:
        opened = open_place(start, FOLDER)
    except OSError:
        return
    with closing(opened) as descriptor:
        yield from _walk(descriptor, start, known, depth, stop)


def _walk(top: int, start: Path, known: Start, deepest: int, stop: Event | None) -> Iterator[Entry]:
    """Depth first, with one open folder at a time: each is opened anew from the top."""
    pending = [_entries(top, start, "", known.levels, known, first=True)]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            continue
        if stop is not None and stop.is_set():
            return
        entry, levels = step
        entry = Entry(entry.path, entry.kind, len(pending), entry.ignored)
        yield entry
        if entry.kind == "folder" and not entry.ignored and len(pending) != deepest:
            pending.append(_entries(top, start, f"{entry.path}/", levels, known, first=False))


def _entries(
    top: int, start: Path, prefix: str, levels: tuple[Level, ...], known: Start, *, first: bool
) -> Iterator[tuple[Entry, tuple[Level, ...]]]:
    """What is in one folder, and the rules that hold below it."""
    try:
        with closing(open_at(top, prefix or ".", FOLDER)) as folder:
            with os.scandir(folder) as scan:
                kinds = sorted(
                    (os.fsencode(entry.name), entry.name, _kind(entry)) for entry in scan
                )
            if not first:
                names = {name for _, name, _ in kinds if name in (*NAMES, ".git")}
                found = level_at(start / prefix, names, known.settings, folder) if names else None
                levels = levels if found is None else (*levels, found)
    except OSError:
        return
    asked = asked_in(levels)
    base = known.base + latin(prefix)
    for raw, name, kind in kinds:
        if name == ".git" or is_temporary(name):
            continue
        own = raw.decode("latin-1")
        ignored = bool(asked) and is_ignored(base + own, own, asked, folder=kind == "folder")
        yield Entry(prefix + name, kind, 0, ignored), levels


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _slashed(folder: Path) -> str:
    return str(folder).rstrip("/") + "/"

"""Learns the ignore files of a tree from what ripgrep meets on its way, and sifts its names."""

from __future__ import annotations

from pathlib import Path

from stormclaw.tools._ignore import (
    NAMES,
    Asked,
    Level,
    asked_in,
    is_ignored,
    latin,
    level_at,
    starting,
)
from stormclaw.tools._openat import FOLDER, closing, open_at
from stormclaw.tools._rglines import MARKS, lines
from stormclaw.tools._write import is_temporary

_GIT_MARKS = (".git", ".git/HEAD")


class Ignoring:
    """What hides files below one folder."""

    def __init__(self, start: Path, top: int) -> None:
        """Read what lies above and in a folder; `top` is its descriptor, which stays the caller's.

        Args:
            start: Absolute, links resolved.
            top: The same folder, open.
        """
        known = starting(start)
        self._start, self._top = start, top
        self._base, self._settings = known.base, known.settings
        self._above = known.levels
        self._below: dict[str, Level] = {}
        self._met: set[str] = {""}
        self._sifted: set[str] = set()
        self._chains: dict[str, tuple[tuple[Level, ...], Asked, bool]] = {}
        self._exact = True

    def told(self, *, marks: bool) -> bytes:
        """The text of an ignore file for ripgrep; `marks` to learn from its names."""
        levels = (*self._above, *self._below.values())
        said, self._exact = lines(levels, self._base, fold=self._settings.fold)
        self._sifted.clear()
        return "".join(f"{line}\n" for line in [*said, *(MARKS if marks else ())]).encode()

    def learn(self, names: list[str]) -> bool:
        """Read the ignore files among the names; True if ripgrep must walk again knowing them.

        It need not where new rules only hide: then too much was named, and is sifted.
        """
        folders: dict[str, set[str]] = {}
        for name in filter(_special, names):
            folder, mark = _mark(name)
            if mark and folder not in self._met:
                folders.setdefault(folder, set()).add(mark)
        again = False
        for folder, marks in folders.items():
            self._met.add(folder)
            level = self._read(folder, marks)
            if level is None:
                continue
            self._below[folder] = level
            self._sifted.add(folder)
            again |= level.root or any(
                rule.negated for rules in level.rules for rule in rules.rules
            )
        self._chains.clear()
        return again

    def sift(self, names: list[str]) -> list[str]:
        """The names that are really to be shown."""
        if not self._exact:
            return [name for name in names if self.shows(name)]
        below = tuple(f"{folder}/" for folder in self._sifted)
        unsure = [name for name in names if _special(name) or (below and name.startswith(below))]
        hidden = {name for name in unsure if not self.shows(name)}
        return [name for name in names if name not in hidden] if hidden else names

    def shows(self, name: str) -> bool:
        """Whether a file, relative to the start, is to be shown, by the exact rules."""
        if _mark(name)[1] == ".git" or is_temporary(name.rpartition("/")[2]):
            return False
        above, _, last = name.rpartition("/")
        _, asked, hidden = self._chain(above)
        return not hidden and not is_ignored(
            self._base + latin(name), latin(last), asked, folder=False
        )

    @property
    def is_exact(self) -> bool:
        """Whether ripgrep, told now, would show exactly what is to be shown."""
        return self._exact

    def _chain(self, folder: str) -> tuple[tuple[Level, ...], Asked, bool]:
        """The levels down to a folder, what to ask there, and whether it is hidden itself."""
        if folder in self._chains:
            return self._chains[folder]
        if not folder:
            levels, hidden = self._above, False
        else:
            above, _, name = folder.rpartition("/")
            levels, asked, hidden = self._chain(above)
            hidden = hidden or is_ignored(
                self._base + latin(folder), latin(name), asked, folder=True
            )
            if (own := self._below.get(folder)) is not None:
                levels = (*levels, own)
        chain = (levels, asked_in(levels), hidden)
        self._chains[folder] = chain
        return chain

    def _read(self, folder: str, marks: set[str]) -> Level | None:
        try:
            with closing(open_at(self._top, folder, FOLDER)) as descriptor:
                return level_at(self._start / folder, marks, self._settings, descriptor)
        except OSError:
            return None


def _mark(name: str) -> tuple[str, str]:
    """The folder a mark stands in and what it is, ("", "") for any other name."""
    for mark in (*NAMES, *_GIT_MARKS):
        if name == mark or name.endswith(f"/{mark}"):
            return name[: -len(mark) - 1] if name != mark else "", mark.partition("/")[0]
    return "", ""


def _special(name: str) -> bool:
    """Whether a name may be no ordinary file; this is asked about every one."""
    return ".git" in name or ".ignore" in name or ".stormclaw-" in name

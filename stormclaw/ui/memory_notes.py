"""MEMORY.md of the project as the person reads and edits it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from textual.app import App

from stormclaw.ui.editor import EditorFailed, open_file
from stormclaw.ui.rows import BLANK, Row, Run, wrap_runs
from stormclaw.ui.text import count, inert

FOLDER = Path(".stormclaw") / "memory"
NAME = "MEMORY.md"
MAX_BYTES = 1024 * 1024
SHOWN = 2_000
"""Lines that are laid out; the editor has all of them."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes; `problem` says why they cannot be read, "" if they can."""

    text: str
    problem: str = ""

    @property
    def size(self) -> str:
        """`12 lines of notes`."""
        lines = len(self.text.splitlines())
        return f"{count(lines, 'line')} of notes" if lines else "no notes yet"

    def rows(self, width: int) -> list[Row]:
        """The notes under their name, plain."""
        head = Row((Run(NAME, "text", "b"), Run(f"  {FOLDER}", "muted")))
        if self.problem:
            return [head, BLANK, *wrap_runs(inert(self.problem), width, "error")]
        if not self.text.strip():
            words = "Nothing is noted in this project. The agent notes what it is asked to keep; "
            return [head, BLANK, *wrap_runs(words + "e begins the file.", width, "muted")]
        rows: list[Row] = []
        for line in inert(self.text).rstrip().split("\n")[:SHOWN]:
            heading = line.startswith("#")
            rows += wrap_runs(line.rstrip(), width, "text", "b" if heading else "")
        return [head, BLANK, *rows]


def load(workspace: Path) -> Notes:
    """The notes of a project. Blocks."""
    path = workspace / FOLDER / NAME
    try:
        # Without O_NONBLOCK a FIFO of that name would hold us for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Notes("")
    except OSError as error:
        return Notes("", f"{path} is not read: {_why(path, error)}")
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return Notes("", f"{path} is not read: it is no plain file")
        with os.fdopen(os.dup(fd), "rb") as file:
            return Notes(file.read(MAX_BYTES).decode("utf-8-sig", "replace"))
    except OSError as error:
        return Notes("", f"{path} is not read: {error.strerror}")
    finally:
        os.close(fd)


def edit(app: App[object], workspace: Path, environ: Mapping[str, str]) -> Notes:
    """Give the notes to the person's editor; what is in the file afterwards.

    Raises:
        EditorFailed: There is no editor, or the file is none that may be edited.
    """
    before = load(workspace)
    if before.problem:
        raise EditorFailed(before.problem)
    folder = workspace / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not folder.resolve().is_relative_to(workspace.resolve()):
            raise EditorFailed(f"{folder} leads out of the project; nothing is edited")
    except OSError as error:
        raise EditorFailed(f"{folder} cannot be made: {error.strerror}") from error
    open_file(app, folder / NAME, environ)
    return load(workspace)


def _why(path: Path, error: OSError) -> str:
    return "it is a link" if path.is_symlink() else str(error.strerror)

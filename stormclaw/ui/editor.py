"""The person's own editor, on the whole terminal, and back."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from textual.app import App, SuspendNotSupported


class EditorFailed(Exception):
    """The editor could not be run; the message says why and what to set."""


def command(environ: Mapping[str, str]) -> list[str]:
    """The editor: $VISUAL, else $EDITOR, else vi."""
    return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")


def edit_text(app: App[object], text: str, environ: Mapping[str, str]) -> str:
    """`text` as the person left it in the editor.

    Raises:
        EditorFailed: No terminal to give away, no such editor, or it ended with an error.
    """
    handle, name = tempfile.mkstemp(prefix="stormclaw-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        _run(app, [*command(environ), name], Path.cwd())
        return path.read_text("utf-8", "replace").removesuffix("\n")
    finally:
        path.unlink(missing_ok=True)


def open_file(app: App[object], path: Path, environ: Mapping[str, str]) -> None:
    """Open a file of the project.

    Raises:
        EditorFailed: See `edit_text`.
    """
    _run(app, [*command(environ), str(path)], path.parent)


def _run(app: App[object], line: list[str], cwd: Path) -> None:
    try:
        with app.suspend():
            ended = subprocess.run(line, check=False, cwd=cwd)
    except SuspendNotSupported:
        raise EditorFailed("no terminal here to give to an editor") from None
    except OSError as error:
        raise EditorFailed(f"{line[0]}: {error.strerror}; set $EDITOR") from error
    if ended.returncode:
        raise EditorFailed(f"{line[0]} ended with {ended.returncode}; nothing taken")

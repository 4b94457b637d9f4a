"""Keeps codex from trusting a project because we asked it to work there.

A thread that may write makes codex note the project as trusted, for good, in the person's own
configuration; from then on it takes the project's `.codex/config.toml`, which may name programs to
start. Where the person has said nothing of a project, it is told that they do not trust it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def flags(environ: Mapping[str, str], workspace: Path) -> tuple[str, ...]:
    """Arguments that say so; none where the person has told codex what to think of it. Blocks."""
    places = dict.fromkeys((workspace, workspace.resolve()))
    told = _told(environ)
    if any(str(place) in told for place in (*places, *map(_repository, places))):
        return ()
    names = (json.dumps(str(place), ensure_ascii=False) for place in places)
    said = ",".join(f'{name}={{trust_level="untrusted"}}' for name in names)
    return ("-c", f"projects={{{said}}}")


def _repository(folder: Path) -> Path:
    """What codex takes for the project of a folder: the repository it is in, else itself."""
    around = (folder, *folder.parents)
    return next((place for place in around if (place / ".git").exists()), folder)


def _told(environ: Mapping[str, str]) -> frozenset[str]:
    """The projects the person has told codex of; none where that cannot be read."""
    home = environ.get("CODEX_HOME") or str(
        Path(environ.get("HOME") or "~").expanduser() / ".codex"
    )
    try:
        text = (Path(home) / "config.toml").read_text(encoding="utf-8")
        projects: Any = tomllib.loads(text).get("projects")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(
        str(name)
        for name, said in (projects.items() if isinstance(projects, Mapping) else ())
        if isinstance(said, Mapping) and said.get("trust_level")
    )

"""Makes stages for the tests of the terminal app, always with the same terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stage import Stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    """Makes stages; `stage(session=..., ui=..., start={...})`."""
    for name in ("NO_COLOR", "TMUX", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("LC_ALL", raising=False)
    home, workspace = tmp_path / "home", tmp_path / "tidepool"
    home.mkdir()
    workspace.mkdir()

    def make(**options: Any) -> Stage:
        return Stage(home, workspace, **options)

    return make

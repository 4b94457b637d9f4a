"""Makes stages for the tests of the terminal app, always with the same terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stage import Stage
from still import patient_pilot, still
from textual.pilot import Pilot

PICTURE_S = 0.6
"""A picture is of an app that changes nothing by itself for so long."""


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


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """The pilot waits for the app itself, however loaded the machine is."""
    with patient_pilot():
        yield


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """Compares a picture of an app in which nothing is pending any more."""

    def compare(
        app: object,
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    ) -> bool:
        async def act(pilot: Pilot[Any]) -> None:
            acting = run_before(pilot) if run_before is not None else None
            if acting is not None:
                await acting
            assert await still(PICTURE_S, busy_s=10.0), "the app does not come to rest"

        return snap_compare(app, terminal_size=terminal_size, run_before=act)

    return compare

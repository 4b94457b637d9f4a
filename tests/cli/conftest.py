from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted import Desk

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def run(desk: Desk) -> Run:
    """Runs `stormclaw ...` in the project, in a process of its own; `typed` None closes stdin."""

    def run(*words: str, typed: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        piped: dict[str, object] = (
            {"stdin": subprocess.DEVNULL} if typed is None else {"input": typed}
        )
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [sys.executable, "-m", "stormclaw", *words],
            cwd=desk.project,
            env={**desk.env, **env},
            capture_output=True,
            text=True,
            timeout=60,
            **piped,
        )

    return run


@pytest.fixture(autouse=True)
def _no_colour() -> None:
    os.environ.pop("NO_COLOR", None)

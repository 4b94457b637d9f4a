from __future__ import annotations

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
    """Runs `stormclaw ...` in the project as a person would, in a process of its own."""

    def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "stormclaw", *words],
            cwd=desk.project,
            env=desk.env,
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run

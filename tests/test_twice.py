"""The second chance of a failed test: who gets it, and what is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TWICE = Path(__file__).parent / "twice.py"
STEADY = "def test_steady():\n    pass\n"
UNSTEADY = """
import os, pathlib

def test_unsteady():
    been = pathlib.Path("been")
    if not been.exists():
        been.touch()
        {fails}
"""
BROKEN = "def test_broken():\n    assert False\n"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs these tests, each in a file; what the program ended with and said."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*tests: str, workers: int = 0) -> tuple[int, str]:
        for number, text in enumerate(tests):
            (tmp_path / f"test_{number}.py").write_text(text)
        line = [sys.executable, str(TWICE), "-p", "xdist.plugin", f"-n{workers}"]
        bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        done = subprocess.run(
            line, cwd=tmp_path, env=bare, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout

    return run


def test_a_test_that_took_its_worker_with_it_and_passes_then_is_told(run: Run) -> None:
    code, said = run(STEADY, UNSTEADY.format(fails="os._exit(3)"), workers=1)
    assert code == 0, said
    assert "UNSTEADY" in said
    assert "test_1.py::test_unsteady\n\n" in said
    assert said.count("test_0.py::test_steady") == 0


def test_what_fails_twice_fails(run: Run) -> None:
    code, said = run(UNSTEADY.format(fails="assert False"), BROKEN)
    assert code == 1
    told = said.rpartition("UNSTEADY")[2]
    assert "test_unsteady" in told
    assert "test_broken" not in told


def test_much_that_fails_is_not_unsteady(run: Run) -> None:
    code, said = run("\n".join(BROKEN.replace("_broken", f"_{n}") for n in range(11)))
    assert code == 1
    assert "once more" not in said


def test_nothing_is_run_again_when_it_could_not_begin(run: Run) -> None:
    code, said = run(STEADY, "import nothing_of_that_name\n")
    assert code == 2
    assert "once more" not in said

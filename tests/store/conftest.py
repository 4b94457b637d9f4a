"""A full disk, a child process and a few nodes, for all tests of the store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

import stormclaw

Child: TypeAlias = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def child() -> Iterator[Child]:
    """Starts Python programs that can import StormClaw; none outlives its test."""
    started: list[subprocess.Popen[str]] = []
    root = str(Path(stormclaw.__file__).parent.parent)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "PYTHONUNBUFFERED": "1"}

    def start(program: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, env=environ
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Takes from everybody the right to write in `tmp_path`; gives it back afterwards."""

    def lock() -> None:
        tmp_path.chmod(0o500)
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write everywhere")

    yield lock
    tmp_path.chmod(0o700)

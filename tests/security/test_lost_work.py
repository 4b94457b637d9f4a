"""What loses work without being called rm, where the folders it would lose are really there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Risk, Runs
from stormclaw.security.gate import judge, policy_from


def _risk(line: str, tmp_path: Path) -> Risk:
    workspace = tmp_path / "ws"
    for name in ("src", "docs"):
        (workspace / name).mkdir(parents=True)
    (workspace / "src" / "main.py").touch()
    policy = policy_from(
        SecuritySettings(), workspace=workspace, home=tmp_path / "home", user_home=tmp_path / "me"
    )
    return judge((Runs(line, workspace),), policy).risk


@pytest.mark.parametrize(
    "line",
    [
        "pytest --basetemp=src",
        "pytest --baset=src tests",
        "pytest --basetemp src",
        "python -m pytest --basetemp=src",
        "git checkout src",
        "git checkout HEAD~5 -- src",
        "git restore src",
        "git restore -s HEAD~3 -W src",
        "git restore src/main.py docs",
        "find . -type f -exec mv {} x \\;",
        "find . -type f | xargs -I{} mv {} x",
        "find . -type f | xargs -I{} cp /dev/null {}",
    ],
)
def test_a_folder_that_would_be_lost_is_held(line: str, tmp_path: Path) -> None:
    assert _risk(line, tmp_path) in ("high", "blocked")


@pytest.mark.parametrize(
    "line",
    [
        "pytest --basetemp=.pytest_tmp",
        "pytest --basetemp=new",
        "git checkout src/main.py",
        "git checkout -b src-work",
        "git restore --staged src",
        "find . -name '*.md' -exec mv {} docs/ \\;",
        "find . -name '*.md' -exec cp {} docs \\;",
    ],
)
def test_what_loses_nothing_passes(line: str, tmp_path: Path) -> None:
    assert _risk(line, tmp_path) in ("low", "medium")

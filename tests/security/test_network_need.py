"""The network is asked for before a command runs that cannot do without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.security.network_need import needs_network
from stormclaw.security.policy import Policy, policy_from


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    workspace = tmp_path / "project"
    workspace.mkdir()
    return policy_from(SecuritySettings(), workspace=workspace, home=tmp_path / "home")


NEEDS = [
    ("pip install requests", ("pip install",)),
    ("pip3.11 install -r requirements.txt", ("pip install",)),
    ("python -m pip install -e .", ("pip install",)),
    (".venv/bin/python -mpip download x", ("pip download",)),
    ("uv sync && uv run pytest", ("uv sync",)),
    ("uv --directory api pip install flask", ("uv pip install",)),
    ("cd web && npm ci && npm test", ("npm ci",)),
    ("npm --prefix web install", ("npm install",)),
    ("yarn", ("yarn",)),
    ("pnpm -F api add zod; pnpm test", ("pnpm add",)),
    ("git -C sub fetch --all && git pull --rebase", ("git fetch", "git pull")),
    ("git submodule update --init", ("git submodule update",)),
    ("git push origin main", ("git push",)),
    ("cargo fetch; go mod download; go get x/y", ("cargo fetch", "go mod download", "go get")),
    ("timeout 60 curl -fsSL https://example.com", ("curl",)),
    ("bash -c 'wget https://example.com/a'", ("wget",)),
    ("echo $(gh pr view 3)", ("gh",)),
    ("uvx ruff check", ("uvx",)),
    ("npx create-vite app", ("npx",)),
    ("npx -y cowsay hi", ("npx",)),
    ("docker compose pull", ("docker compose pull",)),
    ("sudo apt-get -o X=1 install jq", ("apt-get install",)),
    ("rsync -a build/ host:/srv", ("rsync",)),
    ("git fetch; git fetch", ("git fetch",)),
]
DOES_WITHOUT = [
    "ls", "git status", "git log --grep fetch", "git commit -m 'git push'", "npm test",
    "pip list", "pip install --no-index -f wheels x", "cargo build --offline", "cargo test",
    "uv run pytest", "yarn build", "npx eslint .", "python -m pytest", "python app.py install",
    "git clone ../other", "git clone file:///srv/x", "rsync -a a/ b/", "echo pip install x",
    "npm install --offline", "make", "pip --version",
    "git -c alias.x=push status",
]  # fmt: skip


@pytest.mark.parametrize(("line", "words"), NEEDS)
def test_network_is_needed_by_leading_words(
    line: str, words: tuple[str, ...], policy: Policy
) -> None:

    assert needs_network(line, policy.workspace, policy) == words


@pytest.mark.parametrize("line", DOES_WITHOUT)
def test_no_network_needed(line: str, policy: Policy) -> None:
    assert needs_network(line, policy.workspace, policy) == ()

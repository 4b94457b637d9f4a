"""Trust is bound to what a project's configuration says, not to where it lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stormclaw.config import trust
from stormclaw.errors import ConfigError, Problem, UsageError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".stormclaw").mkdir(parents=True)
    (folder / ".stormclaw" / "config.yaml").write_text("ui: {bell: false}")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_nothing_is_trusted_unasked(home: Path, project: Path) -> None:
    assert not trust.is_trusted(home, project)
    assert not home.exists()


def test_trust_holds_until_the_content_changes(home: Path, project: Path) -> None:
    trust.trust(home, project)
    assert trust.is_trusted(home, project)
    assert (home / "trust.json").stat().st_mode & 0o777 == 0o600
    config = project / ".stormclaw" / "config.yaml"
    config.write_text("security: {autonomy: full}")
    assert not trust.is_trusted(home, project)
    config.write_text("ui: {bell: false}")
    assert trust.is_trusted(home, project)


def test_trusting_a_project_without_configuration_does_not_cover_one_added_later(
    home: Path, project: Path
) -> None:
    config = project / ".stormclaw" / "config.yaml"
    config.unlink()
    trust.trust(home, project)
    assert trust.covered(project) == ()
    config.write_text("")
    assert not trust.is_trusted(home, project)
    assert trust.covered(project) == (config,)


def test_a_copy_elsewhere_is_not_trusted_a_link_to_it_is(
    home: Path, project: Path, tmp_path: Path
) -> None:
    trust.trust(home, project)
    (tmp_path / "link").symlink_to(project)
    assert trust.is_trusted(home, tmp_path / "link")
    copy = tmp_path / "copy"
    (copy / ".stormclaw").mkdir(parents=True)
    (copy / ".stormclaw" / "config.yaml").write_text("ui: {bell: false}")
    assert not trust.is_trusted(home, copy)


def test_what_changed_while_it_was_shown_is_not_trusted(home: Path, project: Path) -> None:
    seen = trust.fingerprint(project)
    (project / ".stormclaw" / "config.yaml").write_text("security: {autonomy: full}")
    with pytest.raises(UsageError, match="changed while you looked"):
        trust.trust(home, project, seen)
    assert not trust.is_trusted(home, project)


def test_trust_can_be_taken_back(home: Path, project: Path) -> None:
    trust.trust(home, project, trust.fingerprint(project))
    assert trust.untrust(home, project)
    assert not trust.untrust(home, project)
    assert not trust.is_trusted(home, project)


def test_a_configuration_that_cannot_be_read_is_not_trusted(home: Path, project: Path) -> None:
    config = project / ".stormclaw" / "config.yaml"
    trust.trust(home, project)
    config.unlink()
    config.mkdir()
    assert not trust.is_trusted(home, project)
    with pytest.raises(UsageError, match="cannot be read"):
        trust.trust(home, project)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 9, "folders": {}}'])
def test_a_damaged_list_is_an_error_not_trust(home: Path, project: Path, text: str) -> None:
    home.mkdir()
    (home / "trust.json").write_text(text)
    with pytest.raises(ConfigError, match=r"trust\.json"):
        trust.is_trusted(home, project)
    with pytest.raises(ConfigError):
        trust.trust(home, project)
    assert (home / "trust.json").read_text() == text


def test_everything_that_could_run_is_listed(project: Path) -> None:
    (project / ".mcp.json").write_text(
        '{"mcpServers": {"db": {"command": "npx", "args": ["-y", "evil"]},'
        ' "web": {"url": "https://mcp.example"}}}'
    )
    hooks = project / ".stormclaw" / "hooks" / "pre"
    hooks.mkdir(parents=True)
    (hooks / "run.sh").write_text("echo")
    (project / ".stormclaw" / "commands").mkdir()
    (project / ".stormclaw" / "commands" / "ship.md").write_text("do it")
    config = project / ".stormclaw" / "config.yaml"
    ignored = Problem(f"{config}:3", "security.autonomy", "full", "ignored")
    mine = Problem("/home/me/config.yaml:1", "x", "y", "not the project's")
    found = trust.asks_for(project, (ignored, mine))
    assert [(one.kind, one.what, one.where) for one in found] == [
        ("setting", "security.autonomy = full", ".stormclaw/config.yaml:3"),
        ("mcp server", "db: npx -y evil", ".mcp.json"),
        ("mcp server", "web: https://mcp.example", ".mcp.json"),
        ("hook", "pre/run.sh", ".stormclaw/hooks/pre/run.sh"),
        ("command", "ship.md", ".stormclaw/commands/ship.md"),
    ]


@pytest.mark.parametrize("text", ["not json", "[]", '{"mcpServers": {"x": 3}}', "[" * 100_000])
def test_servers_that_cannot_be_read_are_listed_all_the_same(project: Path, text: str) -> None:
    (project / ".mcp.json").write_text(text)
    (found,) = trust.asks_for(project, ())
    assert found.kind == "mcp server"


@pytest.mark.parametrize(
    "name",
    [".mcp.json", ".stormclaw/hooks/pre.sh", ".stormclaw/plugins/p/manifest.yaml",
     ".stormclaw/commands/x.md", ".stormclaw/skills/s/SKILL.md", ".stormclaw/sops/d/sop.yaml"],
)  # fmt: skip
def test_any_of_it_ends_the_trust_when_it_changes(home: Path, project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    trust.trust(home, project)
    assert trust.is_trusted(home, project)
    path.write_text("{ }")
    assert not trust.is_trusted(home, project)
    path.unlink()
    assert not trust.is_trusted(home, project)


def test_a_link_in_it_is_followed_for_its_content(
    home: Path, project: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.sh"
    script.write_text("echo one")
    (project / ".stormclaw" / "hooks").mkdir()
    (project / ".stormclaw" / "hooks" / "h").symlink_to(script)
    trust.trust(home, project)
    script.write_text("echo two")
    assert not trust.is_trusted(home, project)


def test_what_would_hang_or_flood_cannot_be_trusted(home: Path, project: Path) -> None:
    hooks = project / ".stormclaw" / "hooks"
    hooks.mkdir()
    os.mkfifo(hooks / "pipe")
    with pytest.raises(UsageError, match="no plain file"):
        trust.trust(home, project)
    (hooks / "pipe").unlink()
    for number in range(501):
        (hooks / str(number)).write_text("")
    with pytest.raises(UsageError, match="more than 500 files"):
        trust.trust(home, project)
    assert not trust.is_trusted(home, project)


def test_opening_without_is_remembered_until_it_changes(home: Path, project: Path) -> None:
    (project / ".mcp.json").write_text("{}")
    assert trust.pending(home, project, ())
    trust.decline(home, project)
    assert trust.answered(home, project) == "open without"
    assert trust.pending(home, project, ()) == ()
    assert not trust.is_trusted(home, project)
    (project / ".mcp.json").write_text("{ }")
    assert trust.pending(home, project, ())
    trust.trust(home, project)
    assert trust.answered(home, project) == "trusted"


def test_a_record_of_before_is_still_read(home: Path, project: Path) -> None:
    home.mkdir()
    (home / "trust.json").write_text('{"version": 1, "folders": {}}')
    assert trust.answered(home, project) == ""
    trust.trust(home, project)
    assert trust.is_trusted(home, project)

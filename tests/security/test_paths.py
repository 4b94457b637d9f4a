"""Files under the path policy, with real links on a real disk."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Grant, Reads, Remembers, Risk, Segment, Verdict, Writes
from stormclaw.security.gate import Policy, judge, policy_from


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "src" / "tide").mkdir(parents=True)
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    return folder


@pytest.fixture
def policy(workspace: Path, tmp_path: Path) -> Policy:
    settings = SecuritySettings(forbidden_paths=(str(workspace / "private"), "~/.ssh", "/etc"))
    return policy_from(
        settings, workspace=workspace, home=tmp_path / "home", user_home=tmp_path / "me"
    )


def _read(policy: Policy, path: Path | str) -> Verdict:
    return judge((Reads(Path(policy.workspace, path)),), policy)


def _write(policy: Policy, path: Path | str) -> Verdict:
    return judge((Writes(Path(policy.workspace, path)),), policy)


@pytest.mark.parametrize(
    ("path", "risk"),
    [
        ("src/a.py", "low"),
        ("src/../src/a.py", "low"),
        ("not/there/yet", "low"),
        (".", "low"),
        (".git/config", "low"),
        (".env.example", "low"),
        ("id_rsa.pub", "low"),
        (".env", "medium"),
        ("src/.env.local", "medium"),
        (".ENV", "medium"),
        ("deploy/id_rsa", "medium"),
        ("server.pem", "medium"),
        ("credentials", "medium"),
        ("private/x", "blocked"),
        ("PRIVATE/x", "blocked"),
        ("private", "blocked"),
        ("../outside/secret", "blocked"),
        ("..", "blocked"),
        ("src/../../outside/secret", "blocked"),
        ("/etc/passwd", "blocked"),
        ("/ETC/passwd", "blocked"),
        ("/proc/self/environ", "blocked"),
        ("/dev/zero", "blocked"),
        ("/", "blocked"),
        ("a\0b", "blocked"),
    ],
)
def test_reading(path: str, risk: Risk, policy: Policy) -> None:
    assert _read(policy, path).risk == risk


@pytest.mark.parametrize(
    ("path", "risk"),
    [
        ("src/a.py", "medium"),
        ("new/file", "medium"),
        (".gitignore", "medium"),
        (".github/workflows/x.yml", "medium"),
        (".stormclaw/memory/MEMORY.md", "medium"),
        (".git/config", "high"),
        (".GIT/config", "high"),
        (".g\u200cit/config", "high"),
        (".git", "high"),
        ("src/.git/hooks/x", "high"),
        (".stormclaw/config.yaml", "high"),
        (".stormclaw/memory", "high"),
        (".stormclaw/memory/../config.yaml", "high"),
        (".mcp.json", "high"),
        (".envrc", "high"),
        (".vscode/tasks.json", "high"),
        (".idea/x", "high"),
        ("private/x", "blocked"),
        ("../outside/x", "blocked"),
        ("/etc/x", "blocked"),
        ("/proc/self/mem", "blocked"),
        ("/dev/null", "blocked"),
        ("a\0b", "blocked"),
    ],
)
def test_writing(path: str, risk: Risk, policy: Policy) -> None:
    assert _write(policy, path).risk == risk


def test_a_link_that_leads_outside_is_outside(policy: Policy, tmp_path: Path) -> None:
    ws = policy.workspace
    (ws / "file").symlink_to(tmp_path / "outside" / "secret")
    (ws / "folder").symlink_to(tmp_path / "outside")
    (ws / "chain").symlink_to(ws / "folder")
    (ws / "dangling").symlink_to(tmp_path / "outside" / "new")
    (ws / "relative").symlink_to("../outside")
    (ws / "etc").symlink_to("/etc")
    for path in ("file", "folder/secret", "folder/new", "chain/new/deep", "dangling", "relative/x"):
        assert _read(policy, path).rule == "workspace_only", path
        assert _write(policy, path).rule == "workspace_only", path
    assert _read(policy, "etc/passwd").rule == "forbidden_paths: /etc"


def test_a_link_that_stays_inside_is_judged_where_it_leads(policy: Policy) -> None:
    ws = policy.workspace
    (ws / "alias").symlink_to(ws / "src")
    (ws / "hooks").symlink_to(ws / ".git" / "hooks")
    (ws / "harmless.txt").symlink_to(ws / ".env")
    (ws / "p").symlink_to(ws / "private")
    assert _write(policy, "alias/b.py").risk == "medium"
    assert _write(policy, "alias/b.py").grants == (Grant("write", "src"),)
    assert _write(policy, "hooks/pre-commit").risk == "high"
    assert _read(policy, "harmless.txt").risk == "medium"
    assert _read(policy, "p/x").risk == "blocked"


def test_dot_dot_after_a_link_goes_where_the_disk_goes(policy: Policy, tmp_path: Path) -> None:
    (policy.workspace / "deep").symlink_to(tmp_path / "outside")
    assert _read(policy, "deep/../ws/src/a.py").risk == "low"
    assert _read(policy, "deep/../outside/secret").risk == "blocked"


def test_links_in_circles_are_refused(policy: Policy) -> None:
    (policy.workspace / "a").symlink_to(policy.workspace / "b")
    (policy.workspace / "b").symlink_to(policy.workspace / "a")
    assert _read(policy, "a").risk == "blocked"
    assert _write(policy, "a").risk == "blocked"


def test_a_workspace_that_is_a_link(workspace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    policy = policy_from(SecuritySettings(), workspace=link, home=tmp_path / "home")
    assert policy.workspace == Path(os.path.realpath(workspace))
    assert judge((Reads(link / "src" / "a.py"),), policy).risk == "low"
    assert judge((Reads(workspace / "src" / "a.py"),), policy).risk == "low"
    assert judge((Writes(link / ".git" / "config"),), policy).risk == "high"


def test_a_neighbour_with_the_same_beginning_is_outside(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "ws2").mkdir()
    assert _read(policy, tmp_path / "ws2" / "x").risk == "blocked"


def test_a_very_long_name_is_no_crash(policy: Policy) -> None:
    assert _read(policy, "x" * 5000).risk in ("low", "blocked")
    assert _write(policy, "/".join(["d"] * 3000)).risk in ("medium", "blocked")


def test_stormclaws_own_folder_is_closed(policy: Policy, tmp_path: Path) -> None:
    for name in ("auth.json", "grants.jsonl", "config.yaml", "sessions/x"):
        open_ = replace(policy, workspace_only=False)
        assert _write(open_, tmp_path / "home" / name).rule == "own folder"
        assert _read(open_, tmp_path / "home" / name).rule == "own folder"


def test_a_workspace_inside_stormclaws_folder_still_works(tmp_path: Path) -> None:
    home = tmp_path / "home"
    policy = policy_from(SecuritySettings(), workspace=home / "work", home=home)
    assert _read(policy, "a").risk == "low"
    assert _read(policy, "../auth.json").risk == "blocked"


def test_readable_folders_can_be_read_and_not_written(policy: Policy, tmp_path: Path) -> None:
    wider = replace(policy, readable=(tmp_path / "outside",))
    assert _read(wider, tmp_path / "outside" / "secret").risk == "low"
    assert _write(wider, tmp_path / "outside" / "secret").risk == "blocked"


def test_without_the_boundary_outside_is_open_but_not_everything(
    policy: Policy, tmp_path: Path
) -> None:
    wide = replace(policy, workspace_only=False)
    assert _read(wide, tmp_path / "outside" / "secret").risk == "low"
    assert _write(wide, tmp_path / "outside" / "secret").risk == "medium"
    assert _write(wide, tmp_path / "outside" / "secret").grants == ()
    assert _write(wide, tmp_path / "me" / ".bashrc").risk == "high"
    assert _write(wide, tmp_path / "other" / ".git" / "hooks" / "x").risk == "high"
    assert _read(wide, tmp_path / "me" / ".ssh" / "id_rsa").risk == "blocked"
    assert _read(wide, "/etc/passwd").risk == "blocked"


@pytest.mark.parametrize(
    ("path", "match"),
    [("src/tide/retry.py", "src/tide"), ("src/a.py", "src"), ("README.md", "README.md")],
)
def test_the_narrowest_grant_for_a_write(path: str, match: str, policy: Policy) -> None:
    assert _write(policy, path).grants == (Grant("write", match),)


@pytest.mark.parametrize(
    ("match", "path", "allowed"),
    [
        ("src", "src/a.py", True),
        ("src", "src/tide/deep/x", True),
        ("src", "src2/a.py", False),
        ("src", "a.py", False),
        ("src/tide", "src/a.py", False),
        ("README.md", "README.md", True),
        ("README.md", "docs/README.md", False),
        (".", "a.py", False),
        (".git", ".git/config", False),
        ("src", "src/.git/config", False),
        ("private", "private/x", False),
    ],
)
def test_what_a_write_grant_covers(match: str, path: str, allowed: bool, policy: Policy) -> None:
    granted = replace(policy, grants=(Grant("write", match),))
    assert (_write(granted, path).decision == "allow") is allowed


def test_a_write_grant_does_not_follow_a_link_out(policy: Policy, tmp_path: Path) -> None:
    (policy.workspace / "src" / "out").symlink_to(tmp_path / "outside")
    granted = replace(policy, grants=(Grant("write", "src"),))
    assert _write(granted, "src/out/x").decision == "deny"


def test_a_redirect_uses_the_same_grant(policy: Policy) -> None:
    from stormclaw.protocol.effects import Runs

    granted = replace(policy, grants=(Grant("write", "src"),))
    assert judge((Runs("echo x > src/b", policy.workspace),), granted).decision == "allow"
    assert judge((Runs("echo x > b", policy.workspace),), granted).decision == "ask"


def test_project_notes_have_a_rule_of_their_own(policy: Policy, tmp_path: Path) -> None:
    note = Remembers(policy.workspace / ".stormclaw" / "memory" / "MEMORY.md")
    verdict = judge((note,), policy)
    name, why = ".stormclaw/memory/MEMORY.md", "changes what later sessions are told"
    assert verdict.segments == (Segment(name, "medium", why, "project notes"),)
    assert verdict.grants == (Grant("note", ".stormclaw/memory"),)
    held = replace(
        policy,
        grants=verdict.grants,
        origins={"grant:note:.stormclaw/memory": "/g:3"},
    )
    granted = judge((note,), held)
    assert (granted.decision, granted.rule, granted.origin) == (
        "allow",
        "granted: .stormclaw/memory",
        "/g:3",
    )
    assert judge((Writes(note.path),), held).decision == "ask"
    closed = replace(held, forbidden_paths=(policy.workspace / ".stormclaw",))
    assert judge((note,), closed).rule.startswith("forbidden_paths")
    for odd in ("a\0b", "../x", "src/notes.md"):
        elsewhere = judge((Remembers(Path(policy.workspace, odd)),), held)
        assert elsewhere.decision != "allow", odd
    assert judge((Remembers(policy.workspace / "src" / "x"),), held).rule == "workspace writes"


def test_what_the_person_is_shown_of_a_path(policy: Policy, tmp_path: Path) -> None:
    origins = {"security.forbidden_paths": "/c:1", "security.workspace_only": "/c:2"}
    told = replace(policy, origins=origins, grants=(Grant("write", "src"),))
    out = tmp_path / "outside" / "secret"
    found = [
        (verdict.origin, *verdict.segments)
        for effect in (
            Reads(policy.workspace / "src" / "a.py"),
            Reads(policy.workspace / ".env"),
            Reads(out),
            Reads(Path("/etc/passwd")),
            Reads(Path("/proc/1")),
            Reads(policy.home / "x"),
            Writes(policy.workspace / ".git" / "x"),
            Writes(policy.workspace / "b"),
            Writes(policy.workspace / "src" / "a.py"),
        )
        for verdict in [judge((effect,), told)]
    ]
    assert found == [
        ("shipped", Segment("src/a.py", "low", "reads inside the workspace", "workspace")),
        ("shipped", Segment(".env", "medium", "may hold keys or passwords", "secret file: .env")),
        (
            "/c:2",
            Segment(
                str(out), "blocked", f"leads outside the workspace, to {out}", "workspace_only"
            ),
        ),
        (
            "/c:1",
            Segment(
                "/etc/passwd", "blocked", "lies under the forbidden path /etc",
                "forbidden_paths: /etc",
            ),
        ),
        ("shipped", Segment("/proc/1", "blocked", "is a device or kernel interface",
                            "kernel folders")),
        ("shipped", Segment(f"{policy.home}/x", "blocked", "belongs to StormClaw itself",
                            "own folder")),
        ("shipped", Segment(".git/x", "high", ".git decides what runs later", "protected: .git")),
        ("shipped", Segment("b", "medium", "writes to the workspace", "workspace writes")),
        ("this session", Segment("src/a.py", "medium", "writes to the workspace", "granted: src")),
    ]  # fmt: skip

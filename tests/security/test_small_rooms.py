"""Hosts, grants on disk, the emergency stop, redaction, the environment of children."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.errors import StoreError
from stormclaw.protocol.effects import Decision, Fetches, Grant, Risk
from stormclaw.security import estop, grants
from stormclaw.security.gate import Policy, judge, policy_from
from stormclaw.security.redact import redact, scrubbed_environ
from stormclaw.security.shell.environment import poison
from stormclaw.security.shell.scripts import awk_risk, sed_risk


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    settings = SecuritySettings(allowed_hosts=("example.com", "*.docs.example"))
    return policy_from(settings, workspace=tmp_path / "ws", home=tmp_path / "home")


@pytest.mark.parametrize(
    ("url", "method", "risk", "decision"),
    [
        ("https://example.com/x", "GET", "low", "allow"),
        ("HTTPS://EXAMPLE.com./x", "get", "low", "allow"),
        ("https://a.docs.example", "HEAD", "low", "allow"),
        ("https://docs.example", "GET", "medium", "ask"),
        ("https://notexample.com", "GET", "medium", "ask"),
        ("https://example.com.evil.org", "GET", "medium", "ask"),
        ("https://example.com", "POST", "medium", "ask"),
        ("https://example.com", "DELETE", "medium", "ask"),
        ("https://8.8.8.8/", "GET", "medium", "ask"),
        ("http://localhost:11434", "GET", "high", "deny"),
        ("http://127.0.0.1", "GET", "high", "deny"),
        ("http://127.9.9.9", "GET", "high", "deny"),
        ("http://2130706433", "GET", "high", "deny"),
        ("http://0x7f000001", "GET", "high", "deny"),
        ("http://0177.0.0.1", "GET", "high", "deny"),
        ("http://127.1", "GET", "high", "deny"),
        ("http://0", "GET", "high", "deny"),
        ("http://[::1]/", "GET", "high", "deny"),
        ("http://[::ffff:10.0.0.1]/", "GET", "high", "deny"),
        ("http://[fe80::1]/", "GET", "high", "deny"),
        ("http://10.1.2.3", "GET", "high", "deny"),
        ("http://192.168.1.1", "GET", "high", "deny"),
        ("http://172.16.0.1", "GET", "high", "deny"),
        ("http://169.254.169.254/latest/meta-data", "GET", "high", "deny"),
        ("http://metadata.google.internal", "GET", "high", "deny"),
        ("http://printer.local", "GET", "high", "deny"),
        ("http://intranet", "GET", "high", "deny"),
        ("http://a.localhost", "GET", "high", "deny"),
        ("http://999.1.1.1", "GET", "high", "deny"),
        ("file:///etc/passwd", "GET", "blocked", "deny"),
        ("ftp://example.com", "GET", "blocked", "deny"),
        ("example.com", "GET", "blocked", "deny"),
        ("https://", "GET", "blocked", "deny"),
        ("https://user:pw@example.com", "GET", "blocked", "deny"),
        ("https://example.com@evil.org", "GET", "blocked", "deny"),
        ("https://example.com\\@evil.org", "GET", "blocked", "deny"),
        ("https://exam ple.com", "GET", "blocked", "deny"),
        ("https://example.com\n", "GET", "blocked", "deny"),
        ("https://[::1", "GET", "blocked", "deny"),
        ("https://example.com:99999", "GET", "blocked", "deny"),
        ("", "GET", "blocked", "deny"),
    ],
)
def test_hosts(url: str, method: str, risk: Risk, decision: Decision, policy: Policy) -> None:
    verdict = judge((Fetches(url, method),), policy)
    assert (verdict.risk, verdict.decision) == (risk, decision)


def test_a_host_can_be_allowed_for_looking_only(policy: Policy) -> None:
    verdict = judge((Fetches("https://pypi.example/simple"),), policy)
    assert verdict.grants == (Grant("host", "pypi.example"),)
    granted = replace(policy, grants=verdict.grants)
    assert judge((Fetches("https://pypi.example/other"),), granted).decision == "allow"
    assert judge((Fetches("https://pypi.example/other", "POST"),), granted).decision == "ask"
    assert judge((Fetches("https://x.pypi.example/"),), granted).decision == "ask"


def test_no_grant_opens_this_machine(policy: Policy) -> None:
    held = replace(policy, grants=(Grant("host", "localhost"),))
    assert judge((Fetches("http://localhost/"),), held).decision == "deny"


def test_grants_are_kept_per_project(tmp_path: Path) -> None:
    home, here, there = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    first = grants.append(home, here, Grant("command", "npm test"))
    second = grants.append(home, there, Grant("write", "src"))
    third = grants.append(home, here, Grant("host", "exämple.com"))
    file = home / "grants.jsonl"
    assert (first, second, third) == (f"{file}:1", f"{file}:2", f"{file}:3")
    standing = grants.load(home, here)
    assert standing.grants == (Grant("command", "npm test"), Grant("host", "exämple.com"))
    assert standing.origins["grant:host:exämple.com"] == f"{file}:3"
    assert standing.problems == ()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_project_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    grants.append(tmp_path, tmp_path / "link", Grant("command", "npm test"))
    assert grants.load(tmp_path, tmp_path / "a").grants == (Grant("command", "npm test"),)


def test_no_file_means_no_grants(tmp_path: Path) -> None:
    standing = grants.load(tmp_path, tmp_path)
    assert (standing.grants, standing.problems) == ((), ())


def test_bad_lines_grant_nothing_and_hide_nothing(tmp_path: Path) -> None:
    grants.append(tmp_path, tmp_path, Grant("command", "npm test"))
    file = tmp_path / "grants.jsonl"
    good = file.read_text()
    project = json.loads(good)["project"]
    bad = [
        "not json",
        "[1]",
        json.dumps({"version": 2, "project": project, "kind": "command", "match": "x"}),
        json.dumps({"version": 1, "project": project, "kind": "shell", "match": "x"}),
        json.dumps({"version": 1, "project": project, "kind": "command", "match": ""}),
        json.dumps({"version": 1, "project": 3, "kind": "command", "match": "x"}),
        "\xff",
        "[" * 100_000,
    ]
    file.write_text("\n".join([*bad, ""]) + good, encoding="utf-8")
    standing = grants.load(tmp_path, tmp_path)
    assert standing.grants == (Grant("command", "npm test"),)
    assert len(standing.problems) == len(bad)
    assert standing.problems[0].startswith(f"{file}:1:")


def test_a_torn_last_line_is_closed_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / "grants.jsonl"
    file.write_bytes(b'{"version": 1, "proj')
    place = grants.append(tmp_path, tmp_path, Grant("command", "npm test"))
    assert place == f"{file}:2"
    standing = grants.load(tmp_path, tmp_path)
    assert standing.grants == (Grant("command", "npm test"),)
    assert standing.origins["grant:command:npm test"] == place
    assert len(standing.problems) == 1


def test_grants_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    (tmp_path / "grants.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"grants\.jsonl"):
        grants.append(tmp_path, tmp_path, Grant("command", "npm test"))
    assert len(grants.load(tmp_path, tmp_path).problems) == 1


def test_grants_from_several_threads_keep_every_line(tmp_path: Path) -> None:
    places: list[str] = []

    def give(number: int) -> None:
        places.append(grants.append(tmp_path, tmp_path, Grant("command", f"x {number}")))

    threads = [threading.Thread(target=give, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    standing = grants.load(tmp_path, tmp_path)
    assert len(standing.grants) == 12
    assert sorted(standing.origins.values()) == sorted(places)
    assert len(set(places)) == 12


def test_estop_is_a_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert not estop.is_stopped(home)
    assert (estop.reason(home), estop.since(home), estop.clear(home)) == ("", None, False)
    estop.set(home, by="/estop")
    assert estop.is_stopped(home)
    assert estop.reason(home) == "/estop"
    record = json.loads((home / "ESTOP").read_text())
    assert estop.since(home) == record["at"]
    assert os.listdir(home) == ["ESTOP"]
    estop.set(home, by="again")
    assert estop.reason(home) == "again"
    assert estop.clear(home)
    assert not estop.is_stopped(home)


@pytest.mark.parametrize("content", [b"", b"garbage", b"[]", b'{"by": 3, "at": "x"}', b"\xff\xfe"])
def test_estop_touched_by_hand_stops_too(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "ESTOP").write_bytes(content)
    assert estop.is_stopped(tmp_path)
    assert "ESTOP" in estop.reason(tmp_path)
    assert estop.since(tmp_path) == (tmp_path / "ESTOP").stat().st_mtime


def test_estop_as_a_dangling_link_or_a_folder_stops_too(tmp_path: Path) -> None:
    (tmp_path / "ESTOP").symlink_to(tmp_path / "nowhere")
    assert estop.is_stopped(tmp_path)
    assert estop.clear(tmp_path)
    (tmp_path / "ESTOP").mkdir()
    assert estop.is_stopped(tmp_path)
    assert estop.reason(tmp_path)


SECRETS = (
    "sk-abcdefghijklmnop1234",
    "sk-or-v1-0123456789abcdef0123456789abcdef",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijklmnop",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "key: {} end", '{{"k": "{}"}}', "X={}\nY=1", "({})"])
def test_keys_are_cut_to_four_characters(secret: str, frame: str) -> None:
    masked = redact(frame.format(secret))
    assert secret not in masked
    assert secret[4:16] not in masked
    assert secret[:4] in masked
    assert redact(masked) == masked


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Authorization: Bearer abcdefgh12345", "efgh12345"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "cjpwYXNz"),
        ("curl -H 'Authorization: Bearer tok-en_123456'", "en_123456"),
        ("password=hunter22", "hunter22"),
        ('"password": "hunter22"', "hunter22"),
        ("DB_PASSWORD: hunter22", "hunter22"),
        ("api_key = 'zzzz9999'", "zzzz9999"),
        ("client_secret=>zzzz9999", "zzzz9999"),
        ("postgres://me:hunter22@db/x", "hunter22"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza", "b3Blbn"),
    ],
)
def test_named_secrets_are_masked(text: str, gone: str) -> None:
    assert gone not in redact(text)
    assert "***" in redact(text)
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "the task-list is long",
        "def password(self): return 1",
        "git commit -m 'fix the token parser'",
        "src/secrets/loader.py",
        "max_tokens: 4096",
        "https://example.com/a@b",
        "sk-short",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece", ["a", "-", "eyJ-", "eyJa.", "password=", "https://", "Bearer ", "sk-", "-----BEGIN "]
)
def test_redaction_is_linear(piece: str) -> None:
    """Half a megabyte of the worst text; a quadratic pattern would never come back."""
    redact(piece * (500_000 // len(piece)))


def test_children_get_what_they_need_and_no_secrets() -> None:
    env = {
        "PATH": "/usr/bin",
        "HOME": "/h",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": "src",
        "VIRTUAL_ENV": "/v",
        "HTTPS_PROXY": "http://user:pw@proxy:1",
        "OPENROUTER_API_KEY": "sk-or-v1-0123456789abcdef",
        "GITHUB_TOKEN": "x",
        "NPM_CONFIG__AUTHTOKEN": "x",
        "PYTHON_KEYRING_BACKEND": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "DB_PASSWORD": "x",
        "GOOGLE_APPLICATION_CREDENTIALS": "x",
        "GO_HELPER": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "SSH_AUTH_SOCK": "x",
        "LD_PRELOAD": "x",
        "BASH_ENV": "x",
        "STORMCLAW_HOME": "x",
        "RANDOM_THING": "x",
        "PAGER": "less",
    }
    child = scrubbed_environ(env)
    kept = {"PATH", "HOME", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "HTTPS_PROXY"}
    assert {name for name in env if name in child} == kept | {"PAGER"}
    assert child["HTTPS_PROXY"] == "http://proxy:1"
    assert (child["PAGER"], child["GIT_PAGER"], child["GIT_TERMINAL_PROMPT"]) == ("cat", "cat", "0")


@pytest.mark.parametrize(
    ("name", "value", "bad"),
    [
        ("FOO", "x", False),
        ("PATH", ".", True),
        ("LD_PRELOAD", "", False),
        ("LD_PRELOAD", "x", True),
        ("GIT_PAGER", "cat", False),
        ("GIT_PAGER", "sh -c x", True),
        ("GIT_AUTHOR_NAME", "A B", False),
        ("GIT_AUTHOR_NAME", None, True),
        ("CC", "clang-17", False),
        ("CC", "./clang", True),
        ("NODE_OPTIONS", "--max-old-space-size=99 --no-warnings", False),
        ("NODE_OPTIONS", "--max-old-space-size=99 --require x", True),
        ("EDITOR", "true", False),
        ("EDITOR", "true; x", True),
        ("PYTHONPATH", "src", False),
    ],
)
def test_poisoned_variables(name: str, value: str | None, bad: bool) -> None:
    assert bool(poison(name, value)) is bad


@pytest.mark.parametrize(
    ("program", "bad"),
    [
        ("s/a/b/", False),
        ("s/a/b/gIp", False),
        ("s|w|e|2", False),
        ("s/[/]/x/", True),  # seds differ on where this ends
        ("s/\\/w x/e/", False),
        ("1,5p;$d", False),
        ("/w x/d", False),
        ("\\#e#d", False),
        ("y/abc/xyz/", False),
        ("/a/{s/b/c/;p}", False),
        ("a\\\nhello w x", False),
        ("a hello e", False),
        (":a;N;$!ba;s/\\n/ /g", False),
        ("# e comment", False),
        ("", False),
        ("s/a/b/e", True),
        ("s/a/b/ge", True),
        ("s/a/b/w f", True),
        ("s/a/b/;e ls", True),
        ("e", True),
        ("1e ls", True),
        ("$!e ls", True),
        ("w f", True),
        ("/x/w f", True),
        ("r /etc/passwd", True),
        ("{e ls\n}", True),
        ("s/a", True),
        ("s\na\nb\ne", True),
        ("p;w f", True),
    ],
)
def test_sed_programs(program: str, bad: bool) -> None:
    assert bool(sed_risk(program)) is bad


@pytest.mark.parametrize(
    ("program", "bad"),
    [
        ("{print $1}", False),
        ("$1 > 5", False),
        ("$1 > 5 {print}", False),
        ('{print "a|b > c"}', False),
        ("/a|b/ || $2", False),
        ('{print $1 | "sort"}', True),
        ('{print > "f"}', True),
        ('{printf "%s", $1 >> "f"}', True),
        ('BEGIN{system("x")}', True),
        ("{getline x}", True),
        ('@load "x"', True),
        ('{f="system"; @f("x")}', True),
    ],
)
def test_awk_programs(program: str, bad: bool) -> None:
    assert bool(awk_risk(program)) is bad


def test_the_door_to_the_gate_is_light() -> None:
    """Importing the gate loads no classifier: that happens at the first shell line."""
    code = (
        "import sys, stormclaw.security.gate; "
        "heavy = ('tree_sitter', 'textual', 'openai', 'stormclaw.security.shell.walk'); "
        "sys.exit(any(name.startswith(heavy) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

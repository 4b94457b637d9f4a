"""The live policy: hits are counted, grants come and go, a reload forgets what was taken back."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.agent.rules import Rules
from stormclaw.config.settings import SecuritySettings, Settings
from stormclaw.errors import StoreError
from stormclaw.protocol.effects import Grant, Reads, Runs, Writes
from stormclaw.security.policy import Policy, policy_from
from stormclaw.security.policy_rows import Row, rows
from stormclaw.security.tool_policy import Layer, sift

NPM = Grant("command", "npm test")
SRC = Grant("write", "src")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "ws").mkdir()
    return policy_from(
        Settings(), workspace=tmp_path / "ws", home=tmp_path / "home", sandbox="bwrap"
    )


@pytest.fixture
def kept() -> list[Grant]:
    return []


@pytest.fixture
def rules(policy: Policy, kept: list[Grant]) -> Rules:
    def keep(grant: Grant) -> str:
        kept.append(grant)
        return f"/g.jsonl:{len(kept)}"

    return Rules(policy, keep)


def run(rules: Rules, line: str) -> str:
    return rules.judge((Runs(line, rules.policy.workspace),)).decision


def test_every_rule_that_decided_is_counted_once_a_call(rules: Rules) -> None:
    assert rules.hits == {}
    run(rules, "ls; ls; rm x")
    run(rules, "rm x")
    rules.judge((Reads(Path("/etc/passwd")),))
    assert rules.hits == {
        "shipped list: ls": 1,
        "forbidden_commands: rm": 2,
        "forbidden_paths: /etc": 1,
    }
    rules.judge(())
    assert rules.hits["no effects"] == 1
    assert rules.reachable("evil.example", "127.0.0.1") != ""
    assert rules.reachable("example.com", "8.8.8.8") == ""
    assert rules.hits["private addresses"] == 1
    assert rules.hits["forbidden_commands: rm"] == 2


def test_counting_from_many_threads_loses_nothing(rules: Rules) -> None:
    reads = (Reads(Path("/etc/passwd")),)
    threads = [
        threading.Thread(target=lambda: [rules.judge(reads) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rules.hits["forbidden_paths: /etc"] == 400


def test_what_was_handed_out_does_not_change_any_more(rules: Rules) -> None:
    before = rules.hits
    run(rules, "ls")
    assert before == {}


def test_always_binds_in_a_chain_and_says_where_it_stands(rules: Rules, kept: list[Grant]) -> None:
    assert run(rules, "npm test") == "ask"
    assert rules.allow((NPM,), always=True) == ("/g.jsonl:1",)
    assert kept == [NPM]
    assert run(rules, "npm test && git status") == "allow"
    assert run(rules, "git status; npm test | tail -3") == "allow"
    assert run(rules, "npm test && make") == "ask"
    assert run(rules, "npm test && rm x") == "deny"
    verdict = rules.judge((Runs("npm test", rules.policy.workspace),))
    assert (verdict.rule, verdict.origin) == ("granted: npm test", "/g.jsonl:1")
    assert rules.hits["granted: npm test"] == 5


def test_for_this_session_writes_nothing_down(rules: Rules, kept: list[Grant]) -> None:
    assert rules.allow((NPM,), always=False) == ()
    assert kept == []
    assert run(rules, "npm test") == "allow"
    verdict = rules.judge((Runs("npm test", rules.policy.workspace),))
    assert verdict.origin == "this session"


def test_what_can_be_given_can_be_taken(rules: Rules) -> None:
    rules.allow((NPM, SRC), always=True)
    assert rules.forget(NPM)
    assert run(rules, "npm test") == "ask"
    assert rules.policy.grants == (SRC,)
    assert rules.policy.origins["grant:write:src"] == "/g.jsonl:2"
    assert "grant:command:npm test" not in rules.policy.origins
    assert not rules.forget(NPM)
    assert rules.policy.grants == (SRC,)


def test_a_reload_keeps_the_sessions_grants_and_drops_what_left_the_file(
    rules: Rules, policy: Policy
) -> None:
    rules.allow((NPM,), always=False)
    rules.allow((SRC,), always=True)
    rules.replace(replace(policy, workspace_only=False))
    assert list(rules.policy.grants) == [NPM]
    assert not rules.policy.workspace_only
    rules.replace(replace(policy, grants=(SRC,)))
    assert list(rules.policy.grants) == [SRC, NPM]
    rules.forget(NPM)
    rules.replace(policy)
    assert list(rules.policy.grants) == []


def test_a_grant_that_cannot_be_kept_is_not_given(policy: Policy) -> None:
    def keep(grant: Grant) -> str:
        if grant == NPM:
            raise StoreError("disk full")
        return "/g.jsonl:1"

    rules = Rules(policy, keep)
    with pytest.raises(StoreError):
        rules.allow((SRC, NPM), always=True)
    assert rules.policy.grants == (SRC,)
    assert run(rules, "npm test") == "ask"


def test_a_grant_given_twice_is_there_once(rules: Rules) -> None:
    rules.allow((NPM,), always=False)
    rules.allow((NPM, NPM), always=True)
    assert rules.policy.grants == (NPM,)


def test_another_level_counts_from_the_next_call_on(rules: Rules) -> None:
    write = (Writes(rules.policy.workspace / "a"),)
    assert rules.judge(write).decision == "ask"
    rules.set_autonomy("readonly")
    assert (rules.autonomy, rules.judge(write).decision) == ("readonly", "deny")
    rules.set_autonomy("full")
    assert rules.judge(write).decision == "allow"


def test_the_table_of_rules_has_hits_and_places(tmp_path: Path) -> None:
    settings = SecuritySettings(
        forbidden_commands=("rm",),
        forbidden_paths=("/etc",),
        allowed_commands=("just",),
        allowed_hosts=("Example.com",),
        sandbox="required",
        sandbox_network=("pip",),
        sandbox_folders=(str(tmp_path / "cache" / "x"),),
    )
    origins = {
        "security.forbidden_commands": "/c:1",
        "security.allowed_hosts[0]": "/c:2",
        "security.sandbox": "/c:3",
        "security.secrets": "defaults",
        "grant:network:pip install": "/g:1",
    }
    grants = (NPM, Grant("network", "pip install"), Grant("folder", "/x/y"))
    policy = policy_from(
        settings, workspace=tmp_path / "ws", home=tmp_path / "home", origins=origins,
        grants=grants, sandbox="landlock",
    )  # fmt: skip
    hits = {
        "forbidden_commands: rm": 2,
        "granted: npm test": 3,
        "granted network: pip install": 4,
        "granted folder: /x/y": 5,
        "workspace_only": 6,
        "sandbox: required": 7,
        "shipped list: ls": 8,
        "destructive pattern: x": 9,
        "sandbox_network: pip": 1,
    }
    layer = Layer("security.tools_deny", ("http",), keeps=False, origin="/c:9")
    none = Layer("agents.tools_allow", (), keeps=True)
    taken = sift(("http", "glob"), (layer,))
    table = rows(policy, settings, hits=hits, layers=(layer, none), taken=taken, warnings=("odd",))
    workspace = f"{tmp_path}/ws, nothing outside it"
    assert table == (
        Row("autonomy", "supervised", "shipped"),
        Row("workspace", workspace, "shipped", 6),
        Row("sandbox", "landlock (required)", "/c:3", 7),
        Row("secrets", "mask", "shipped"),
        Row("forbidden_paths", "/etc", "shipped", 0),
        Row("forbidden_commands", "rm", "/c:1", 2),
        Row("allowed_commands", "just", "shipped", 0),
        Row("allowed_hosts", "example.com", "/c:2", 0),
        Row("sandbox_network", "pip", "shipped", 1),
        Row("sandbox_folders", f"{tmp_path}/cache/x", "shipped", 0),
        Row("grant 1: command", "npm test", "this session", 3),
        Row("grant 2: network", "pip install", "/g:1", 4),
        Row("grant 3: folder", "/x/y", "this session", 5),
        Row("security.tools_deny", "http", "/c:9"),
        Row("agents.tools_allow", "none", "shipped"),
        Row("tool taken away", "http", "security.tools_deny (/c:9)"),
        Row("warning", "odd", ""),
        Row("shipped", "destructive pattern: x", "shipped", 9),
        Row("shipped", "shipped list: ls", "shipped", 8),
    )
    assert table[1].cells == ("workspace", workspace, "shipped", "6")
    assert table[0].cells[3] == ""
    wide = rows(replace(policy, workspace_only=False), settings)
    assert wide[1].value.endswith("paths outside it too")

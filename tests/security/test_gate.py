"""The gate as a whole: autonomy and risk, several effects, what is offered, what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings, Settings
from stormclaw.protocol.effects import (
    AUTONOMY_LEVELS,
    RISKS,
    Autonomy,
    Decision,
    Effect,
    Fetches,
    Grant,
    Reads,
    Remembers,
    Risk,
    Runs,
    Segment,
    Spawns,
    Verdict,
    Writes,
)
from stormclaw.security.finding import Finding
from stormclaw.security.gate import DECISIONS, Policy, decide, judge, policy_from


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "ws" / "src").mkdir(parents=True)
    return policy_from(
        Settings(),
        workspace=tmp_path / "ws",
        home=tmp_path / "home",
        user_home=tmp_path / "me",
        sandbox="bwrap",
    )


def _run(policy: Policy, line: str) -> Verdict:
    return judge((Runs(line, policy.workspace),), policy)


TABLE: tuple[tuple[Autonomy, Risk, Decision], ...] = (
    ("readonly", "low", "allow"),
    ("readonly", "medium", "deny"),
    ("readonly", "high", "deny"),
    ("readonly", "blocked", "deny"),
    ("supervised", "low", "allow"),
    ("supervised", "medium", "ask"),
    ("supervised", "high", "deny"),
    ("supervised", "blocked", "deny"),
    ("full", "low", "allow"),
    ("full", "medium", "allow"),
    ("full", "high", "ask"),
    ("full", "blocked", "deny"),
)
LINES: dict[Risk, str] = {
    "low": "ls",
    "medium": "pytest",
    "high": "terraform plan",
    "blocked": "rm x",
}


def test_the_table_is_complete() -> None:
    assert {(level, risk) for level, risk, _ in TABLE} == {
        (level, risk) for level in AUTONOMY_LEVELS for risk in RISKS
    }
    assert set(DECISIONS) == set(AUTONOMY_LEVELS)


@pytest.mark.parametrize(("level", "risk", "decision"), TABLE)
def test_autonomy_and_risk(level: Autonomy, risk: Risk, decision: Decision, policy: Policy) -> None:
    verdict = _run(replace(policy, autonomy=level), LINES[risk])
    assert (verdict.risk, verdict.decision) == (risk, decision)


@pytest.mark.parametrize(("level", "risk", "decision"), TABLE)
def test_a_grant_answers_an_ask_and_nothing_else(
    level: Autonomy, risk: Risk, decision: Decision
) -> None:
    grant = Grant("command", "x")
    finding = Finding("x", risk, "why", "rule", grant=grant, granted=True)
    expected = "allow" if decision == "ask" else decision
    assert decide(level, finding) == expected


def test_no_effects_run_freely(policy: Policy) -> None:
    verdict = judge((), replace(policy, autonomy="readonly"))
    assert (verdict.decision, verdict.risk, verdict.rule) == ("allow", "low", "no effects")


def test_several_effects_are_all_judged_and_the_worst_decides(policy: Policy) -> None:
    effects: tuple[Effect, ...] = (
        Reads(policy.workspace / "a"),
        Writes(policy.workspace / "src" / "b"),
        Reads(Path("/etc/passwd")),
        Spawns("look around"),
    )
    verdict = judge(effects, policy)
    assert verdict.decision == "deny"
    assert [segment.risk for segment in verdict.segments] == ["low", "medium", "blocked", "low"]
    assert verdict.rule == "forbidden_paths: /etc"
    assert verdict.grants == ()


def test_the_worst_segment_of_a_chain_wins(policy: Policy) -> None:
    verdict = _run(policy, "ls && npm test; git push --force | cat")
    assert verdict.risk == "high"
    assert verdict.rule == "destructive pattern: git push --force"
    assert [(s.text, s.risk) for s in verdict.segments] == [
        ("ls", "low"),
        ("npm test", "medium"),
        ("git push --force", "high"),
        ("cat", "low"),
        ("network for npm test", "medium"),
        ("network for git push", "medium"),
    ]


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("npm test -- --watch", "npm test"),
        ("npm run build", "npm run build"),
        ("git -C src commit -m x", "git commit"),
        ("docker compose up -d", "docker compose up"),
        ("make test", "make test"),
        ("make", "make"),
        ("pytest -q", "pytest -q"),
        ("./deploy.sh prod", "./deploy.sh prod"),
        ("timeout 5 npm test", "npm test"),
        ("echo 'a b' | tee 'c d'", "tee 'c d'"),
        ("terraform plan -out x", "terraform plan"),
        ("strange 'a b'", "strange 'a b'"),
    ],
)
def test_what_always_would_allow(line: str, match: str, policy: Policy) -> None:
    grants = [grant for grant in _run(policy, line).grants if grant.kind == "command"]
    assert grants == [Grant("command", match)]
    granted = replace(policy, grants=(*_run(policy, line).grants,))
    again = _run(granted, line)
    assert again.decision == "allow", again.trace


def test_not_listed_is_denied_but_can_be_lifted(policy: Policy) -> None:
    policy = replace(policy, sandbox="none")
    verdict = _run(policy, "terraform plan")
    assert (verdict.decision, verdict.risk, verdict.rule) == ("deny", "high", "not on any list")
    assert verdict.grants == (Grant("command", "terraform plan"),)
    lifted = replace(policy, grants=verdict.grants)
    assert _run(lifted, "terraform plan -no-color").decision == "allow"
    assert _run(lifted, "terraform apply").decision == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "npm test; evil",
        "npm test && rm x",
        "npm test > ../x",
        "npm test > out.txt",
        "npm test $(evil)",
        "npm publish",
        "./npm test",
        "PATH=. npm test",
        "sudo npm test",
        "npm test --script-shell ./x",
        "npm --prefix .. test",
        "npm testing",
        "eval npm test '&&' evil",
    ],
)
def test_a_grant_covers_its_own_segment_only(line: str, policy: Policy) -> None:
    granted = replace(policy, grants=(Grant("command", "npm test"),))
    assert _run(granted, "npm test").decision == "allow"
    assert _run(granted, line).decision != "allow"


def test_grants_hold_in_a_chain_when_every_part_is_covered(policy: Policy) -> None:
    line = "npm test && npm run build | tee src/log"
    verdict = _run(policy, line)
    assert set(verdict.grants) == {
        Grant("command", "npm test"),
        Grant("command", "npm run build"),
        Grant("command", "tee src/log"),
    }
    some = replace(policy, grants=verdict.grants[:2])
    assert _run(some, line).decision == "ask"
    assert _run(some, line).grants == verdict.grants[2:]
    assert _run(replace(policy, grants=verdict.grants), line).decision == "allow"


def test_exact_words_are_exact(policy: Policy) -> None:
    granted = replace(policy, grants=(Grant("command", "./deploy.sh prod"),))
    assert _run(granted, "./deploy.sh prod").decision == "allow"
    assert _run(granted, "./deploy.sh prod now").decision == "ask"
    assert _run(granted, "./deploy.sh").decision == "ask"
    assert _run(granted, "./deploy.sh 'prod now'").decision == "ask"


@pytest.mark.parametrize(
    "line", ["rm x", "git reset --hard", "git push -f", "cat /etc/passwd", "PATH=. ls", "$X", "if"]
)
def test_what_no_grant_lifts(line: str, policy: Policy) -> None:
    held = replace(policy, grants=(Grant("command", line), Grant("command", line.split()[0])))
    verdict = _run(held, line)
    assert verdict.decision == "deny"
    assert verdict.grants == ()


def test_readonly_offers_nothing_and_ignores_grants(policy: Policy) -> None:
    readonly = replace(policy, autonomy="readonly", grants=(Grant("command", "npm test"),))
    for line in ("npm test", "terraform plan"):
        verdict = _run(readonly, line)
        assert verdict.decision == "deny"
        assert verdict.grants == ()
        assert "readonly" in verdict.reason


def test_full_asks_before_what_is_high_and_never_lifts_a_block(policy: Policy) -> None:
    full = replace(policy, autonomy="full")
    assert _run(full, "git reset --hard").decision == "ask"
    assert _run(full, "git reset --hard").grants == ()
    assert _run(full, "terraform plan").grants == (Grant("command", "terraform plan"),)
    assert _run(full, "rm -rf build").decision == "deny"
    assert judge((Writes(Path("/etc/x")),), full).decision == "deny"
    assert judge((Writes(policy.workspace / ".git/config"),), full).decision == "ask"


def test_a_rule_names_where_it_stands(tmp_path: Path) -> None:
    settings = SecuritySettings(
        forbidden_commands=("docker", "git push"),
        allowed_commands=("earthly", "terraform plan"),
        allowed_hosts=("example.com",),
    )
    origins = {
        "security.forbidden_commands": "/c.yaml:4",
        "security.allowed_commands": "/c.yaml:9",
        "security.allowed_hosts": "/c.yaml:12",
        "security.workspace_only": "defaults",
        "grant:command:npm test": "/g.jsonl:3",
    }
    policy = policy_from(
        settings,
        workspace=tmp_path,
        home=tmp_path / "home",
        origins=origins,
        grants=(Grant("command", "npm test"), Grant("command", "npm ci")),
        user_home=tmp_path / "me",
    )
    found = {
        line: (verdict.decision, verdict.rule, verdict.origin)
        for line in (
            "docker ps",
            "git -C . push",
            "earthly x",
            "terraform plan",
            "npm test",
            "npm ci",
        )
        for verdict in [_run(policy, line)]
    }
    assert found == {
        "docker ps": ("deny", "forbidden_commands: docker", "/c.yaml:4"),
        "git -C . push": ("deny", "forbidden_commands: git push", "/c.yaml:4"),
        "earthly x": ("ask", "allowed_commands: earthly", "/c.yaml:9"),
        "terraform plan": ("ask", "allowed_commands: terraform plan", "/c.yaml:9"),
        "npm test": ("allow", "granted: npm test", "/g.jsonl:3"),
        "npm ci": ("allow", "granted: npm ci", "this session"),
    }
    assert _run(policy, "terraform apply").rule == "not on any list"
    assert _run(policy, "git pull").decision == "ask"
    assert judge((Fetches("https://example.com"),), policy).origin == "/c.yaml:12"
    assert judge((Reads(tmp_path.parent),), policy).origin == "shipped"


def test_rm_can_be_taken_off_the_list_but_not_off_the_patterns(tmp_path: Path) -> None:
    policy = policy_from(
        SecuritySettings(forbidden_commands=()),
        workspace=tmp_path / "ws",
        home=tmp_path / "home",
        user_home=tmp_path / "me",
    )
    assert _run(policy, "rm old.txt").rule == "not on any list"
    for line in (
        "rm -rf /",
        "rm -r -f /",
        "rm --recursive --force /",
        "rm -rf /*",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf .",
        "rm -rf ..",
        "rm -rf ~",
        "rm -rf $HOME",
        'rm -rf "$HOME/"',
        "rm -rf -- /",
        "rm -rf {/,x}",
        "rm -fr //",
        "rm -rf $PWD",
        "rm -rf --no-preserve-root /",
        "X=/; rm -rf $X",
        "cd src; rm -rf ..",
        "shutdown now",
        "reboot",
        "mkfs /dev/x",
        "dd if=/dev/zero of=x",
    ):
        assert _run(policy, line).risk == "blocked", line
        assert _run(policy, line).rule.startswith(("destructive pattern", "workspace_only")), line


def test_the_trace_tells_every_step(policy: Policy) -> None:
    verdict = _run(policy, "ls && git push --force")
    text = "\n".join(verdict.trace)
    for part in ("ls", "only looks", "shipped list: ls", "git push --force", "rewrites", "denied"):
        assert part in text


def test_remembering_asks_and_can_be_allowed(policy: Policy) -> None:
    note = Remembers(policy.workspace / ".stormclaw" / "memory" / "MEMORY.md")
    verdict = judge((note,), policy)
    assert (verdict.decision, verdict.risk) == ("ask", "medium")
    assert [grant.kind for grant in verdict.grants] == ["note"]
    assert judge((note,), replace(policy, grants=verdict.grants)).decision == "allow"


@pytest.mark.parametrize("name", [".stormclaw/config.yaml", ".stormclaw/memory/../config.yaml"])
def test_remembering_elsewhere_is_a_write(name: str, policy: Policy) -> None:
    verdict = judge((Remembers(policy.workspace / name),), policy)
    assert (verdict.decision, verdict.risk) == ("deny", "high")


def test_spawning_is_free_and_shortened(policy: Policy) -> None:
    verdict = judge((Spawns("x" * 500),), replace(policy, autonomy="readonly"))
    assert verdict.decision == "allow"
    assert len(verdict.segments[0].text) == 80


def test_running_elsewhere_is_judged_by_the_folder(policy: Policy, tmp_path: Path) -> None:
    assert judge((Runs("ls", tmp_path),), policy).rule == "workspace_only"
    assert judge((Runs("ls ..", policy.workspace / "src"),), policy).decision == "allow"
    assert judge((Runs("ls ../..", policy.workspace / "src"),), policy).decision == "deny"


def test_among_equals_the_one_that_nothing_lifts_is_told(policy: Policy) -> None:
    for line in ("terraform plan; git reset --hard", "git reset --hard; terraform plan"):
        assert _run(policy, line).rule == "destructive pattern: git reset --hard"


@pytest.mark.parametrize(
    ("task", "shown"), [("x" * 80, "x" * 80), ("x" * 81, "x" * 79 + "…"), ("look", "look")]
)
def test_what_is_shown_of_a_sub_agent(task: str, shown: str, policy: Policy) -> None:
    (segment,) = judge((Spawns(task),), policy).segments
    why = "a sub-agent; its own calls are judged one by one"
    assert segment == Segment(shown, "low", why, "sub-agents")

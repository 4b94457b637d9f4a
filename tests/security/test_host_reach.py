"""What the gate says to a line that needs the network where the person has listed hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import WALLED_IN, Autonomy, Grant, Reach, Runs, Verdict
from stormclaw.security.gate import Policy, judge, policy_from

LISTED = ("pypi.org", "files.pythonhosted.org")
NETWORK = Reach(network=True)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "deep" / "ws").mkdir(parents=True)
    security = SecuritySettings(sandbox_hosts=("PyPI.org", " files.pythonhosted.org ", ""))
    return policy_from(
        security,
        workspace=tmp_path / "deep" / "ws",
        home=tmp_path / "people" / "me" / ".stormclaw",
        user_home=tmp_path / "people" / "me",
        origins={"security.sandbox_hosts": "/c.yaml:9", "security.sandbox_hosts[0]": "/c.yaml:10"},
        sandbox="bwrap",
    )


def run(policy: Policy, line: str, reach: Reach = WALLED_IN) -> Verdict:
    return judge((Runs(line, policy.workspace, reach),), policy)


def granted(policy: Policy, *grants: tuple[str, str]) -> Policy:
    made = tuple(Grant(kind, match) for kind, match in grants)  # type: ignore[arg-type]
    return replace(policy, grants=made)


def test_a_line_that_needs_the_network_gets_the_listed_hosts_unasked(policy: Policy) -> None:
    verdict = run(granted(policy, ("command", "pip install")), "pip install x")
    assert (verdict.decision, verdict.reach) == ("allow", Reach(hosts=LISTED))
    last = verdict.segments[-1]
    assert (last.text, last.risk) == ("network to 2 hosts you listed", "low")
    assert last.rule == "sandbox_hosts"
    assert "  rule: sandbox_hosts (/c.yaml:9)" in verdict.trace


def test_the_command_itself_is_asked_about_as_ever(policy: Policy) -> None:
    verdict = run(policy, "pip install x")
    assert (verdict.decision, verdict.reach) == ("ask", Reach(hosts=LISTED))
    assert verdict.grants == (Grant("command", "pip install"),)


def test_one_host_is_named(policy: Policy) -> None:
    verdict = run(replace(policy, sandbox_hosts=("pypi.org",)), "pip install x")
    assert verdict.segments[-1].text == "network to pypi.org"


@pytest.mark.parametrize("level", ["readonly", "supervised", "full"])
def test_at_no_level_more_than_the_listed_hosts(policy: Policy, level: Autonomy) -> None:
    for line in ("pip install x", "ssh build.example make", "curl https://evil.example/x"):
        assert run(replace(policy, autonomy=level), line).reach == Reach(hosts=LISTED), line


@pytest.mark.parametrize("line", ["ls", "pytest", "make test", "git status"])
def test_who_needs_no_network_gets_none(policy: Policy, line: str) -> None:
    assert run(policy, line).reach == WALLED_IN


def test_a_command_with_the_whole_network_for_good_keeps_it(policy: Policy) -> None:
    listed = replace(policy, sandbox_network=("uv sync",))
    assert run(listed, "uv sync").reach == NETWORK
    both = granted(policy, ("command", "pip install"), ("network", "pip install"))
    assert run(both, "pip install x").reach == NETWORK
    assert run(both, "pip install x").decision == "allow"


def test_beside_one_that_has_not_it_gets_the_hosts(policy: Policy) -> None:
    listed = replace(policy, sandbox_network=("uv sync",))
    assert run(listed, "uv sync && pip install x").reach == Reach(hosts=LISTED)


def test_another_host_is_asked_about_and_can_be_granted(policy: Policy) -> None:
    reach = Reach(hosts=("registry.example",))
    able = granted(policy, ("command", "pip install"))
    verdict = run(able, "pip install x", reach)
    assert (verdict.decision, verdict.risk) == ("ask", "medium")
    assert verdict.segments[-1].text == "network to registry.example"
    assert verdict.reason == "not among the hosts you listed"
    assert verdict.origin == "/c.yaml:9"
    assert verdict.grants == (Grant("network-host", "registry.example"),)
    assert verdict.reach == Reach(hosts=(*LISTED, "registry.example"))
    held = granted(policy, ("command", "pip install"), ("network-host", "registry.example"))
    assert run(held, "pip install x", reach).decision == "allow"
    later = run(held, "pip install x")
    assert (later.decision, later.reach) == ("allow", Reach(hosts=(*LISTED, "registry.example")))
    again = run(held, "pip install x", Reach(hosts=("other.example",)))
    assert again.decision == "ask"


def test_what_is_granted_is_said_with_its_place(policy: Policy) -> None:
    held = replace(
        granted(policy, ("network-host", "a.example")),
        origins={"grant:network-host:a.example": "/g.jsonl:3"},
    )
    verdict = run(held, "ls", Reach(hosts=("a.example", "a.example")))
    assert "  rule: granted network to: a.example (/g.jsonl:3)" in verdict.trace
    assert [segment.text for segment in verdict.segments].count("network to a.example") == 1


def test_a_host_granted_to_fetches_is_not_granted_to_commands(policy: Policy) -> None:
    held = granted(policy, ("host", "a.example"), ("command", "pip install"))
    assert run(held, "pip install x", Reach(hosts=("a.example",))).decision == "ask"
    assert run(held, "pip install x").reach == Reach(hosts=LISTED)


def test_a_command_that_needs_none_may_ask_for_a_host(policy: Policy) -> None:
    verdict = run(policy, "ls", Reach(hosts=(*LISTED, "a.example")))
    assert (verdict.decision, verdict.reach) == ("ask", Reach(hosts=(*LISTED, "a.example")))
    assert verdict.grants == (Grant("network-host", "a.example"),)


def test_the_whole_network_is_asked_for_where_it_is_asked_for(policy: Policy) -> None:
    verdict = run(policy, "ls", Reach(network=True, hosts=LISTED))
    assert (verdict.decision, verdict.reach) == ("ask", NETWORK)
    assert verdict.grants == (Grant("network", "ls"),)


def test_without_a_list_nothing_changes(policy: Policy) -> None:
    bare = granted(replace(policy, sandbox_hosts=()), ("network-host", "a.example"))
    assert run(bare, "pip install x").reach == NETWORK
    assert run(bare, "ls", Reach(hosts=("a.example",))).reach == WALLED_IN


def test_walls_that_cannot_tell_hosts_apart(policy: Policy) -> None:
    landlock = granted(replace(policy, sandbox="landlock"), ("command", "pip install"))
    verdict = run(landlock, "pip install x")
    assert (verdict.decision, verdict.reach) == ("ask", NETWORK)
    assert verdict.reason.endswith("; a landlock sandbox cannot tell hosts apart")
    assert run(landlock, "ls", Reach(hosts=("a.example",))).reach == WALLED_IN
    none = replace(policy, sandbox="none")
    assert run(none, "ls").reach == NETWORK


def test_hosts_and_folders_together(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "cache" / "pip").mkdir(parents=True)
    folder = tmp_path / "cache" / "pip"
    verdict = run(policy, "pip install x", Reach(folders=(folder,), hosts=("a.example",)))
    assert verdict.reach == Reach(folders=(folder,), hosts=(*LISTED, "a.example"))


def test_reaches_are_joined() -> None:
    one, two = Reach(hosts=("a.example", "b.example")), Reach(hosts=("b.example", "c.example"))
    assert one | two == Reach(hosts=("a.example", "b.example", "c.example"))
    assert (one | NETWORK).network

"""The corpora: every evasion is held, (nearly) every harmless line passes, each with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Risk, Runs
from stormclaw.security.gate import Policy, judge, policy_from

CORPUS = Path(__file__).parent / "corpus"
HELD: tuple[Risk, ...] = ("high", "blocked")
PASSING = 0.99


def _lines(name: str) -> list[str]:
    rows = [json.loads(row) for row in (CORPUS / name).read_text().splitlines()]
    assert all(row["why"].strip() for row in rows)
    lines = [str(row["line"]) for row in rows]
    assert len(set(lines)) == len(lines), "a line stands there twice"
    return lines


def _policy(tmp_path: Path, settings: SecuritySettings | None = None) -> Policy:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    settings = settings or SecuritySettings()
    return policy_from(
        settings, workspace=workspace, home=tmp_path / "home", user_home=tmp_path / "me"
    )


def _risk(line: str, policy: Policy) -> Risk:
    return judge((Runs(line, policy.workspace),), policy).risk


EVASIONS = _lines("evasions.jsonl")
HARMLESS = _lines("harmless.jsonl")


@pytest.mark.parametrize("line", EVASIONS, ids=lambda line: ascii(line[:60]))
def test_every_evasion_is_held(line: str, tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    verdict = judge((Runs(line, policy.workspace),), policy)
    assert verdict.risk in HELD, verdict.trace
    assert verdict.decision == "deny"


def test_evasions_are_held_without_any_deny_rule_too(tmp_path: Path) -> None:
    policy = _policy(tmp_path, SecuritySettings(forbidden_commands=()))
    assert [line for line in EVASIONS if _risk(line, policy) not in HELD] == []


def test_nearly_every_harmless_line_passes(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    refused = [line for line in HARMLESS if _risk(line, policy) in HELD]
    assert len(refused) <= len(HARMLESS) * (1 - PASSING), refused


def test_the_corpora_are_as_long_as_promised() -> None:
    assert len(EVASIONS) >= 350
    assert len(HARMLESS) >= 300

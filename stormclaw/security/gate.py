"""The gate: effects in, verdict out. Autonomy and risk meet in one table; rules are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from stormclaw.protocol.effects import (
    WALLED_IN,
    Autonomy,
    Decision,
    Effect,
    Fetches,
    Foreign,
    Grant,
    Reach,
    Reads,
    Remembers,
    Risk,
    Runs,
    Spawns,
    Verdict,
    Writes,
)
from stormclaw.security.finding import Finding, severity
from stormclaw.security.hosts import judge_fetch
from stormclaw.security.paths import judge_note, judge_read, judge_write, resolve
from stormclaw.security.policy import Policy, policy_from

__all__ = ["DECISIONS", "UNWALLED", "Policy", "judge", "policy_from"]

DECISIONS: Mapping[Autonomy, Mapping[Risk, Decision]] = {
    "readonly": {"low": "allow", "medium": "deny", "high": "deny", "blocked": "deny"},
    "supervised": {"low": "allow", "medium": "ask", "high": "deny", "blocked": "deny"},
    "full": {"low": "allow", "medium": "allow", "high": "ask", "blocked": "deny"},
}
"""What happens at each level; a grant of the person turns `ask` into `allow`, never a `deny`."""

UNWALLED: Mapping[Autonomy, Mapping[Risk, Decision]] = {
    **DECISIONS,
    "full": {"low": "allow", "medium": "ask", "high": "ask", "blocked": "deny"},
}
"""The same for shell commands on a machine without a sandbox."""

_HARDNESS: Mapping[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}

_WORDS: Mapping[Decision, str] = {"allow": "runs", "ask": "asks", "deny": "is denied"}


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was found about one effect, and by which table it is decided."""

    findings: tuple[Finding, ...]
    reach: Reach = WALLED_IN
    walled: bool = True


def judge(effects: Iterable[Effect], policy: Policy) -> Verdict:
    """May a call with these effects run?

    Pure but for looking up where links lead and asking the shell parser; takes milliseconds, so
    call it in a thread. Several effects are all judged and the worst decides.
    """
    effects = tuple(effects)
    places = _places(effects)
    judged = [_judge(effect, policy, places) for effect in effects]
    decided = [
        (_placed(finding, policy), decide(policy.autonomy, finding, walled=each.walled))
        for each in judged
        for finding in each.findings
    ]
    if not decided:
        trace = (f"autonomy {policy.autonomy}: low risk is allowed",)
        return Verdict("allow", "low", "it changes nothing", "no effects", trace=trace)
    chosen, decision = max(decided, key=_weight)
    reach = WALLED_IN
    for each in judged:
        reach |= each.reach
    return Verdict(
        decision=decision,
        risk=max((finding.risk for finding, _ in decided), key=severity),
        reason=_reason(chosen, decision, policy),
        rule=chosen.rule,
        origin=chosen.origin,
        segments=tuple(finding.segment for finding, _ in decided),
        grants=_offers(decided, policy.autonomy),
        trace=_trace(decided, policy),
        reach=reach,
        places=tuple((path, real) for path, real in places.items() if isinstance(real, Path)),
    )


def decide(autonomy: Autonomy, finding: Finding, *, walled: bool = True) -> Decision:
    """The table, with the person's grants applied; `walled` False for a command without walls."""
    table = DECISIONS if walled else UNWALLED
    decision = table[autonomy][finding.risk]
    return "allow" if finding.granted and decision == "ask" else decision


def _places(effects: tuple[Effect, ...]) -> dict[Path, Path | str]:
    """Where each path leads (or why that cannot be said), looked up once: the tools open that."""
    paths = (each.path for each in effects if isinstance(each, Reads | Writes | Remembers))
    return {path: resolve(path) for path in paths}


def _judge(effect: Effect, policy: Policy, places: Mapping[Path, Path | str]) -> _Judged:
    match effect:
        case Reads(path):
            return _Judged((judge_read(path, policy, real=places[path]),))
        case Writes(path):
            return _Judged((judge_write(path, policy, real=places[path]),))
        case Remembers(path):
            return _Judged((judge_note(path, policy, real=places[path]),))
        case Runs():
            return _judge_run(effect, policy)
        case Fetches(url, method):
            return _Judged((judge_fetch(url, method, policy),))
        case Spawns(task):
            text = task if len(task) <= 80 else f"{task[:79]}…"
            reason = "a sub-agent; its own calls are judged one by one"
            return _Judged((Finding(text, "low", reason, "sub-agents"),))
        case Foreign(program, tool):
            reason = f"a tool of {program} that cannot be looked into"
            return _Judged((Finding(f"{program}: {tool}", "medium", reason, "foreign tools"),))
        case _:
            assert_never(effect)


def _judge_run(run: Runs, policy: Policy) -> _Judged:
    # The classifier and its tables cost 30 ms to import: not on the start-up path.
    from stormclaw.security.commands import judge_line
    from stormclaw.security.reach import judge_reach

    if not run.walled:
        policy = replace(policy, sandbox="none")
    place = judge_read(run.cwd, policy)
    held = () if place.risk == "low" else (place,)
    commands = judge_line(run.command, run.cwd, policy)
    more, reach = judge_reach(run, commands, policy)
    if not policy.walled and policy.sandbox_required:
        held = (_wall_missing(run.command, policy), *held)
    return _Judged((*held, *commands, *more), reach, policy.walled)


def _wall_missing(line: str, policy: Policy) -> Finding:
    text = line if len(line) <= 200 else f"{line[:200]}…"
    reason = (
        "your configuration requires a sandbox and none works on this machine; "
        "`stormclaw doctor` says why"
    )
    return Finding(text, "blocked", reason, "sandbox: required", policy.origin("security.sandbox"))


def _placed(finding: Finding, policy: Policy) -> Finding:
    """The finding, saying in which line its rule stands where that is known."""
    return replace(finding, origin=policy.rule_origin(finding.rule, finding.origin))


def _weight(decided: tuple[Finding, Decision]) -> tuple[int, int, bool]:
    finding, decision = decided
    return _HARDNESS[decision], severity(finding.risk), finding.grant is None


def _offers(decided: list[tuple[Finding, Decision]], autonomy: Autonomy) -> tuple[Grant, ...]:
    """What the person could allow so that the call runs; all that is missing, or nothing."""
    held = [finding for finding, decision in decided if decision != "allow"]
    if autonomy == "readonly" or not held or any(finding.grant is None for finding in held):
        return ()
    return tuple(dict.fromkeys(finding.grant for finding in held if finding.grant is not None))


def _reason(finding: Finding, decision: Decision, policy: Policy) -> str:
    if decision == "deny" and policy.autonomy == "readonly" and finding.risk != "blocked":
        return f"{finding.reason}; readonly only looks"
    if decision == "ask" and DECISIONS[policy.autonomy][finding.risk] == "allow":
        return f"{finding.reason}; no sandbox is around it, so even full asks"
    return finding.reason


def _trace(decided: list[tuple[Finding, Decision]], policy: Policy) -> tuple[str, ...]:
    lines: list[str] = []
    for finding, decision in decided:
        lines.append(f"{finding.text}: {finding.risk}, {finding.reason}")
        lines.append(f"  rule: {finding.rule} ({finding.origin})")
        lines += [f"  seen: {step}" for step in finding.steps if len(finding.steps) > 1]
        lines.append(f"  autonomy {policy.autonomy}: {finding.risk} {_WORDS[decision]}")
    return tuple(lines)

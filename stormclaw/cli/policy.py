"""The policy: every rule and where it stands, what it says to a command, taking a grant back."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import Any

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.protocol.effects import Runs, Verdict
from stormclaw.protocol.inert import inert
from stormclaw.security import grants
from stormclaw.security.gate import judge
from stormclaw.security.in_force import policy_in_force
from stormclaw.security.policy import Policy

run = run_verb

LOG = logging.getLogger(__name__)

DENIED = 3
BAD_INPUT = 2


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw policy`."""
    add_verbs(parser, VERBS)


def _policy(place: Place) -> Policy:
    """The policy in force here, with the walls that hold on this machine."""
    from stormclaw.security.redact import scrubbed_environ
    from stormclaw.security.sandbox import choose

    walls = choose(
        place.settings.security.sandbox,
        workspace=place.workspace,
        home=place.home,
        user_home=Path.home(),
        environ=scrubbed_environ(place.env),
    )
    walls.close()
    return policy_in_force(place, walls.level)


def _show(options: argparse.Namespace) -> int:
    from stormclaw.providers.choose import choose
    from stormclaw.security.policy_rows import rows
    from stormclaw.security.tool_policy import layers_of, sift, unknown
    from stormclaw.tools.registry import discover_tools

    place = place_from(options)
    registry = discover_tools()

    def canonical(name: str) -> str:
        tool = registry.resolve(name)
        return tool.name if tool else ""

    way = choose(place.settings, place.env, None)
    layers = layers_of(
        place.settings,
        place.loaded.origins,
        canonical,
        provider=way.name if way else "",
        channel="cli",
    )
    taken = sift(registry.tools, layers)
    table = rows(_policy(place), place.settings.security, layers=layers, taken=taken)
    entries = [{"rule": row.rule, "value": row.value, "from": row.origin} for row in table]
    show(entries, as_json=options.as_json)
    for warning in unknown(layers, registry.tools):
        sys.stderr.write(f"{warning}\n")
    return 0


def _forget(options: argparse.Namespace) -> int:
    from stormclaw.security.policy_rows import grant_meant

    place = place_from(options)
    standing = grants.load(place.home, place.workspace)
    wanted = " ".join(options.grant)
    grant = grant_meant(standing.grants, wanted)
    if grant is None or not grants.forget(place.home, place.workspace, grant):
        raise UsageError(
            f"no standing permission {wanted!r} in {place.workspace}; "
            "`stormclaw policy show` numbers them"
        )
    print(inert(f"taken back: {grant.kind} {grant.match}; it asks again from the next start on"))
    return 0


def _test(options: argparse.Namespace) -> int:
    command = " ".join(options.command)
    if bool(command) == options.jsonl:
        raise UsageError("policy test wants one command, or --jsonl and commands on standard input")
    policy = _policy(place_from(options))
    if options.jsonl:
        return _stream(policy)
    verdict = _verdict(command, policy)
    print(_as_json(verdict, trace=True) if options.as_json else _told(verdict, policy))
    return DENIED if verdict.decision == "deny" else 0


def _stream(policy: Policy) -> int:
    """A verdict a line for a command a line, each at once; bad lines are told and gone over."""
    code = 0
    for line in sys.stdin.buffer:
        try:
            command = json.loads(line)
            problem = "" if isinstance(command, str) else "not a JSON string"
        except (ValueError, RecursionError) as error:
            command, problem = "", f"not a JSON string: {error}"
        if problem:
            code = BAD_INPUT
            verdict = Verdict("deny", "blocked", problem, "input")
            answer = _as_json(verdict, error=problem)
        else:
            answer = _as_json(_verdict(command, policy))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    return code


def _verdict(command: str, policy: Policy) -> Verdict:
    """What the gate says to a command in the workspace; a fault of the gate itself is a no."""
    try:
        return judge((Runs(command, policy.workspace),), policy)
    except Exception:
        LOG.exception("the gate failed at a command of %d characters", len(command))
        reason = "it could not be judged, through a fault of StormClaw"
        return Verdict("deny", "blocked", reason, "internal error")


def _as_json(verdict: Verdict, *, trace: bool = False, error: str = "") -> str:
    segments = [
        {"text": part.text, "risk": part.risk, "reason": part.reason, "rule": part.rule}
        for part in verdict.segments
    ]
    told: dict[str, Any] = {
        "decision": verdict.decision,
        "risk": verdict.risk,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "segments": segments,
        "origin": verdict.origin,
        "reach": {
            "network": verdict.reach.network,
            "folders": [str(folder) for folder in verdict.reach.folders],
            "hosts": list(verdict.reach.hosts),
        },
    }
    if trace:
        told["trace"] = list(verdict.trace)
        told["grants"] = [{"kind": one.kind, "match": one.match} for one in verdict.grants]
    return json.dumps({"error": error, **told} if error else told)


def _told(verdict: Verdict, policy: Policy) -> str:
    """A verdict for people."""
    walls = f"{policy.sandbox} sandbox" if policy.walled else "no sandbox: nothing keeps it in"
    opened = ["the network"] if verdict.reach.network else []
    if verdict.reach.hosts and not verdict.reach.network:
        opened.append(f"network to {', '.join(verdict.reach.hosts)}")
    opened += [f"writing {folder}" for folder in verdict.reach.folders]
    lines = [
        f"{verdict.decision} ({verdict.risk}): {verdict.reason}",
        f"rule      {verdict.rule} ({verdict.origin})",
        f"walls     {walls}",
        f"opened    {', '.join(opened) or 'nothing beyond the workspace'}",
        "",
    ]
    lines += [f"{part.risk:<8}  {part.text}  ({part.rule})" for part in verdict.segments]
    lines += ["", *verdict.trace]
    offers = [f"{grant.kind}: {grant.match}" for grant in verdict.grants]
    if offers:
        lines += ["", f"could be allowed: {', '.join(offers)}"]
    return "\n".join(map(inert, lines))


def _test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="*", metavar="CMD", help="a shell command, quoted")
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help="read one JSON string a line on standard input, write one JSON verdict a line",
    )


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grant", nargs="+", metavar="N", help="its number in `show`, or its words")


VERBS = {
    "show": Verb(
        "Every rule in force and where it stands", "stormclaw policy show", _show, lists=True
    ),
    "test": Verb(
        "What would happen to a command, and why (exit 3 where it is denied)",
        "stormclaw policy test 'npm ci && npm test'",
        _test,
        _test_arguments,
        lists=True,
    ),
    "forget": Verb(
        "Take a standing permission of this project back",
        "stormclaw policy forget 2",
        _forget,
        _forget_arguments,
    ),
}

"""Which hosts a walled-in command may talk to: those the person listed or allowed, unasked."""

from __future__ import annotations

from stormclaw.protocol.effects import Grant
from stormclaw.security.finding import Finding
from stormclaw.security.policy import Policy

RULE = "sandbox_hosts"
TELLS_HOSTS_APART = frozenset({"bwrap"})
"""Walls with a way out of their own; elsewhere the network is open or shut as a whole."""


def by_host(policy: Policy) -> bool:
    """Whether commands get listed hosts instead of the whole network."""
    return bool(policy.sandbox_hosts) and policy.sandbox in TELLS_HOSTS_APART


def judge_hosts(
    asked: tuple[str, ...], policy: Policy
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """May a command talk to the listed hosts, and to those asked for besides?

    Args:
        asked: Patterns.
        policy: What it is judged by.

    Returns:
        A finding for all that are listed and one for each other; and every host it may talk to
        if it runs.
    """
    granted = tuple(grant.match for grant in policy.grants if grant.kind == "network-host")
    listed = tuple(dict.fromkeys(policy.sandbox_hosts))
    others = tuple(host for host in dict.fromkeys(asked) if host not in listed)
    hosts = tuple(dict.fromkeys((*listed, *granted, *others)))
    return (_all_listed(listed, policy), *(_one(host, policy) for host in others)), hosts


def _all_listed(listed: tuple[str, ...], policy: Policy) -> Finding:
    many = f"{len(listed)} hosts you listed" if len(listed) > 1 else listed[0]
    shown, origin = f"network to {many}", policy.origin(f"security.{RULE}")
    return Finding(shown, "low", "on your list, and to no other host", RULE, origin)


def _one(host: str, policy: Policy) -> Finding:
    shown = f"network to {host}"
    grant = Grant("network-host", host)
    if policy.covers(grant):
        origin, rule = policy.grant_origin(grant), f"granted network to: {host}"
        reason = "a host you allowed commands"
        return Finding(shown, "medium", reason, rule, origin, grant, granted=True)
    return Finding(shown, "medium", "not among the hosts you listed", RULE, grant=grant)

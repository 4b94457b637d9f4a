"""A policy as a table: every rule, where it stands, and how often it has decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Grant
from stormclaw.security.folders import may_open
from stormclaw.security.policy import HOST_LISTS, PATH_LISTS, WORD_LISTS, Policy
from stormclaw.security.tool_policy import Layer

NO_HITS: Mapping[str, int] = MappingProxyType({})
NOTHING_TAKEN: Mapping[str, str] = MappingProxyType({})

COLUMNS = ("rule", "value", "from", "hits")

_GRANT_RULES = {
    "network": "granted network",
    "folder": "granted folder",
    "network-host": "granted network to",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One rule.

    Attributes:
        rule: What kind of rule it is: `forbidden_commands`, `grant 2: command`.
        value: What it says.
        origin: `file:line`, `shipped`, `this session`.
        hits: How often it has decided; None for what decides nothing by itself.
    """

    rule: str
    value: str
    origin: str
    hits: int | None = None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The row as text, in the order of `COLUMNS`."""
        return self.rule, self.value, self.origin, "" if self.hits is None else str(self.hits)


def rows(
    policy: Policy,
    security: SecuritySettings,
    *,
    hits: Mapping[str, int] = NO_HITS,
    layers: Iterable[Layer] = (),
    taken: Mapping[str, str] = NOTHING_TAKEN,
    warnings: Iterable[str] = (),
) -> tuple[Row, ...]:
    """Every rule of a policy, in the order a call meets them.

    Args:
        policy: What is in force.
        security: The settings it was made from, for what is not judged by the gate.
        hits: Rule -> how often it decided, as `agent.rules.Rules` counts.
        layers: The lists of tools that count here.
        taken: Tool -> what took it away, "" for those that are left.
        warnings: What is wrong with the lists.
    """
    made = [
        *_standing(policy, security, hits),
        *_lists(policy, hits),
        *_grants(policy, hits),
        *_tools(layers, taken),
        *(Row("warning", warning, "") for warning in warnings),
    ]
    shown = {f"{row.rule}: {row.value}" for row in made}
    shown |= {_grant_rule(grant) for grant in policy.grants}
    shown |= {"workspace_only", "sandbox: required"}
    shipped = (
        Row("shipped", rule, "shipped", count)
        for rule, count in sorted(hits.items(), key=lambda item: (-item[1], item[0]))
        if rule not in shown
    )
    return (*made, *shipped)


def _standing(policy: Policy, security: SecuritySettings, hits: Mapping[str, int]) -> Iterator[Row]:
    yield Row("autonomy", policy.autonomy, policy.origin("security.autonomy"))
    boundary = "nothing outside it" if policy.workspace_only else "paths outside it too"
    yield Row(
        "workspace",
        f"{policy.workspace}, {boundary}",
        policy.origin("security.workspace_only"),
        hits.get("workspace_only", 0),
    )
    yield Row(
        "sandbox",
        f"{policy.sandbox} ({security.sandbox})",
        policy.origin("security.sandbox"),
        hits.get("sandbox: required", 0),
    )
    yield Row("secrets", security.secrets, policy.origin("security.secrets"))


def _lists(policy: Policy, hits: Mapping[str, int]) -> Iterator[Row]:
    for name in (*PATH_LISTS[:1], *WORD_LISTS[:2], *HOST_LISTS, *WORD_LISTS[2:], *PATH_LISTS[1:]):
        for item in getattr(policy, name):
            rule = f"{name}: {item}"
            place = policy.rule_origin(rule, policy.origin(f"security.{name}"))
            closed = name == "sandbox_folders" and not may_open(item, policy)
            value = f"{item} (cannot be opened)" if closed else str(item)
            yield Row(name, value, place, hits.get(rule, 0))


def _grants(policy: Policy, hits: Mapping[str, int]) -> Iterator[Row]:
    for number, grant in enumerate(policy.grants, start=1):
        place = policy.grant_origin(grant)
        count = hits.get(_grant_rule(grant), 0)
        yield Row(f"grant {number}: {grant.kind}", grant.match, place, count)


def _grant_rule(grant: Grant) -> str:
    """The name under which a grant decides."""
    return f"{_GRANT_RULES.get(grant.kind, 'granted')}: {grant.match}"


def _tools(layers: Iterable[Layer], taken: Mapping[str, str]) -> Iterator[Row]:
    for layer in layers:
        yield Row(layer.key, ", ".join(layer.names) or "none", layer.origin or "shipped")
    for tool, why in taken.items():
        if why:
            yield Row("tool taken away", tool, why)


def grant_meant(grants: tuple[Grant, ...], wanted: str) -> Grant | None:
    """The grant a person means by its number in the table or by its words; None if there is none.

    Words that fit several kinds of grant (`npm ci` as a command and its network) mean none.
    """
    text = wanted.strip()
    if text.isascii() and text.isdigit():
        number = int(text)
        return grants[number - 1] if 0 < number <= len(grants) else None
    fitting = [grant for grant in grants if text in (grant.match, f"{grant.kind}: {grant.match}")]
    return fitting[0] if len(fitting) == 1 else None

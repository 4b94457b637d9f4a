"""One thing the gate looked at and what it thinks of it; a verdict is made of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stormclaw.protocol.effects import RISKS, Grant, Risk, Segment

SHIPPED = "shipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """A judged part: a command of a shell line, a file, a host.

    Attributes:
        text: The part as written.
        risk: How bad it is.
        reason: Why, in a few words.
        rule: Name of the rule that decided.
        origin: Where that rule stands, `file:line` or `shipped`.
        grant: What a person could allow to let it pass; None where nothing lifts it.
        granted: True when such a grant stands.
        steps: Everything else that was found out about it, one line each.
        network: Leading words of what cannot work without the network (`pip install`).
    """

    text: str
    risk: Risk
    reason: str
    rule: str
    origin: str = SHIPPED
    grant: Grant | None = None
    granted: bool = False
    steps: tuple[str, ...] = ()
    network: tuple[str, ...] = ()

    @property
    def segment(self) -> Segment:
        """The part of it that a front end shows."""
        return Segment(self.text, self.risk, self.reason, self.rule)


def severity(risk: Risk) -> int:
    """Position on the scale, 0 for low."""
    return RISKS.index(risk)


def at_least(finding: Finding, risk: Risk, reason: str, rule: str) -> Finding:
    """`finding`, raised to `risk` (with the new reason) where it was below."""
    if severity(finding.risk) >= severity(risk):
        return finding
    return replace(finding, risk=risk, reason=reason, rule=rule)


def worst(findings: Iterable[Finding]) -> Finding:
    """The one that decides: highest risk; among equals the one that nothing lifts, then the first.

    Raises:
        ValueError: `findings` is empty.
    """
    return max(findings, key=lambda finding: (severity(finding.risk), finding.grant is None))

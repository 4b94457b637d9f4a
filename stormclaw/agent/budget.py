"""A purse: what an agent may still spend. A child draws from its parent's."""

from __future__ import annotations

from stormclaw.protocol.messages import NO_USAGE, Usage


class Purse:
    """Counts what an agent and its children used, against limits that may be absent.

    Attributes:
        agent: Whose purse it is.
        usage: Everything spent so far, children included.
        limit_usd: US dollars, None for no limit.
        limit_tokens: Input plus output tokens, None for no limit.
    """

    def __init__(
        self,
        agent: str,
        *,
        limit_usd: float | None = None,
        limit_tokens: int | None = None,
        parent: Purse | None = None,
        usage: Usage = NO_USAGE,
    ) -> None:
        self.agent = agent
        self.limit_usd = limit_usd
        self.limit_tokens = limit_tokens
        self.usage = usage
        self._parent = parent

    def spend(self, usage: Usage) -> tuple[Purse, ...]:
        """Book `usage` here and in every purse above; returns all purses that changed."""
        self.usage = self.usage + usage
        return (self, *(self._parent.spend(usage) if self._parent else ()))

    def exhausted(self) -> str:
        """What is used up, in words for the person; "" while there is something left."""
        spent, tokens = self.usage.cost_usd or 0.0, _tokens(self.usage)
        if self.limit_usd is not None and spent >= self.limit_usd:
            return f"the budget of ${self.limit_usd:.2f} is spent"
        if self.limit_tokens is not None and tokens >= self.limit_tokens:
            return f"the budget of {self.limit_tokens} tokens is spent"
        return self._parent.exhausted() if self._parent else ""

    def child(self, agent: str, share: float) -> Purse:
        """A purse for a sub-agent, limited to `share` (0 to 1) of what is left here."""
        usd = self.limit_usd
        tokens = self.limit_tokens
        return Purse(
            agent,
            limit_usd=None
            if usd is None
            else max(0.0, (usd - (self.usage.cost_usd or 0.0)) * share),
            limit_tokens=None
            if tokens is None
            else max(0, int((tokens - _tokens(self.usage)) * share)),
            parent=self,
        )


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens

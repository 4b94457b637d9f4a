"""`/cost`: tokens and money of this session, reported and estimated told apart."""

from __future__ import annotations

from collections.abc import Iterable

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.messages import NO_USAGE, ROOT, AssistantTurn, Body, Usage
from stormclaw.runtime import Runtime

READ, WRITTEN = 0.1, 1.25
"""What Claude's cache charges, as a share of the price of input; no other's is known here."""


async def _run(runtime: Runtime, rest: str) -> Answer:
    session = runtime.session
    usage = session.usage
    about = "" if usage.reported else "~"
    money = "unknown" if usage.cost_usd is None else f"{about}${usage.cost_usd:.4f}"
    budget = session.kit.purse.limit_usd
    of = "" if budget is None else f" of ${budget:.2f}"
    agents = (ROOT, *session.children())
    bodies = (node.body for agent in agents for node in session.nodes(agent))
    lines = (
        f"input   {about}{usage.input_tokens:,} tokens",
        *cache_lines(usage, with_known_prices(bodies)),
        f"output  {about}{usage.output_tokens:,} tokens",
        f"cost    {money}{of}",
        "estimated: the provider reported no usage" if about else "as the provider reported it",
    )
    return Answer("\n".join(lines))


def with_known_prices(bodies: Iterable[Body]) -> Usage:
    """The part of the usage whose cache prices are known."""
    answers = (body for body in bodies if isinstance(body, AssistantTurn))
    return sum((turn.usage for turn in answers if "claude" in turn.model.lower()), start=NO_USAGE)


def cache_lines(usage: Usage, priced: Usage) -> tuple[str, ...]:
    """What the provider's cache did; none where it did nothing.

    Args:
        usage: Everything used.
        priced: The part of it for which `READ` and `WRITTEN` hold.
    """
    if not (usage.cached_tokens or usage.cache_write_tokens):
        return ()
    share = usage.cached_tokens / usage.input_tokens if usage.input_tokens else 0.0
    said = (
        f"cache   {usage.cached_tokens:,} read ({share:.0%} of the input), "
        f"{usage.cache_write_tokens:,} written"
    )
    saved = (1 - READ) * priced.cached_tokens - (WRITTEN - 1) * priced.cache_write_tokens
    if not (priced.cached_tokens or priced.cache_write_tokens):
        return (said,)
    word = "saved" if saved >= 0 else "cost"
    return (said, f"        {word} about the price of {abs(saved):,.0f} input tokens")


COMMAND = Command("cost", "Tokens and money of this session", _run, aliases=("usage",))

"""`/cost`: tokens and money of this session; what was reported and what was estimated, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.messages import NO_USAGE, ROOT, AssistantTurn, Body, Usage
from stormclaw.runtime import Runtime

READ, WRITTEN = 0.1, 1.25
"""What Claude's cache charges, as a share of the price of input; no other's is known here."""


async def _run(runtime: Runtime, rest: str) -> Answer:
    session = runtime.session
    usage = session.usage
    about = "" if usage.reported else "~"
    agents = (ROOT, *session.children())
    answers = {agent: answers_in(node.body for node in session.nodes(agent)) for agent in agents}
    every = [turn for turns in answers.values() for turn in turns]
    lines = (
        f"input   {about}{counted(usage.input_tokens, 'token')}",
        *cache_lines(usage, with_known_prices(every)),
        f"output  {about}{counted(usage.output_tokens, 'token')}",
        f"cost    {money(usage)}{_limit(session.kit.purse.limit_usd)}",
        *said_of(usage, answers),
    )
    return Answer("\n".join(lines))


def money(usage: Usage) -> str:
    """`$0.0123` where the provider said it, `~$0.0123` where we worked it out."""
    about = "~" if usage.cost_estimated else ""
    return "unknown" if usage.cost_usd is None else f"{about}${usage.cost_usd:.4f}"


def _limit(usd: float | None) -> str:
    return "" if usd is None else f" of ${usd:.2f}"


def counted(number: int, noun: str) -> str:
    """`1 token`, `20,000 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def answers_in(bodies: Iterable[Body]) -> tuple[AssistantTurn, ...]:
    """The answers of a model that used something."""
    return tuple(
        body
        for body in bodies
        if isinstance(body, AssistantTurn) and (body.usage.input_tokens or body.usage.output_tokens)
    )


def said_of(usage: Usage, answers: Mapping[str, Sequence[AssistantTurn]]) -> tuple[str, ...]:
    """Who counted the tokens and who named the cost.

    Args:
        usage: Everything used.
        answers: The answers that used something, by agent.
    """
    if not (usage.input_tokens or usage.output_tokens):
        return ("nothing was used yet",)
    return tuple(filter(None, (_tokens(usage, answers), _cost(usage), _missing(usage, answers))))


def _tokens(usage: Usage, answers: Mapping[str, Sequence[AssistantTurn]]) -> str:
    if usage.reported:
        return "tokens: as the provider reported them"
    guessed = {
        agent: [turn for turn in turns if not turn.usage.reported]
        for agent, turns in answers.items()
    }
    if guessed.get(ROOT) == list(answers.get(ROOT, ())) and guessed.get(ROOT):
        return "tokens: estimated, the provider reported no usage"
    number = sum(map(len, guessed.values()))
    if number and not guessed.get(ROOT):
        whose = "the answer" if number == 1 else f"the {number} answers"
        return f"tokens: estimated for {whose} of sub-agents, whose provider reported no usage"
    if not number:
        return "tokens: estimated in part, where the provider reported no usage"
    return f"tokens: estimated for {counted(number, 'answer')} that came without a usage report"


def _cost(usage: Usage) -> str:
    if usage.cost_usd is None:
        return ""
    if usage.priced:
        return "cost: worked out from a price list where the provider did not say it"
    if usage.cost_estimated:
        return "cost: rests on estimated tokens"
    return "cost: as the provider reported it" if usage.cost_usd else "cost: nothing to pay"


def _missing(usage: Usage, answers: Mapping[str, Sequence[AssistantTurn]]) -> str:
    """The answers whose cost nobody knows."""
    unknown = [turn for turns in answers.values() for turn in turns if turn.usage.cost_usd is None]
    if not unknown and usage.cost_usd is not None:
        return ""
    names = dict.fromkeys(f"{turn.provider}/{turn.model}".strip("/") for turn in unknown)
    of = f" of {', '.join(names)}" if names else ""
    if usage.cost_usd is None:
        return f"cost: no price is known{of}; models.json in the StormClaw folder can say it"
    return f"not in it: {counted(len(unknown), 'answer')}{of}, whose price is not known"


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
    amount = counted(round(abs(saved)), "input token")
    return (said, f"        {word} about the price of {amount}")


COMMAND = Command("cost", "Tokens and money of this session", _run, aliases=("usage",))

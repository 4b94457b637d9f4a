"""How hard Claude is to think, spelled for its age; and what is tried when that is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from stormclaw.providers._anthropic.models import Model

Kind: TypeAlias = Literal["", "adaptive", "enabled", "disabled", "between_tools"]

LEAST_BUDGET: Final = 1_024
BUDGETS: Final = {
    "minimal": LEAST_BUDGET,
    "low": 4_096,
    "medium": 10_000,
    "high": 24_000,
    "xhigh": 48_000,
}
INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
BINDING: Final = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True)
class Thinking:
    """One way to ask for thinking, or for none.

    Attributes:
        kind: The `type` of the field; "" leaves it out, and with it all else.
        effort: How hard, where the model takes a word for it.
        budget: How many tokens, where it takes a number.
        shown: Whether to ask for a text to read: some models keep it to themselves.
        interleaved: Whether to ask for thinking between calls.
    """

    kind: Kind = ""
    effort: str = ""
    budget: int = 0
    shown: bool = False
    interleaved: bool = False

    @property
    def active(self) -> bool:
        """Whether it asks the model to think."""
        return self.kind in ("adaptive", "enabled")

    def fields(self, *, drop_foreign: bool) -> dict[str, Any]:
        """What a request carries for it.

        Args:
            drop_foreign: Earlier thinking whose conversation has changed since is to be dropped by
                the server instead of refused.
        """
        if not self.kind:
            return {}
        thinking: dict[str, Any] = {"type": self.kind}
        if self.budget:
            thinking["budget_tokens"] = self.budget
        if self.shown:
            thinking["display"] = "summarized"
        if drop_foreign and self.active:
            thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        effort = {"output_config": {"effort": self.effort}} if self.effort else {}
        return {"thinking": thinking} | effort

    def __str__(self) -> str:
        if not self.active:
            return "answers without thinking"
        if self.budget:
            return f"thinks within {self.budget:,} tokens"
        return f"thinks with effort {self.effort}" if self.effort else "thinks as it sees fit"


NOTHING: Final = Thinking()
LEAST: Final = Thinking("adaptive", "low", shown=True)


def ways(model: Model, effort: str, most: int) -> tuple[Thinking, ...]:
    """What to try, from what was asked for down to no thinking at all. A pure function.

    Args:
        model: What is known of the model.
        effort: As configured; "" leaves it to the model.
        most: The most tokens the answer may have.
    """
    if not effort:
        own = model.thinks and model.form == "adaptive"
        return (Thinking("adaptive", shown=True), NOTHING) if own else (NOTHING,)
    if effort == "none":
        return _without(model)
    if model.form == "none":
        return (NOTHING,)
    budgeted = _budgeted(model, effort, most)
    if model.form == "adaptive":
        return (*_adaptive(model, effort), *budgeted[-1:], NOTHING)
    return (*budgeted, *_adaptive(model, effort)[:1], NOTHING) if budgeted else (NOTHING,)


def _without(model: Model) -> tuple[Thinking, ...]:
    if model.off == "never":
        return (LEAST, NOTHING)
    if model.off == "omit":
        return (NOTHING,)
    return (Thinking(model.off), LEAST, NOTHING)


def _adaptive(model: Model, effort: str) -> tuple[Thinking, ...]:
    level = "low" if effort == "minimal" else effort
    level = level if level in model.efforts else "max"
    levels = dict.fromkeys((level, "high", "") if level in ("xhigh", "max") else (level, ""))
    hidden = not model.warm  # Those that take no temperature show nothing unless asked to.
    shown = [Thinking("adaptive", level, shown=hidden) for level in levels]
    return (*shown, Thinking("adaptive", level)) if hidden else tuple(shown)


def _budgeted(model: Model, effort: str, most: int) -> tuple[Thinking, ...]:
    # A quarter of the answer is for the answer.
    budget = min(BUDGETS[effort], most * 3 // 4)
    if budget < LEAST_BUDGET:
        return ()
    plain = Thinking("enabled", budget=budget)
    between = Thinking("enabled", budget=budget, interleaved=True)
    return (between, plain) if model.interleaved else (plain,)


_FEATURES: Final = (
    ("display", "shown"),
    ("interleaved", "interleaved"),
    ("effort|output_config", "effort"),
    ("adaptive", "kind"),
    ("enabled|budget_tokens", "kind"),
    ("disabled", "kind"),
    ("between_tools", "kind"),
)
"""What a refusal may name, and the attribute that is then to change."""


def next_way(ladder: tuple[Thinking, ...], at: int, said: str) -> int:
    """The next one to try after a refusal: the first without what is named; -1 if none is left.

    Args:
        ladder: As `ways` gives it.
        at: The one that was refused.
        said: The server's words; what it refuses stands before what it would take instead.
    """
    refused = ladder[at]
    named = [
        (found.start(), attribute)
        for words, attribute in _FEATURES
        if getattr(refused, attribute)
        and (attribute != "kind" or re.search(words, refused.kind))
        and (found := re.search(rf"\b({words})\b", said))
    ]
    attribute = min(named)[1] if named else ""
    for place in range(at + 1, len(ladder)):
        if not attribute or getattr(ladder[place], attribute) != getattr(refused, attribute):
            return place
    return -1

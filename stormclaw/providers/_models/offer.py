"""A model one can choose: what it is called, how it is found, and how it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stormclaw.providers.choose import BUILT_IN, EFFORTS
from stormclaw.providers.models import ModelCard

Standing: TypeAlias = Literal["configured", "key", "server", "program", "local", "built in", "none"]
"""Why a provider can be used; `none` for one that cannot be yet."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One model at one provider.

    Attributes:
        provider: Our name of the provider.
        model: Its id there, "" for the provider's default.
        card: What is known of it.
        origin: Where we have it from, in a word or two: `config`, `price list`, `answers here`.
        key: False where the provider cannot be used yet.
    """

    provider: str
    model: str
    card: ModelCard | None = None
    origin: str = ""
    key: bool = True

    @property
    def target(self) -> str:
        """What `/model` takes for it."""
        return f"{self.provider}/{self.model}" if self.model else self.provider


@dataclass(frozen=True, slots=True)
class Group:
    """The models of one provider.

    Attributes:
        name: Our name of the provider, "" for those that are not connected.
        label: As the person knows it.
        state: Why it can be used, or what is missing, in a few words.
        standing: The same as a word of ours.
        offers: Its models.
        all: Whether these are all models of a list, more than one would look through.
    """

    name: str
    label: str
    state: str
    standing: Standing
    offers: tuple[Offer, ...]
    all: bool = False


def efforts_of(card: ModelCard | None) -> tuple[str, ...]:
    """How hard a model can be told to think; "" is its default. Only that for one that does not."""
    if card is not None and card.thinking is False:
        return ("",)
    return ("", *EFFORTS)


def words_in(text: str) -> tuple[str, ...]:
    """What is looked for, word by word, in lower case."""
    return tuple(text.lower().split())


def hay_of(group: Group, offer: Offer) -> str:
    """What a search for a model looks at: its name, and its provider's."""
    return f"{group.label} {offer.target}".lower()


def is_current(offer: Offer, provider: str, model: str) -> bool:
    """Whether it is what answers now."""
    default = BUILT_IN.get(offer.provider)
    unnamed = not offer.model and default is not None
    return offer.provider == provider and (offer.model == model or (unnamed and not model))


COLUMNS = ("model", "window", "$/M in", "$/M out", "can", "from")
"""Heads of `cells_of`."""


def cells_of(offer: Offer, *, current: bool = False) -> tuple[str, ...]:
    """A model as a line of a table; empty where something is not known."""
    card = offer.card or ModelCard(offer.provider, offer.model)
    rates = (card.prices.input, card.prices.output) if card.prices is not None else ()
    sent, received = (f"{rate.base:g}" for rate in rates) if rates else ("", "")
    can = (("tools", card.tools), ("thinking", card.thinking), ("images", card.images))
    return (
        f"{offer.target}{'  (in use)' if current else ''}",
        f"{card.context_window:,}" if card.context_window else "",
        sent,
        received,
        ", ".join(name for name, able in can if able),
        offer.origin,
    )


def json_of(offer: Offer, *, current: bool = False) -> dict[str, object]:
    """A model for machines; null where something is not known."""
    card = offer.card or ModelCard(offer.provider, offer.model)
    prices = card.prices
    cached = prices.cache_read if prices is not None else None
    written = prices.cache_write if prices is not None else None
    return {
        "target": offer.target,
        "provider": offer.provider,
        "model": offer.model,
        "context_window": card.context_window or None,
        "max_output": card.max_output or None,
        "usd_per_million": None
        if prices is None
        else {
            "input": prices.input.base,
            "output": prices.output.base,
            "cache_read": cached.base if cached is not None else None,
            "cache_write": written.base if written is not None else None,
        },
        "tools": card.tools,
        "thinking": card.thinking,
        "images": card.images,
        "from": offer.origin,
        "window_from": card.window_from or None,
        "prices_from": card.prices_from or None,
        "connected": offer.key,
        "current": current,
    }

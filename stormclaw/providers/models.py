"""The registry of models: windows, abilities, prices, and what an answer cost by a price list.

What the person wrote into `models.json` comes first, then the price list that is installed with us,
then our own small tables. Reading them takes a while, so that is done once, in a thread (`load`);
everything else is a look-up and may be called on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import Problem
from stormclaw.protocol.messages import Usage
from stormclaw.providers._models.abilities import abilities, can_chat
from stormclaw.providers._models.card import FREE as FREE
from stormclaw.providers._models.card import ModelCard as ModelCard
from stormclaw.providers._models.card import Prices as Prices
from stormclaw.providers._models.card import Rate as Rate
from stormclaw.providers._models.card import Source as Source
from stormclaw.providers._models.file import Key, read_models
from stormclaw.providers._models.match import FREE_MARK, find, spellings
from stormclaw.providers._models.prices import Listed, Vendor, read_list
from stormclaw.providers._models.terms import (
    COMPOSITES,
    NOBODY,
    Supplier,
    members,
    named_settings,
    supplier_of,
)
from stormclaw.providers.presets import known_window


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read."""

    own: Mapping[Key, ModelCard]
    vendors: Mapping[str, Vendor]
    problems: tuple[Problem, ...] = ()


_NOTHING_YET = _Known({}, {})


class ModelBook:
    """Look-ups about models, for one configuration.

    Attributes:
        loaded: Whether `load` is through; until then little is known and nothing is priced.
    """

    def __init__(
        self,
        models: Mapping[str, ModelSettings],
        home: Path,
        *,
        clock: Callable[[], datetime] = utc_now,
        prices: Callable[[], Mapping[str, Vendor]] = read_list,
    ) -> None:
        """Nothing is read yet.

        Args:
            models: The configured ways to models, by our name.
            home: StormClaw's own folder, where `models.json` may be.
            clock: Tells the moment prices must hold at (UTC).
            prices: Reads the price list; may block.
        """
        self._models, self._home, self._clock, self._prices = models, home, clock, prices
        self._known = _NOTHING_YET
        self._suppliers: dict[str, Supplier] = {}
        self._found: dict[tuple[str, str], Listed | None] = {}
        self.loaded = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with `models.json`; its sound entries count all the same."""
        return self._known.problems

    async def load(self) -> None:
        """Read what there is to know, in a thread; safe to call often, reads once. Never raises."""
        if not self.loaded:
            self._take(await asyncio.to_thread(self._read))

    def load_here(self) -> None:
        """The same without an event loop; blocks for some 60 ms."""
        self._take(self._read())

    def _read(self) -> _Known:
        own, problems = read_models(self._home)
        return _Known(own, self._prices(), problems)

    def _take(self, known: _Known) -> None:
        self._known, self.loaded = known, True
        self._suppliers.clear()
        self._found.clear()

    # Look-ups ----------------------------------------------------------------------------------

    def card(self, provider: str, model: str) -> ModelCard | None:
        """What is known of a model at one of our providers; None if it is nothing at all.

        Args:
            provider: Our name for it, as under `providers.models`, a preset's, or a kind.
            model: Its id there, in any usual spelling.
        """
        own = self._own(provider, model)
        card = own or ModelCard(provider, model)
        card = replace(card, provider=provider, id=model)
        for completed in (self._listed, _tabled):
            card = completed(card)
        return card if card != ModelCard(provider, model) else None

    def priced(self, provider: str, model: str, usage: Usage) -> Usage:
        """The usage with what it cost, where the provider did not say it and prices are known.

        A cost the provider reported stays as it is. A model that runs on this machine costs
        nothing; a subscription, a script and a server nobody knows cost an unknown amount, unless
        `models.json` says what they cost.

        Args:
            provider: Our name for who answered.
            model: Who answered.
            usage: As the provider reported or estimated it.
        """
        if usage.cost_usd is not None or not self.loaded:
            return usage
        if not (usage.input_tokens or usage.output_tokens):
            return usage
        card = self.card(provider, model)
        if card is None or card.prices is None:
            return usage
        if card.prices is FREE and self._supplier(provider).terms == "free":
            return replace(usage, cost_usd=0.0)
        return replace(usage, cost_usd=card.prices.of(usage), priced=True)

    def known_window(self, provider: str, model: str) -> int:
        """What a model takes, in tokens; 0 if unknown."""
        card = self.card(provider, model)
        return card.context_window if card is not None else 0

    def cards(self, provider: str) -> Iterator[ModelCard]:
        """The models to talk to that are known at a provider: the person's own, then the list's."""
        seen: set[str] = set()
        for model in self.own_models(provider):
            seen.add(model.lower())
            card = self.card(provider, model)
            if card is not None:
                yield card
        vendor = self._known.vendors.get(self._supplier(provider).vendor)
        for listed in vendor.models if vendor is not None else ():
            if listed.id.lower() in seen or listed.retired or not _offered(vendor, listed):
                continue
            card = self.card(provider, listed.id)
            if card is not None:
                yield card

    def own_models(self, provider: str) -> Iterator[str]:
        """The models `models.json` has of a provider."""
        return (own.id for (name, _), own in self._known.own.items() if name == provider)

    # Where it comes from -----------------------------------------------------------------------

    def _own(self, provider: str, model: str) -> ModelCard | None:
        if not self._known.own:
            return None
        return next(
            (
                self._known.own[provider, spelling]
                for spelling in spellings(model)
                if (provider, spelling) in self._known.own
            ),
            None,
        )

    def _listed(self, card: ModelCard) -> ModelCard:
        """The card with what the price list and the provider's terms add."""
        supplier = self._supplier(card.provider)
        if supplier.terms == "free" and card.prices is None:
            return replace(card, prices=FREE, prices_from="built in")
        listed = self._find(supplier.vendor, card.id)
        if listed is None:
            return card
        if not card.context_window and listed.context_window:
            card = replace(card, context_window=listed.context_window, window_from="price list")
        if card.prices is None and supplier.terms == "list":
            free = card.id.lower().endswith(FREE_MARK)
            prices = FREE if free else listed.prices_at(self._clock())
            card = replace(card, prices=prices, prices_from="price list" if prices else "")
        return card

    def _find(self, vendor: str, model: str) -> Listed | None:
        seller = self._known.vendors.get(vendor)
        if seller is None or not model:
            return None
        key = (vendor, model)
        if key not in self._found:
            self._found[key] = find(seller, model)
        return self._found[key]

    def _supplier(self, provider: str) -> Supplier:
        if provider not in self._suppliers:
            self._suppliers[provider] = self._supplier_of(provider, set())
        return self._suppliers[provider]

    def _supplier_of(self, provider: str, on_the_way: set[str]) -> Supplier:
        settings = named_settings(provider, self._models)
        if settings is None or provider in on_the_way:
            return NOBODY
        if settings.kind not in COMPOSITES:
            return supplier_of(settings, self._known.vendors)
        # One that does not say which of its members answered: only if all are paid alike.
        inner = {self._supplier_of(name, {*on_the_way, provider}) for name, _ in members(settings)}
        return inner.pop() if len(inner) == 1 else NOBODY

    def runs_here(self, provider: str) -> bool:
        """Whether the provider is a model on this machine, for which nothing is paid."""
        return self._supplier(provider).terms == "free"


def _tabled(card: ModelCard) -> ModelCard:
    """The card with what our own tables add."""
    can = abilities(card.id)
    window, source = card.context_window, card.window_from
    if not window and (known := known_window(card.id)):
        window, source = known, "built in"
    return replace(
        card,
        context_window=window,
        window_from=source,
        tools=can.tools if card.tools is None else card.tools,
        thinking=can.thinking if card.thinking is None else card.thinking,
        images=can.images if card.images is None else card.images,
    )


def _offered(vendor: Vendor | None, listed: Listed) -> bool:
    """Whether a model of the list is one to choose: to talk to, and asked for by that id."""
    if vendor is None or not can_chat(listed.id):
        return False
    if vendor.id == "openrouter":
        asked = "/" in listed.id and not listed.id.startswith("~")
        return asked and (listed.id.endswith(FREE_MARK) or listed.is_priced)
    if vendor.id == "google":  # The list's other models are those of Vertex.
        return listed.is_priced and listed.id.startswith(("gemini", "gemma"))
    return listed.is_priced and FREE_MARK not in listed.id

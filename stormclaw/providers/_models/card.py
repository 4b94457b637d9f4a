"""What is known of a model: what it takes, what it can do, what it costs. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from stormclaw.protocol.messages import Usage

MILLION: Final = 1_000_000
Source: TypeAlias = Literal["models.json", "price list", "built in", ""]
"""The person's own file, the price list that is installed with us, our small tables."""


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars per million tokens.

    Attributes:
        base: For every token of a request.
        steps: (tokens of input, price): a request with more input than that pays this instead,
            for all its tokens; ascending.
    """

    base: float
    steps: tuple[tuple[int, float], ...] = ()

    def at(self, input_tokens: int) -> float:
        """The price in a request with so much input."""
        price = self.base
        for start, dearer in self.steps:
            price = dearer if input_tokens > start else price
        return price


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs; what its cache costs is None where it costs like other input."""

    input: Rate
    output: Rate
    cache_read: Rate | None = None
    cache_write: Rate | None = None

    def of(self, usage: Usage) -> float:
        """US dollars for one answer."""
        size = usage.input_tokens
        read = min(usage.cached_tokens, size)
        written = min(usage.cache_write_tokens, size - read)
        parts = (
            (size - read - written, self.input),
            (read, self.cache_read or self.input),
            (written, self.cache_write or self.input),
            (usage.output_tokens, self.output),
        )
        return sum(tokens * rate.at(size) for tokens, rate in parts) / MILLION


FREE: Final = Prices(Rate(0.0), Rate(0.0), Rate(0.0), Rate(0.0))


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of one model at one provider; 0 tokens and None mean unknown.

    Attributes:
        provider: Our name of the provider.
        id: The provider's id of the model.
        context_window: What it takes, in tokens.
        max_output: The longest answer, in tokens.
        prices: What it costs.
        tools: It can call tools; `thinking` and `images` likewise.
        window_from: Who says how large the window is.
        prices_from: Who says what it costs.
    """

    provider: str
    id: str
    context_window: int = 0
    max_output: int = 0
    prices: Prices | None = None
    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None
    window_from: Source = ""
    prices_from: Source = ""

    @property
    def source(self) -> Source:
        """Who says most of it: the most particular of those who say anything."""
        ranked: tuple[Source, ...] = ("models.json", "price list", "built in")
        said = (self.prices_from, self.window_from)
        return next((source for source in ranked if source in said), "")

"""What stands in the list of models: heads of providers, models, and how each line is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from stormclaw.ui.rows import Row, Run, wrap_runs
from stormclaw.ui.text import cells, fit, one_line, tokens

if TYPE_CHECKING:
    from stormclaw.providers.models import ModelCard
    from stormclaw.providers.offers import Group, Offer

ABLE_FROM, ORIGIN_FROM = 96, 116
"""Cells of a line from which abilities, and where we have it from, are shown."""
NUMBER = 9
ORIGIN = 14
PROVIDER = 12
ABILITIES = (("tools", 5), ("thinking", 8), ("images", 6))


@dataclass(frozen=True, slots=True)
class HeadLine:
    """The name of a provider, over its models."""

    label: str
    state: str


@dataclass(frozen=True, slots=True)
class GapLine:
    """Nothing."""


@dataclass(frozen=True, slots=True)
class OfferLine:
    """A model; `hay` is what a search looks at."""

    offer: Offer
    hay: str
    current: bool


ModelLine: TypeAlias = HeadLine | GapLine | OfferLine


@dataclass(frozen=True, slots=True)
class Section:
    """A provider with its lines."""

    head: HeadLine
    lines: tuple[OfferLine, ...]


def sections_of(groups: Iterable[Group], provider: str, model: str) -> tuple[Section, ...]:
    """The lines of all groups; the model in use is marked once, where it stands first."""
    from stormclaw.providers.offers import hay_of, is_current

    sections, marked = [], False
    for group in groups:
        lines = []
        for offer in group.offers:
            current = not marked and offer.key and is_current(offer, provider, model)
            marked = marked or current
            lines.append(OfferLine(offer, hay_of(group, offer), current))
        head = HeadLine(one_line(group.label), one_line(group.state))
        sections.append(Section(head, tuple(lines)))
    return tuple(sections)


def fitting(sections: Sequence[Section], words: Sequence[str], *, airy: bool) -> list[ModelLine]:
    """The lines in which every word stands somewhere, under their heads; `airy`: with gaps."""
    lines: list[ModelLine] = []
    for section in sections:
        kept = [line for line in section.lines if all(word in line.hay for word in words)]
        if kept:
            gap = [GapLine()] if airy and lines else []
            lines += [*gap, section.head, *kept]
    return lines


# One line ----------------------------------------------------------------------------------------


def head_row(width: int) -> Row:
    """What the columns are."""
    labels = [f"{'window':>{NUMBER}}", f"{'$/M in':>{NUMBER}}", f"{'$/M out':>{NUMBER}}"]
    if width >= ABLE_FROM:
        labels.append(f"  {'can':<{_able_width()}}")
    if width >= ORIGIN_FROM:
        labels.append(f"  {'from':<{ORIGIN}}")
    shown = "".join(labels)
    return Row((Run(" " * max(0, width - cells(shown)) + shown, "muted"),))


def left_of(line: OfferLine, room: int, elided: str) -> tuple[Run, ...]:
    """The model's name, its vendor muted, and that it answers now.

    One that is not connected stands among others: the name of its provider comes first.
    """
    name = one_line(line.offer.model) or "its default model"
    mark = "  in use" if line.current else ""
    lead = () if line.offer.key else (Run(f"{one_line(line.offer.provider):<{PROVIDER}}"),)
    short = fit(name, max(8, room - len(mark) - len(lead) * PROVIDER), elided=elided)
    vendor, slash, rest = short.rpartition("/")
    role = "text" if line.offer.key else "muted"
    runs = (*lead, Run(vendor + slash, "muted"), Run(rest, role))
    return (*runs, Run(mark, "accent")) if mark else runs


def right_of(line: OfferLine, width: int) -> tuple[Run, ...]:
    """The columns."""
    card = line.offer.card
    prices = card.prices if card is not None else None
    window = tokens(card.context_window) if card is not None and card.context_window else ""
    runs = [Run(f"{window:>{NUMBER}}", "muted")]
    for rate in (prices.input, prices.output) if prices is not None else (None, None):
        runs.append(Run(f"{price(rate.base) if rate is not None else '':>{NUMBER}}"))
    if width >= ABLE_FROM:
        runs += [Run("  "), *_able(card)]
    if width >= ORIGIN_FROM:
        runs.append(Run(f"  {fit(one_line(line.offer.origin), ORIGIN):<{ORIGIN}}", "muted"))
    return tuple(runs)


def price(usd: float) -> str:
    """`3.00`, `0.075`, `free`."""
    if not usd:
        return "free"
    return f"{usd:.2f}" if round(usd, 2) == round(usd, 4) else f"{usd:.3f}"


def _able_width() -> int:
    return sum(size for _, size in ABILITIES) + len(ABILITIES) - 1


def _able(card: ModelCard | None) -> tuple[Run, ...]:
    """A column for each ability, empty where it is missing or not known."""
    if card is not None and card.tools is False:
        return (Run(f"{'no tools':<{_able_width()}}", "attention"),)
    held = (card.tools, card.thinking, card.images) if card is not None else (None,) * 3
    words = (
        f"{name if able else '':<{size}}"
        for (name, size), able in zip(ABILITIES, held, strict=True)
    )
    return (Run(" ".join(words), "muted"),)


# The pane below ----------------------------------------------------------------------------------


def facts_of(line: OfferLine, width: int) -> list[Row]:
    """What is known of the picked model, in two lines."""
    offer, card = line.offer, line.offer.card
    title = Row((Run(fit(one_line(offer.target), width), "text", "b"),))
    if not offer.key:
        words = f"{one_line(offer.origin)}; enter asks for a key"
        return [title, *wrap_runs(words, width, "attention")[:1]]
    said: list[str] = []
    if card is not None and card.context_window:
        said.append(f"{tokens(card.context_window)} window")
    if card is not None and card.max_output:
        said.append(f"answers up to {tokens(card.max_output)}")
    said += [_abilities(card), _priced(card)]
    facts = fit(", ".join(filter(None, said)), width)
    return [title, Row((Run(facts, "muted"),))]


def _priced(card: ModelCard | None) -> str:
    prices = card.prices if card is not None else None
    if prices is None:
        return "price unknown"
    if not prices.input.base and not prices.output.base:
        return "nothing to pay"
    cached = prices.cache_read
    words = f"${price(prices.input.base)} in, ${price(prices.output.base)} out"
    words += f", ${price(cached.base)} cached" if cached is not None and cached.base else ""
    dearer = prices.input.steps[0] if prices.input.steps else None
    words += f", ${price(dearer[1])} in above {tokens(dearer[0])}" if dearer is not None else ""
    return words


def _abilities(card: ModelCard | None) -> str:
    if card is None:
        return ""
    held = {"tools": card.tools, "thinking": card.thinking, "images": card.images}
    known = [name if able else f"no {name}" for name, able in held.items() if able is not None]
    return ", ".join(known) if known else "abilities unknown"


def effort_row(efforts: Sequence[str], chosen: str, width: int, arrows: str) -> Row:
    """How hard it is to think: all there is, the chosen one bright; `arrows` are its keys."""
    if len(efforts) == 1:
        return Row((Run("effort   this model does not think", "muted"),))
    runs = [Run("effort   ", "muted")]
    for effort in efforts:
        word = effort or "default"
        picked = effort == chosen
        runs += [Run(word, "accent" if picked else "muted", "b" if picked else ""), Run("  ")]
    if width >= 76:
        runs += [Run(arrows), Run(" changes it", "muted")]
    return Row(tuple(runs))

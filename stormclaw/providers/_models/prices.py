"""The price list that is installed with us (genai-prices), read without importing it.

Importing the package takes 0.8 to 1.2 s: pydantic, an HTTP client, 2,300 models with all they say.
Its data module is nothing but calls of its own classes with literals, so here its compiled code is
run with small functions in the place of those classes: 30 to 60 ms, most of it for reading the
file. Should a newer package be laid out otherwise, it is imported after all, and the same functions
are given what its objects hold.
"""

from __future__ import annotations

import builtins
import importlib.util
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from stormclaw.providers._models.card import Prices, Rate

LOG = logging.getLogger(__name__)
PACKAGE: Final = "genai_prices"


@dataclass(frozen=True, slots=True)
class Clause:
    """One rule of how a model may be spelled; `kind` is `equals`, `contains`, `or` ..."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Priced:
    """Prices, and from when or at which hours (UTC) they hold; both None for always."""

    prices: Prices | None
    since: date | None = None
    hours: tuple[time, time] | None = None

    def holds(self, at: datetime) -> bool:
        """Whether they hold at a moment (UTC)."""
        if self.since is not None:
            return at.date() >= self.since
        if self.hours is None:
            return True
        begins, ends = self.hours
        now = at.time()
        return now >= begins or now < ends if ends < begins else begins <= now < ends


@dataclass(frozen=True, slots=True)
class Listed:
    """A model in the list.

    Attributes:
        id: As the list calls it.
        spelled: How it may be spelled.
        context_window: In tokens, 0 if unknown.
        prices: The last one that holds counts, the first where none does.
        retired: The list says it is going or gone.
    """

    id: str
    spelled: Clause | None
    context_window: int
    prices: tuple[Priced, ...]
    retired: bool = False

    @property
    def is_priced(self) -> bool:
        """Whether the list says what it costs."""
        return any(entry.prices is not None for entry in self.prices)

    def prices_at(self, at: datetime) -> Prices | None:
        """What it costs at a moment (UTC)."""
        holding = (entry for entry in reversed(self.prices) if entry.holds(at))
        chosen = next(holding, self.prices[0] if self.prices else None)
        return chosen.prices if chosen is not None else None


@dataclass(frozen=True, slots=True)
class Vendor:
    """Who sells models.

    Attributes:
        id: In the list.
        pattern: A regular expression for the beginning of its addresses.
        models: All there are.
        by_id: The same by their lower-case id.
    """

    id: str
    pattern: str
    models: tuple[Listed, ...]
    by_id: Mapping[str, Listed] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = {model.id.lower(): model for model in self.models}
        object.__setattr__(self, "by_id", known)


@cache
def read_list() -> Mapping[str, Vendor]:
    """The vendors by their id in the list; empty where there is no list. Blocks: use a thread."""
    try:
        vendors = _run_data()
    except Exception as error:  # noqa: BLE001 (whatever a newer layout breaks, importing may do)
        LOG.debug("the price list is not laid out as expected: %r", error)
        try:
            vendors = _import_data()
        except Exception:
            LOG.warning("no price list could be read", exc_info=True)
            vendors = ()
    return {vendor.id: vendor for vendor in vendors}


def _run_data() -> Sequence[Vendor]:
    """The vendors, from the compiled data module alone."""
    found = importlib.util.find_spec(PACKAGE)  # Finds a package at the top without importing it.
    if found is None or not found.submodule_search_locations:
        raise ImportError(f"{PACKAGE} is not installed")
    name = f"{PACKAGE}.data"
    code = SourceFileLoader(name, str(Path(found.submodule_search_locations[0]) / "data.py"))
    compiled = code.get_code(name)
    if compiled is None:
        raise ImportError(f"{name} has no code")
    words = ModuleType(f"{PACKAGE}.types")
    vars(words).update(MAKERS)
    plain = ModuleType("decimal")
    vars(plain)["Decimal"] = float

    def bring(wanted: str, *rest: Any) -> ModuleType:
        level = rest[3] if len(rest) > 3 else 0
        if level:
            return words
        return plain if wanted == "decimal" else __import__(wanted, *rest)

    space: dict[str, Any] = {
        "__name__": name,
        "__builtins__": {**vars(builtins), "__import__": bring},
    }
    exec(compiled, space)  # noqa: S102 (the code of an installed package, as importing it would)
    return tuple(space["providers"])


def _import_data() -> Sequence[Vendor]:
    """The same from the package's own objects."""
    data = importlib.import_module(f"{PACKAGE}.data")
    return tuple(_translated(provider) for provider in data.providers)


def _translated(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_translated(item) for item in value]
    maker = MAKERS.get(type(value).__name__)
    if maker is None:
        return value
    return maker(**{name: _translated(held) for name, held in vars(value).items()})


# What stands in the place of the package's classes -------------------------------------------


def _provider(*, id: str, models: list[Listed], api_pattern: str = "", **_: Any) -> Vendor:  # noqa: A002
    return Vendor(id, api_pattern, tuple(models))


def _model(
    *,
    id: str,  # noqa: A002
    match: Clause | None = None,
    context_window: int | None = None,
    prices: Prices | list[Priced] | None = None,
    deprecated: bool | None = None,
    **_: Any,
) -> Listed:
    listed = tuple(prices) if isinstance(prices, list) else (Priced(prices),)
    return Listed(id, match, context_window or 0, listed, bool(deprecated))


def _prices(
    *,
    input_mtok: object = None,
    output_mtok: object = None,
    cache_read_mtok: object = None,
    cache_write_mtok: object = None,
    **_: Any,
) -> Prices | None:
    sent, received = _rate(input_mtok), _rate(output_mtok)
    if sent is None or received is None:
        return None
    return Prices(sent, received, _rate(cache_read_mtok), _rate(cache_write_mtok))


def _rate(value: Any) -> Rate | None:
    if value is None or isinstance(value, Rate):
        return value
    return Rate(float(value))


def _tiered(*, base: Any, tiers: list[tuple[int, float]], **_: Any) -> Rate:
    return Rate(float(base), tuple(sorted(tiers)))


def _tier(*, start: int, price: Any, **_: Any) -> tuple[int, float]:
    return int(start), float(price)


def _conditional(
    *,
    prices: Prices | None = None,
    constraint: date | tuple[time, time] | None = None,
    **_: Any,
) -> Priced:
    if isinstance(constraint, tuple):
        return Priced(prices, hours=constraint)
    return Priced(prices, since=constraint)


def _since(*, start_date: date, **_: Any) -> date:
    return start_date


def _hours(*, start_time: time, end_time: time, **_: Any) -> tuple[time, time]:
    return _utc(start_time), _utc(end_time)


def _utc(at: time) -> time:
    if at.tzinfo is None:
        return at
    return datetime.combine(date(1970, 1, 1), at).astimezone(UTC).time()


def _clause(kind: str) -> Callable[..., Clause]:
    def make(**fields: Any) -> Clause:
        (value,) = fields.values()
        return Clause(kind, value)

    return make


def _nothing(**_: Any) -> None:
    return None


MAKERS: Final[Mapping[str, Callable[..., Any]]] = {
    "Provider": _provider,
    "ModelInfo": _model,
    "ModelPrice": _prices,
    "TieredPrices": _tiered,
    "Tier": _tier,
    "ConditionalPrice": _conditional,
    "StartDateConstraint": _since,
    "TimeOfDateConstraint": _hours,
    "PriceVariant": _nothing,
    "UsageExtractor": _nothing,
    "UsageExtractorMapping": _nothing,
    "ArrayMatch": _nothing,
    "ClauseEquals": _clause("equals"),
    "ClauseStartsWith": _clause("starts"),
    "ClauseEndsWith": _clause("ends"),
    "ClauseContains": _clause("contains"),
    "ClauseRegex": _clause("regex"),
    "ClauseOr": _clause("or"),
    "ClauseAnd": _clause("and"),
}
"""Name of a class of the package -> what is made of its arguments here."""

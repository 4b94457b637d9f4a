"""What a measurement comes to: a figure, what it is held against, and whether it is good enough."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Of: TypeAlias = Literal["reached", "ratio"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A target.

    Attributes:
        most: The highest figure that is good enough.
        of: Whether it bounds the figure itself or its ratio to what stands beside it.
    """

    most: float
    of: Of = "reached"


@dataclass(frozen=True, slots=True)
class Beside:
    """The same thing measured in the same minutes on something else.

    Attributes:
        name: `floor` for the bare Textual app, `control` for a new session, or what it was.
        value: In the unit of the row.
    """

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report.

    Attributes:
        figure: What was measured.
        reached: The result.
        unit: Of `reached`.
        beside: What it is compared with.
        limit: The target; None for a figure that explains another one.
        runs: The single values behind a median or percentile.
        others: The part of the machine that other programs used meanwhile, 0 to 1.
    """

    figure: str
    reached: float
    unit: str
    beside: Beside | None = None
    limit: Limit | None = None
    runs: tuple[float, ...] = ()
    others: float = 0.0

    @property
    def ratio(self) -> float | None:
        """How many times what stands beside it."""
        return self.reached / self.beside.value if self.beside and self.beside.value else None

    @property
    def judged(self) -> float | None:
        """The number the target is about; None without one."""
        if self.limit is None:
            return None
        return self.reached if self.limit.of == "reached" else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.limit is None:
            return None
        return self.judged is not None and self.judged <= self.limit.most


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def high(values: Sequence[float], share: float = 0.95) -> float:
    """The nearest-rank percentile."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def median_row(
    figure: str,
    unit: str,
    runs: Sequence[Sequence[float]],
    beside: str = "floor",
    limit: Limit | None = None,
) -> Row:
    """The median of several runs: ours first, then what stands beside it, if anything does."""
    ours, *others = runs
    other = Beside(beside, middle(others[0])) if others else None
    return Row(figure, middle(ours), unit, other, limit, tuple(ours))


def delay_rows(
    figure: str,
    runs: Sequence[Sequence[float]],
    beside: str,
    limits: Mapping[str, Sequence[Limit]],
) -> list[Row]:
    """Delays in ms, ours and what stands beside them: a line for each percentile and limit."""
    ours, others = runs
    rows = []
    for name, of in PERCENTILES:
        other = Beside(beside, of(others))
        for limit in limits.get(name) or (None,):
            rows.append(Row(f"{figure}, {name}", of(ours), "ms", other, limit, tuple(ours)))
    return rows


PERCENTILES: Final[tuple[tuple[str, Callable[[Sequence[float]], float]], ...]] = (
    ("p50", middle),
    ("p95", high),
    ("max", max),
)

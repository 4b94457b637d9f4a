"""The bottom line: what you may do, and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stormclaw.protocol.effects import Autonomy
from stormclaw.ui.heart import STILL
from stormclaw.ui.keymap import HINTS, Situation
from stormclaw.ui.rows import Row, Run, keys, spread, width_of
from stormclaw.ui.text import duration, money, share, tokens
from stormclaw.ui.widgets.header import MARGIN, NARROW, TINY
from stormclaw.ui.widgets.lines import Lines

WIDE = 150
CLOCK = 3
"""Cells of the turn's clock in its first minute, so that nothing moves with the tenth second."""

AUTONOMY_ROLES: dict[Autonomy, str] = {
    "readonly": "muted",
    "supervised": "accent",
    "full": "attention",
}


@dataclass(frozen=True, slots=True)
class Costs:
    """The facts of the footer.

    Attributes:
        autonomy: None leaves the word out.
        situation: Picks the hints.
        hints: Hints in place of those of the situation.
        said: A few words about what just happened, instead of hints; `said_role` its colour.
        context: Share of the context window in use, None if unknown.
        tokens: Used in this session.
        cost_usd: None when unknown; `cost_estimated` puts `~` before it.
        budget_usd: The limit, None for none.
        receipts: In the chain.
        chain: True unbroken, False broken, None not looked at yet.
        below: New lines under the last one shown.
        asking: Name of an agent whose question waits on another screen.
        alarm: A red word before the numbers, `sandbox off`.
        every: Show every hint there is room for, not the usual three.
        worked_s: Whole seconds the running turn has taken, None where nothing runs.
    """

    autonomy: Autonomy | None = None
    situation: Situation = "starting"
    hints: tuple[tuple[str, str], ...] = ()
    right_hints: tuple[tuple[str, str], ...] = ()
    said: str = ""
    said_role: str = "muted"
    context: float | None = None
    tokens: int = 0
    cost_usd: float | None = None
    cost_estimated: bool = False
    budget_usd: float | None = None
    receipts: int | None = None
    chain: bool | None = None
    below: int = 0
    asking: str = ""
    alarm: str = ""
    every: bool = False
    worked_s: int | None = None

    def saying(self, words: str, role: str) -> Costs:
        """The same facts, with words about what just happened."""
        return replace(self, said=words, said_role=role)


class Footer(Lines):
    """Draws `Costs`."""

    DEFAULT_CSS = """
    Footer { height: 1; width: 100%; dock: bottom; background: $sc-bg; }
    """

    def __init__(self, costs: Costs, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.costs = costs
        self.phase = STILL

    def tick(self, phase: int, worked_s: int | None) -> None:
        """The dot moves and the clock goes on, also while nothing comes."""
        self.phase = phase
        if worked_s is not None:
            self.costs = replace(self.costs, worked_s=worked_s)
            self.redraw()

    def show(self, costs: Costs) -> None:
        """Draw other facts."""
        if costs != self.costs:
            self.costs = costs
            self.redraw()

    def lines(self, width: int) -> list[Row]:
        """The one line; hints give way to numbers one by one, never half of one."""
        inner = width - 2 * MARGIN
        right = self._right(width)
        most = 2 if width < TINY else 3 if width < WIDE else 4
        most = len(self.costs.hints) if self.costs.every else most
        left: tuple[Run, ...] = ()
        for count in range(most, -1, -1):
            left = self._left(count)
            if width_of(left) + width_of(right) + (2 if right else 0) <= inner:
                break
        row = spread(left, right, inner, mark=self.signs.elided)
        return [Row((Run(" " * MARGIN), *row.runs))]

    def _left(self, most: int) -> tuple[Run, ...]:
        costs = self.costs
        runs: list[Run] = []
        if costs.autonomy is not None and costs.situation != "stopped":
            runs.append(Run(costs.autonomy, AUTONOMY_ROLES[costs.autonomy]))
        if costs.asking:
            runs += [Run("  "), Run(f"{self.signs.asks} {costs.asking} asks", "attention")]
        if costs.worked_s is not None and costs.situation == "busy":
            runs += [Run("  "), Run(self.signs.phase(self.phase), "accent")]
            runs.append(Run(f" {duration(costs.worked_s):<{CLOCK}}", "muted"))
        if costs.said:
            runs += [Run("  "), Run(costs.said, costs.said_role)]
        elif most:
            hints = costs.hints or HINTS[costs.situation]
            if costs.below:
                hints = ((f"{costs.below} new {self.signs.down}", "end"), *hints)
            hints = tuple((self._written(key), does) for key, does in _short(hints, most))
            runs += [Run("  "), *keys(hints)] if runs else keys(hints)
        if runs and not runs[0].text.strip():
            runs.pop(0)
        return tuple(runs)

    def _written(self, key: str) -> str:
        """A key of the table, its arrows in the signs of this terminal."""
        signs = self.signs
        for arrow, sign in zip(
            "↑↓←→", (signs.up, signs.down, signs.left, signs.right), strict=True
        ):
            key = key.replace(arrow, sign)
        return key

    def _right(self, width: int) -> tuple[Run, ...]:
        costs = self.costs
        pairs: list[tuple[Run, ...]] = []
        if costs.right_hints:
            return keys(costs.right_hints)
        if costs.context is not None:
            word = "context" if width >= NARROW else "ctx"
            role = "attention" if costs.context >= 0.8 else "text"
            pairs.append((Run(f"{word} ", "muted"), Run(share(costs.context), role)))
        if width >= WIDE and costs.tokens:
            pairs.append((Run("tokens ", "muted"), Run(tokens(costs.tokens))))
        if costs.cost_usd is not None:
            pairs.append(self._cost(width))
        if costs.receipts is not None and width >= TINY:
            pairs.append(self._receipts(width))
        runs: list[Run] = [Run(costs.alarm, "error")] if costs.alarm else []
        for pair in pairs:
            runs += [Run("  "), *pair] if runs else pair
        return tuple(runs)

    def _cost(self, width: int) -> tuple[Run, ...]:
        costs = self.costs
        amount = money(costs.cost_usd, estimated=costs.cost_estimated)
        limit = costs.budget_usd
        role = "attention" if limit and (costs.cost_usd or 0) >= 0.8 * limit else "text"
        runs = [Run(amount, role)]
        if width >= NARROW:
            runs.insert(0, Run("cost ", "muted"))
        if limit and width >= TINY:
            runs.append(Run(f" of ${limit:.2f}" if width >= NARROW else f"/{limit:.2f}", "muted"))
        return tuple(runs)

    def _receipts(self, width: int) -> tuple[Run, ...]:
        costs = self.costs
        runs = [Run(str(costs.receipts), "error" if costs.chain is False else "text")]
        if width >= NARROW:
            runs.insert(0, Run("receipts ", "muted"))
        if costs.chain is not None and costs.receipts:
            sign = self.signs.done if costs.chain else self.signs.failed
            runs.append(Run(f" {sign}", "muted" if costs.chain else "error"))
        return tuple(runs)


def _short(hints: tuple[tuple[str, str], ...], most: int) -> tuple[tuple[str, str], ...]:
    """The hints kept when there is room for `most`: `esc` always, since it is the way out."""
    if len(hints) <= most:
        return hints
    out = next((hint for hint in hints if hint[0] == "esc"), None)
    if out is None or out in hints[:most]:
        return hints[:most]
    return (*hints[: most - 1], out)

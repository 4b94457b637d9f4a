"""What the window is filled with: one bar in the order of its legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from textual.app import App

from stormclaw.agent.context.sheet import PartKind, Sheet
from stormclaw.ui.context_lines import count_of
from stormclaw.ui.rows import BLANK, Row, Run, width_of
from stormclaw.ui.signs import ASCII, Signs
from stormclaw.ui.widgets.lines import Lines

ROLES: Mapping[PartKind, str] = {
    "system": "agent-2",
    "instructions": "agent-4",
    "memory": "agent-6",
    "tools": "agent-3",
    "turns": "accent",
    "results": "agent-5",
}
SHAPES: Mapping[PartKind, tuple[str, str]] = {
    "system": ("━", "="),
    "instructions": ("╍", "#"),
    "memory": ("═", "%"),
    "tools": ("┅", "+"),
    "turns": ("╌", ":"),
    "results": ("┉", "*"),
}
"""Kind -> (sign, ASCII) where colours do not tell the kinds apart."""
GAP = 3


class Shares(Lines):
    """The bar, and under it the legend, as many rows as it needs."""

    DEFAULT_CSS = """
    Shares { width: 1fr; height: auto; margin: 0 2 1 2; background: $sc-bg; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._sheet: Sheet | None = None

    def show(self, sheet: Sheet) -> None:
        """Draw another sheet."""
        self._sheet = sheet
        self.fit()
        self.redraw()

    def fit(self) -> None:
        """As high as the rows for this width."""
        width = self.size.width or self.app.size.width - 4
        self.styles.height = max(1, len(self.lines(width)))

    def lines(self, width: int) -> Sequence[Row]:
        """Bar and legend; no bar where the window is not known."""
        sheet = self._sheet
        if sheet is None:
            return [BLANK]
        shapes = shapes_of(self.signs, cast("App[object]", self.app))
        rows = legend(sheet, width, shapes)
        if not sheet.window:
            return rows
        runs = [
            Run(shapes[kind] * size, ROLES[kind])
            for kind, size in bar_cells(sheet.shares, sheet.window, width)
        ]
        rest = width - width_of(runs)
        return [Row((*runs, Run(self.signs.track * rest, "track"))), *rows]


def shapes_of(signs: Signs, app: App[object]) -> Mapping[PartKind, str]:
    """One sign for all kinds where colours tell them apart; else one for each."""
    if signs is ASCII:
        return {kind: shape[1] for kind, shape in SHAPES.items()}
    if app.no_color:
        return {kind: shape[0] for kind, shape in SHAPES.items()}
    return dict.fromkeys(SHAPES, signs.bar)


def bar_cells(
    shares: Sequence[tuple[PartKind, int]], window: int, width: int
) -> list[tuple[PartKind, int]]:
    """Cells of each kind: in proportion, at least one where there is anything, never too many."""
    used = [(kind, amount) for kind, amount in shares if amount > 0]
    total = sum(amount for _, amount in used)
    per_token = width / max(window, total, 1)
    sizes = [max(1, int(amount * per_token)) for _, amount in used]
    wanted = round(total * per_token)
    for at in sorted(range(len(used)), key=lambda at: -(used[at][1] * per_token % 1)):
        if sum(sizes) >= wanted:
            break
        sizes[at] += 1
    while sum(sizes) > width and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    return [(kind, size) for (kind, _), size in zip(used, sizes, strict=True)]


def legend(sheet: Sheet, width: int, shapes: Mapping[PartKind, str]) -> list[Row]:
    """`━ system 9.8k   ━ tools 12.1k`, in rows of at most `width` cells."""
    about = sheet.measured == "estimate"
    rows: list[list[Run]] = [[]]
    for kind, amount in sheet.shares:
        if amount <= 0:
            continue
        entry = [Run(f"{shapes[kind]} ", ROLES[kind]), Run(f"{kind} {count_of(amount, about)}")]
        gap = GAP if rows[-1] else 0
        if rows[-1] and width_of(rows[-1]) + gap + width_of(entry) > width:
            rows.append([])
            gap = 0
        rows[-1] += [Run(" " * gap), *entry] if gap else entry
    return [Row(tuple(runs)) for runs in rows if runs] or [Row((Run("nothing yet", "muted"),))]

"""The list of models: a picker whose cursor passes over the names of providers."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.ui.model_lines import (
    GapLine,
    HeadLine,
    ModelLine,
    OfferLine,
    head_row,
    left_of,
    right_of,
)
from stormclaw.ui.rows import Row, Run, spread, width_of
from stormclaw.ui.widgets.picker import Picker

MEASURE = 124
"""Cells a line takes at most: the columns stay near the names on a wide screen."""


class ModelList(Picker, can_focus=False):
    """Draws `ModelLine`s; keys come from the screen, since what is typed goes to the search.

    Attributes:
        items: What stands in it.
    """

    def __init__(self) -> None:
        super().__init__(lambda index, width, picked: ((), ()), head=_head)
        self.items: Sequence[ModelLine] = ()

    def put(self, items: Sequence[ModelLine], to: str | None = None) -> None:
        """Show other lines; the cursor goes to the model `to`, else to the first one."""
        self.items = items
        at = next(
            (
                number
                for number, line in enumerate(items)
                if isinstance(line, OfferLine) and to in (None, line.offer.target)
            ),
            None,
        )
        if at is None:
            at = next((n for n, line in enumerate(items) if isinstance(line, OfferLine)), 0)
        self.fill(len(items), at)

    @property
    def line(self) -> OfferLine | None:
        """The model the cursor is on."""
        line = self.items[self.cursor] if self.cursor < len(self.items) else None
        return line if isinstance(line, OfferLine) else None

    def move_to(self, index: int) -> None:
        """Pick a model: the next one in that direction, else the nearest in the other."""
        index = max(0, min(index, self.count - 1))
        step = 1 if index >= self.cursor else -1
        ahead = range(index, self.count) if step > 0 else range(index, -1, -1)
        behind = range(index, -1, -1) if step > 0 else range(index, self.count)
        models = (at for at in (*ahead, *behind) if isinstance(self.items[at], OfferLine))
        at = next(models, None)
        if at is None:
            return
        super().move_to(at)
        if step < 0 and not any(isinstance(line, OfferLine) for line in self.items[:at]):
            self._first = 0  # Above the first model is only the name of its provider: show it.
            self.redraw()

    def _keep_in_view(self) -> None:
        super()._keep_in_view()
        over = self.cursor
        while over > 0 and not isinstance(self.items[over - 1], OfferLine):
            over -= 1
        if over < self._first and self.cursor - over < self.room:
            self._first = over

    def _row(self, index: int, width: int) -> Row:
        line = self.items[index]
        match line:
            case GapLine():
                return Row()
            case HeadLine(label, state):
                name = (Run(f"  {label}", "text", "b"), Run(f"  {state}", "muted"))
                return spread(name, (), width - 2, mark=self.signs.elided)
            case OfferLine():
                return self._offer(line, width, picked=index == self.cursor)

    def _offer(self, line: OfferLine, width: int, *, picked: bool) -> Row:
        lead = Run(f"  {self.signs.selected} ", "accent") if picked else Run("    ")
        measure = min(width - 6, MEASURE)
        right = right_of(line, measure)
        left = left_of(line, measure - width_of(right) - 2, self.signs.elided)
        row = spread(left, right, measure, mark=self.signs.elided)
        return Row((lead, *row.runs), "row" if picked else "")


def _head(width: int) -> Row:
    return head_row(min(width, MEASURE))

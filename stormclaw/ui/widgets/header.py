"""The top line: where you are. On a stopped StormClaw it says that first, on every screen."""

from __future__ import annotations

from dataclasses import dataclass

from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.widgets.lines import Lines

MARK = "///"
TINY, NARROW = 70, 110
MARGIN = 2


@dataclass(frozen=True, slots=True)
class Where:
    """The facts of the header.

    Attributes:
        name: Folder, or the name of the screen.
        branch: Git branch, "" for none.
        changed: Lines (added, removed) in this session.
        title: Title of the session.
        model: Short name.
        provider: Short name, "" to leave it out.
        scripted: The answers are a script's.
        stopped: Since when everything is stopped, "" when it is not.
        right: Runs in place of model and provider.
    """

    name: str = ""
    branch: str = ""
    changed: tuple[int, int] = (0, 0)
    title: str = ""
    model: str = ""
    provider: str = ""
    scripted: bool = False
    stopped: str = ""
    right: tuple[Run, ...] = ()
    trail: tuple[Run, ...] = ()


class Header(Lines):
    """Draws `Where`."""

    DEFAULT_CSS = """
    Header { height: 1; width: 100%; background: $sc-bg; }
    """

    def __init__(self, where: Where, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.where = where

    def show(self, where: Where) -> None:
        """Draw other facts."""
        if where != self.where:
            self.where = where
            self.redraw()

    def lines(self, width: int) -> list[Row]:
        """The one line."""
        where = self.where
        left = self._stopped() if where.stopped else (*self._place(width),)
        inner = width - 2 * MARGIN
        row = spread(left, self._right(width), inner, mark=self.signs.elided)
        return [Row((Run(" " * MARGIN), *row.runs))]

    def _stopped(self) -> tuple[Run, ...]:
        return (
            Run(f"{self.signs.blocked} ", "error"),
            Run("Stopped", "error", "b"),
            Run(f"  everything, since {self.where.stopped}", "muted"),
        )

    def _place(self, width: int) -> list[Run]:
        where, signs = self.where, self.signs
        runs = [Run(MARK, "accent"), Run(" "), *(where.trail or (Run(where.name, "text", "b"),))]
        if where.branch:
            runs.append(Run(f"  {where.branch}", "muted"))
        added, removed = where.changed
        if added or removed:
            runs.append(Run(f"  +{added} {signs.removed}{removed}", "muted"))
        if where.title and width >= TINY:
            runs.append(Run(f"  {signs.between}  {where.title}", "muted"))
        return runs

    def _right(self, width: int) -> tuple[Run, ...]:
        where = self.where
        if where.right or not where.model:
            return where.right
        between = Run(f" {self.signs.between} ", "muted")
        if where.scripted:
            return (Run(where.model, "attention"), between, Run("scripted", "muted"))
        if width < NARROW or not where.provider:
            return (Run(where.model, "muted"),)
        return (Run(where.model, "muted"), between, Run(where.provider, "muted"))

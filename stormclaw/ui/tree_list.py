"""The list of sessions and turns: a picker whose cursor passes over gaps and stays on its line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.session_words import all_changes, last_used, moment
from stormclaw.ui.text import money, one_line
from stormclaw.ui.tree_lines import GapLine, HereLine, ListLine, SessionLine, TurnLine, WordsLine
from stormclaw.ui.widgets.picker import Picker

WIDE = 64
"""Cells from which a turn also says what was done and changed."""
COST = 7
CLOCK = 5

LineKey: TypeAlias = tuple[str, str, str]


def key_of(line: ListLine) -> LineKey:
    """What a line is about, however often the list is filled: kind, session, turn."""
    match line:
        case SessionLine(info):
            return ("session", info.id, "")
        case TurnLine(session, leaf):
            return ("turn", session, leaf.id)
        case HereLine(session):
            return ("here", session, "")
        case WordsLine(session):
            return ("words", session, "")
        case GapLine():
            return ("gap", "", "")


class TreeList(Picker):
    """Draws `ListLine`s.

    Attributes:
        items: What stands in it.
        now_id: Id of the open session.
        folders: Say in which folder a session is.
    """

    def __init__(self) -> None:
        super().__init__(lambda index, width, picked: ((), ()))
        self.items: Sequence[ListLine] = ()
        self.now_id = ""
        self.folders = False
        self.now = 0.0

    def put(self, items: Sequence[ListLine], to: LineKey | None = None) -> None:
        """Show other lines; the cursor goes to `to`, else it stays on what it was on."""
        known = to or (key_of(self.items[self.cursor]) if self.items else None)
        near = self.cursor
        self.items = items
        places = {key_of(line): number for number, line in enumerate(items)}
        at = places.get(known, min(near, len(items) - 1)) if known else 0
        if 0 <= at < len(items) and isinstance(items[at], GapLine):
            at += 1 if at + 1 < len(items) else -1
        self.fill(len(items), max(0, at))

    @property
    def line(self) -> ListLine | None:
        """What the cursor is on."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    def move_to(self, index: int) -> None:
        """Pick a line, the next one behind a gap."""
        index = max(0, min(index, self.count - 1))
        step = 1 if index >= self.cursor else -1
        while 0 < index < self.count - 1 and isinstance(self.items[index], GapLine):
            index += step
        super().move_to(index)

    def _row(self, index: int, width: int) -> Row:
        picked = index == self.cursor
        line = self.items[index]
        sign, left, right = self._parts(line, width - 6, picked)
        lead = Run(f"  {self.signs.selected} ", "accent") if picked else Run(f"  {sign} ", "muted")
        row = spread(left, right, width - 6, mark=self.signs.elided)
        return Row((lead, *row.runs), "row" if picked else "")

    def _parts(
        self, line: ListLine, width: int, picked: bool
    ) -> tuple[str, Sequence[Run], Sequence[Run]]:
        """What stands in the gutter, on the left and on the right."""
        match line:
            case SessionLine():
                sign = self.signs.open if line.open else self.signs.folded
                return sign, self._title(line), self._used(line)
            case TurnLine():
                return " ", self._turn(line, width, picked), self._changed(line, width)
            case HereLine(at=at):
                here = (Run(f"{self.signs.waiting} ", "muted"), Run("you are here", "muted"))
                return " ", here, (Run(moment(at, self.now), "muted"),) if at else ()
            case WordsLine(words=words, role=role):
                return " ", (Run(one_line(words), role),), ()
            case GapLine():
                return " ", (), ()

    def _title(self, line: SessionLine) -> Sequence[Run]:
        info = line.info
        weight = "b" if info.id == self.now_id else ""
        title = one_line(info.title)
        named = Run(title, "text", weight) if title else Run("nothing said yet", "muted")
        folder = Run(f"  {one_line(info.workspace.name)}", "muted")
        return (named, folder) if self.folders else (named,)

    def _used(self, line: SessionLine) -> Sequence[Run]:
        info = line.info
        when = "now" if info.id == self.now_id else last_used(info.updated, self.now)
        cost = money(info.cost_usd, estimated=info.cost_estimated)
        return (Run(when, "muted"), Run(f"{cost:>{COST}}", "muted"))

    def _turn(self, line: TurnLine, width: int, picked: bool) -> Sequence[Run]:
        leaf = line.leaf
        runs = [
            Run(line.stem, "rule"),
            Run(f"{self.signs.running} ", "accent" if picked else "muted"),
        ]
        if leaf.label:
            runs.append(Run(f"{one_line(leaf.label)}  ", "accent"))
        runs.append(Run(one_line(leaf.text), "text" if leaf.current or picked else "muted"))
        if leaf.did and width >= WIDE:
            runs.append(Run(f"  {one_line(leaf.did)}", "muted"))
        return runs

    def _changed(self, line: TurnLine, width: int) -> Sequence[Run]:
        changed = all_changes(line.leaf.files, self.signs) if width >= WIDE else ""
        clock = Run(f"{moment(line.leaf.at, self.now):>{CLOCK}}", "muted")
        return (Run(changed, "muted"), Run("  "), clock) if changed else (clock,)

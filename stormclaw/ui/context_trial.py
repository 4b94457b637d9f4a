"""Another order of policies, tried before it is applied: names only, so that it is easy to move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stormclaw.agent.context.sheet import Part, PolicyLine, Sheet


@dataclass(frozen=True, slots=True)
class Trial:
    """Which policies act, in which order, and which do not."""

    on: tuple[str, ...]
    off: tuple[str, ...] = ()

    @classmethod
    def of(cls, policies: Sequence[PolicyLine]) -> Trial:
        """The order that is in force."""
        return cls(
            tuple(line.name for line in policies if line.on),
            tuple(line.name for line in policies if not line.on),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """As they are listed: those that act, then the others."""
        return (*self.on, *self.off)

    def toggled(self, name: str) -> Trial:
        """The same with one policy off, or on again as the last."""
        if name in self.on:
            return Trial(tuple(other for other in self.on if other != name), (name, *self.off))
        return Trial((*self.on, name), tuple(other for other in self.off if other != name))

    def moved(self, name: str, by: int) -> Trial:
        """The same with one policy that acts a place earlier (-1) or later (1), if there is one."""
        if name not in self.on:
            return self
        order = list(self.on)
        at = order.index(name)
        to = at + by
        if not 0 <= to < len(order):
            return self
        order[at], order[to] = order[to], order[at]
        return Trial(tuple(order), self.off)

    def same_as(self, other: Trial) -> bool:
        """Whether the same policies act in the same order."""
        return self.on == other.on


@dataclass(frozen=True, slots=True)
class Differences:
    """What a dry run does to single parts.

    Attributes:
        goes: Ids of parts that are sent now and would not be.
        comes: Ids of parts that are held back now and would be sent.
        shrinks: Ids of parts held back both ways of which something else would be left.
    """

    goes: frozenset[str] = frozenset()
    comes: frozenset[str] = frozenset()
    shrinks: frozenset[str] = frozenset()

    def touch(self, node_id: str) -> bool:
        """Whether it does anything to this part."""
        return node_id in self.goes or node_id in self.comes or node_id in self.shrinks

    def words(self) -> str:
        """In a few words, for the header."""
        said = [
            f"{len(ids)} {word}"
            for ids, word in ((self.goes, "would go"), (self.comes, "would come back"))
            if ids
        ]
        return ", ".join(said) or "nothing would change"


NO_DIFFERENCES = Differences()


def differences(now: Sheet, dry: Sheet) -> Differences:
    """What another order would change, part by part."""
    before: dict[str, Part] = {part.id: part for part in now.parts if part.id}
    goes: set[str] = set()
    comes: set[str] = set()
    shrinks: set[str] = set()
    for part in dry.parts:
        old = before.get(part.id)
        if old is None:
            continue
        if old.sent != part.sent:
            (goes if old.sent else comes).add(part.id)
        elif not part.sent and old.left != part.left:
            shrinks.add(part.id)
    return Differences(frozenset(goes), frozenset(comes), frozenset(shrinks))

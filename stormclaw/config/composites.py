"""Finds what is wrong with providers made of others: nobody named, unknown names, circles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

RELIABLE: Final = "reliable"
ROUTER: Final = "router"
FIELDS: Final[Mapping[str, str]] = MappingProxyType({RELIABLE: "providers", ROUTER: "routes"})
"""The kinds that are made of others, and the setting that names those."""

PURPOSES: Final = ("work", "subagent", "title", "compaction", "condense", "default")
"""What a request can be for; `default` stands for every purpose that has no route of its own."""

_WANTED: Final[Mapping[str, str]] = {
    RELIABLE: "is missing: who is asked, first to last, such as [openrouter/MODEL, local]",
    ROUTER: "is missing: who answers what, such as {work: openrouter/MODEL, compaction: local}",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Of an entry under `providers.models`, what is looked at.

    Attributes:
        kind: As written.
        providers: See `ModelSettings`.
        routes: See `ModelSettings`.
    """

    kind: str
    providers: Collection[str] = ()
    routes: Mapping[str, str] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """(place within the setting, `provider/model`) of those it is made of."""
        match self.kind:
            case "reliable":
                return tuple((f"[{at}]", target) for at, target in enumerate(self.providers))
            case "router":
                return tuple((f".{purpose}", target) for purpose, target in self.routes.items())
            case _:
                return ()


class Complaint(NamedTuple):
    """Something wrong: with which entry, in which of its settings, where in it, and what."""

    name: str
    setting: str
    at: str
    value: str
    message: str


def complaints(entries: Mapping[str, Entry], known: Collection[str]) -> Iterator[Complaint]:
    """Everything wrong with the entries that are made of others.

    Args:
        entries: All of `providers.models`, by name.
        known: Names that need no entry.
    """
    for name, entry in entries.items():
        setting = FIELDS.get(entry.kind)
        if setting is None:
            continue
        if not entry.targets:
            yield Complaint(name, setting, "", "", _WANTED[entry.kind])
        if entry.kind == ROUTER:
            for purpose in entry.routes:
                if purpose not in PURPOSES:
                    message = f"no such purpose; there are: {', '.join(PURPOSES)}"
                    yield Complaint(name, setting, f".{purpose}", entry.routes[purpose], message)
        for at, target in entry.targets:
            head = provider_of(target, entries, known)
            if not head:
                names = ", ".join(sorted({*entries, *known} - {name}))
                message = f"must be PROVIDER or PROVIDER/MODEL, with one of {names}"
                yield Complaint(name, setting, at, target, message)
            elif way := _way_back(head, name, entries, known):
                circle = " -> ".join((name, *way))
                yield Complaint(name, setting, at, target, f"leads back to itself: {circle}")


def provider_of(target: str, entries: Collection[str], known: Collection[str]) -> str:
    """The provider that `provider`, `provider/model` or `provider:effort` names, "" for none."""
    head = target.partition("/")[0]
    names = (head, head.rpartition(":")[0])
    return next((name for name in names if name in entries or name in known), "")


def _way_back(
    start: str, goal: str, entries: Mapping[str, Entry], known: Collection[str]
) -> tuple[str, ...]:
    """The shortest way from `start` to `goal`; () for none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == goal:
            return way
        entry = entries.get(way[-1])
        for _, target in entry.targets if entry else ():
            following = provider_of(target, entries, known)
            if following and following not in seen:
                seen.add(following)
                ways.append((*way, following))
    return ()

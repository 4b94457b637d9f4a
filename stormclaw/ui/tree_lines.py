"""Which lines the sessions screen has, in which order: pure, from sessions and their turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from stormclaw.ui.signs import Signs

if TYPE_CHECKING:
    from stormclaw.agent.history.values import Leaf
    from stormclaw.store.sessions import SessionInfo

Which: TypeAlias = Literal["all", "files", "labelled"]
"""Turns that are shown: every one, those that changed files, those that have a name."""

MOST_LEVELS = 5
"""Branches of branches drawn before the outer ones are left out."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session; `open` when its turns stand under it."""

    info: SessionInfo
    open: bool


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn of a session, behind the lines of the tree."""

    session: str
    leaf: Leaf
    stem: str


@dataclass(frozen=True, slots=True)
class HereLine:
    """Where the open session stands; `at` is when it came there, 0 if nothing was said."""

    session: str
    at: float


@dataclass(frozen=True, slots=True)
class WordsLine:
    """Words in place of a session's turns: they are being read, there are none, it failed."""

    session: str
    words: str
    role: str = "muted"


@dataclass(frozen=True, slots=True)
class GapLine:
    """Nothing; the cursor passes over it."""


ListLine: TypeAlias = SessionLine | TurnLine | HereLine | WordsLine | GapLine


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A session whose turns are shown, or what is to be said in their place."""

    leaves: Sequence[Leaf] = ()
    words: str = ""
    role: str = "muted"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person is looking for.

    Attributes:
        words: Lower case; "" for everything.
        which: See `Which`.
        hits: Ids of sessions in which the words were said.
    """

    words: str = ""
    which: Which = "all"
    hits: frozenset[str] = frozenset()

    def fits_session(self, info: SessionInfo) -> bool:
        """Whether title, folder or id hold the words, or they were said there."""
        said = f"{info.title}\n{info.workspace.name}\n{info.id}".lower()
        return self.words in said or info.id in self.hits

    def fits_turn(self, leaf: Leaf) -> bool:
        """Whether the turn is one of `which` and holds the words: said, label, files."""
        if (self.which == "files" and not leaf.files) or (
            self.which == "labelled" and not leaf.label
        ):
            return False
        if not self.words:
            return True
        paths = "\n".join(file.path for file in leaf.files)
        return self.words in f"{leaf.text}\n{leaf.label}\n{leaf.did}\n{paths}".lower()


def arrange(
    sessions: Iterable[SessionInfo],
    unfolded: Mapping[str, Unfolded],
    now: str,
    wanted: Wanted,
    signs: Signs,
) -> list[ListLine]:
    """The lines, the open session first.

    Args:
        sessions: Last updated first.
        unfolded: By session id.
        now: Id of the open session.
        wanted: What is looked for.
        signs: For the lines of the tree.
    """
    lines: list[ListLine] = []
    after_turns = False
    for info in sorted(sessions, key=lambda info: info.id != now):
        shown = unfolded.get(info.id)
        turns = _turns(info.id, shown, info.id == now, wanted, signs) if shown else []
        if not turns and not wanted.fits_session(info):
            continue
        if lines and (after_turns or turns):
            lines.append(GapLine())
        lines += [SessionLine(info, shown is not None), *turns]
        after_turns = bool(turns)
    return lines


def _turns(
    session: str, shown: Unfolded, here: bool, wanted: Wanted, signs: Signs
) -> list[ListLine]:
    if shown.words:
        return [] if wanted.words else [WordsLine(session, shown.words, shown.role)]
    every = not wanted.words and wanted.which == "all"
    tree = stems(shown.leaves, signs, goes_on=here) if every else [""] * len(shown.leaves)
    lines: list[ListLine] = [
        TurnLine(session, leaf, stem)
        for leaf, stem in zip(shown.leaves, tree, strict=True)
        if wanted.fits_turn(leaf)
    ]
    if here and not wanted.words:
        lines.append(HereLine(session, max((leaf.at for leaf in shown.leaves), default=0.0)))
    elif not lines and not wanted.words:
        words = "nothing was said in it" if every else "no such turn in it"
        lines.append(WordsLine(session, words))
    return lines


def stems(leaves: Sequence[Leaf], signs: Signs, *, goes_on: bool) -> list[str]:
    """What is drawn before each turn: two cells for every branch between it and the trunk.

    A branch begins with `├` under the turn it leaves, with `└` where nothing follows there; a level
    that goes on further down has its line.

    Args:
        leaves: In drawing order.
        signs: For the lines.
        goes_on: Whether something stands on the trunk below the last turn.
    """
    depths = {leaf.id: leaf.depth for leaf in leaves}
    found: list[str] = []
    below = [goes_on]
    for leaf in reversed(leaves):
        depth = leaf.depth
        below = [*below[: depth + 1], *[False] * (depth + 1 - len(below))]
        begins = depths.get(leaf.parent, depth - 1) < depth
        cells = [f"{signs.tree} " if more else "  " for more in below[:depth]]
        if depth and begins:
            cells[-1] = f"{signs.branch if below[depth - 1] else signs.last} "
            below[depth - 1] = True
        below[depth] = not begins or not depth
        if len(cells) > MOST_LEVELS:
            cells = [f"{signs.between} ", *cells[1 - MOST_LEVELS :]]
        found.append("".join(cells))
    return found[::-1]

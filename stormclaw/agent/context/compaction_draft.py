"""A compaction in the making: what goes, what must stay of it, who tells what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stormclaw.agent.context.compaction_ask import (
    INSTRUCTIONS,
    Told,
    ask,
    per_token,
    remark,
)
from stormclaw.agent.context.compaction_cut import Cut, is_said, sealed_by_person
from stormclaw.agent.context.compaction_material import clipped, fenced, material
from stormclaw.agent.context.compaction_text import (
    MOST_EARLIER,
    MOST_WORDS,
    Room,
    account_of,
    compose,
    joined,
)
from stormclaw.agent.context.digest import Facts, facts, told
from stormclaw.agent.context.graph import Standings
from stormclaw.agent.kit import Kit
from stormclaw.protocol.messages import Node, Summary

LEAST_GAIN = 0.2
"""The part of what goes that has to be saved."""
ACCOUNT_WORDS = 600
LONGEST_DIGEST = 6_000
"""Characters of an account without a model."""
KNOWN = "The first record is what was summed up before: take all of it over."


@dataclass(frozen=True, slots=True)
class Draft:
    """What goes and what must stay of it.

    Attributes:
        kit: Whose.
        cut: What goes.
        facts: What is put in beside any account.
        room: Bounds of the text.
        earlier: The accounts of earlier summaries, one after the other.
        focus: What the person wants kept in view.
    """

    kit: Kit
    cut: Cut
    facts: Facts
    room: Room
    earlier: str
    focus: str

    def text(self, account: str) -> str:
        """The whole text with this account."""
        return compose(account, self.facts, len(self.cut.covers), self.room, inside=self.cut.inside)

    def worth(self, text: str) -> bool:
        """Whether enough is gained by putting `text` in the place of what goes."""
        return self.kit.gauge.text(text) <= (1 - LEAST_GAIN) * self.cut.tokens

    @property
    def longest(self) -> int:
        """Tokens an account may have so that it is worth it."""
        least = joined(self.earlier, "") if self.keeps_earlier else ""
        bound = int((1 - LEAST_GAIN) * self.cut.tokens)
        return bound - self.kit.gauge.text(self.text(least)) - 1

    @property
    def keeps_earlier(self) -> bool:
        """Whether earlier accounts stay word for word; else the model folds them in."""
        return len(self.earlier) <= MOST_EARLIER

    def with_earlier(self, account: str, *, folded: bool) -> str:
        """An account after the earlier ones, unless it has them folded in."""
        return account if folded else joined(self.earlier, account)


def drafted(kit: Kit, found: Cut, nodes: Sequence[Node], focus: str) -> Draft:
    """What a compaction of `nodes` at `found` has to say."""
    characters = int(found.tokens * per_token(kit.gauge))
    window_chars = int(kit.context_window * per_token(kit.gauge))
    words = min(MOST_WORDS, window_chars // 4) if window_chars else MOST_WORDS
    room = Room(words, min(Room().lists, max(400, characters // 16)))
    earlier = "\n\n".join(_account_in(node) for node in found.earlier)
    return Draft(kit, found, facts(found.covers, nodes), room, earlier, focus)


def _account_in(node: Node) -> str:
    return account_of(node.body.text) if isinstance(node.body, Summary) else ""


async def account(draft: Draft, held: Standings) -> Told:
    """What a model says happened."""
    said = [node for node in draft.cut.goes if is_said(node) and not sealed_by_person(node, held)]
    system = INSTRUCTIONS.format(words=ACCOUNT_WORDS)
    focus = " ".join(draft.focus.split())
    wish = f" The person wants this kept in view above all: {focus}" if focus else ""

    def request(room: int, wrong: str) -> tuple[str, str]:
        parts = [f"Sum up this record.{wish}{remark(wrong)}"]
        if draft.earlier and not draft.keeps_earlier:
            parts += [KNOWN, fenced(clipped(draft.earlier, room // 2))]
            room -= min(room // 2, len(draft.earlier))
        return system, "\n\n".join([*parts, fenced(material(said, held, room))])

    return await ask(draft.kit, "compaction", request, draft.longest)


def digest(draft: Draft) -> str:
    """An account without a model, the newest turns as far as there is room."""
    room = min(LONGEST_DIGEST, int(draft.longest * per_token(draft.kit.gauge)) - 80)
    shown: list[str] = []
    gone = {node.id for node in draft.cut.goes}
    turns = list(told([node for node in draft.cut.covers if node.id in gone]))
    for turn in reversed(turns):
        room -= len(turn) + 2
        if room < 0:
            break
        shown.append(turn)
    left = len(turns) - len(shown)
    older = [f"({left} turns before these are not told here)"] if left else []
    return "\n\n".join([*older, *reversed(shown)])

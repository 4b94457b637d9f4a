"""A part of a request as one line of the context screen, and the numbers over and under the list.

Objects are foreign text: they come here inert and stay on one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stormclaw.agent.context.graph import COMPACTION
from stormclaw.agent.context.sheet import Part, Sheet
from stormclaw.protocol.display import ObjectKind
from stormclaw.protocol.messages import outcome_of
from stormclaw.ui.context_trial import NO_DIFFERENCES, Differences
from stormclaw.ui.rows import Row, Run, spread, width_of
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import (
    cells,
    fit,
    money,
    one_line,
    pad,
    share,
    shorten_command,
    shorten_path,
    tokens,
)

NARROW, WIDE = 84, 140
"""Cells of a line under which the policy has no column, and from which everything has one."""
SENT = 6
WORD = 8
LONGEST_WORD = 13
POLICY = 18
NUMBER = 7
LEAST = 16
"""Cells an object keeps beside the reason why it is held back."""
LONGEST_OBJECT = 400
"""Characters of an object that are looked at for one line."""
SHORTENED: Mapping[ObjectKind, Callable[..., str]] = {
    "path": shorten_path,
    "command": shorten_command,
    "text": fit,
}
CENT = 0.01
FULL = 0.8
"""Share of the window from which it is amber."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the lines have in common.

    Attributes:
        signs: The symbols.
        labels: Name of a policy -> how people call it.
        word: Cells of the column of kinds.
        usd_per_token: None if unknown.
        dry: What a dry run would change.
        working: Id of the node a summary is being written of, "" for none.
        phase: The frame of the running dot.
    """

    signs: Signs
    labels: Mapping[str, str] = field(default_factory=dict)
    word: int = WORD
    usd_per_token: float | None = None
    dry: Differences = NO_DIFFERENCES
    working: str = ""
    phase: int = 0


def look_of(sheet: Sheet, signs: Signs, dry: Differences = NO_DIFFERENCES) -> Look:
    """The look of a sheet's lines."""
    widest = max((cells(one_line(part.word)) for part in sheet.parts), default=0)
    return Look(
        signs,
        {line.name: line.label for line in sheet.policies},
        min(max(WORD, widest + 2), LONGEST_WORD),
        sheet.usd_per_token,
        dry,
    )


def count_of(amount: int, estimated: bool) -> str:
    """`~9.8k`: with the mark of an estimate where it is one."""
    return f"~{tokens(amount)}" if estimated and amount else tokens(amount)


def head_row(look: Look, width: int) -> Row:
    """Names of the columns."""
    left = (Run(f"{'sent':<{SENT}}{'what':<{look.word}}", "muted"),)
    return spread(left, (Run(_columns(width, "tokens", "policy", "left", "cost"), "muted"),), width)


def _columns(width: int, amount: str, policy: str, left: str, cost: str) -> str:
    size = f"{amount:>{NUMBER}}"
    if width < NARROW:
        return size
    named = pad(policy, POLICY)
    if width < WIDE:
        return f"{size}  {named}"
    return f"{size}  {left:>{NUMBER}}  {cost:>{NUMBER}}  {named}"


def part_line(part: Part, look: Look, width: int) -> tuple[Sequence[Run], Sequence[Run]]:
    """(what stands left, what ends right) of one line."""
    changed = look.dry.touch(part.id)
    role = "text" if part.sent else "muted"
    sign, sign_role = _sign(part, look, changed)
    cost = price_of(part.tokens, look.usd_per_token)
    left = tokens(part.left) if not part.sent else ""
    policy = _policy(part, look)
    right = (
        Run(
            _columns(width, count_of(part.tokens, part.estimated), policy, left, cost),
            role if width < NARROW else "muted" if not part.sent else "text",
        ),
    )
    room = width - SENT - look.word - width_of(right) - 2
    aside = _aside(part, look, width)
    taken = cells(aside) + 2 if aside else 0
    name = _object(part, max(room - taken, min(room, LEAST)), look.signs)
    runs = [
        Run(f" {sign}{' ' * (SENT - 2)}", sign_role),
        Run(pad(one_line(part.word), look.word - 1) + " ", "muted"),
        Run(name, role),
    ]
    if aside:
        runs.append(Run(f"  {aside}", "accent" if changed else "muted"))
    return runs, right


def _object(part: Part, room: int, signs: Signs) -> str:
    """The object in `room` cells, shortened as it is in a card."""
    outcome = outcome_of(part.node.body) if part.node is not None else None
    kind = outcome.headline.kind if outcome is not None else "text"
    text = one_line(part.object[:LONGEST_OBJECT])
    return SHORTENED[kind](text, room, elided=signs.elided)


def _sign(part: Part, look: Look, changed: bool) -> tuple[str, str]:
    if part.id and part.id == look.working:
        return look.signs.phase(look.phase), "accent"
    if changed:
        return (look.signs.done if part.sent else look.signs.removed), "accent"
    return (look.signs.done, "text") if part.sent else (look.signs.removed, "muted")


def price_of(amount: int, usd_per_token: float | None) -> str:
    """What tokens cost in one request, "" if unknown; `<$0.01` needs no mark of an estimate."""
    if usd_per_token is None:
        return ""
    usd = usd_per_token * amount
    return money(usd, estimated=usd >= CENT)


def label_of(by: str, look: Look) -> str:
    """Who held something back, as people call it; foreign where it is no policy of ours."""
    return one_line(look.labels.get(by, by))


def _policy(part: Part, look: Look) -> str:
    if part.pinned:
        return "pinned"
    return "" if part.sent else label_of(part.by, look)


def _aside(part: Part, look: Look, width: int) -> str:
    """Why it is not sent, and what stands in its place; what would change in a dry run."""
    narrow = width < NARROW
    if part.id in look.dry.comes:
        return "would come back"
    said: list[str] = []
    if part.sent:
        return "pinned" if narrow and part.pinned else ""
    if part.id in look.dry.goes:
        said.append("would go")
    why = one_line(part.why) or ("summed up" if part.by == COMPACTION else "")
    label = label_of(part.by, look)
    if narrow:
        said += [why or label] if why or label else []
    elif why and not label.startswith(why):
        said.append(why)
    if part.left and width < WIDE:
        said.append(f"left {tokens(part.left)} tokens")
    return ", ".join(said)


def totals(sheet: Sheet, now: Sheet | None = None) -> tuple[Run, ...]:
    """`~61.2k of 200k tokens, 31%`; in a dry run also what it is now."""
    about = sheet.measured == "estimate"
    runs = [Run(count_of(sheet.total, about))]
    if sheet.window:
        part = sheet.total / sheet.window
        runs += [
            Run(" of ", "muted"),
            Run(tokens(sheet.window), "muted"),
            Run(" tokens, ", "muted"),
            Run(share(part), "attention" if part >= FULL else "text"),
        ]
    else:
        runs.append(Run(" tokens, window unknown", "muted"))
    if now is not None:
        runs.append(Run(f"  now {count_of(now.total, about)}", "muted"))
    return tuple(runs)


def saving(sheet: Sheet, *, short: bool = False) -> tuple[Run, ...]:
    """`22.7k = ~$0.07 a turn`; `short`: money alone where it is known."""
    amount = Run(count_of(sheet.saved, sheet.measured == "estimate"))
    price = price_of(sheet.saved, sheet.usd_per_token) if sheet.saved else ""
    if not price:
        return (amount, Run(" a turn", "muted"))
    both = () if short else (amount, Run(" = ", "muted"))
    return (*both, Run(price), Run(" a turn", "muted"))

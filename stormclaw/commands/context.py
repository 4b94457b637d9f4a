"""`/context`: what the model sees of the conversation, and decisions about it in words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from stormclaw.errors import UsageError
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.protocol.messages import (
    AssistantTurn,
    Change,
    Delegation,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.provider import Message
from stormclaw.runtime import Runtime

if TYPE_CHECKING:
    from stormclaw.agent.context.desk import ContextDesk
    from stormclaw.agent.context.sheet import Part, Sheet

COLUMNS = ("id", "sent", "tokens", "left", "what", "policy", "object")
LONGEST_OBJECT = 100
USAGE = "/context [drop|keep|pin|unpin ID] [undo] [policies A,B] [dry A,B] [wire]"


async def _run(runtime: Runtime, rest: str) -> Answer:
    verb, _, wanted = rest.partition(" ")
    desk = runtime.session.desk
    if not verb:
        return _shown(await asyncio.to_thread(desk.sheet), screen=True)
    act = ACTS.get(verb.lower())
    if act is not None:
        return await act(desk, wanted.strip())
    sheet = await asyncio.to_thread(desk.sheet)
    if any(part.id == verb for part in sheet.parts):
        return _shown(sheet, screen=True)
    return Answer(f"{verb!r} is neither a node nor something to do; {USAGE}", ok=False)


def _shown(sheet: Sheet, *, screen: bool = False) -> Answer:
    """The parts, and under them the policies, as text and table."""
    about = "~" if sheet.measured == "estimate" else ""
    window = f" of {sheet.window} tokens" if sheet.window else " tokens, window unknown"
    shares = ", ".join(f"{kind} {about}{amount}" for kind, amount in sheet.shares if amount)
    said = [
        f"{'dry run: ' if sheet.dry else ''}{about}{sheet.total}{window}: {shares}",
        f"held back, not lost: {sheet.held} nodes, {about}{sheet.saved} tokens{_price(sheet)}",
        *_policies(sheet),
    ]
    labels = {line.name: line.label for line in sheet.policies}
    rows = tuple(_row(part, labels) for part in sheet.parts)
    table = Table(COLUMNS, rows)
    return Answer("\n".join(said), table, screen="context" if screen else None)


def _price(sheet: Sheet) -> str:
    if sheet.usd_per_token is None:
        return ""
    return f", ~${sheet.usd_per_token * sheet.saved:.2f} a turn"


def _policies(sheet: Sheet) -> list[str]:
    lines = []
    for number, line in enumerate(sheet.policies, 1):
        place = f"{number}." if line.on else "off"
        lines.append(f"{place:<4}{line.name}: {line.about}" + (f", saves {line.saves}" * line.on))
    return lines


def _row(part: Part, labels: Mapping[str, str]) -> tuple[str, ...]:
    by = "pinned" if part.pinned else "" if part.sent else labels.get(part.by, part.by)
    why = f"{by}: {part.why}" if part.why and not part.sent else by
    return (
        part.id,
        "yes" if part.sent else "no",
        f"{'~' if part.estimated else ''}{part.tokens}",
        "" if part.sent else str(part.left),
        part.word,
        why,
        part.object[:LONGEST_OBJECT],
    )


# What can be decided in words ----------------------------------------------------------------


async def _drop(desk: ContextDesk, wanted: str) -> Answer:
    part = await _meant(desk, wanted)
    await desk.change((Change(part.id, include=False),))
    return Answer(f"dropped: {_named(part)}; /context undo takes it back")


async def _keep(desk: ContextDesk, wanted: str) -> Answer:
    part = await _meant(desk, wanted)
    await desk.change((Change(part.id, pinned=part.pinned),))
    return Answer(f"whole again: {_named(part)}")


async def _pin(desk: ContextDesk, wanted: str) -> Answer:
    part = await _meant(desk, wanted)
    await desk.change((Change(part.id, pinned=True),))
    return Answer(f"pinned, no policy touches it: {_named(part)}")


async def _unpin(desk: ContextDesk, wanted: str) -> Answer:
    part = await _meant(desk, wanted)
    if not part.pinned:
        return Answer(f"not pinned: {_named(part)}", ok=False)
    await desk.change((Change(part.id),))
    return Answer(f"no longer pinned, it may be summed up again: {_named(part)}")


async def _undo(desk: ContextDesk, wanted: str) -> Answer:
    if await desk.undo():
        return Answer("the last decision is taken back")
    return Answer("there is no decision left to take back", ok=False)


async def _order(desk: ContextDesk, wanted: str) -> Answer:
    order = await _policies_meant(desk, wanted)
    await desk.order(order)
    return Answer(f"policies of this session: {', '.join(order) or 'none'}")


async def _dry(desk: ContextDesk, wanted: str) -> Answer:
    order = await _policies_meant(desk, wanted)
    return _shown(await asyncio.to_thread(desk.sheet, order), screen=True)


async def _wire(desk: ContextDesk, wanted: str) -> Answer:
    order = await _policies_meant(desk, wanted) if wanted else None
    messages = await asyncio.to_thread(desk.wire, order)
    said = "\n\n".join(map(_said, messages)) or "nothing was said yet"
    return Answer(said, screen="context")


Act = Callable[["ContextDesk", str], Awaitable[Answer]]
ACTS: Mapping[str, Act] = {
    "drop": _drop,
    "keep": _keep,
    "pin": _pin,
    "unpin": _unpin,
    "undo": _undo,
    "policies": _order,
    "dry": _dry,
    "wire": _wire,
}


async def _meant(desk: ContextDesk, wanted: str) -> Part:
    """The part a node's id, or the beginning of one, stands for."""
    if not wanted:
        raise UsageError("which node? /context lists them with their ids")
    sheet = await asyncio.to_thread(desk.sheet)
    found = [part for part in sheet.parts if part.id and part.id.startswith(wanted)]
    exact = [part for part in found if part.id == wanted]
    if len(exact or found) != 1:
        how = "no node" if not found else f"{len(found)} nodes"
        raise UsageError(f"{how} with an id that begins with {wanted!r}; /context lists them")
    return (exact or found)[0]


async def _policies_meant(desk: ContextDesk, wanted: str) -> tuple[str, ...]:
    """Names of policies, joined by commas or blanks; `none` for none."""
    names = tuple(dict.fromkeys(wanted.replace(",", " ").split()))
    sheet = await asyncio.to_thread(desk.sheet)
    known = [line.name for line in sheet.policies]
    if names == ("none",):
        return ()
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        about = f"no policy {', '.join(unknown)}" if unknown else "which policies?"
        raise UsageError(f"{about}; there are {', '.join(known)}, or none")
    return names


def _named(part: Part) -> str:
    line = " ".join(f"{part.word} {part.object[:LONGEST_OBJECT]}".split())
    return f"{line}, {part.tokens} tokens"


def _said(message: Message) -> str:
    match message:
        case UserText(text=text):
            return f"user\n{text}"
        case AssistantTurn():
            calls = [f"calls {call.name} {call.id} {call.arguments}" for call in message.calls]
            return "\n".join(("assistant", *filter(None, (message.text, *calls))))
        case ToolOutcome():
            return f"tool {message.tool} {message.call_id}\n{message.output}"
        case Delegation(outcome=outcome):
            return f"tool {outcome.tool} {outcome.call_id}\n{outcome.output}"


COMMAND = Command(
    "context",
    "What the model sees; drop, keep, pin, dry run",
    _run,
    usage="[drop|keep|pin ID]",
)

"""`/model [PROVIDER/MODEL[:EFFORT]]`: which models there are, or another one from now on."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command, SwitchModel
from stormclaw.protocol.display import Table
from stormclaw.providers.models import ModelBook
from stormclaw.providers.offers import COLUMNS, cells_of, is_current, survey
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    if rest:
        return Answer(change=SwitchModel(rest))
    if runtime.channel == "tui":
        return Answer(screen="model")  # It reads for itself what there is, once it is on screen.
    place, way = runtime.place, runtime.way
    book = ModelBook(place.settings.providers.models, place.home)
    groups = await survey(place.settings, place.env, place.home, book)
    few = [offer for group in groups for offer in group.offers if offer.key and not group.all]
    rows = tuple(cells_of(offer, current=is_current(offer, way.name, way.model)) for offer in few)
    thinking = f", effort {way.settings.reasoning}" if way.settings.reasoning else ""
    more = sum(len(group.offers) for group in groups if group.all)
    lines = [
        f"now: {way.name}/{way.model}".rstrip("/") + thinking,
        "/model PROVIDER/MODEL[:EFFORT] switches",
    ]
    if more:
        lines.append(f"{more:,} more are known; `stormclaw model list WORDS` finds them")
    return Answer("\n".join(lines), Table(COLUMNS, rows) if rows else None, screen="model")


COMMAND = Command("model", "Show or switch the model", _run, "[PROVIDER/MODEL]")

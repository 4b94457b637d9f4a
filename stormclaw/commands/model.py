"""`/model [PROVIDER/MODEL]`: what answers, or another one from now on."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command, SwitchModel
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    if rest:
        return Answer(change=SwitchModel(rest))
    rows = tuple(
        (name, settings.kind, settings.model or "(its default)", settings.base_url)
        for name, settings in runtime.settings.providers.models.items()
    )
    text = f"now: {runtime.provider_label}/{runtime.way.model}; /model PROVIDER/MODEL switches"
    table = Table(("provider", "kind", "model", "server"), rows) if rows else None
    return Answer(text, table)


COMMAND = Command("model", "Show or switch the model", _run, "[PROVIDER/MODEL]")

"""Our slash commands in Textual's command palette (ctrl+p)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from stormclaw.ui.deeds import send

if TYPE_CHECKING:
    from stormclaw.ui.app import StormApp


class SlashCommands(Provider):
    """Finds commands by name and by what they do."""

    @property
    def _storm(self) -> StormApp:
        return cast("StormApp", self.app)

    def _known(self) -> dict[str, str]:
        completer = self._storm.main.composer.completer
        known = completer.commands if completer is not None else {}
        return {f"/{name}": summary for name, (_, summary) in sorted(known.items())}

    async def discover(self) -> Hits:
        """All of them."""
        for line, summary in self._known().items():
            yield DiscoveryHit(line, partial(send, self._storm, line), help=summary)

    async def search(self, query: str) -> Hits:
        """Those that fit."""
        matcher = self.matcher(query)
        for line, summary in self._known().items():
            score = max(matcher.match(line), matcher.match(summary) * 0.8)
            if score > 0:
                run = partial(send, self._storm, line)
                yield Hit(score, matcher.highlight(line), run, help=summary)

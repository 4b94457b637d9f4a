"""Word for word what the model would get, now or with another order of policies."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.ui.context_text import Section
from stormclaw.ui.context_wire import wire_sections
from stormclaw.ui.rows import Run
from stormclaw.ui.screens.context_reading import ReadingPage
from stormclaw.ui.text import count


class WireScreen(ReadingPage):
    """The request as it would be sent.

    Args:
        policies: An order that is tried, None for the one in force.
        at: Name of the section to begin at, "" for the beginning.
    """

    NAME = "Wire"

    def __init__(self, policies: Sequence[str] | None = None, at: str = "") -> None:
        super().__init__()
        self._policies = policies
        self._at = at

    def begin_at(self) -> str:
        """See `ReadingPage.begin_at`."""
        return self._at

    def trail(self) -> tuple[Run, ...]:
        """What it is, and how many messages."""
        messages = sum(part.name not in ("system", "tools") for part in self._sections)
        about = (Run(f"  {count(messages, 'message')}", "muted"),) if self._sections else ()
        dry = () if self._policies is None else (Run("  dry run", "accent", "b"),)
        return (Run(self.NAME, "text", "b"), *dry, *about)

    def sections(self) -> Sequence[Section]:
        """The request by role."""
        session = self.storm.session
        if session is None:
            return ()
        kit = session.kit
        messages = session.desk.wire(self._policies)
        return tuple(wire_sections(kit.system_prompt(), kit.specs, messages, kit.gauge.of))

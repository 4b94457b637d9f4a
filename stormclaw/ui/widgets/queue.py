"""What was sent while a turn runs, and the agents in one line, both directly above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from stormclaw.ui.agents import Agent
from stormclaw.ui.heart import STILL
from stormclaw.ui.rows import Row, Run, spread
from stormclaw.ui.text import one_line, share
from stormclaw.ui.widgets.header import TINY
from stormclaw.ui.widgets.lines import Lines
from stormclaw.ui.widgets.panel import agent_sign, spent

MOST = 3
"""Queued messages shown; the rest is counted."""


class Queue(Lines):
    """`next   Bump the version to 0.9.2      ↑ takes it back`."""

    DEFAULT_CSS = """
    Queue { display: none; height: auto; background: $sc-bg; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.queued: Sequence[str] = ()

    def show(self, queued: Sequence[str]) -> None:
        """Draw another queue."""
        if tuple(queued) != tuple(self.queued):
            self.queued = tuple(queued)
            self.display = bool(self.queued)
            self.styles.height = min(len(self.queued), MOST)
            self.redraw()

    def lines(self, width: int) -> list[Row]:
        """The oldest first; the last one is what `up` takes back."""
        shown = list(self.queued)[:MOST]
        rows = []
        back = f"{self.signs.up} " + ("takes it back" if self.app.size.width >= TINY else "back")
        for number, text in enumerate(shown):
            last = number == len(shown) - 1
            more = len(self.queued) - len(shown)
            counted = f"  and {more} more" if last and more else ""
            runs = (
                Run("next   " if number == 0 else "       ", "muted"),
                Run(one_line(text), "muted"),
                Run(counted, "muted"),
            )
            right = (Run(back, "muted"),) if last else ()
            rows.append(spread(runs, right, width, indent=2, mark=self.signs.elided))
        return rows


class AgentsLine(Lines):
    """`agents  ● root 42%  ● fixer 84%  ✓ scout          ctrl+t`."""

    DEFAULT_CSS = """
    AgentsLine { display: none; height: 1; background: $sc-bg; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.agents: Sequence[Agent] = ()
        self.phase = STILL

    def lines(self, width: int) -> list[Row]:
        """The one line."""
        runs = [Run("agents", "muted")]
        for agent in self.agents:
            sign, role = agent_sign(agent, self.signs, self.phase)
            runs += [Run("  "), Run(f"{sign} ", role)]
            runs.append(Run(agent.name, "text" if agent.busy else "muted"))
            if agent.busy and (figure := _figure(agent)):
                runs.append(Run(f" {figure}", "muted"))
        if any(agent.state == "asks" for agent in self.agents):
            asking = next(agent for agent in self.agents if agent.state == "asks")
            runs += [Run("  "), Run(f"{asking.name} asks", "attention")]
        right = (Run("ctrl+t", "muted"),)
        return [spread(runs, right, width, indent=2, mark=self.signs.elided)]

    def tick(self, phase: int) -> None:
        """The dots move."""
        self.phase = phase
        self.redraw()


def _figure(agent: Agent) -> str:
    if agent.share is not None:
        return share(agent.share)
    return spent(agent.usage)

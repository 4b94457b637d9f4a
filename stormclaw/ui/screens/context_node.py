"""One node of the conversation whole: its text, its receipt, what was decided about it and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stormclaw.agent.context.sheet import Part
from stormclaw.ui.context_detail import node_sections
from stormclaw.ui.context_text import Section
from stormclaw.ui.rows import Run
from stormclaw.ui.screens.context_reading import ReadingPage
from stormclaw.ui.text import one_line


class ContextNodeScreen(ReadingPage):
    """Everything about the node of one part.

    Args:
        part: The line of the context screen; has a node.
        labels: Name of a policy -> how people call it.
        usd_per_token: What a token costs, None if unknown.
    """

    NAME = "Node"

    def __init__(self, part: Part, labels: Mapping[str, str], usd_per_token: float | None) -> None:
        super().__init__()
        self._part = part
        self._labels = labels
        self._usd_per_token = usd_per_token

    def trail(self) -> tuple[Run, ...]:
        """Context, and what the node is."""
        part, signs = self._part, self.storm.signs
        return (
            Run("Context", "muted"),
            Run(f" {signs.selected} ", "muted"),
            Run(one_line(part.word), "text", "b"),
            Run(f"  {one_line(part.object[:400])}", "muted"),
        )

    def sections(self) -> Sequence[Section]:
        """The node by parts."""
        session = self.storm.session
        if session is None:
            return ()
        nodes = session.nodes()
        found = node_sections(
            self._part, nodes, self._labels, self._usd_per_token, self.storm.wall()
        )
        return tuple(found)

"""What is learned of a session while it is read, beside what was said in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from stormclaw.protocol.messages import ROOT, AssistantTurn, Node, UserText


@dataclass
class Report:
    """Filled in while a file is converted.

    Attributes:
        title: The best name found for it, "" for none: then the first prompt is one.
        first_prompt: What the person said first.
        model: Who answered last.
        began: When the first thing was said, Unix seconds, 0.0 if no row tells.
        ended: When the last was.
        turns: How often the person spoke.
        skipped: What of the file did not become a node -> how often.
    """

    title: str = ""
    first_prompt: str = ""
    model: str = ""
    began: float = 0.0
    ended: float = 0.0
    turns: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def saw(self, node: Node) -> Node:
        """Take note of a node on its way."""
        if node.at:
            self.began = min(self.began or node.at, node.at)
            self.ended = max(self.ended, node.at)
        match node.body:
            case UserText(text=text, steered=False) if node.agent == ROOT:
                self.turns += 1
                self.first_prompt = self.first_prompt or text
            case AssistantTurn(model=model) if model and node.agent == ROOT:
                self.model = model
            case _:
                pass
        return node

"""Words of the person for an agent that is at work; read between its rounds."""

from __future__ import annotations


class Inbox:
    """Steering texts in the order they came."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def put(self, text: str) -> None:
        """Leave a text for the agent."""
        self._texts.append(text)

    def drain(self) -> tuple[str, ...]:
        """Take everything out."""
        texts = tuple(self._texts)
        self._texts.clear()
        return texts

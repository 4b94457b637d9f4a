"""Reasoning that comes inside the answer, as `<think>...</think>`, told apart as it streams.

Only what stands at the very beginning counts: further on it is text about tags, or code.
"""

from __future__ import annotations

from typing import Final, Literal

_TAGS: Final = ("<think>", "<thinking>", "<thought>", "[THINK]")


class ThinkTags:
    """Splits the text of one answer, piece by piece, however the tags are cut."""

    def __init__(self) -> None:
        self._state: Literal["start", "inside", "after", "past"] = "start"
        self._held = ""
        self._spoke = False
        self.opening = ""

    @property
    def began(self) -> bool:
        """Whether there was an opening tag."""
        return bool(self.opening)

    @property
    def inside(self) -> bool:
        """Whether the closing tag is still to come."""
        return self._state == "inside"

    def take(self, piece: str) -> tuple[str, str]:
        """(reasoning, answer) in a piece; what may be the beginning of a tag waits."""
        if self._state == "past":
            return "", piece
        held, self._held = self._held + piece, ""
        if self._state == "start":
            held = self._begin(held)
        thought = ""
        if self._state == "inside":
            thought, held = self._until_closed(held)
        if self._state == "after":
            held = held.lstrip()
            self._state = "past" if held else "after"
        return (thought, held) if self._state in ("past", "after") else (thought, "")

    def close(self) -> tuple[str, str]:
        """(reasoning, answer) that was held back."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "inside" else ("", held)

    def _begin(self, text: str) -> str:
        """Look for an opening tag; returns what is to be looked at further."""
        head = text.lstrip()
        for tag in _TAGS:
            if head.startswith(tag):
                self._state, self.opening = "inside", text[: len(text) - len(head)] + tag
                return head[len(tag) :]
        if any(tag.startswith(head) for tag in _TAGS):
            self._held = text
            return ""
        self._state = "past"
        return text

    def _until_closed(self, text: str) -> tuple[str, str]:
        """(reasoning, the rest after the closing tag)."""
        tag = self.opening.lstrip()
        closing = f"{tag[0]}/{tag[1:]}"
        text = text if self._spoke else text.lstrip()
        thought, found, rest = text.partition(closing)
        if found:
            self._state = "after"
            return thought.rstrip(), rest
        # White space before the closing tag is not the reasoning's either.
        kept = len(thought.rstrip())
        for size in range(min(len(closing) - 1, len(text)), 0, -1):
            if closing.startswith(text[-size:]):
                kept = len(text[:-size].rstrip())
                break
        self._held, self._spoke = text[kept:], self._spoke or kept > 0
        return text[:kept], ""

"""What was typed before, per workspace, so that `up` and ctrl+r find it tomorrow."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

KEPT = 1000
"""Entries read at start; the file itself keeps everything."""


class History:
    """The prompts of a workspace, oldest first, and where `up` and `down` stand among them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[str] = []
        self._at: int | None = None
        self._draft = ""

    @classmethod
    def of(cls, home: Path, workspace: Path) -> History:
        """The history of a workspace."""
        name = hashlib.sha256(str(workspace).encode()).hexdigest()[:16]
        return cls(home / "history" / f"{name}.jsonl")

    def load(self) -> None:
        """Read the file, lines that are no text left out; what was added meanwhile stays newest."""
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return
        stored: list[str] = []
        for line in lines[-KEPT:]:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, str) and entry:
                stored.append(entry)
        self._entries = stored + [entry for entry in self._entries if entry not in stored[-1:]]

    def remember(self, text: str) -> bool:
        """Take in what was sent or cleared; False if it was the newest already."""
        self._at = None
        if not text.strip() or self._entries[-1:] == [text]:
            return False
        self._entries.append(text)
        return True

    def write(self, text: str) -> None:
        """Append to the file, for the person alone to read. Call it in a thread."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._path.open("a", encoding="utf-8") as file:
            if file.tell() == 0:
                self._path.chmod(0o600)
            file.write(json.dumps(text, ensure_ascii=False) + "\n")

    def older(self, draft: str) -> str | None:
        """The entry before the one shown; None at the oldest. The draft comes back with `newer`."""
        at = len(self._entries) if self._at is None else self._at
        if self._at is None:
            self._draft = draft
        if at == 0:
            return None
        self._at = at - 1
        return self._entries[self._at]

    def newer(self) -> str | None:
        """The entry after the one shown, at last the draft; None when the draft is shown."""
        if self._at is None:
            return None
        self._at += 1
        if self._at == len(self._entries):
            self._at = None
            return self._draft
        return self._entries[self._at]

    def leave(self) -> None:
        """The text was changed by hand: the next `up` starts at the newest."""
        self._at = None

    def newest_first(self) -> list[str]:
        """Every entry once."""
        return list(dict.fromkeys(reversed(self._entries)))

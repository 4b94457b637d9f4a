"""Takes the output of a program: live pieces for the person, a bounded text for the model."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import deque
from collections.abc import Callable

FLUSH_S = 0.1
MAX_PIECE = 4_000
"""Characters of one live piece; of more only the end is shown."""
MAX_OPEN_LINE = 65_536
"""A line longer than this is taken in parts."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device strings
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
)
_STRUCK = re.compile(r"[^\x08]\x08")


class Captured:
    """Output as it comes in.

    Args:
        room: Most characters of the result.
        progress: Is called with live pieces, at most ten times a second.
    """

    def __init__(self, room: int, progress: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""
        self._keeper = Keeper(room)
        self._live = Live(progress)

    def feed(self, raw: bytes, *, final: bool = False) -> None:
        """More bytes; `final` when there are no others."""
        text = self._open + self._decoder.decode(raw, final)
        whole, newline, self._open = text.rpartition("\n")
        whole += newline
        if len(self._open) > MAX_OPEN_LINE:
            whole, self._open = whole + self._open, ""
        if final:
            whole, self._open = whole + self._open, ""
        whole = clean(whole)
        self._keeper.add(whole)
        self._live.add(whole, self._open)

    def finish(self) -> tuple[str, int, int]:
        """The text, its number of lines, and how many characters were left out of it.

        Passes on what is left of the live output; may be called again.
        """
        self.feed(b"", final=True)
        self._live.close()
        return self._keeper.text(), self._keeper.lines, self._keeper.left_out


class Keeper:
    """Keeps the first third and the last two thirds of a text that may be endless."""

    def __init__(self, room: int) -> None:
        self._head_room = room // 3
        self._tail_room = room - self._head_room
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._newlines = 0
        self._ended = True

    @property
    def lines(self) -> int:
        """Lines so far, one without an ending included."""
        return self._newlines + (not self._ended)

    @property
    def left_out(self) -> int:
        """Characters that are not in the text."""
        return self._dropped + max(0, self._tail_size - self._tail_room)

    def add(self, text: str) -> None:
        """More text."""
        if not text:
            return
        self._newlines += text.count("\n")
        self._ended = text.endswith("\n")
        if self._head_room:
            self._head.append(text[: self._head_room])
            text = text[self._head_room :]
            self._head_room -= len(self._head[-1])
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            gone = len(self._tail.popleft())
            self._dropped += gone
            self._tail_size -= gone

    def text(self) -> str:
        """What was kept, with a remark where something is missing."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.left_out:
            return head + tail
        gap = f"… {self.left_out:,} characters in the middle left out …"
        return f"{head}\n{gap}\n{tail[-self._tail_room :]}"


class Live:
    """Passes text on in pieces, not too often and never too much."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._waiting = ""
        self._open = ""
        self._shown = ""
        """What was already passed on of the line that is not finished."""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, whole: str, open_line: str) -> None:
        """Finished lines, and what there is of the next."""
        self._waiting = (self._waiting + whole)[-MAX_PIECE:]
        self._open = open_line
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def close(self) -> None:
        """Pass on what is left."""
        if self._timer is not None:
            self._timer.cancel()
        self._flush()

    def _flush(self) -> None:
        self._timer = None
        partial = clean(self._open[-MAX_PIECE:])
        if self._waiting:
            piece = _after(self._shown, self._waiting) + partial
        else:
            piece = _after(self._shown, partial)
        self._waiting, self._shown = "", partial
        if piece:
            self._progress(piece)


def _after(shown: str, text: str) -> str:
    """What follows on a line of which `shown` is on screen; a line that was redrawn starts anew."""
    if text.startswith(shown):
        return text[len(shown) :]
    return f"\n{text}"


def clean(text: str) -> str:
    """Text without terminal sequences and controls; of a line redrawn with CR the last state."""
    if not _CONTROL.search(text):
        return text
    return "\n".join(map(_clean_line, text.split("\n")))


def _clean_line(line: str) -> str:
    line = _ESCAPES.sub("", line)
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part), "")
    while "\x08" in line:
        struck = _STRUCK.sub("", line)
        line = struck if struck != line else line.replace("\x08", "")
    return _CONTROL.sub("", line)

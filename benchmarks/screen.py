"""What a terminal would show: just enough of an emulator to say when text becomes visible."""

from __future__ import annotations

import re
import unicodedata
from codecs import getincrementaldecoder

_TOKEN = re.compile(
    r"\x1b\[(?P<mark>[?>=<]?)(?P<numbers>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1bP(?P<dcs>[^\x1b]*)\x1b\\"
    r"|\x1b[()*+#%][0-9A-Za-z@]"
    r"|\x1b(?P<single>[=>78cDEHMNOZ])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)"
)
_LONGEST_SEQUENCE = 4096

ALT_SCREEN = 1049
SYNC = 2026
SYNC_SUPPORTED = "\x1b[?2026;2$y"


class Screen:
    """Cells, a cursor, and the answers a terminal owes to what it is asked.

    Attributes:
        alternate: Whether a program has taken the whole screen.
        in_frame: Inside a synchronized update, so what was written is not to be seen yet.
        replies: What the terminal answers; whoever owns the terminal sends and clears it.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.alternate = self.in_frame = False
        self.replies: list[str] = []
        self._decode = getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""
        self._cells = self._blank()
        self._x = self._y = 0

    def feed(self, received: bytes) -> None:
        """Take what a program wrote; a sequence cut off at the end waits for the next bytes."""
        text = self._rest + self._decode(received)
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                if len(text) - at < _LONGEST_SEQUENCE:
                    break
                at += 1
                continue
            self._take(token)
            at = token.end()
        self._rest = text[at:]

    def has(self, text: str) -> bool:
        """Whether `text` stands on one row."""
        return any(text in row for row in self.lines())

    def lines(self) -> list[str]:
        """The rows as text."""
        return ["".join(row) for row in self._cells]

    @property
    def blank(self) -> bool:
        """Whether nothing is to be seen."""
        return all(cell in " " for row in self._cells for cell in row)

    def _blank(self) -> list[list[str]]:
        return [[" "] * self.columns for _ in range(self.rows)]

    def _take(self, token: re.Match[str]) -> None:
        if text := token["text"]:
            self._write(text)
        elif final := token["final"]:
            if token["mark"]:
                self._private(token["mark"], token["numbers"], token["middle"], final)
            elif not token["middle"]:
                self._command(final, token["numbers"])
        elif control := token["control"]:
            self._control(control)
        elif token["single"] == "c":
            self._cells, self._x, self._y = self._blank(), 0, 0

    def _write(self, text: str) -> None:
        if text.isascii():
            row, end = self._cells[self._y], min(self.columns, self._x + len(text))
            row[self._x : end] = text[: end - self._x]
            self._x = min(self._x + len(text), self.columns)
            return
        for sign in text:
            width = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
            if self._x + width <= self.columns and not unicodedata.combining(sign):
                self._cells[self._y][self._x] = sign
                if width == 2:
                    self._cells[self._y][self._x + 1] = ""
                self._x += width

    def _control(self, control: str) -> None:
        if control == "\r":
            self._x = 0
        elif control == "\b":
            self._x = max(0, self._x - 1)
        elif control == "\n":
            if self._y < self.rows - 1:
                self._y += 1
            else:
                self._cells = [*self._cells[1:], [" "] * self.columns]

    def _command(self, final: str, numbers: str) -> None:
        values = [int(number) if number.isdigit() else 0 for number in numbers.split(";")]
        first, count = values[0], max(1, values[0])
        match final:
            case "H" | "f":
                self._move((values[1] if len(values) > 1 else 1) - 1, count - 1)
            case "A" | "B":
                self._move(self._x, self._y + (count if final == "B" else -count))
            case "C" | "D":
                self._move(self._x + (count if final == "C" else -count), self._y)
            case "G":
                self._move(count - 1, self._y)
            case "d":
                self._move(self._x, count - 1)
            case "J":
                self._erase_screen(first)
            case "K":
                start, end = ((self._x, self.columns), (0, self._x + 1), (0, self.columns))[first]
                self._cells[self._y][start:end] = [" "] * (min(end, self.columns) - start)
            case "n" if first == 6:
                self.replies.append(f"\x1b[{self._y + 1};{self._x + 1}R")
            case "c":
                self.replies.append("\x1b[?62;22c")
            case _:
                pass

    def _move(self, x: int, y: int) -> None:
        self._x = max(0, min(x, self.columns - 1))
        self._y = max(0, min(y, self.rows - 1))

    def _erase_screen(self, part: int) -> None:
        if part == 2:
            self._cells = self._blank()
            return
        keep = slice(0, self._y) if part == 0 else slice(self._y + 1, self.rows)
        kept, self._cells = self._cells, self._blank()
        self._cells[keep] = kept[keep]

    def _private(self, mark: str, numbers: str, middle: str, final: str) -> None:
        """Modes, and the questions about them. Kitty's keyboard is not known here, as in xterm."""
        if mark != "?":
            return
        modes = [int(number) for number in numbers.split(";") if number.isdigit()]
        if final == "p" and middle == "$":
            for mode in modes:
                self.replies.append(SYNC_SUPPORTED if mode == SYNC else f"\x1b[?{mode};0$y")
        elif final in "hl" and not middle:
            for mode in modes:
                if mode == SYNC:
                    self.in_frame = final == "h"
                elif mode == ALT_SCREEN:
                    self.alternate = final == "h"
                    self._cells = self._blank()

"""Folds the continuations of a shell line, so that what is judged is letter by letter what runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

CONTINUATION = "\\\n"

_Place: TypeAlias = Literal["command", "arithmetic", "double", "parameter", "quoted parameter",
                            "backquotes"]  # fmt: skip
"""Where the reader stands: what quotes, comments and closing marks mean depends on it."""

_CLOSES: dict[_Place, str] = {
    "command": ")", "arithmetic": "))", "double": '"', "parameter": "}",
    "quoted parameter": "}", "backquotes": "`",
}  # fmt: skip
_WORD_ENDS = frozenset(" \t\n;&|()<>")


def fold_continuations(line: str) -> str:
    """The line with every backslash before a line end taken out together with the line end.

    Exactly where bash does it: not inside single quotes, not in the text of a here-document with
    a quoted end mark, not in comments, not where the backslash is itself escaped. Idempotent.

    Args:
        line: Shell text as somebody wrote it; need not be valid.
    """
    if CONTINUATION not in line:
        return line
    return _Folder(line).folded()


@dataclass
class _Folder:
    """One text being read, letter by letter."""

    source: str
    at: int = 0
    kept: list[str] = field(default_factory=list)
    places: list[_Place] = field(default_factory=lambda: ["command"])
    depths: list[int] = field(default_factory=lambda: [0])
    pending: list[tuple[str, bool, bool]] = field(default_factory=list)
    word_begins: bool = True

    def folded(self) -> str:
        while self.at < len(self.source):
            if self.source.startswith(CONTINUATION, self.at):
                self.at += 2
            elif self.source[self.at] == "\\":
                self._keep(2)
            else:
                self._step()
        return "".join(self.kept)

    def _step(self) -> None:
        place = self.places[-1]
        if place == "backquotes":
            self._leave_at("`")
        elif self._opens(place):
            return
        elif place == "command":
            self._command()
        else:
            self._inside(place)

    def _opens(self, place: _Place) -> bool:
        """Enter what begins here: quotes, expansions; False if nothing does."""
        quoted = place in ("double", "quoted parameter")
        if self._sees("$(("):
            return self._enter("arithmetic", "$((")
        if self._sees("$("):
            return self._enter("command", "$(")
        if self._sees("${"):
            return self._enter("quoted parameter" if quoted else "parameter", "${")
        if self._sees("`"):
            return self._enter("backquotes", "`")
        if place != "double" and self._sees('"'):
            return self._enter("double", '"')
        if not quoted and self._sees("$'"):
            return self._ansi()
        if not quoted and self._sees("'"):
            return self._single()
        return False

    def _command(self) -> None:
        """A letter where commands stand."""
        char = self.source[self.at]
        if char == "#" and self.word_begins:
            end = self.source.find("\n", self.at)
            self._keep((len(self.source) if end < 0 else end) - self.at)
        elif self._sees("((") and self.word_begins:
            self._enter("arithmetic", "((")
        elif self._sees("<<<"):
            self._take("<<<", begins=True)
        elif self._sees("<<"):
            self._here_document()
        elif char == "(":
            self.depths[-1] += 1
            self._keep(1, begins=True)
        elif char == ")" and self.depths[-1] == 0 and len(self.places) > 1:
            self._leave()
        elif char == "\n":
            self._keep(1, begins=True)
            self._bodies()
        else:
            self.depths[-1] -= char == ")" and self.depths[-1] > 0
            self._keep(1, begins=char in _WORD_ENDS)

    def _inside(self, place: _Place) -> None:
        """A letter inside arithmetic, double quotes or an expansion."""
        char, closing = self.source[self.at], _CLOSES[place]
        nests = {"arithmetic": ("(", ")"), "parameter": ("{", "}")}.get(place)
        if self.depths[-1] == 0 and self._sees(closing):
            self._leave()
        elif nests and char == nests[0]:
            self.depths[-1] += 1
            self._keep(1)
        elif place == "arithmetic" and char == ")" and self.depths[-1] == 0:
            # `((` was no arithmetic: two subshells, of which the inner one ends here.
            self.places[-1], self.depths[-1] = "command", 0
            self._keep(1)
        else:
            self.depths[-1] -= bool(nests) and char == nests[1] if nests else 0
            self._keep(1)

    def _here_document(self) -> None:
        """`<<WORD`: remember its end mark; the text comes after the line."""
        strips = self._sees("<<-")
        self._take("<<-" if strips else "<<")
        while self.source.startswith((" ", "\t", CONTINUATION), self.at):
            self._keep_unless_continued()
        mark: list[str] = []
        quoted = False
        while self.at < len(self.source) and self.source[self.at] not in _WORD_ENDS:
            char = self.source[self.at]
            if self.source.startswith(CONTINUATION, self.at):
                self.at += 2
            elif char == "\\":
                quoted = True
                mark.append(self.source[self.at + 1 : self.at + 2])
                self._keep(2)
            elif char in "'\"":
                quoted = True
                mark.append(self._quoted_mark(char))
            else:
                mark.append(char)
                self._keep(1)
        self.pending.append(("".join(mark), quoted, strips))
        self.word_begins = False

    def _quoted_mark(self, quote: str) -> str:
        end = self.source.find(quote, self.at + 1)
        end = len(self.source) if end < 0 else end
        inner = self.source[self.at + 1 : end]
        self._keep(end + 1 - self.at)
        return inner

    def _bodies(self) -> None:
        """The texts of the here-documents that the line just ended has opened."""
        for mark, quoted, strips in self.pending:
            while self.at < len(self.source):
                text = self._text_line(quoted=quoted)
                if (text.lstrip("\t") if strips else text) == mark:
                    break
        self.pending.clear()

    def _text_line(self, *, quoted: bool) -> str:
        """One line of a here-document, kept; continued ones folded unless its mark is quoted."""
        read: list[str] = []
        while self.at < len(self.source) and self.source[self.at] != "\n":
            if not quoted and self.source.startswith(CONTINUATION, self.at):
                self.at += 2
                continue
            size = 2 if not quoted and self.source[self.at] == "\\" else 1
            read.append(self.source[self.at : self.at + size])
            self.at += size
        self.kept += read
        if self.at < len(self.source):
            self._keep(1, begins=True)
        return "".join(read)

    def _single(self) -> bool:
        end = self.source.find("'", self.at + 1)
        self._keep((len(self.source) if end < 0 else end + 1) - self.at)
        return True

    def _ansi(self) -> bool:
        self._take("$'")
        end = self.at
        while end < len(self.source) and self.source[end] != "'":
            end += 2 if self.source[end] == "\\" else 1
        self._keep(end + 1 - self.at)
        return True

    def _leave_at(self, mark: str) -> None:
        if self._sees(mark):
            self._leave()
        else:
            self._keep(1)

    def _enter(self, place: _Place, opening: str) -> bool:
        self._take(opening, begins=True)
        self.places.append(place)
        self.depths.append(0)
        return True

    def _leave(self) -> None:
        self._take(_CLOSES[self.places.pop()])
        self.depths.pop()

    def _keep(self, size: int, *, begins: bool = False) -> None:
        self.kept.append(self.source[self.at : self.at + size])
        self.at += size
        self.word_begins = begins

    def _keep_unless_continued(self) -> None:
        if self.source.startswith(CONTINUATION, self.at):
            self.at += 2
        else:
            self._keep(1)

    def _take(self, text: str, *, begins: bool = False) -> None:
        """Keep a mark that `_sees` has found; continuations inside it are folded."""
        self.at = self._end(text)
        self.kept.append(text)
        self.word_begins = begins

    def _sees(self, text: str) -> bool:
        """Whether this mark stands here, continuations between its letters aside."""
        return self._end(text) > 0

    def _end(self, text: str) -> int:
        at = self.at
        for index, char in enumerate(text):
            while index and self.source.startswith(CONTINUATION, at):
                at += 2
            if not self.source.startswith(char, at):
                return 0
            at += 1
        return at

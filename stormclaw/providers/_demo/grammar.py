"""The plain requests the demo understands: a table of phrases, nothing that guesses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class ListFiles:
    """`list the files`, `list the files in src`."""

    path: str = "."


@dataclass(frozen=True, slots=True)
class ReadFile:
    """`read README.md`."""

    path: str


@dataclass(frozen=True, slots=True)
class Find:
    """`find TODO`, `search for "def main" in src`, `find *.py`."""

    text: str
    path: str = "."


@dataclass(frozen=True, slots=True)
class Create:
    """`create notes.txt with some words`."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Append:
    """`append "a line" to notes.txt`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """`replace old with new in notes.txt`."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class Run:
    """`run git status`."""

    command: str


@dataclass(frozen=True, slots=True)
class Remember:
    """`remember that the tests need a network`."""

    note: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`plan`, `plan: replace a with b in c`."""

    request: str = ""


@dataclass(frozen=True, slots=True)
class Explore:
    """`explore this project`."""


@dataclass(frozen=True, slots=True)
class Describe:
    """`what does this project do?`."""


@dataclass(frozen=True, slots=True)
class Time:
    """`what time is it?`."""


@dataclass(frozen=True, slots=True)
class Help:
    """`help`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Everything else."""

    text: str


Intent: TypeAlias = (
    ListFiles
    | ReadFile
    | Find
    | Create
    | Append
    | Replace
    | Run
    | Remember
    | Plan
    | Explore
    | Describe
    | Time
    | Help
    | Unknown
)

_PROJECT: Final = r"(?:this|the|my) (?:project|repo|repository|code ?base|code|folder)"
_QUOTED: Final = r"\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”"
_PATH: Final = r"(?:the )?(?:file |folder )?(?P<path>" + _QUOTED + r"|@?\S+)"
_OPENING: Final = re.compile(
    r"^(?:(?:please|now|then|ok(?:ay)?|(?:can|could|would) you(?: please)?)[, ]+)+", re.IGNORECASE
)
_WORDS_FOR_TESTS: Final = re.compile(r"^(?:the |all )*(?:unit )?(?:tests?|checks?|suite)$", re.I)

_Maker: TypeAlias = Callable[[re.Match[str]], Intent]


def _some(found: re.Match[str], name: str) -> str:
    return _unquoted(found[name] or "")


def _run(found: re.Match[str]) -> Intent:
    command = _unquoted(found["command"])
    return Unknown(found[0]) if _WORDS_FOR_TESTS.match(command) else Run(command)


def _create(found: re.Match[str]) -> Intent:
    path = found["path"]
    if not re.search(r"[./\"'`“]|file", path + found[0].partition(path)[0], re.IGNORECASE):
        return Unknown(found[0])
    return Create(_path(path), _some(found, "content"))


_TABLE: Final[tuple[tuple[str, _Maker], ...]] = (
    (r"(?:help|\?|hi|hello|hey|what can you do)", lambda _: Help()),
    (rf"explore(?: {_PROJECT}| it| here)?", lambda _: Explore()),
    (
        rf"(?:what (?:does|is) {_PROJECT}(?: do| about)?"
        rf"|(?:describe|explain|summari[sz]e) {_PROJECT})",
        lambda _: Describe(),
    ),
    (
        r"(?:what(?:'s| is) the (?:time|date)|what time is it|what day is it|time|date)"
        r"(?: now| today)?",
        lambda _: Time(),
    ),
    (
        r"(?:make (?:me )?a )?plan(?: (?:for|to)\b)?[:\s]*(?P<request>.*)",
        lambda f: Plan(f["request"]),
    ),
    (
        r"(?:remember|note|keep in mind)(?: that\b)?[:\s]+(?P<note>.+)",
        lambda f: Remember(_unquoted(f["note"])),
    ),
    (
        r"(?:replace|change|rename|swap)\s+(?:all |every |each )?"
        rf"(?P<old>{_QUOTED}|.+?)\s+(?:with|by|to|into|for)\s+(?P<new>{_QUOTED}|.*?)\s+in\s+{_PATH}",
        lambda f: Replace(_unquoted(f["old"]), _unquoted(f["new"]), _path(f["path"])),
    ),
    (
        rf"append\s+(?:the (?:line|text|words?) )?(?P<text>{_QUOTED}|.+?)"
        rf"\s+to\s+(?:the end of )?{_PATH}",
        lambda f: Append(_path(f["path"]), _unquoted(f["text"])),
    ),
    (
        rf"add\s+(?:(?:the|a) line\s+(?P<line>.+?)|(?P<text>{_QUOTED}))"
        rf"\s+to\s+(?:the end of )?{_PATH}",
        lambda f: Append(_path(f["path"]), _some(f, "line") or _some(f, "text")),
    ),
    (
        rf"(?:create|make|write)\s+(?:a )?(?:new )?(?:file )?(?:called |named )?{_PATH}"
        r"(?:(?:\s+(?:with|containing|saying|that says)|:)\s+"
        r"(?:the )?(?:(?:text|content|line)\b:?\s+)?(?P<content>.+))?",
        _create,
    ),
    (
        r"(?:run|execute|exec)\s+(?:the command\s+)?(?P<command>.+)|\$\s*(?P<shell>.+)",
        lambda f: Run(f["shell"]) if f["shell"] else _run(f),
    ),
    (
        r"(?:(?:list|show)(?: me)?(?: all)?(?: the| my)?(?: files?| folders?| contents?| directory)"
        r"|what files (?:are|do) (?:there|here|we have|you see)|ls|list)"
        rf"(?:(?:\s+(?:in|of|under|from))?\s+{_PATH})?",
        lambda f: ListFiles(_path(f["path"]) if f["path"] else "."),
    ),
    (
        rf"(?:where is|where are)\s+(?P<text>{_QUOTED}|\S+)(?:\s+(?:used|defined|set|called))?",
        lambda f: Find(_unquoted(f["text"])),
    ),
    (
        r"(?:find|search|grep|look)(?: for)?\s+(?:(?:all )?(?:uses|mentions) of )?"
        rf"(?P<text>{_QUOTED}|.+?)(?:\s+in\s+{_PATH})?",
        lambda f: Find(_unquoted(f["text"]), _path(f["path"]) if f["path"] else "."),
    ),
    (
        rf"(?:read|show|open|cat|print|view|display)\s+(?:me )?{_PATH}",
        lambda f: ReadFile(_path(f["path"])),
    ),
)
"""Phrase -> intent; the first that fits as a whole decides."""

_RULES: Final = tuple((re.compile(phrase, re.I | re.S), make) for phrase, make in _TABLE)


def understand(text: str) -> Intent:
    """What a request asks for; `Unknown` for whatever is not in the table."""
    words = _OPENING.sub("", text.strip())
    # A question mark or full stop ends a sentence; in a file's content it may belong there.
    for candidate in (words, words.rstrip(" ?.!")):
        for phrase, make in _RULES:
            if found := phrase.fullmatch(candidate):
                return make(found)
    return Unknown(text.strip())


def _unquoted(text: str) -> str:
    text = text.strip("\n") if "\n" in text else text.strip()
    if fenced := re.fullmatch(r"```[^\n]*\n(.*?)\n?```\s*", text, re.DOTALL):
        return fenced[1]
    pairs = ('""', "''", "``", "“”")
    if len(text) >= 2 and any(text[0] == pair[0] and text[-1] == pair[1] for pair in pairs):
        return text[1:-1]
    return text


def _path(text: str) -> str:
    path = _unquoted(text).removeprefix("@")
    # The sentence's own full stop; `.` and `..` are folders.
    return path if path.strip("./") == "" else path.rstrip("?!.,;")

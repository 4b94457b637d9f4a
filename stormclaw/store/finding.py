"""How a search goes through the index, and what comes first."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from stormclaw.store.spelling import has_letters, term

if TYPE_CHECKING:
    import sqlite3

_MOST_WORDS = 32
_SNIPPET_BEFORE, _SNIPPET_AFTER = 40, 120
_HALF_LIFE_DAYS = 30.0
_DAY_S = 86_400.0
_ROLE_WEIGHT = {"tool": 0.4}
"""A file a tool printed mentions a word more often than the talk about it does."""
_ECHOES: Final = frozenset({"memory_search", "recall"})
_ECHO_WEIGHT = 0.1
"""What an earlier search found holds every word of it, and is said elsewhere."""
_SUMMARY_WEIGHT = 0.7
_AS_TYPED = 1.5
_IN_TITLE = 1.25

_BM25 = "bm25(1.0, 0.5)"
"""Weights of the columns: the text itself, and what else it is found by."""
_COLUMNS = """e.conversation_id, e.turn_id, e.timestamp, e.role, e.content, c.title, c.workspace,
        e.metadata, e.tool_results"""
# The inner query is cut first: a short beginning may fit thousands of words.
_BY_WORDS = f"""SELECT {_COLUMNS}, best.score
    FROM (SELECT rowid AS number, -rank AS score FROM words
            WHERE words MATCH ? AND rank MATCH '{_BM25}' ORDER BY rank LIMIT ?) AS best
        JOIN entries e ON e.number = best.number
        JOIN conversations c ON c.id = e.conversation_id"""  # noqa: S608
_BY_WORDS_HERE = f"""SELECT {_COLUMNS}, -w.rank AS score
    FROM words w JOIN entries e ON e.number = w.rowid
        JOIN conversations c ON c.id = e.conversation_id
    WHERE w.words MATCH ? AND w.rank MATCH '{_BM25}' AND c.workspace = ?
    ORDER BY w.rank LIMIT ?"""  # noqa: S608
_BY_PARTS = f"""SELECT {_COLUMNS}, 1.0
    FROM entries e JOIN conversations c ON c.id = e.conversation_id
    WHERE {{}} ORDER BY e.number DESC LIMIT ?"""  # noqa: S608
_BY_TITLE = f"""SELECT {_COLUMNS}, 1.0
    FROM conversations c JOIN entries e ON e.number =
        (SELECT min(number) FROM entries WHERE conversation_id = c.id)
    WHERE {{}} ORDER BY c.updated DESC LIMIT ?"""  # noqa: S608
_EXACTLY = f"""SELECT {_COLUMNS}, 1.0
    FROM entries e JOIN conversations c ON c.id = e.conversation_id
    WHERE e.conversation_id = ? AND e.turn_id = ?"""  # noqa: S608
_HOLDS = "instr(casefold(e.content), ?) > 0"
_TITLED = "instr(casefold(c.title), ?) > 0"
_TYPED = re.compile(r'"([^"]+)"|(\S+)')
_PLACE = re.compile(r"(\d{8}-\d{6}-[a-z0-9]{4})/(\S+)")
_SMALL_WORDS: Final = frozenset(
    """a about an and are as at be by did do does for from had has have how i in is it me my of on
    or our that the then there they this to was we were what when where which who why will with
    you""".split()  # noqa: SIM905
)
_UNIQUE_ID = 12
"""Characters of an id that is nobody else's; a shorter one may be in other sessions too."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found.

    Attributes:
        conversation_id: The session.
        turn_id: The node.
        timestamp: Unix seconds.
        role: `user`, `assistant` or `tool`.
        snippet: One line of plain text; all of it when it was asked for by its place.
        title: Of the session.
        agent: Path of the agent it belongs to.
        workspace: Folder of the session.
    """

    conversation_id: str
    turn_id: str
    timestamp: float
    role: str
    snippet: str
    title: str
    agent: str = "root"
    workspace: Path = Path()

    @property
    def place(self) -> str:
        """What a search for brings back exactly this, whole."""
        return f"{self.conversation_id}/{self.turn_id}"


class Found(NamedTuple):
    """A row of the index, and how well SQLite thinks it fits."""

    conversation_id: str
    turn_id: str
    timestamp: float
    role: str
    content: str
    title: str
    workspace: str
    metadata: str
    tool_results: str
    score: float


def find(
    inside: sqlite3.Connection,
    query: str,
    limit: int,
    *,
    full_text: bool,
    workspace: str | None = None,
) -> tuple[Hit, ...]:
    """Search the index; see `Memory.search`. `query` holds no NUL and no lone surrogate."""
    words = [phrase or word for phrase, word in _TYPED.findall(query)][:_MOST_WORDS]
    words = list(filter(None, (word.strip('"').strip() for word in words)))
    if limit < 1:
        return ()
    if place := _PLACE.fullmatch(query.strip()):
        rows = inside.execute(_EXACTLY, place.groups()).fetchall()
        return tuple(_hit(Found(*row), Found(*row).content) for row in rows)
    whole = " ".join(query.replace('"', " ").split()) or query.strip()
    if not whole:
        return ()
    scope = _Scope(inside, workspace, limit * 4)  # Ranked here by more than SQLite knows.
    rows = next(filter(None, _tiers(scope, words or [whole], whole, full_text=full_text)), [])
    best = rank(rows, limit, words, whole)
    return tuple(_hit(row, _snippet(row.content, [whole, *words])) for row in best)


def _tiers(
    scope: _Scope, words: Sequence[str], whole: str, *, full_text: bool
) -> Iterator[list[Found]]:
    """What holds all words, all that matter, the query as it stands, any that matter.

    Before the last come sessions whose title holds all: by their first entry.
    """
    telling = [word for word in words if word.lower() not in _SMALL_WORDS]
    if full_text:
        yield scope.by_words(words, " AND ")
        if telling != words:
            yield scope.by_words(telling, " AND ")
    else:
        yield scope.by_parts(words, " AND ")
        yield scope.by_parts(telling, " AND ")
    yield scope.by_parts([whole], " AND ")
    yield scope.by_title(telling)
    if full_text:
        yield scope.by_words(telling, " OR ")
    elif len(words) > 1:
        yield scope.by_parts(telling, " OR ")


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where is searched: every folder (None) or one, and how many rows are looked at."""

    inside: sqlite3.Connection
    workspace: str | None
    most: int

    def by_words(self, words: Sequence[str], joint: str) -> list[Found]:
        """Entries that hold the words; the last one may be a beginning."""
        last = len(words) - 1
        terms = [term(word, beginning=at == last) for at, word in enumerate(words)]
        query = joint.join(filter(None, terms))
        if not query:
            return []
        if self.workspace is None:
            rows = self.inside.execute(_BY_WORDS, (query, self.most))
        else:
            rows = self.inside.execute(_BY_WORDS_HERE, (query, self.workspace, self.most))
        return [Found(*row) for row in rows]

    def by_parts(self, parts: Sequence[str], joint: str) -> list[Found]:
        """Entries that hold the parts anywhere: slower, but finds what is no word."""
        return self._holding(_BY_PARTS, _HOLDS, parts, joint)

    def by_title(self, words: Sequence[str]) -> list[Found]:
        """The first entry of every session whose title holds the words."""
        return self._holding(_BY_TITLE, _TITLED, words, " AND ")

    def _holding(self, query: str, holds: str, parts: Sequence[str], joint: str) -> list[Found]:
        if not parts:
            return []
        asked: list[str | int] = [part.casefold() for part in parts]
        where = "(" + joint.join([holds] * len(parts)) + ")"
        if self.workspace is not None:
            where += " AND c.workspace = ?"
            asked.append(self.workspace)
        rows = self.inside.execute(query.format(where), (*asked, self.most))
        return [Found(*row) for row in rows]


def rank(
    rows: Iterable[Found], limit: int, words: Sequence[str] = (), whole: str = ""
) -> Sequence[Found]:
    """The best rows first, each thing that was said once: a fork has it again."""
    once: dict[tuple[str, ...], Found] = {}
    for row in rows:
        forked = len(row.turn_id) >= _UNIQUE_ID
        once.setdefault((row.turn_id, "" if forked else row.conversation_id, row.content), row)
    newest = max((row.timestamp for row in once.values()), default=0.0)
    folded = [word.casefold() for word in words if has_letters(word)]

    def weight(row: Found) -> tuple[float, float]:
        age_days = (newest - row.timestamp) / _DAY_S
        recency = 1.0 + 0.5 ** (age_days / _HALF_LIFE_DAYS)
        fit = _fit(row, folded, whole.casefold())
        return row.score * _nature(row) * recency * fit, row.timestamp

    return sorted(once.values(), key=weight, reverse=True)[:limit]


def _nature(row: Found) -> float:
    """How much a kind of entry is worth."""
    if any(result.get("tool") in _ECHOES for result in json.loads(row.tool_results)):
        return _ECHO_WEIGHT
    if json.loads(row.metadata).get("kind") == "summary":
        return _SUMMARY_WEIGHT
    return _ROLE_WEIGHT.get(row.role, 1.0)


def _fit(row: Found, words: Sequence[str], whole: str) -> float:
    """More for the query as it was typed and for a fitting title, less for missing words."""
    content, title = row.content.casefold(), row.title.casefold()
    held = sum(word in content for word in words)
    fit = (1 + held) / (1 + len(words))
    if len(words) > 1 and whole in content:
        fit *= _AS_TYPED
    return fit * (_IN_TITLE if words and all(word in title for word in words) else 1.0)


def _hit(row: Found, snippet: str) -> Hit:
    agent = json.loads(row.metadata).get("agent") or "root"
    return Hit(*row[:4], snippet, row.title, agent, Path(row.workspace))


def _snippet(content: str, parts: Sequence[str]) -> str:
    """One line around the first of the parts that is there, the beginning if none is."""
    folded = _folded(content)
    places = (folded.find(_folded(part)) for part in parts)
    middle = next((place for place in places if place >= 0), 0)
    start, end = max(0, middle - _SNIPPET_BEFORE), middle + _SNIPPET_AFTER
    before, after = "…" if start else "", "…" if end < len(content) else ""
    return " ".join(f"{before}{content[start:end]}{after}".split())


def _folded(text: str) -> str:
    """Small letters without their marks, every character in its old place."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFD", sign)[0].casefold()[0] for sign in text)

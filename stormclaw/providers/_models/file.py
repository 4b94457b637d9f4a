"""`models.json` in the user folder: what the person knows of models better than any list.

    {"models": [{"provider": "work", "id": "qwen3-coder", "context_window": 131072,
                 "max_output": 16384, "tools": true, "thinking": false, "images": false,
                 "prices": {"input": 0.2, "output": 0.8, "cache_read": 0.02}}]}

Prices are US dollars per million tokens. Every key but `provider` and `id` may be left out; what is
left out is taken from the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from stormclaw.config.disk import present
from stormclaw.config.files import Document, read_yaml
from stormclaw.config.values import shown
from stormclaw.errors import ConfigError, Problem
from stormclaw.providers._models.card import ModelCard, Prices, Rate

FILE_NAME: Final = "models.json"
MOST: Final = 1e12

Key = tuple[str, str]
"""(provider, lower-case model id)."""
Judge = Callable[[object], str]
"""What is wrong with a value, "" for nothing."""


def read_models(home: Path) -> tuple[Mapping[Key, ModelCard], tuple[Problem, ...]]:
    """The sound entries of `models.json`, and everything that is wrong with the others.

    Args:
        home: The user folder; nothing is wrong where there is no such file.
    """
    path = home / FILE_NAME
    if not present(path):
        return {}, ()
    try:
        document = read_yaml(path)  # JSON is YAML, and this reader knows the line of every key.
    except ConfigError as error:
        return {}, error.problems
    return _Reading(str(path), document).cards()


class _Reading:
    """One pass over the file."""

    def __init__(self, path: str, document: Document) -> None:
        self._path, self._document = path, document
        self._problems: list[Problem] = []

    def cards(self) -> tuple[Mapping[Key, ModelCard], tuple[Problem, ...]]:
        values = self._document.values
        for name in values:
            if name != "models":
                self._wrong(name, values[name], "unknown key; known here: models")
        entries = values.get("models", [])
        cards: dict[Key, ModelCard] = {}
        if not isinstance(entries, list):
            self._wrong("models", entries, "must be a list of models")
            entries = []
        for number, entry in enumerate(entries):
            card = self._card(f"models[{number}]", entry)
            if card is not None:
                cards[card.provider, card.id.lower()] = card
        return cards, tuple(self._problems)

    def _card(self, at: str, entry: object) -> ModelCard | None:
        if not isinstance(entry, Mapping):
            self._wrong(at, entry, f"must be a mapping with the keys {', '.join(ALL_FIELDS)}")
            return None
        before = len(self._problems)
        prices = self._prices(f"{at}.prices", entry["prices"]) if "prices" in entry else None
        plain = {name: value for name, value in entry.items() if name != "prices"}
        fields = self._fields(at, plain, FIELDS, ALL_FIELDS)
        for name in ("provider", "id"):
            if name not in entry:
                self._wrong(f"{at}.{name}", "", "is missing")
        if len(self._problems) > before:
            return None
        return ModelCard(
            **fields,
            prices=prices,
            window_from="models.json" if "context_window" in fields else "",
            prices_from="models.json" if prices is not None else "",
        )

    def _fields(
        self, at: str, entry: Mapping[str, Any], judges: Mapping[str, Judge], known: Iterable[str]
    ) -> dict[str, Any]:
        sound: dict[str, Any] = {}
        for name, value in entry.items():
            judge = judges.get(name)
            if judge is None:
                message = f"unknown key; known here: {', '.join(known)}"
                self._wrong(f"{at}.{name}", value, message)
            elif complaint := judge(value):
                self._wrong(f"{at}.{name}", value, complaint)
            else:
                sound[name] = value
        return sound

    def _prices(self, at: str, value: object) -> Prices | None:
        if not isinstance(value, Mapping):
            self._wrong(at, value, f"must be a mapping with the keys {', '.join(PRICES)}")
            return None
        before = len(self._problems)
        found = self._fields(at, value, PRICES, PRICES)
        rates = {name: Rate(float(usd)) for name, usd in found.items()}
        for name in ("input", "output"):
            if name not in value:
                self._wrong(f"{at}.{name}", "", "is missing")
        return Prices(**rates) if len(self._problems) == before else None

    def _wrong(self, key: str, value: object, message: str) -> None:
        line = self._document.lines.get(key)
        place = f"{self._path}:{line}" if line else self._path
        self._problems.append(Problem(place, key, shown(value) if value != "" else "", message))


def _name(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "must be text"


def _tokens(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST
    return "" if whole else "must be a whole number of tokens, more than 0"


def _flag(value: object) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def _usd(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST
    return "" if number else "must be US dollars per million tokens, 0 or more"


FIELDS: Final[Mapping[str, Judge]] = {
    "provider": _name,
    "id": _name,
    "context_window": _tokens,
    "max_output": _tokens,
    "tools": _flag,
    "thinking": _flag,
    "images": _flag,
}
ALL_FIELDS: Final = (*FIELDS, "prices")
PRICES: Final[Mapping[str, Judge]] = {
    "input": _usd,
    "output": _usd,
    "cache_read": _usd,
    "cache_write": _usd,
}

"""Reads the mock's script and finds everything wrong with it in one pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from stormclaw.config.files import read_yaml
from stormclaw.errors import ConfigError, ErrorClass, Problem
from stormclaw.protocol.messages import ROOT, ToolCall, Usage

FINISHES: Final = ("stop", "tool_calls", "length")


@dataclass(frozen=True, slots=True)
class Failure:
    """The error a turn ends in."""

    kind: ErrorClass
    message: str
    retry_after_s: float | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted answer; see `mock` for the meaning of each field."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    delay_s: float = 0.0
    chunk: int = 0
    usage: Usage | None = None
    error: Failure | None = None
    finish: Literal["stop", "tool_calls", "length"] | None = None
    expect: str = ""
    when: str = ""
    place: str = ""


def read_script(path: Path) -> dict[str, tuple[Turn, ...]]:
    """The turns by agent, `root` among them.

    Raises:
        ConfigError: Every problem, with file, line, key and what is allowed.
    """
    values, lines = read_yaml(path)
    reader = _Reader(str(path), lines)
    scripts: dict[str, tuple[Turn, ...]] = {}
    reader.known(values, "", ("turns", "agents"))
    if "turns" in values or "agents" not in values:
        scripts[ROOT] = reader.turns(values, "")
    agents = values.get("agents", {})
    if isinstance(agents, Mapping):
        for name, script in agents.items():
            scripts[name] = reader.turns(script, f"agents.{name}.")
    else:
        reader.wrong("agents", agents, "must be a mapping of agent names to {turns: [...]}")
    if reader.problems:
        raise ConfigError(reader.problems)
    return scripts


class _Reader:
    """Values out of YAML; what is wrong is noted and replaced, so that reading goes on."""

    def __init__(self, file: str, lines: Mapping[str, int]) -> None:
        self._file = file
        self._lines = lines
        self.problems: list[Problem] = []

    def place(self, key: str) -> str:
        """`file:line` of a key, or of the nearest key around it."""
        around = key
        while around and around not in self._lines:
            around = around.rpartition("[" if around.endswith("]") else ".")[0]
        return f"{self._file}:{self._lines[around]}" if around else self._file

    def wrong(self, key: str, value: object, message: str) -> None:
        """Note a problem."""
        shown = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)[:80]
        self.problems.append(Problem(self.place(key), key, shown, message))

    def known(self, values: Mapping[str, Any], prefix: str, allowed: tuple[str, ...]) -> None:
        """Note every key that means nothing."""
        for name in values:
            if name not in allowed:
                self.wrong(f"{prefix}{name}", None, f"unknown key; there are {', '.join(allowed)}")

    def turns(self, script: object, prefix: str) -> tuple[Turn, ...]:
        """The turns of one agent."""
        entries = script.get("turns") if isinstance(script, Mapping) else None
        if not isinstance(entries, list):
            self.wrong(f"{prefix}turns", entries, "must be a list of turns")
            return ()
        keys = (f"{prefix}turns[{index}]" for index in range(len(entries)))
        return tuple(self._turn(entry, key) for entry, key in zip(entries, keys, strict=True))

    def _turn(self, entry: object, key: str) -> Turn:
        if not isinstance(entry, Mapping):
            self.wrong(key, entry, "must be a mapping such as {text: ...}")
            return Turn()
        fields = tuple(name for name in Turn.__slots__ if name != "place")
        self.known(entry, f"{key}.", fields)
        finish = entry.get("finish")
        if finish is not None and finish not in FINISHES:
            self.wrong(f"{key}.finish", finish, f"must be one of {', '.join(FINISHES)}")
        return Turn(
            text=self._text(entry, key, "text"),
            thinking=self._text(entry, key, "thinking"),
            calls=tuple(self._calls(entry, key)),
            delay_s=self._number(entry, key, "delay_s") or 0.0,
            chunk=int(self._number(entry, key, "chunk") or 0),
            usage=self._usage(entry, key),
            error=self._error(entry, key),
            finish=finish if finish in FINISHES else None,
            expect=self._text(entry, key, "expect"),
            when=self._text(entry, key, "when"),
            place=self.place(key),
        )

    def _calls(self, entry: Mapping[str, Any], key: str) -> Iterator[ToolCall]:
        calls = entry.get("calls", [])
        if not isinstance(calls, list):
            self.wrong(f"{key}.calls", calls, "must be a list of {name, arguments}")
            return
        for index, call in enumerate(calls):
            place = f"{key}.calls[{index}]"
            if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
                self.wrong(place, call, "must be {name, arguments}")
                continue
            self.known(call, f"{place}.", ("name", "arguments", "id"))
            arguments = call.get("arguments", {})
            if not isinstance(arguments, str | Mapping):
                self.wrong(
                    f"{place}.arguments", arguments, "must be a mapping, or text sent as it is"
                )
            raw = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            yield ToolCall(self._text(call, place, "id"), call["name"], raw)

    def _usage(self, entry: Mapping[str, Any], key: str) -> Usage | None:
        counts = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
        usage = self._part(entry, key, "usage", (*counts, "cost_usd"))
        if usage is None:
            return None
        at = f"{key}.usage"
        return Usage(
            int(self._number(usage, at, "input_tokens") or 0),
            int(self._number(usage, at, "output_tokens") or 0),
            int(self._number(usage, at, "cached_tokens") or 0),
            self._number(usage, at, "cost_usd"),
            cache_write_tokens=int(self._number(usage, at, "cache_write_tokens") or 0),
        )

    def _error(self, entry: Mapping[str, Any], key: str) -> Failure | None:
        error = self._part(entry, key, "error", ("class", "message", "retry_after_s", "hint"))
        if error is None:
            return None
        at = f"{key}.error"
        classes: tuple[ErrorClass, ...] = get_args(ErrorClass)
        named = error.get("class")
        kind = next((known for known in classes if known == named), None)
        if kind is None:
            self.wrong(f"{at}.class", named, f"must be one of {', '.join(classes)}")
            kind = "provider"
        message = self._text(error, at, "message") or "a scripted error"
        wait_s = self._number(error, at, "retry_after_s")
        return Failure(kind, message, wait_s, self._text(error, at, "hint"))

    def _part(
        self, entry: Mapping[str, Any], key: str, name: str, allowed: tuple[str, ...]
    ) -> Mapping[str, Any] | None:
        part = entry.get(name)
        if part is None:
            return None
        if not isinstance(part, Mapping):
            self.wrong(f"{key}.{name}", part, f"must be a mapping of {', '.join(allowed)}")
            return None
        self.known(part, f"{key}.{name}.", allowed)
        return part

    def _text(self, entry: Mapping[str, Any], key: str, name: str) -> str:
        return self._value(entry, key, name, lambda value: isinstance(value, str), "text") or ""

    def _number(self, entry: Mapping[str, Any], key: str, name: str) -> float | None:
        def fits(value: object) -> bool:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and value >= 0  # type: ignore[operator]

        number: float | None = self._value(entry, key, name, fits, "a number from 0")
        return number

    def _value(
        self,
        entry: Mapping[str, Any],
        key: str,
        name: str,
        fits: Callable[[object], bool],
        what: str,
    ) -> Any:
        value = entry.get(name)
        if value is None or fits(value):
            return value
        self.wrong(f"{key}.{name}", value, f"must be {what}")
        return None

"""Reads a local model's answer while it is written: words are shown as they come, calls at the end.

An answer is one JSON object, `{"final_answer": ...}` or `{"tool": ..., "args": ...}`. Where the
model was not held to that, calls it prints in one of the usual forms are found all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from stormclaw.protocol.messages import ToolCall
from stormclaw.providers._fragments import mint_id
from stormclaw.providers._llama.grammar import ARGUMENTS, FINAL, TOOL
from stormclaw.providers._surrogates import Seam, mend

_HEAD: Final = re.compile(rf'\s*\{{\s*"{FINAL}"\s*:\s*"')
_PIECE: Final = re.compile(
    r'(?P<plain>[^"\\]+)|\\u(?P<code>[0-9a-fA-F]{4})|\\(?P<mark>["\\/bfnrt])|(?P<end>")'
)
_MARKS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_OPENINGS: Final = ("{", "```", "<tool_call>", "<|tool_call")
"""How a printed call begins; what begins so is not shown before it is known to be none."""
_WRAPPED: Final = re.compile(
    r"```(?:json|tool_call)?\s*(?P<fenced>\{.*?\})\s*```"
    r"|<\|?tool_call\|?>\s*(?P<tagged>\{.*?\})\s*(?:<\|?/?tool_call\|?>|\Z)",
    re.DOTALL,
)
_NAMES: Final = (TOOL, "name", "tool_name", "function")
_ARGUMENT_NAMES: Final = (ARGUMENTS, "arguments", "parameters", "input")


class Reader:
    """Takes the pieces of one answer.

    Args:
        tools: Names of the tools it may call.
        held: Whether the model is held to the form; if not, anything may come.
    """

    def __init__(self, tools: frozenset[str], *, held: bool) -> None:
        self._tools = tools
        self._held = held
        self._raw = ""
        self._at = 0
        self._in_words = self._closed = False
        self._shown: list[str] = []
        self._seam = Seam()

    @property
    def raw(self) -> str:
        """All that came."""
        return self._raw

    @property
    def shown(self) -> str:
        """The words that were given out."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """Take a piece; returns what of it are words for the person, perhaps ""."""
        self._raw += piece
        if not self._in_words and not self._closed:
            if head := _HEAD.match(self._raw):
                self._in_words, self._at = True, head.end()
            elif self._tools and (self._held or _may_be_call(self._raw)):
                return ""
            else:
                return self._show(self._rest())
        return self._show(self._decoded()) if self._in_words else ""

    def end(self) -> tuple[str, ToolCall | None]:
        """(words that were held back, the call) once all has come."""
        if self._in_words or self._closed:
            return "", None
        found, around = self._call()
        if found is not None:
            return self._show("" if self._shown else around), found
        late = "" if self._cut_call() else self._rest()
        return self._show(late), None

    def _rest(self) -> str:
        rest, self._at = self._raw[self._at :], len(self._raw)
        return rest

    def _show(self, text: str) -> str:
        text = self._seam.join(text) if text else ""
        if text:
            self._shown.append(text)
        return text

    def _decoded(self) -> str:
        """The words up to where they can be told for sure."""
        words: list[str] = []
        while found := _PIECE.match(self._raw, self._at):
            self._at = found.end()
            if found["end"]:
                self._in_words, self._closed = False, True
                break
            if found["code"]:
                words.append(chr(int(found["code"], 16)))
            elif mark := found["mark"]:
                words.append(_MARKS.get(mark, mark))
            else:
                words.append(found["plain"])
        return "".join(words)

    def _cut_call(self) -> bool:
        """Whether it is the beginning of a call that never came to its end."""
        return self._held and bool(self._tools)

    def _call(self) -> tuple[ToolCall | None, str]:
        """The call in what came, and the words around it."""
        for text, around in self._candidates():
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(parsed, Mapping) and (call := self._as_call(parsed)):
                return call, around
        return None, ""

    def _candidates(self) -> list[tuple[str, str]]:
        raw = self._raw.strip()
        found = [(raw, "")]
        if not self._held:
            for match in _WRAPPED.finditer(raw):
                around = f"{raw[: match.start()]}{raw[match.end() :]}".strip()
                found.append((match["fenced"] or match["tagged"], around))
        return found

    def _as_call(self, parsed: Mapping[str, Any]) -> ToolCall | None:
        if isinstance(inner := parsed.get("function"), Mapping):
            parsed = inner
        name = next((parsed[key] for key in _NAMES if isinstance(parsed.get(key), str)), "")
        if name not in self._tools:
            return None
        given: Any = next((parsed[key] for key in _ARGUMENT_NAMES if key in parsed), {})
        if isinstance(given, Mapping):
            given = json.dumps(given, ensure_ascii=False)
        return ToolCall(mint_id(), name, mend(given)) if isinstance(given, str) else None


def _may_be_call(raw: str) -> bool:
    begun = raw.lstrip()
    return any(begun.startswith(opening) or opening.startswith(begun) for opening in _OPENINGS)

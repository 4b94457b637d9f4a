"""Which commands print nothing but a number: what bash may compute with unseen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

_PASS_ON = frozenset({"tr", "head", "tail", "cut", "xargs", "sort", "uniq", "awk"})
_NUMBER_BY: Mapping[str, str] = {
    "nproc": r".*", "factor": r"[\d ]*", "getconf": r"\w+", "seq": r"[\d. -]*",
    "expr": r".* [-+/%*] .*", "date": r"(-u |-d \S+ )*\+(%[sSMHdjmyYuwNkI]|[\d:.-])+",
    "echo": r"-?\d*", "id": r"-[ugG]", "jq": r"[^\"\\]*\blength\b[^\"\\]*", "pgrep": r"-\w*c.*",
    "wc": r"(-\w+ ?)*[^*?\[$`]*", "cksum": r"[^*?\[$`]*", "du": r"-\w*s\w*( [^*?\[$`]*)?",
    "grep": r"(.* )?(-\w*c\w*|--count)( .*)?", "rg": r"(.* )?(-c|--count)( .*)?",
    "stat": r"(-c ?|-f ?|--format=|--printf=)%[sXYZWahdim] .*", "tput": r"cols|lines",
    "git": r"rev-list (.* )?--count( .*)?", "awk": r"(\{ ?\w+ ?\+= ?\$\d ?;? ?\} ?)?"
    r"END ?\{ ?print (NR|\w+) ?\}( .*)?",
}  # fmt: skip
"""Program -> its words, joined by blanks, with which it prints nothing but numbers."""


def prints_number(statements: list[Json]) -> bool:
    """Whether the last of these statements prints only numbers.

    `wc` and its like, and what only passes their output on (`wc -l < f | tr -d ' '`).
    """
    if len(statements) != 1:
        return False
    command = statements[0].get("Cmd") or {}
    kind = command.get("Type")
    if kind == "BinaryCmd":
        if command["Op"] == "||":
            return all(prints_number([command[side]]) for side in ("X", "Y"))
        if command["Op"] not in ("|", "|&"):
            return False
        if prints_number([command["Y"]]):
            return True
        return _passes_on(command["Y"]) and prints_number([command["X"]])
    if kind != "CallExpr":
        return False
    words = [text_of(word) for word in command.get("Args") or ()]
    if not words:
        return False
    name = words[0].rsplit("/", 1)[-1]
    pattern = _NUMBER_BY.get("grep" if name in ("egrep", "fgrep") else name)
    return pattern is not None and bool(re.fullmatch(pattern, " ".join(words[1:]), re.S))


def text_of(word: Any) -> str:
    """The literal text of a word, its quotes removed; what is expanded is left out."""
    if isinstance(word, list):
        return "".join(map(text_of, word))
    if not isinstance(word, dict):
        return ""
    if word.get("Type") in ("Lit", "SglQuoted"):
        return str(word.get("Value", ""))
    if word.get("Type") in ("CmdSubst", "ParamExp", "ArithmExp", "ProcSubst"):
        return ""
    return "".join(text_of(value) for key, value in word.items() if key in ("Parts", "X", "Word"))


def _passes_on(statement: Json) -> bool:
    command = statement.get("Cmd") or {}
    words = [text_of(word) for word in command.get("Args") or ()]
    return command.get("Type") == "CallExpr" and words[:1] != [] and words[0] in _PASS_ON

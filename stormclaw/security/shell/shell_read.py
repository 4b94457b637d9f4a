"""Reads a shell line with shfmt's parser and turns its JSON into `shell_tree` values."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from stormclaw.security.shell.arithmetic import computed_reason
from stormclaw.security.shell.shell_tree import (
    Assign,
    Call,
    Chain,
    Function,
    Group,
    GroupKind,
    Pipe,
    Redirect,
    Script,
    Statement,
    Unreadable,
    Word,
)
from stormclaw.security.shell.shell_words import form_of

Json: TypeAlias = dict[str, Any]

TIMEOUT_S = 2.0
MAX_REMEMBERED = 4096
"""Longest line, in characters, whose reading is kept."""

FILE_TESTS = frozenset({f"-{letter}" for letter in "abcdefghkprstuwxGLNOS"} | {"-nt", "-ot", "-ef"})
GROUPS: dict[str, GroupKind] = {
    "Block": "block",
    "Subshell": "subshell",
    "IfClause": "branch",
    "CaseClause": "branch",
    "WhileClause": "loop",
    "ForClause": "loop",
    "TestClause": "test",
    "ArithmCmd": "test",
    "LetClause": "test",
    "CoprocClause": "background",
}


def read(line: str) -> Script:
    """The statements of a line of bash.

    Raises:
        Unreadable: Not valid bash, too deeply nested, or the parser is missing or too slow.
    """
    return _reading(line)[0]


def computes(line: str) -> tuple[str, frozenset[str]]:
    """Why the arithmetic of a line may run commands, "" if not; and names it takes from elsewhere.

    Raises:
        Unreadable: As for `read`.
    """
    return _reading(line)[1:]


def _reading(line: str) -> tuple[Script, str, frozenset[str]]:
    return _remembered(line) if len(line) <= MAX_REMEMBERED else _read(line)


def _read(line: str) -> tuple[Script, str, frozenset[str]]:
    try:
        source = line.encode()
        tree = json.loads(_parsed(source))
        return (_Reader(source).script(tree.get("Stmts")), *computed_reason(tree))
    except UnicodeEncodeError as error:
        raise Unreadable("holds text that is not UTF-8") from error
    except RecursionError as error:
        raise Unreadable("too deeply nested") from error
    except ValueError as error:
        raise Unreadable(f"the parser's answer makes no sense: {error}") from error


_remembered = lru_cache(maxsize=64)(_read)
"""The same line is judged for its effects, its network need and its preview: parse it once."""


@cache
def parser_path() -> str:
    """The shfmt program: beside this Python, else on the PATH; "" if there is none."""
    beside = Path(sys.executable).parent / "shfmt"
    return str(beside) if beside.is_file() else shutil.which("shfmt") or ""


def _parsed(source: bytes) -> bytes:
    program = parser_path()
    if not program:
        raise Unreadable("the shell parser (shfmt) is not installed")
    try:
        done = subprocess.run(
            [program, "-ln", "bash", "--to-json"],
            input=source,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreadable(f"the shell parser failed: {error}") from error
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unreadable(f"not valid shell: {complaint[0] if complaint else 'no reason given'}")
    return done.stdout


class _Reader:
    """One tree being read; holds the source to cut the words as written from."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def script(self, nodes: list[Json] | None) -> Script:
        return tuple(self.statement(node) for node in nodes or ())

    def statement(self, node: Json) -> Statement:
        command = node.get("Cmd") or {}
        redirects = tuple(self._redirect(each) for each in node.get("Redirs") or ())
        read = self._command(command, redirects, self._cut(command or node))
        if node.get("Background") or node.get("Coprocess"):
            return Group("background", (read,))
        return read

    def _command(self, node: Json, redirects: tuple[Redirect, ...], raw: str) -> Statement:
        kind = node.get("Type", "")
        match kind:
            case "" | "CallExpr":
                words = tuple(map(self.word, node.get("Args") or ()))
                return Call(raw, words, self._assigns(node.get("Assigns")), redirects)
            case "DeclClause":
                return self._declaration(node, redirects, raw)
            case "BinaryCmd":
                return self._binary(node)
            case "FuncDecl":
                body = self.statement(node["Body"])
                names = [node["Name"]] if node.get("Name") else node.get("Names") or []
                name = str(names[0].get("Value", "")) if names else ""
                return Function(name, (Group("block", (body,), redirects=redirects),), raw)
            case "TimeClause":
                inner = (self.statement(node["Stmt"]),) if node.get("Stmt") else ()
                return Group("block", inner, redirects=redirects)
            case _ if kind in GROUPS:
                return self._group(node, GROUPS[kind], redirects)
            case _:
                raise Unreadable(f"a kind of command that is not known here: {kind}")

    def _declaration(self, node: Json, redirects: tuple[Redirect, ...], raw: str) -> Call:
        name = node["Variant"]
        head = Word(name["Value"], name["Value"], name["Pos"]["Offset"])
        args = node.get("Args") or ()
        naked = [each for each in args if each.get("Naked") and each.get("Value")]
        named = [each for each in args if each not in naked]
        words = (head, *(self.word(each["Value"]) for each in naked))
        return Call(raw, words, self._assigns(named), redirects)

    def _binary(self, node: Json) -> Statement:
        left, right = self.statement(node["X"]), self.statement(node["Y"])
        match node["Op"]:
            case "|" | "|&":
                stages = left.stages if isinstance(left, Pipe) else (left,)
                return Pipe((*stages, right))
            case "&&" | "||" as op:
                return Chain(op, left, right)
            case op:
                raise Unreadable(f"an operator that is not known here: {op}")

    def _group(self, node: Json, kind: GroupKind, redirects: tuple[Redirect, ...]) -> Group:
        loop = node.get("Loop") or {}
        variable = (loop.get("Name") or {}).get("Value", "") if node.get("Loop") else ""
        words = tuple(self._own_words({k: v for k, v in node.items() if k not in _BODIES}))
        body = tuple(self._bodies(node))
        files = tuple(self._files(node.get("X"))) if node.get("Type") == "TestClause" else ()
        return Group(kind, body, words, variable, redirects, files)

    def _files(self, node: Any) -> Iterator[Word]:
        """Operands of the file tests of a `[[ ]]`."""
        if not isinstance(node, dict):
            return
        sides = [node[key] for key in ("X", "Y") if isinstance(node.get(key), dict)]
        tests = node.get("Op") in FILE_TESTS
        for side in sides:
            if tests and side.get("Type") == "Word":
                yield self.word(side)
            else:
                yield from self._files(side)

    def _bodies(self, node: Json) -> Iterator[Statement]:
        """The statements of all branches, in the order they are written."""
        for key in ("Cond", "Then", "Do", "Stmts"):
            if isinstance(node.get(key), list):
                yield from self.script(node[key])
        if node.get("Stmt"):
            yield self.statement(node["Stmt"])
        for item in node.get("Items") or ():
            yield from self.script(item.get("Stmts"))
        if node.get("Else"):
            yield from self._bodies(node["Else"])

    def _own_words(self, node: Any) -> Iterator[Word]:
        """Words anywhere in an expression, items and patterns included."""
        if isinstance(node, list):
            for each in node:
                yield from self._own_words(each)
        elif isinstance(node, dict):
            if "Parts" in node:
                yield self.word(node)
                return
            if node.get("Type") in ("ParamExp", "CmdSubst"):
                yield self.word({"Parts": [node], "Pos": node["Pos"], "End": node["End"]})
                return
            for key, value in node.items():
                if key != "Stmts":
                    yield from self._own_words(value)

    def _assigns(self, nodes: list[Json] | None) -> tuple[Assign, ...]:
        return tuple(map(self._assign, nodes or ()))

    def _assign(self, node: Json) -> Assign:
        value = self.word(node["Value"]) if node.get("Value") else None
        name = (node.get("Name") or {}).get("Value", "")
        indexed = bool(node.get("Array") or node.get("Index"))
        inner = [each for key in ("Index", "Array") for each in self._own_words(node.get(key))]
        scripts = tuple(script for word in inner for script in word.inner)
        if value is not None and indexed:
            scripts += value.inner
        plain = None if indexed else value
        return Assign(name, plain, self._cut(node), bool(node.get("Append")), scripts)

    def _redirect(self, node: Json) -> Redirect:
        body = node.get("Hdoc")
        quoted = any(part.get("Type") != "Lit" or "\\" in part.get("Value", "")
                     for part in node["Word"].get("Parts") or ())  # fmt: skip
        return Redirect(
            node["Op"],
            self.word(node["Word"]),
            self._cut(node),
            self.word(body, heredoc="literal" if quoted else "expanded") if body else None,
        )

    def word(self, node: Json, heredoc: str = "") -> Word:
        """A word of the tree as a value."""
        form, defaults, evaluates = form_of(node.get("Parts") or (), heredoc)
        found = tuple(_substitutions(node.get("Parts") or ()))
        inner = tuple(self.script(each.get("Stmts")) for each in found)
        places = tuple(each["Pos"]["Offset"] for each in found)
        at = node["Pos"]["Offset"]
        return Word(self._cut(node), form, at, inner, defaults, evaluates, places)

    def _cut(self, node: Json) -> str:
        span = self._source[node["Pos"]["Offset"] : node["End"]["Offset"]]
        return span.decode(errors="replace").rstrip().removesuffix(";").rstrip()


_BODIES = frozenset({"Cond", "Then", "Do", "Stmts", "Else", "Stmt"})


def _substitutions(node: Any) -> Iterator[Json]:
    """All command and process substitutions in a word, in order."""
    if isinstance(node, list | tuple):
        for each in node:
            yield from _substitutions(each)
    elif isinstance(node, dict):
        if node.get("Type") in ("CmdSubst", "ProcSubst"):
            yield node
            return
        for value in node.values():
            yield from _substitutions(value)

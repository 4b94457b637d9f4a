"""bash computes with the *values* of names: text in them may be a subscript that runs a command.

`x='a[$(cmd)]'; echo $((x))` runs `cmd`. So every name that a line computes with, or takes another
name from (`${!x}`), is followed to what sets it: plain numbers and words pass, text that holds a
subscript or an expansion does not, nor does what only a file or a command knows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, TypeAlias

from stormclaw.security.shell.numbers import prints_number, text_of

Json: TypeAlias = dict[str, Any]

_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_CODE = re.compile(r"[\[$`]")
_TOLD_ELSEWHERE = frozenset(
    {"_", "BASH_COMMAND", "BASH_EXECUTION_STRING", "BASH_ARGV", "BASH_ARGV0", "PWD", "OLDPWD",
     "DIRSTACK", "FUNCNAME", "BASH_SOURCE", "MAPFILE"}
)  # fmt: skip
"""Names that hold text of the line, of folders or of files without being set."""

_DIGITS_ONLY = re.compile(r"[^(.*]*(\((\[0-9\]|\[\[:digit:\]\])[+*?]?(\{[\d,]+\})?\)[^(.*]*)*")
_FROM_INPUT = frozenset({"read", "mapfile", "readarray"})
_DECLARES = frozenset({"declare", "typeset", "local", "readonly", "export"})
_NAMES_A_VARIABLE = frozenset({"read", "mapfile", "readarray", "unset", "getopts"})

OUTSIDE: Json = {"Type": "Outside"}
"""Stands for a value that a file or another program decides."""


class Computed:
    """What one parsed line computes with, and what sets those names.

    Attributes:
        names: Names computed with that nothing in this text sets.
    """

    def __init__(self, tree: Json) -> None:
        self.names: set[str] = set()
        self._sources: dict[str, list[Json]] = defaultdict(list)
        self._used: list[Json] = []
        self._functions: set[str] = set()
        self._integers: set[str] = set()
        self._keyed: set[str] = set()
        self._declared(tree)
        self._walk(tree, OUTSIDE)

    def reason(self) -> str:
        """Why it may run more than it shows, "" if it computes with plain values only."""
        used = [*self._used, *(node for name in self._integers for node in self._sources[name])]
        waiting = [*used]
        seen: set[str] = set()
        while waiting:
            found = self._told(waiting.pop())
            if found is None:
                return "computes with text that may hold a command"
            for name in found - seen:
                seen.add(name)
                if name in _TOLD_ELSEWHERE:
                    return f"computes with {name}, which may hold a command"
                waiting += self._sources[name]
                if not self._sources[name]:
                    self.names.add(name)
        return ""

    def _declared(self, node: Any) -> None:
        """Functions, integers and arrays with words for keys, wherever they are declared."""
        for each in _inside(node):
            kind = each.get("Type")
            if kind == "FuncDecl" and each.get("Name"):
                self._functions.add(each["Name"]["Value"])
            if kind == "DeclClause":
                args = each.get("Args") or ()
                flags = "".join(text_of(a["Value"]) for a in args if a.get("Naked")
                                and a.get("Value"))  # fmt: skip
                names = {a["Name"]["Value"] for a in args if a.get("Name")}
                if re.search(r"-\w*i", flags):
                    self._integers |= names
                if re.search(r"-\w*A", flags):
                    self._keyed |= names

    def _told(self, node: Json) -> set[str] | None:
        """The names that a value, or an expression, is made of; None if it may hold code."""
        names: set[str] = set()
        for part in _leaves(node):
            kind = part.get("Type")
            text = part.get("Value", "")
            if kind in ("Lit", "SglQuoted") and isinstance(text, str):
                if _CODE.search(text) or (kind == "SglQuoted" and part.get("Dollar")):
                    return None
                if kind == "Lit" and re.search(r"(?<!\\)[*?]", text) and node.get("glob"):
                    return None
                names |= set(_NAME.findall(text))
            elif kind == "ParamExp":
                if not part.get("Length"):
                    names.add((part.get("Param") or {}).get("Value", ""))
                for key in ("Exp", "Repl"):
                    if part.get(key):
                        found = self._told({"Word": part[key]})
                        if found is None:
                            return None
                        names |= found
            elif kind == "Outside" or (kind == "CmdSubst" and not prints_number(part["Stmts"])):
                return None
        return names - {"", "?", "#", "!", "$", "-"}

    def _walk(self, node: Any, arriving: Json) -> None:
        if isinstance(node, list):
            for each in node:
                self._walk(each, arriving)
            return
        if not isinstance(node, dict):
            return
        for redirect in node.get("Redirs") or ():
            if redirect.get("Op") == "<<<":
                arriving = redirect["Word"]
            elif redirect.get("Op") in ("<<", "<<-") and redirect.get("Hdoc"):
                arriving = redirect["Hdoc"]
            elif str(redirect.get("Op", "")).startswith("<"):
                arriving = OUTSIDE
        self._look(node, arriving)
        if node.get("Type") == "BinaryCmd" and node.get("Op") in ("|", "|&"):
            self._walk(node["X"], arriving)
            number = prints_number([node["X"]])
            self._walk(node["Y"], {"Parts": []} if number else OUTSIDE)
            return
        for value in node.values():
            if isinstance(value, dict | list):
                self._walk(value, arriving)

    def _look(self, node: Json, arriving: Json) -> None:
        """Take over what one node sets and computes."""
        kind = node.get("Type", "")
        if kind in ("ArithmExp", "ArithmCmd"):
            self._used.append({"X": node.get("X")})
        elif kind == "LetClause":
            self._used.append({"X": node.get("Exprs")})
        elif kind == "CStyleLoop":
            self._used += [{"X": node.get(key)} for key in ("Init", "Cond", "Post")]
        elif kind in ("WordIter", "SelectClause"):
            items = node.get("Items") or [_parameter("@")]
            self._sources[node["Name"]["Value"]] += [{**item, "glob": True} for item in items]
        elif kind == "BinaryTest":
            self._compared(node)
        elif kind == "UnaryTest" and node.get("Op") in ("-v", "-R"):
            self._used += list(_parameters(node))
        elif kind == "ParamExp":
            self._expanded(node)
        elif kind == "BinaryArithm" and str(node.get("Op", "")).endswith("="):
            self._sources[text_of(node["X"])].append({"X": node.get("Y")})
        elif kind == "CallExpr":
            self._called(node, arriving)
        if node.get("Name") and not kind and ("Value" in node or "Array" in node):
            self._assigned(node)

    def _compared(self, node: Json) -> None:
        if node.get("Op") in _COMPARES:
            self._used += [{"X": node["X"]}, {"X": node["Y"]}]
        if node.get("Op") == "=~" and not _DIGITS_ONLY.fullmatch(text_of(node["Y"])):
            self._sources["BASH_REMATCH"].append(node["X"])

    def _assigned(self, node: Json) -> None:
        name = node["Name"]["Value"]
        elements = (node.get("Array") or {}).get("Elems") or ()
        self._sources[name] += [e["Value"] for e in elements if e.get("Value")]
        if node.get("Value"):
            self._sources[name].append(node["Value"])
        if name not in self._keyed:
            self._used += [{"X": each["Index"]} for each in (node, *elements) if each.get("Index")]

    def _expanded(self, node: Json) -> None:
        name = (node.get("Param") or {}).get("Value", "")
        index = node.get("Index")
        whole = index is not None and text_of(index) in ("@", "*")
        if index is not None and not whole and name not in self._keyed:
            self._used.append({"X": index})
        if node.get("Slice"):
            self._used += [{"X": each} for each in node["Slice"].values() if each]
        if node.get("Excl") and not whole and not node.get("Names"):
            self._used.append(_parameter(name))
        change = node.get("Exp") or {}
        if change.get("Op") in ("=", ":=") and change.get("Word"):
            self._sources[name].append(change["Word"])
        if change.get("Op") == "@" and text_of(change.get("Word") or {}) == "P":
            self._used.append(_parameter(name))

    def _called(self, node: Json, arriving: Json) -> None:
        args = node.get("Args") or []
        words = [text_of(arg) for arg in args]
        while words and words[0].lstrip("\\") in ("builtin", "command", "env"):
            args, words = args[1:], words[1:]
        name = words[0].lstrip("\\") if words else ""
        if name == "let":
            self._used += [{"X": arg} for arg in args[1:]]
        if name in _DECLARES and any(re.match(r"-\w*i", word) for word in words[1:]):
            self._used += args[1:]
        if name in self._functions or name in ("set", "getopts"):
            for number, arg in enumerate(args[1:], start=1):
                given = words[1:].index("--") + 1 if "--" in words[1:] else 0
                position = number - given if name == "set" else number
                self._sources[str(position)].append({**arg, "glob": True})
                self._sources["@"].append({**arg, "glob": True})
                self._sources["OPTARG"].append({**arg, "glob": True})
        if name in _NAMES_A_VARIABLE or (name == "printf" and words[1:2] == ["-v"]):
            named = args[1:3] if name == "printf" else args[1:]
            self._used += [each for arg in named for each in _parameters(arg)]
        if name in _FROM_INPUT:
            given_names = [word for word in words[1:] if re.fullmatch(r"[A-Za-z_]\w*", word)]
            for each in given_names or ["REPLY", "MAPFILE"]:
                self._sources[each].append(arriving)
        if name == "printf" and words[1:2] == ["-v"] and len(args) > 3:
            self._sources[words[2]] += args[3:]


def computed_reason(tree: Json) -> tuple[str, frozenset[str]]:
    """Why a line's arithmetic may run commands ("" if not); and names it takes from elsewhere."""
    computed = Computed(tree)
    return computed.reason(), frozenset(computed.names)


def _inside(node: Any) -> Iterator[Json]:
    """Every node of a tree."""
    if isinstance(node, list):
        for each in node:
            yield from _inside(each)
    elif isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _inside(value)


def _leaves(node: Any) -> Iterator[Json]:
    """What a value is made of; computing inside it gives a number and is looked at by itself."""
    if isinstance(node, list):
        for each in node:
            yield from _leaves(each)
    elif isinstance(node, dict):
        kind = node.get("Type")
        if kind in ("ArithmExp", "ProcSubst"):
            return
        if kind in ("Lit", "SglQuoted", "ParamExp", "CmdSubst", "Outside"):
            yield node
            return
        for value in node.values():
            yield from _leaves(value)


def _parameters(node: Json) -> Iterator[Json]:
    """The variables among the parts of a word."""
    return (each for each in _inside(node) if each.get("Type") == "ParamExp")


def _parameter(name: str) -> Json:
    return {"Type": "ParamExp", "Param": {"Value": name}}

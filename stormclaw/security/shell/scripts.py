"""sed and awk programs: read far enough to know whether they only transform text."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"\s*(?:\d+(?:~\d+)?|\$|[+~]\d+|/(?:\\.|\[[^\]]*\]|[^/\\])*/[IM]*)?", re.S)
_PLAIN = re.compile(r"[=dDgGhHlnNpPqQxzF]\s*\d*\s*")
_TEXT = re.compile(r"[aic]\s*(?:\\\n|\\)?[^\n]*(?:\\\n[^\n]*)*")
_LABEL = re.compile(r"[btT:]\s*[\w.-]*\s*")
_FLAGS = re.compile(r"[gpiIM\d]*")
_SEPARATORS = " \t\n;{}"

_AWK_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_AWK_REGEX = re.compile(r"(?:(?<=[(,~!&|{;\s])|^)/(?:\\.|\[[^\]]*\]|[^/\\\n])+/")
_AWK_RISKS = (
    (re.compile(r"\bsystem\b"), "system() runs a command"),
    (re.compile(r"\|"), "a pipe runs a command"),
    (re.compile(r"\bgetline\b"), "getline reads files or commands"),
    (re.compile(r"@\s*(?:load|include|\w+\s*\()"), "loads other code"),
    (re.compile(r"\b(?:print|printf)\b[^\n;}]*>"), "writes a file"),
)


def sed_risk(program: str) -> str:
    """Why a sed program may do more than transform text, "" if it only does that."""
    position = 0
    while position < len(program):
        if program[position] in _SEPARATORS:
            position += 1
            continue
        if program[position] == "#":
            end = program.find("\n", position)
            position = len(program) if end < 0 else end
            continue
        position = _after_addresses(program, position)
        if position >= len(program):
            break
        if program[position] == "{":
            continue
        after = _after_command(program, position)
        if after is None:
            return f"sed command {program[position]!r} may run programs or write files"
        position = after
    return ""


def awk_risk(program: str) -> str:
    """Why an awk program may do more than transform text, "" if it only does that."""
    bare = _AWK_STRING.sub('""', program)
    bare = _AWK_REGEX.sub("0", bare).replace("||", " ")
    return next((reason for pattern, reason in _AWK_RISKS if pattern.search(bare)), "")


def _after_addresses(program: str, position: int) -> int:
    for _ in range(2):
        custom = re.compile(r"\s*\\(.)(?:\\.|(?!\1).)*\1[IM]*", re.S).match(program, position)
        match = custom or _ADDRESS.match(program, position)
        position = match.end() if match else position
        comma = re.compile(r"\s*,").match(program, position)
        if not comma:
            break
        position = comma.end()
    bang = re.compile(r"\s*!*\s*").match(program, position)
    return bang.end() if bang else position


def _after_command(program: str, position: int) -> int | None:
    """Where the command at `position` ends; None if it is one that may do harm."""
    letter = program[position]
    if letter in "sy":
        return _after_substitution(program, position)
    for pattern in (_PLAIN, _LABEL, _TEXT):
        match = pattern.match(program, position)
        if match:
            return match.end()
    return None


def _after_substitution(program: str, position: int) -> int | None:
    if position + 1 >= len(program):
        return None
    mark = program[position + 1]
    if mark in "\\\n":
        return None
    index, parts = position + 2, 0
    while index < len(program) and parts < 2:
        char = program[index]
        if char == "\\":
            index += 1
        elif char == "[" and parts == 0 and mark != "[":
            close = program.find("]", index + 2)
            index = close if close > 0 and mark not in program[index:close] else index
        elif char == mark:
            parts += 1
        index += 1
    if parts < 2:
        return None
    flags = _FLAGS.match(program, index)
    end = flags.end() if flags else index
    return None if end < len(program) and program[end] in "ewmr/" else end

"""What tables cannot say: programs that carry programs, and a few with a grammar of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.databases import loses_rows
from stormclaw.security.shell.family_cases import deletes
from stormclaw.security.shell.more_than_looks import more_than_looks
from stormclaw.security.shell.programs import Line, Operands, Program, given
from stormclaw.security.shell.scripts import awk_risk, sed_risk
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.shipped import AWKS, SEDS

_MAKE_SHELL = re.compile(r"(SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES)\s*[:+?]?=")
_SQLITE_RUNS = re.compile(r"^\s*\.(sh|sy|shell|system|o|output|once|ou|i|import|e|ex|excel|www|"
                          r"load|lo|read|rea|log|backup|save|open|clone)", re.M)  # fmt: skip


PAGERS = frozenset({"less", "zless", "more", "most", "pg"})
_BY_NAME = frozenset({"pgrep", "pidof", "ps", "pidwait"})
_OVERRIDES: Mapping[str, tuple[str, ...]] = {
    "tox": ("-x", "--override"), "nodemon": ("-x", "--exec"), "ghc": ("-e",),
    "just": ("--shell", "--command", "-c"), "celery": ("-b", "--broker"),
}  # fmt: skip
"""Options with which a tool of everyday work runs what the line says instead of the project."""


_SHOWS_FILES = frozenset({"cat", "", "zcat", "gunzip", "-c", "head"})
_AGENT = re.compile(r"-(javaagent|agentlib|agentpath)")
_SQLITE_OPENS = re.compile(r"\b(attach|load_extension|writefile|readfile|edit|fts3_tokenizer|vacuum"
                           r"\s+into)\b", re.I)  # fmt: skip


def by_hand(command: Command, line: Line) -> Iterator[Finding]:
    """Findings for one command, nothing for most."""
    name = command.name
    texts = [operand.text for operand in line.operands]
    yield from more_than_looks(command, line)
    if name in AWKS | {"awk"} and texts:
        reason = "not known before it runs" if line.operands[0].dynamic else awk_risk(texts[0])
        if reason:
            yield command.found("high", f"awk program: {reason}", "awk program")
    elif name in SEDS | {"sed"} and (reason := _sed_program_risk(line)):
        yield command.found("high", reason, "sed program")
    elif (
        name in ("make", "gmake")
        and (makefile := line.value("-f", "--file", "--makefile"))
        and (makefile.text in ("-", "/dev/stdin") or makefile.dynamic)
    ):
        yield command.found("high", "runs a makefile that arrives on its input", "inline code")
    elif name in ("make", "gmake") and any(map(_MAKE_SHELL.match, command.texts[1:])):
        yield command.found("high", "changes the shell make uses", "make SHELL")
    elif name == "rustc" and any("linker" in text for text in command.texts[1:]):
        yield command.found("high", "names the program that links", "rustc linker")
    elif name == "java" and any(map(_AGENT.match, command.texts[1:])):
        yield command.found("high", "loads code into the program first", "java agent")
    elif name == "sqlite3" and any(map(loses_rows, texts[1:])):
        yield command.found("high", "a statement that loses data", "database statement",
                            liftable=True)  # fmt: skip
    elif name == "sqlite3" and (why := _sqlite_fed(command)):
        yield command.found("high", why, "sqlite3 commands")
    elif name == "sqlite3" and any(map(_SQLITE_OPENS.search, texts)):
        yield command.found("high", "a statement that opens files or loads code",
                            "sqlite3 commands")  # fmt: skip
    elif name == "sqlite3" and any(_SQLITE_RUNS.search(text) for text in texts):
        yield command.found("high", "a dot command can run programs", "sqlite3 commands")
    elif name == "zip" and any(re.match(r"-\w*TT", text) for text in command.texts[1:]):
        yield command.found("high", "-TT names a program to run", "zip -TT")
    elif name == "patch" and not line.has("--dry-run", "-C"):
        yield command.found("high", "changes whatever files the patch names", "patch")
    elif name == "chmod" and texts and re.fullmatch(r".*[+=]\w*s\w*|[2-7]\d{3}", texts[0]):
        yield command.found("high", "lets a file run with another person's rights", "set-uid")
    elif name == "hostname" and texts:
        yield command.found("high", "renames this machine", "hostname")
    elif name == "kill" and (command.embedded | command.upstream) & _BY_NAME:
        yield command.found("high", "stops processes by name", "kill by name")
    elif name in _OVERRIDES and line.has(*_OVERRIDES[name]):
        yield command.found("high", f"{name} is told other commands to run", f"{name} override")
    elif name == "kill" and {"1", "-1", "0"} & set(command.texts[2:]):
        yield command.found("high", "stops processes that are not its own", "kill everything")
    elif name in PAGERS and texts and not _shows_files(command):
        yield command.found("high", "a pager runs programs, also without being asked (LESSOPEN)",
                            "pager")  # fmt: skip
    elif name == "find" and "-delete" in command.texts:
        yield deletes(command)
    elif name == "rsync" and any(re.match(r"[^/]*:", text) for text in texts):
        yield command.found("high", "copies to or from another machine", "rsync remote")


def _sqlite_fed(command: Command) -> str:
    """Why what arrives on the input of sqlite3 may do harm: its dot commands run programs."""
    if not command.fed:
        return ""
    if command.stdin is None:
        unseen = command.scope.written or command.upstream - _SHOWS_FILES
        return "runs commands that arrive on its input" if unseen else ""
    if _SQLITE_RUNS.search(command.stdin) or _SQLITE_OPENS.search(command.stdin):
        return "a dot command can run programs"
    return "a statement that loses data" if loses_rows(command.stdin) else ""


def _shows_files(command: Command) -> bool:
    """Whether less and more only show: no start command, no key file; a child has no terminal.

    `LESSOPEN` does not reach a child, so that nothing runs without being asked.
    """
    words = command.texts[1:]
    plain = all(
        re.fullmatch(r"-[NSRFXiIEegmMsqwRd]+|-\d+|\+\d+|\+G|[^-+].*", word) for word in words
    )
    return command.name in ("less", "more") and plain


def link_parts(command: Command, line: Line) -> Line:
    """`ln -s TARGET LINK`: a relative target is read from where the link will be."""
    if not line.has("-s", "--symbolic") or len(line.operands) != 2 or line.has("-t", "-r"):
        return line
    target, link = line.operands
    if not (target.literal and link.literal) or target.text.startswith(("/", "~")):
        return line
    places = command.scope.paths(link.text) or ()
    inside = bool(places) and all(place.is_dir() for place in places)
    folder = link.text if inside else str(PurePosixPath(link.text).parent)
    seen = replace(target, text=f"{folder}/{target.text}")
    return Line(line.options, (seen, link))


def sed_parts(command: Command, program: Program, line: Line) -> tuple[Program, Line]:
    """sed reads files, or with -i writes them; with -e no operand is the program."""
    inplace = any(o.name == "-i" or o.name.startswith("--in") for o in line.options)
    scripted = line.has("-e", "--expression")
    kind: Operands = "write" if inplace else "read"
    operands = line.operands if scripted else line.operands[1:]
    return replace(program, operands=kind), Line(line.options, operands)


def _sed_program_risk(line: Line) -> str:
    """Why the programs of a sed command line may do harm, "" if they only change text."""
    given_scripts = [o.value for o in line.options if given(o.name, ("-e", "--expression"))]
    scripts: list[Arg | None] = [*given_scripts] if given_scripts else list(line.operands[:1])
    for script in scripts:
        if script is None or script.dynamic:
            return "its program is only known when it runs"
        reason = sed_risk(script.text)
        if reason:
            return reason
    return ""

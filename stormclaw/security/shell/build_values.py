"""Values handed to builds: a variable of make may be a program, or a place to install to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.environment import PATH_LISTS, poison
from stormclaw.security.shell.interpreters import INTERPRETERS
from stormclaw.security.shell.operands import judge_arg
from stormclaw.security.shell.programs import base_name
from stormclaw.security.shell.removals import REMOVERS
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.wrappers import SHELLS

_ASSIGNS = re.compile(r"([A-Za-z_.][\w.-]*)\s*[:+?!]*=(.*)", re.S)
_SHELL_SYNTAX = re.compile(r"[;|&`<>#\n]|\$\(|\$\{")
_PLACES = re.compile(r"DESTDIR|(exec_?)?prefix|(\w+_)?PREFIX|\w+dir|INSTALL_ROOT|INSTALL_PATH|"
                     r"(\w+_)?INSTALL_DIR|INSTALLDIR|BUILD_?DIR|OUT_?DIR", re.I)  # fmt: skip
_CMAKE_RUNS = re.compile(
    r"\w*(LAUNCHER|COMPILER|LINKER|_PROGRAM|_EXECUTABLE|_COMMAND|TOOLCHAIN_FILE|_HOOK|_EMULATOR|"
    r"_INCLUDE|CLANG_TIDY|CPPCHECK|CPPLINT|INCLUDE_WHAT_YOU_USE|LINK_WHAT_YOU_USE|_SHELL|_AR|"
    r"_RANLIB|RULE_MESSAGES|MODULE_PATH|PREFIX_PATH|_INJECT)\w*"
)
_KNOWN_TOOLS = re.compile(
    r"((/usr(/local)?)?/bin/)?(s?ccache|distcc|gcc|g\+\+|clang|clang\+\+|cc|c\+\+|tcc|nvcc|ninja|"
    r"make|gmake|lld|gold|mold|bfd|ld|ld\.lld|g?ar|ranlib|python\d?|gfortran|clang-tidy|cppcheck|"
    r"cl|rustc|LLD|GOLD|MOLD|DEFAULT|wine|qemu-\w+|node)?(-\d+(\.\d+)*)?|ON|OFF|TRUE|FALSE|[01]|"
    r"(\./)?[\w-]+(/[\w.-]+)*\.cmake|(\./)?(cmake|build|third_party)(/[\w.-]+)*", re.I)  # fmt: skip
_CODE_VARIABLES = frozenset({"PYTHON", "NODE", "RUBY", "PERL", "SHELL", "SUDO", "RM", "CP", "MV",
                             "INSTALL", "GO", "CARGO", "DOCKER", "CMD", "RUN", "EXEC", "LAUNCHER",
                             "STRIP", "AS", "NM", "LEX", "YACC", "AWK", "SED", "PIP", "NPM",
                             "PYTEST", "TEST_RUNNER", "WRAPPER", "EMULATOR"})  # fmt: skip


def build_values(command: Command) -> Iterator[Finding]:
    """Findings for values that a build runs, or installs to."""
    name = command.name
    if name in ("make", "gmake", "ninja", "just", "task", "mage"):
        yield from _make(command)
    elif name == "cmake":
        yield from _cmake(command)
        if "--" in command.texts:
            behind = command.args[command.texts.index("--") :]
            yield from _make(replace(command, args=behind))
    elif name == "cargo":
        yield from _written(command, ("--root", "--target-dir", "--out-dir", "--artifact-dir"))
    elif name == "go":
        yield from _written(command, ("-coverprofile", "-cpuprofile", "-memprofile", "-trace",
                                      "-blockprofile", "-mutexprofile", "-outputdir",
                                      "-test.coverprofile", "-pkgdir"))  # fmt: skip
    elif name in ("pytest", "py.test"):
        yield from _base_folder(command)


def _make(command: Command) -> Iterator[Finding]:
    for arg in command.args[1:]:
        if re.fullmatch(r"-[a-df-ik-zB]*e[a-df-ik-zB]*|--env\w*(-\w+)*", arg.text):
            yield command.found("high", "lets variables from outside decide what runs", "make -e")
        match = _ASSIGNS.fullmatch(arg.text)
        if match is None or arg.text.startswith("-"):
            continue
        name, value = match[1], match[2].strip()
        if name in ("SHELL", ".SHELLFLAGS", "MAKEFILES"):
            yield command.found("high", "changes the shell make uses", "make SHELL")
        reason = "" if name in PATH_LISTS else poison(name, None if "\0" in value else value)
        if reason or _SHELL_SYNTAX.search(value) or _runs(name, value):
            why = reason or f"{name} holds a command"
            yield command.found("high", why, "make variable", liftable=bool(reason))
        elif _PLACES.fullmatch(name) and value.startswith(("/", "~", "..")):
            yield from judge_arg(command, Arg(value, arg.raw), "write")


def _runs(name: str, value: str) -> bool:
    """Whether a variable of make is a program that the recipes will start."""
    words = value.split()
    if not words:
        return False
    first = base_name(words[0])
    carries = len(words) > 1 and first in SHELLS | INTERPRETERS.keys()
    barred = first in REMOVERS | {"rm", "dd", "sudo", "curl", "wget", "eval", "env", "xargs"}
    project = name in _CODE_VARIABLES and words[0].startswith(("./", "../", "src/"))
    return carries or barred or project


def _cmake(command: Command) -> Iterator[Finding]:
    words = list(command.args[1:])
    for position, arg in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else None
        text = following.text if arg.text == "-D" and following else arg.text.removeprefix("-D")
        match = re.fullmatch(r"([\w]+)(?::\w+)?=(.*)", text, re.S)
        if arg.text.startswith("-D") and match and _CMAKE_RUNS.fullmatch(match[1]):
            if match[1].endswith("PREFIX_PATH") or match[1].endswith("MODULE_PATH"):
                yield from judge_arg(command, Arg(match[2], arg.raw), "read")
            elif not _KNOWN_TOOLS.fullmatch(match[2]):
                yield command.found("high", f"{match[1]} names a program that the build runs",
                                    "cmake variable", liftable=True)  # fmt: skip
        if arg.text.startswith("-D") and match and _SHELL_SYNTAX.search(match[2].replace(";", "")):
            yield command.found("high", f"{match[1]} holds a command", "cmake variable")
    if any(arg.text.startswith("--install") for arg in words):
        yield from _written(command, ("--prefix",))


def _written(command: Command, options: tuple[str, ...]) -> Iterator[Finding]:
    """Folders and files that a build is told to write."""
    words = command.args[1:]
    for position, arg in enumerate(words):
        name, equals, value = arg.text.partition("=")
        name = f"-{name.lstrip('-')}" if len(options[0].split("-")) == 2 else name
        if name not in options:
            continue
        if equals:
            yield from judge_arg(command, Arg(value, arg.raw), "write")
        elif position + 1 < len(words):
            yield from judge_arg(command, words[position + 1], "write")


def _base_folder(command: Command) -> Iterator[Finding]:
    """`pytest --basetemp=DIR` empties DIR first; also as `--base` and the like."""
    words = command.args[1:]
    for position, arg in enumerate(words):
        name, equals, value = arg.text.partition("=")
        if not (name.startswith("--ba") and "--basetemp".startswith(name)):
            continue
        chosen = Arg(value, arg.raw) if equals else (*words[position + 1 :], Arg("", ""))[0]
        yield from judge_arg(command, chosen, "write")
        places = command.scope.paths(chosen.text) if chosen.literal else None
        if places is None or any(
            place.exists() and not _is_scratch(place.name) for place in places
        ):
            yield command.found("high", "empties the folder it is given", "pytest --basetemp")


def _is_scratch(name: str) -> bool:
    return bool(re.fullmatch(r"\.?(pytest[\w.-]*|tmp|temp|basetemp|scratch)", name))

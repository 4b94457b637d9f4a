"""Interpreters: a file of the project is one thing, code on the command line another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.operands import judge_arg, judge_operands
from stormclaw.security.shell.programs import Program, entry, take_apart
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.tame_inline import carried_code, parses, read_code, serves_here
from stormclaw.security.shell.tame_python import Tame, tame_python


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How an interpreter is told what to run.

    Attributes:
        program: Its options; `high` are those that carry or load code.
        module: The option that names a module instead of a file.
        alone: Options with which it needs no file and reads no code from its input.
    """

    program: Program
    module: str = ""
    alone: frozenset[str] = frozenset()


_NODE = Interpreter(
    entry("medium", values="--cwd", texts="--conditions -C --test-name-pattern --watch-path",
          high="-e --eval -p --print -pe -r --require --import --loader --experimental-loader "
               "--env-file -i --interactive --build-snapshot"),
    alone=frozenset({"--test", "--run", "--check", "-c"}),
)  # fmt: skip

INTERPRETERS: Mapping[str, Interpreter] = {
    "python": Interpreter(
        entry("medium", texts="-m -W -X", high="-c -i --check-hash-based-pycs"), module="-m"
    ),
    "node": _NODE,
    "nodejs": _NODE,
    "perl": Interpreter(entry("medium", texts="-F", values="-I",
                              high="-e -E -M -m -i -n -p -d -S -x -s")),
    "ruby": Interpreter(entry("medium", values="-I -C",
                              high="-e -r -n -p -i -x -s -S --disable-gems")),
    "php": Interpreter(entry("medium", values="-c -t", high="-r -B -R -E -F -d -S -a -z")),
    "lua": Interpreter(entry("medium", high="-e -l -i")),
    "Rscript": Interpreter(entry("medium", high="-e")),
    "osascript": Interpreter(entry("medium", high="-e -i -l")),
    "elixir": Interpreter(entry("medium", high="-e --eval -r --rpc-eval")),
    "julia": Interpreter(entry("medium", values="--project", high="-e -E -L --eval --load")),
    "tclsh": Interpreter(entry("medium")),
    "groovy": Interpreter(entry("medium", high="-e")),
    "scala": Interpreter(entry("medium", high="-e")),
    "ocaml": Interpreter(entry("medium", high="-e")),
}  # fmt: skip
_ANY = entry("medium")
_MAKES = entry("medium", "write", texts="--prompt")
ALIASES = {"pypy": "python", "luajit": "lua", "py": "python"}

CODE_MODULES = frozenset(
    {
        "webbrowser",
        "antigravity",
        "pty",
        "idlelib",
        "asyncio",
        "smtplib",
        "ftplib",
        "telnetlib",
        "pickletools",
        "timeit",
        "code",
        "runpy",
        "pdb",
        "cProfile",
        "profile",
        "trace",
    }
)
"""Python modules that run what they are given as text or another file."""

PROFILERS = frozenset({"cProfile", "profile"})
_SHELLS_OF_FRAMEWORKS = frozenset({"shell", "shell_plus", "tinker", "console", "dbshell", "runner"})
HARMLESS_MODULES = frozenset({"json.tool", "tokenize", "calendar", "platform", "this", "sysconfig"})
LIKE_PROGRAMS = frozenset({"pytest", "pip", "uv", "ruff", "mypy", "black", "coverage", "tox"})
"""`python -m pip` is judged as `pip`."""

STANDARD_INPUT = re.compile(r"/+dev/+((std(in|out|err)|tty\w*|pts/.*|fd/.*|ptmx)|\./.*|\.\./.*)|"
                            r"/+proc/.*|-|.*/dev/(stdin|fd/\d+|tty)")  # fmt: skip
"""Names of what is open or typed: no files of the project, whoever reads them."""

_TELLS = frozenset({"--version", "-V", "-VV", "--help", "-h", "-v"})


def interpreter(name: str) -> Interpreter | None:
    """The table entry of an interpreter."""
    return INTERPRETERS.get(ALIASES.get(name, name))


def module_command(command: Command) -> tuple[Arg, ...] | None:
    """`python -m pip install x` as `pip install x`, where the module is a program of its own."""
    kind = interpreter(command.name)
    if kind is None or not kind.module:
        return None
    for index, arg in enumerate(command.args[1:], start=1):
        if not arg.text.startswith("-"):
            return None
        if arg.text == kind.module and len(command.args) > index + 1:
            inner = command.args[index + 1 :]
            return inner if inner[0].text in LIKE_PROGRAMS else None
    return None


def judge_interpreter(command: Command, kind: Interpreter) -> Iterator[Finding]:
    """Findings for an interpreter's command line."""
    name = command.name
    own, operands = _own_part(command, kind)
    line = take_apart(own, kind.program)
    yield from judge_operands(command, line, kind.program)
    if len(command.args) == 2 and command.args[1].text in _TELLS:
        yield command.found("low", "tells its version", f"shipped list: {name}")
        return
    if name == "php" and (served := serves_here(command.texts[1:])):
        yield command.found(*served, liftable=served[0] != "low")
        return
    carried = next((o.name for o in line.options if o.name in kind.program.high), "")
    if carried:
        tame = list(_tame(command, own, operands))
        if tame:
            yield from tame
            return
        reason = f"{name} {carried} runs code that no list knows"
        yield command.found("high", reason, "inline code", liftable=True)
        return
    module = line.value(kind.module) if kind.module else None
    if module is not None:
        yield _module(command, module, operands)
    elif operands and not STANDARD_INPUT.fullmatch(operands[0].text):
        yield from _file(command, operands[0])
        if len(operands) > 1 and operands[1].text in _SHELLS_OF_FRAMEWORKS:
            inner = operands[2:] if len(operands) == 4 else []
            given_code = bool(inner) and inner[0].text in ("-c", "--command")
            if (
                given_code
                and operands[3].literal
                and isinstance(tame_python(operands[3].text), Tame)
            ):
                yield from _python(command, operands[3].text)
                return
            yield command.found("high", f"{operands[1].text} runs code it is given", "inline code",
                                liftable=True)  # fmt: skip
    elif line.has(*kind.alone):
        yield command.found("medium", "runs the tests of the project", f"shipped list: {name}",
                            liftable=True)  # fmt: skip
    elif kind.module and command.stdin is not None and not operands[1:]:
        yield from _python(command, command.stdin)
    elif (
        name in ("node", "ruby")
        and command.stdin is not None
        and not operands[1:]
        and not own
        and (found := read_code(name, command.stdin)) is not None
    ):
        yield from _touched(command, found)
        yield command.found("medium", "runs code that only computes and prints", "tame code",
                            liftable=True)  # fmt: skip
    else:
        reason = f"{name} runs whatever arrives on its input"
        yield command.found("high", reason, "inline code", liftable=not command.fed)
    made = _MAKES if module is not None and module.text in ("venv", "virtualenv") else _ANY
    rest = take_apart(operands if module is not None else operands[1:], made)
    yield from judge_operands(command, rest, made)


def _tame(command: Command, own: list[Arg], operands: list[Arg]) -> Iterator[Finding]:
    """Findings for code on the command line that was read and only computes; none if it may not."""
    language = ALIASES.get(command.name, command.name)
    if not operands or not operands[0].literal:
        return
    use = carried_code(language, [arg.text for arg in own], [arg.text for arg in operands[1:]])
    found = read_code(language, operands[0].text) if use else None
    if found is None:
        return
    yield from _touched(command, found)
    for arg in operands[1:]:
        yield from judge_arg(command, arg, use)
    yield command.found("medium", "runs code that only computes and prints", "tame code",
                        liftable=True)  # fmt: skip


def _python(command: Command, code: str) -> Iterator[Finding]:
    found = tame_python(code)
    if isinstance(found, str):
        yield command.found("high", f"Python from its input: {found}", "inline code", liftable=True)
        return
    yield from _touched(command, found)
    yield command.found("medium", "runs code that only computes and prints", "tame code",
                        liftable=True)  # fmt: skip


def _touched(command: Command, found: Tame) -> Iterator[Finding]:
    own = {part for name in found.project for part in re.split(r"[/.]", name) if part}
    if any(own & {path.stem, *path.parts[-3:]} for path in command.scope.written):
        yield command.found("high", "runs a file that this line writes", "written and run")
    for text in found.reads:
        yield from judge_arg(command, Arg(text, text), "read")
    command.scope.note_written(found.writes)
    for text in found.writes:
        yield from judge_arg(command, Arg(text, text), "write")


def _own_part(command: Command, kind: Interpreter) -> tuple[list[Arg], list[Arg]]:
    """The interpreter's own options, and from the script on everything else."""
    own: list[Arg] = []
    rest = list(command.args[1:])
    while rest and rest[0].text.startswith("-") and rest[0].text != "-":
        arg = rest.pop(0)
        own.append(arg)
        line = take_apart([arg], kind.program)
        last = line.options[-1] if line.options else None
        if last and last.name in kind.program.takes_value and last.value is None and rest:
            own.append(rest.pop(0))
        if last and last.name == kind.module:
            break
    return own, rest


def _profiled(operands: list[Arg]) -> bool:
    """Whether the first operand of a profiler is a file of the project."""
    line = take_apart(operands, entry("medium", texts="-o -s --outfile --sort"))
    named = line.operands[:1]
    return bool(named) and named[0].literal and named[0].text.endswith(".py") and not line.has("-m")


def _all_tame(operands: list[Arg]) -> bool:
    line = take_apart(operands, entry("medium", texts="-n -r -s -u"))
    setup = [o.value for o in line.options if o.name == "-s" and o.value]
    codes = [*setup, *line.operands]
    if not all(code.literal and parses(code.text) for code in codes):
        return False
    found = tame_python("\n".join(code.text for code in codes))
    return bool(codes) and isinstance(found, Tame) and not found.reads + found.writes


def _module(command: Command, module: Arg, operands: list[Arg]) -> Finding:
    if not module.literal:
        return command.found("high", "a module only known when it runs", "dynamic command")
    if module.text in PROFILERS and _profiled(operands):
        return command.found("medium", f"runs a file of the project under {module.text}",
                             f"shipped list: python -m {module.text}", liftable=True)  # fmt: skip
    if module.text == "timeit" and _all_tame(operands):
        return command.found("medium", "runs code that only computes", "tame code", liftable=True)
    if module.text in CODE_MODULES:
        return command.found("high", f"python -m {module.text} runs code it is given",
                             "inline code", liftable=True)  # fmt: skip
    if module.text in HARMLESS_MODULES:
        return command.found("low", "only looks", f"shipped list: python -m {module.text}")
    return command.found("medium", f"runs the module {module.text}",
                         f"shipped list: python -m {module.text}", liftable=True)  # fmt: skip


def _file(command: Command, script: Arg) -> Iterator[Finding]:
    yield from judge_script(command, script, command.name)


def judge_script(command: Command, script: Arg, runner: str) -> Iterator[Finding]:
    """A file that is run as a program, by an interpreter or by itself."""
    if STANDARD_INPUT.fullmatch(script.text):
        yield command.found("high", "runs whatever arrives on its input", "inline code")
        return
    if script.dynamic or script.glob:
        yield command.found("high", "which file it runs is only known then", "dynamic command")
        return
    places = command.scope.paths(script.text) or ()
    if any(place.resolve() in command.scope.written for place in places):
        yield command.found("high", "runs a file that this line writes", "written and run")
    yield from judge_arg(command, script, "read")
    yield command.found("medium", "runs a file of the project", f"shipped list: {runner} FILE",
                        liftable=True)  # fmt: skip

"""Programs that run another command: what they run is taken out and judged itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stormclaw.protocol.effects import Risk
from stormclaw.security.shell.programs import base_name
from stormclaw.security.shell.shell_words import Arg
from stormclaw.security.shell.shipped_subcommands import FAMILIES, PACKAGE_RUNNERS, Family
from stormclaw.security.shell.wrapper_table import WRAPPERS, Wrapper

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh",
                    "tcsh"})  # fmt: skip
UNKNOWN_ARG = Arg("\0", "what arrives on its input")

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.S)


@dataclass(frozen=True, slots=True)
class Peeled:
    """What was inside.

    Attributes:
        commands: Commands it runs.
        code: Shell texts it runs.
        assigns: `NAME=value` words for the environment.
        risk: Of the wrapper itself.
        reason: Why.
        stdin: It runs what arrives on its standard input.
        outer: The wrapper's own part of the line, where its options need judging.
        operands: Words handed to the code.
    """

    commands: tuple[tuple[Arg, ...], ...] = ()
    code: tuple[Arg, ...] = ()
    assigns: tuple[Arg, ...] = ()
    risk: Risk = "low"
    reason: str = ""
    stdin: bool = False
    outer: tuple[Arg, ...] = ()
    operands: tuple[Arg, ...] = ()


FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def peel(args: tuple[Arg, ...]) -> Peeled | None:
    """What a wrapper runs; None if `args` is no wrapper."""
    name = base_name(args[0].text)
    if name in SHELLS:
        return _shell(args)
    if name == "find":
        return _find(args)
    if name == "eval":
        return Peeled(code=(_joined(args[1:]),)) if len(args) > 1 else Peeled()
    family = FAMILIES.get(name)
    if family is not None and family.runs:
        return _family_run(args, family)
    if name in PACKAGE_RUNNERS:
        return _package_run(args)
    wrapper = WRAPPERS.get(name)
    return None if wrapper is None else _peel(args, wrapper, name)


def _peel(args: tuple[Arg, ...], wrapper: Wrapper, name: str) -> Peeled:
    rest = list(args[1:])
    if name == "direnv" and [arg.text for arg in rest] in (["status"], ["version"]):
        return Peeled()
    code: list[Arg] = []
    assigns: list[Arg] = []
    risk, reason = wrapper.risk, wrapper.reason
    while rest and rest[0].text.startswith("-") and rest[0].text != "-":
        option = rest.pop(0)
        if option.text == "--":
            break
        if name == "command" and option.text in ("-v", "-V"):
            return Peeled()
        key, glued = _option(option.text, wrapper)
        if _among(key, wrapper.poison):
            risk, reason = "high", f"{name} {key} changes what runs"
        if _among(key, wrapper.code | wrapper.values):
            taken = Arg(glued, option.raw) if glued else rest.pop(0) if rest else option
            if _among(key, wrapper.code):
                code.append(taken)
    while wrapper.assigns and rest and _ASSIGNMENT.match(rest[0].text):
        assigns.append(rest.pop(0))
    del rest[: wrapper.positionals]
    if rest and rest[0].text in wrapper.code:
        code += rest[1:2]
        rest = []
    if name in ("watch", "hyperfine") and rest:
        code.append(_joined(rest))
        rest = []
    if wrapper.feeds and rest:
        rest.append(UNKNOWN_ARG)
    return Peeled((tuple(rest),) if rest else (), tuple(code), tuple(assigns), risk, reason)


def _family_run(args: tuple[Arg, ...], family: Family) -> Peeled | None:
    """`uv run pytest`, `npm exec -- jest`: the command behind the subcommand."""
    outer = _skip_options(list(args[1:]), family.program.takes_value)
    if not outer or outer[0].text not in family.runs:
        return None
    peeled = _run(outer[1:], family.program.takes_value, base_name(args[0].text))
    kept = len(peeled.commands[0]) if peeled.commands else 0
    return replace(peeled, outer=args[: len(args) - kept])


def _package_run(args: tuple[Arg, ...]) -> Peeled:
    """`npx eslint .`: a program out of a package, by its name without version."""
    return _run(list(args[1:]), frozenset({"-p", "--package", "--from", "--with"}), args[0].text)


def _run(rest: list[Arg], values: frozenset[str], runner: str) -> Peeled:
    for index, arg in enumerate(rest):
        name, equals, value = arg.text.partition("=")
        if name in ("-c", "--call"):
            code = Arg(value, arg.raw) if equals else (rest[index + 1 : index + 2] or [arg])[0]
            return Peeled(code=(code,), risk="medium", reason=f"{runner} runs shell text")
        if not arg.text.startswith("-"):
            break
    inner = _skip_options(rest, values)
    if not inner:
        return Peeled(risk="medium", reason=f"{runner} runs something of the project")
    head = inner[0]
    if head.text.endswith(".py"):
        inner.insert(0, Arg("python", "python"))
    elif "@" in head.text:
        name = re.sub(r"(?<=.)@[\w.^~-]*$", "", head.text).replace("/", "@")
        inner[0] = replace(head, text=name)
    return Peeled((tuple(inner),), risk="medium", reason=f"{runner} runs a command")


def _skip_options(rest: list[Arg], values: frozenset[str]) -> list[Arg]:
    while rest and rest[0].text.startswith("-"):
        option = rest[0].text
        rest = rest[2:] if option in values and "=" not in option else rest[1:]
        if option == "--":
            break
    return rest


def _shell(args: tuple[Arg, ...]) -> Peeled | None:
    """`bash -c TEXT` or a shell that runs its standard input; None for `bash FILE`."""
    rest = list(args[1:])
    while rest and rest[0].text[:1] in ("-", "+") and len(rest[0].text) > 1:
        option = rest.pop(0)
        if option.text == "--":
            break
        if option.text in ("--rcfile", "--init-file"):
            return Peeled(risk="high", reason="a start-up file of its own")
        if option.text in ("--version", "--help"):
            return Peeled()
        if option.text.startswith("--") and option.text != "--command":
            continue
        letters = option.text.lstrip("-+")
        if option.text == "--command" or ("c" in letters and option.text.startswith("-")):
            while rest and rest[0].text.startswith("-") and len(rest[0].text) > 1:
                rest.pop(0)
            code = rest[:1] or [UNKNOWN_ARG]
            return Peeled(code=tuple(code), operands=tuple(rest[1:]))
        if letters[-1:] in ("o", "O") and rest:
            rest.pop(0)
        if "s" in letters:
            return Peeled(stdin=True)
    if not rest or rest[0].text in ("-", "/dev/stdin"):
        return Peeled(stdin=True)
    return None


def shell_script(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The script of `bash -x FILE ARGS` and what it is given; empty where there is none."""
    rest = list(args[1:])
    while rest and rest[0].text[:1] in ("-", "+"):
        option = rest.pop(0)
        if option.text[-1:] in ("o", "O") and not option.text.startswith("--") and rest:
            rest.pop(0)
    return tuple(rest)


def _find(args: tuple[Arg, ...]) -> Peeled | None:
    commands: list[tuple[Arg, ...]] = []
    index = 0
    while index < len(args):
        if args[index].text not in FIND_RUNS:
            index += 1
            continue
        inner: list[Arg] = []
        index += 1
        while index < len(args) and args[index].text not in (";", "+"):
            inner.append(UNKNOWN_ARG if "{}" in args[index].text and not inner else args[index])
            index += 1
        if inner:
            commands.append(tuple(inner))
    if not commands:
        return None
    return Peeled(tuple(commands), risk="medium", reason="runs a command on every file found")


def _option(text: str, wrapper: Wrapper) -> tuple[str, str]:
    """The option of a word that takes a value or matters, and the value glued to it."""
    if text.startswith("--"):
        name, _, value = text.partition("=")
        return name, value
    table = wrapper.values | wrapper.code | wrapper.poison
    for index, letter in enumerate(text[1:], start=1):
        if f"-{letter}" in table:
            return f"-{letter}", text[index + 1 :]
    return text, ""


def _among(key: str, table: frozenset[str]) -> bool:
    if key.startswith("--") and len(key) > 3:
        return any(known.startswith(key) for known in table)
    return key in table


def _joined(args: tuple[Arg, ...] | list[Arg]) -> Arg:
    """Several words as the one line that eval makes of them."""
    text = " ".join(arg.text for arg in args)
    raw = " ".join(arg.raw for arg in args)
    return Arg(
        text, raw, any(arg.glob for arg in args), tuple(o for arg in args for o in arg.others)
    )

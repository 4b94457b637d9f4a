"""Shell built-ins that change what later commands mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.environment import poison
from stormclaw.security.shell.interpreters import judge_script
from stormclaw.security.shell.operands import judge_arg

EVALUATED = re.compile(r"\$\(|`|\[[^\]]*\$")
"""Text that arithmetic and tests expand once more."""

_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxGLNOS")


def _source(command: Command) -> Iterator[Finding]:
    if len(command.args) < 2:
        yield command.found("high", "runs what arrives on its input", "inline code")
        return
    yield from judge_script(command, command.args[1], "source")


def _declare(command: Command) -> Iterator[Finding]:
    rule = f"shipped list: {command.name}"
    yield command.found("low", "sets variables of the shell", rule)
    by_reference = any(re.fullmatch(r"-\w*n\w*", text) for text in command.texts[1:])
    if by_reference and command.name in ("declare", "typeset", "local"):
        yield command.found("high", "another name for a variable", "variable by reference")
    for arg in command.args[1:]:
        if arg.dynamic:
            yield command.found("high", "sets variables only known when it runs",
                                "unknown variables", liftable=True)  # fmt: skip
        name, _, value = arg.text.partition("=")
        reason = poison(name, value) if "=" in arg.text else ""
        if reason:
            yield command.found("high", reason, f"environment: {name}")


def _sets_names(command: Command) -> Iterator[Finding]:
    yield command.found("low", "sets variables of the shell", f"shipped list: {command.name}")
    takes = {"-C"} if command.name in ("mapfile", "readarray") else set()
    if takes & set(command.texts[1:]):
        yield command.found("high", f"{command.name} -C runs code", "callback")
    for arg in command.args[1:]:
        reason = poison(arg.text, None) if re.fullmatch(r"[A-Za-z_]\w*", arg.text) else ""
        if reason:
            yield command.found("high", reason, f"environment: {arg.text}")
        if EVALUATED.search(arg.text):
            yield command.found("high", "runs code while it reads a name", "evaluated name")


def _printf(command: Command) -> Iterator[Finding]:
    yield command.found("low", "only prints", "shipped list: printf")
    words = command.texts
    if len(words) > 2 and words[1].startswith("-v"):
        name = words[1][2:] or words[2]
        reason = poison(name, None) or (EVALUATED.search(name) and "runs code in a name") or ""
        if reason:
            yield command.found("high", reason, f"environment: {name}")


def _tests(command: Command) -> Iterator[Finding]:
    yield command.found("low", "only tests", f"shipped list: {command.name}")
    if any(EVALUATED.search(arg.text) for arg in command.args[1:]):
        yield command.found("high", "runs code while it tests", "evaluated name")
    for operator, operand in zip(command.args[1:], command.args[2:], strict=False):
        if operator.text in _FILE_TESTS:
            yield from judge_arg(command, operand, "names")


_SHELL_SWITCHES = frozenset(
    {"globstar", "nullglob", "failglob", "dotglob", "extglob", "nocasematch", "nocaseglob",
     "inherit_errexit", "checkwinsize", "histappend", "cmdhist", "autocd"}
)  # fmt: skip
_SET_OPTIONS = frozenset(
    {"errexit", "nounset", "pipefail", "xtrace", "verbose", "noglob", "noclobber", "noexec",
     "errtrace", "functrace", "allexport", "monitor", "notify"}
)  # fmt: skip


def _shopt(command: Command) -> Iterator[Finding]:
    yield command.found("low", "only concerns this shell", f"shipped list: {command.name}")
    sets = any(re.fullmatch(r"-\w*[suo]\w*", text) for text in command.texts[1:])
    names = {text for text in command.texts[1:] if not text.startswith("-")}
    if sets and not names <= _SHELL_SWITCHES | _SET_OPTIONS:
        yield command.found("high", "changes how later commands are read", "built-in shopt")


def _set(command: Command) -> Iterator[Finding]:
    """`set -euo pipefail` is fine, `set -k` reads later words as variables; the rest are files."""
    yield command.found("low", "only concerns this shell", f"shipped list: {command.name}")
    rest = list(command.args[1:])
    while rest and rest[0].text[:1] in ("-", "+") and rest[0].text not in ("-", "--"):
        letters = rest.pop(0).text
        named = rest.pop(0).text if letters.endswith("o") and rest else ""
        if set(letters[1:]) & set("kHpB") or (named and named not in _SET_OPTIONS):
            yield command.found("high", "changes how later commands are read", "built-in set")
    for arg in rest:
        yield from judge_arg(command, arg, "read")


def _options_only(*dangerous: str) -> Callable[[Command], Iterator[Finding]]:
    def judge(command: Command) -> Iterator[Finding]:
        rule = f"shipped list: {command.name}"
        yield command.found("low", "only concerns this shell", rule)
        letters = {f"-{c}" for text in command.texts[1:] if text.startswith("-") for c in text[1:]}
        if letters & set(dangerous) or not dangerous:
            reason = f"{command.name} changes what later commands run"
            yield command.found("high", reason, f"built-in {command.name}")

    return judge


BUILTINS: Mapping[str, Callable[[Command], Iterator[Finding]]] = {
    "source": _source,
    ".": _source,
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "let"), _declare),
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts", "unset"), _sets_names),
    "printf": _printf,
    **dict.fromkeys(("test", "["), _tests),
    "alias": _options_only(),
    "bind": _options_only(),
    "complete": _options_only("-C", "-F"),
    "hash": _options_only("-p"),
    "enable": _options_only("-f", "-n"),
    "fc": _options_only(),
    "unalias": _options_only("-"),
    "history": _options_only("-w", "-a", "-r", "-n", "-c", "-d", "-s", "-p"),
    "shopt": _shopt,
    "set": _set,
    "trap": _options_only("-"),
}
"""`trap`, `eval` and `exec` run text or commands: `commands.py` takes those out and judges them."""


def trapped_code(command: Command) -> tuple[int, ...]:
    """Positions of the words that `trap` will run."""
    words = command.texts
    start = 2 if len(words) > 1 and words[1] == "--" else 1
    if len(words) < start + 2 or words[start] in ("-", "") or words[start].startswith("-"):
        return ()
    return (start,)

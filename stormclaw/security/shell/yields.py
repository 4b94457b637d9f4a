"""What a command substitution prints, as far as that is certain: its text, or names from here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from stormclaw.security.shell.shell_tree import Call, Pipe, Script, Statement, Word
from stormclaw.security.shell.shell_words import UNSEEN, Arg, decoded, known_form, plain

Expand = Callable[[tuple[Word, ...]], list[Arg]]

DECODERS = frozenset({"base64", "base32", "basenc", "xxd", "rev", "openssl", "uudecode", "gpg",
                      "od", "hexdump", "curl", "wget", "nc"})  # fmt: skip
"""Programs behind which nobody can say what the text was."""

_FILTERS = frozenset({"head", "tail", "sort", "uniq", "grep", "shuf", "wc", "egrep", "fgrep"})
"""What leaves lines as they are."""

_GIT_NAMES = frozenset({"ls-files", "rev-parse", "describe", "symbolic-ref", "merge-base",
                        "rev-list", "branch", "tag", "remote", "ls-tree"})  # fmt: skip
_GIT_LISTS = frozenset({"diff", "show", "log", "diff-tree", "status"})
_TOKENS = frozenset({"whoami", "nproc", "uname", "hostname", "id", "seq", "date", "wc", "arch",
                     "jobs"})  # fmt: skip
"""Print numbers and single words; never a path unless their own operands hold one."""

_LISTERS: Mapping[str, str] = {
    "find": r"(?!-printf|-fprint|-exec|-ok).*", "ls": r"(?!/).*",
    "fd": r"(?!-x|-X|--exec|--format|--path).*",
    "rg": r"(?!--pre|--replace|-r|--path).*", "grep": r"(?!-\w*o|--only|--label).*",
}  # fmt: skip
_FORMATS = re.compile(r"--(format|git|absolute|sq|parseopt|super|shared|resolve|local|path)")
"""Options with which git prints what it is told, or its own folder."""

_LISTING_OPTION: Mapping[str, str] = {
    "rg": r"-\w*l\w*|--files(-with(out)?-match(es)?)?",
    "grep": r"-\w*[lL]\w*|--files-with(out)?-match(es)?",
}
"""Options with which a search prints names instead of lines."""


def value_of(script: Script, expand: Expand) -> tuple[str, ...]:
    """The forms that `$(script)` may stand for; () where only the running shell knows.

    Args:
        script: The commands of the substitution.
        expand: Expands words with what is known where it stands.
    """
    if len(script) != 1:
        return ()
    text = printed(script[0], expand)
    if text is not None:
        return (known_form(text.rstrip("\n")),)
    if isinstance(script[0], Call) and [each.form for each in script[0].words] == ["pwd"]:
        here = expand((Word("pwd", '\0"PWD\0', 0),))
        return tuple(known_form(arg.text) for arg in here if arg.literal)
    return (UNSEEN,) if lists_names(script[0], expand) else ()


def printed(stage: Statement, expand: Expand, arriving: str | None = None) -> str | None:
    """What a command prints, where that is plain: echo, printf or cat of known text."""
    if not isinstance(stage, Call) or not stage.words:
        return None
    args = expand(stage.words)
    if not args or not all(arg.literal for arg in args):
        return None
    name, texts = args[0].text, [arg.text for arg in args[1:]]
    if name == "cat" and not texts:
        bodies = [each.body for each in stage.redirects if each.body is not None]
        return _known(plain(bodies[0].form)) if bodies else arriving
    if name == "echo":
        return _echoed(texts)
    if name == "printf" and texts:
        return _formatted(texts[0], texts[1:])
    return None


def lists_names(statement: Statement, expand: Expand) -> bool:
    """Whether all a command can print are names below the current folder, or single words."""
    if isinstance(statement, Pipe):
        first, *rest = statement.stages
        return lists_names(first, expand) and all(_filters(each, expand) for each in rest)
    if not isinstance(statement, Call) or not statement.words:
        return False
    args = [arg.text for arg in expand(statement.words)]
    if any("\0" in text for text in args):
        return False
    name, rest_of = args[0], args[1:]
    if name == "git":
        return _git_lists(rest_of)
    if any(re.match(r"(?:--[\w-]+=)?[/~]", text) or ".." in text for text in rest_of):
        return False
    if name in _TOKENS:
        return not any(re.search(r"[/\\]", text) for text in rest_of)
    if name not in _LISTERS or not all(re.fullmatch(_LISTERS[name], each) for each in rest_of):
        return False
    option = _LISTING_OPTION.get(name)
    return option is None or any(re.fullmatch(option, text) for text in rest_of)


def _git_lists(args: list[str]) -> bool:
    sub = args[0] if args else ""
    if any(_FORMATS.match(text) or text.startswith(("/", "~", "../")) for text in args):
        return False
    if sub in _GIT_LISTS:
        return "--name-only" in args and not any(text.startswith("--pretty") for text in args)
    return sub in _GIT_NAMES


def _filters(statement: Statement, expand: Expand) -> bool:
    """Whether a stage of a pipe hands lines on as they are, or leaves them out."""
    if not isinstance(statement, Call) or not statement.words:
        return False
    args = [arg.text for arg in expand(statement.words)]
    cuts = any(re.fullmatch(r"-\w*[co]\w*|--(bytes|only).*", text) for text in args[1:])
    return args[0] in _FILTERS and not cuts


def _known(text: str) -> str | None:
    return None if "\0" in text or UNSEEN in text else text


def _echoed(texts: Iterable[str]) -> str | None:
    rest, switches = list(texts), ""
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        switches += rest.pop(0)
    escapes = any("\\" in text for text in rest)
    if escapes and "e" not in switches:
        return None
    return "".join(decoded(" ".join(rest))) if escapes else " ".join(rest)


def _formatted(template: str, values: list[str]) -> str | None:
    """What `printf` makes of `%s`, `%%` and escapes; None for anything finer."""
    if re.search(r"%(?![sb%])", template):
        return None
    template = decoded(template.replace("%b", "%s"))
    pieces = re.split(r"(%s|%%)", template)
    fixed = {"%%": "%"}
    if "%s" not in pieces:
        return "".join(fixed.get(piece, piece) for piece in pieces)
    rest = list(values)
    made: list[str] = []
    while True:
        for piece in pieces:
            made.append((rest.pop(0) if rest else "") if piece == "%s" else fixed.get(piece, piece))
        if not rest:
            return "".join(made)

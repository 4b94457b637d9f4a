"""Quote removal and expansion of shell words, as far as they can be known without running them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

from stormclaw.security.shell.shell_tree import UNKNOWN, Word

UNSEEN = "\x01"
"""Stands for names below the current folder, or single words, that a substitution prints."""

SPECIAL = frozenset("\\*?[]{},~")
MAX_BRACES = 6
MAX_WORDS = 64
"""Most words one word may become; beyond that its value counts as unknown."""

Json: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, tuple[str, ...]]
Splitting: TypeAlias = Literal["normal", "none", "unknown"]
"""What becomes of unquoted values: split at blanks, kept whole (assignments), or nobody knows."""

_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
                 "f": "\f", "v": "\v"}  # fmt: skip
_VARIABLE = re.compile('\0("?)([^\0"]*)\0')
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")
_SAFE_REPLACEMENT = re.compile(r"(?=.*\w)[\w-][\w.-]*")
"""What `${x/a/b}` may put in so that a path stays in its folder: never empty, dots or a slash."""

_SUFFIX_CUTS = frozenset({"%", "%%"})
_PREFIX_CUTS = frozenset({("##", "*/"), ("#", "./")})
"""Cuts after which a name still lies below the current folder."""

_OTHER_VALUES = frozenset({":-", "-", ":=", "=", ":+", "+"})


@dataclass(frozen=True, slots=True)
class Arg:
    """A word after expansion.

    Attributes:
        text: Its value; a piece that is unknown is one NUL, one of which the folder is known is
            `UNSEEN`.
        raw: As written.
        glob: It still holds a pattern the shell would match against file names.
        others: Values it may have instead.
    """

    text: str
    raw: str
    glob: bool = False
    others: tuple[str, ...] = ()

    @property
    def dynamic(self) -> bool:
        """Whether its value is only known when it runs."""
        return self.unknown or UNSEEN in self.text

    @property
    def unknown(self) -> bool:
        """Whether not even the folder of what it names is known."""
        return "\0" in self.text

    @property
    def literal(self) -> bool:
        """Whether this is exactly the text the program gets."""
        return not (self.dynamic or self.glob or self.others)


def form_of(parts: Sequence[Json], heredoc: str = "") -> tuple[str, tuple[str, ...], bool]:
    """The form of a word (see `Word.form`), its default values, whether it is evaluated as code.

    Args:
        parts: shfmt's parts of the word.
        heredoc: "literal" or "expanded" for the body of a here-document.
    """
    form: list[str] = []
    defaults: list[str] = []
    evaluates = False
    for part in parts:
        if heredoc and part["Type"] == "Lit":
            value = part["Value"]
            form.append(_quoted(value if heredoc == "literal" else _unescaped(value, "$`\\")))
            continue
        piece, others, runs = _part(part, quoted=bool(heredoc))
        form.append(piece)
        defaults += others
        evaluates |= runs
    return "".join(form), tuple(defaults), evaluates


def expand(words: Iterable[Word], values: Values, splitting: Splitting = "normal") -> list[Arg]:
    """The arguments that words become.

    Args:
        words: Before expansion.
        values: What variables are known to hold; several values are alternatives.
        splitting: What becomes of unquoted values.
    """
    return [arg for word in words for arg in _expanded(word, values, splitting)]


def substitution(at: int) -> str:
    """The name under which `Values` holds what the substitution at this byte offset prints."""
    return f"({at}"


def known_form(text: str) -> str:
    """The form of text that is known letter by letter."""
    return _quoted(text)


def plain(form: str) -> str:
    """The text of a form, its quoting removed; unknown pieces are one NUL each."""
    return re.sub(r"\\(.)", r"\1", _VARIABLE.sub("\0", form), flags=re.S)


def _part(part: Json, *, quoted: bool) -> tuple[str, list[str], bool]:
    match part["Type"]:
        case "Lit" if quoted:
            return _quoted(_unescaped(part["Value"], '$`"\\')), [], False
        case "Lit":
            return _unquoted_literal(part["Value"]), [], False
        case "SglQuoted":
            value = part.get("Value", "")
            return _quoted(decoded(value) if part.get("Dollar") else value), [], False
        case "DblQuoted":
            pieces = [_part(each, quoted=True) for each in part.get("Parts") or ()]
            others = [other for piece in pieces for other in piece[1]]
            return "".join(piece[0] for piece in pieces), others, any(p[2] for p in pieces)
        case "ParamExp":
            return _parameter(part, quoted=quoted)
        case "CmdSubst":
            mark = substitution(part["Pos"]["Offset"])
            return f'\0"{mark}\0' if quoted else f"\0{mark}\0", [], False
        case "ExtGlob":
            return "*", [], False
        case _:
            return UNKNOWN, [], False


def _parameter(part: Json, *, quoted: bool) -> tuple[str, list[str], bool]:
    name = (part.get("Param") or {}).get("Value", "")
    known = f'\0"{name}\0' if quoted else f"\0{name}\0"
    if part.get("Repl") and _SAFE_REPLACEMENT.fullmatch(_replacement(part)):
        return f"{known}*", [], False
    if part.get("NestedParam") or any(
        part.get(key) for key in ("Excl", "Length", "Width", "Index", "Slice", "Repl", "Names")
    ):
        return UNKNOWN, [], False
    change = part.get("Exp")
    if not change:
        return known, [], False
    word, _, _ = form_of((change.get("Word") or {}).get("Parts") or ())
    operator = change.get("Op", "")
    if operator in _OTHER_VALUES:
        return UNKNOWN, [word], False
    if operator in _SUFFIX_CUTS or (operator, word) in _PREFIX_CUTS:
        return known, [], False
    return UNKNOWN, [], operator == "@" and word == "P"


def _replacement(part: Json) -> str:
    return plain(form_of(((part["Repl"] or {}).get("With") or {}).get("Parts") or ())[0])


def _unquoted_literal(value: str) -> str:
    return re.sub(r"\\(.)", lambda m: "" if m[1] == "\n" else _quoted(m[1]), value, flags=re.S)


def _unescaped(value: str, escapable: str) -> str:
    return re.sub(
        r"\\(.)",
        lambda m: "" if m[1] == "\n" else m[1] if m[1] in escapable else m[0],
        value,
        flags=re.S,
    )


def _quoted(value: str) -> str:
    return "".join(f"\\{char}" if char in SPECIAL else char for char in value)


def decoded(value: str) -> str:
    """Text with the escapes of `$'...'`, `printf` and `echo -e` worked out, up to a NUL."""
    return _ANSI.sub(_ansi_char, value).split("\0", 1)[0]


def _ansi_char(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    if hexadecimal:
        return chr(min(int(hexadecimal, 16), 0x10FFFF))
    if match[4]:
        return chr(int(match[4], 8) & 0xFF)
    if match[5]:
        return chr(ord(match[5]) & 0x1F)
    return _ANSI_LETTERS.get(match[6], match[6] if match[6] in "\\'\"?" else match[0])


def _expanded(word: Word, values: Values, splitting: Splitting) -> list[Arg]:
    found: list[Arg] = []
    for form in _braces(word.form):
        pieces = _split(form, values) if splitting == "normal" else [form]
        for piece in pieces:
            texts = _substituted(piece, values, splitting)
            others = (*texts[1:], *map(plain, word.defaults))
            unquoted = re.sub(r"\\.", "", texts[0], flags=re.S)
            glob = bool(_GLOB.search(unquoted))
            arg = Arg(plain(texts[0]), word.raw, glob, tuple(map(plain, others)))
            tilde = piece.startswith("~")
            found.append(arg if tilde else _inert_tilde(arg))
    return found


def _inert_tilde(arg: Arg) -> Arg:
    """A quoted `~` is a file name, so it must not look like the home folder later."""
    return replace(arg, text=f"./{arg.text}") if arg.text.startswith("~") else arg


def _split(form: str, values: Values) -> list[str]:
    """Word splitting, where the pieces are known: an unquoted variable alone."""
    match = _VARIABLE.fullmatch(form)
    if not match or match[1] or len(values.get(match[2], ())) != 1:
        return [form]
    value = values[match[2]][0]
    return value.split() if re.search(r"\s", plain(value)) else [form]


def _substituted(form: str, values: Values, splitting: Splitting) -> list[str]:
    names = [(m[1], m[2]) for m in _VARIABLE.finditer(form)]
    choices = [_choices(quote, values.get(name, ()), splitting) for quote, name in names]
    rest = _VARIABLE.split(form)[::3]
    combined: list[str] = []
    for picks in product(*choices):
        combined.append("".join(part for pair in zip(rest, (*picks, ""), strict=True)
                                for part in pair))  # fmt: skip
        if len(combined) > MAX_WORDS:
            return [_VARIABLE.sub(UNKNOWN, form)]
    return combined


def _choices(quote: str, known: tuple[str, ...], splitting: Splitting) -> tuple[str, ...]:
    blanks = any(re.search(r"\s", each) for each in known)
    whole = quote or splitting == "none" or (splitting == "normal" and not blanks)
    if not known or not whole:
        return (UNKNOWN,)
    return tuple(_quoted(plain(each)) for each in known) if quote else known


def _braces(form: str) -> list[str]:
    """Brace expansion; `{1..3}` is left as a pattern, since only its place matters."""
    if form.count("{") > MAX_BRACES:
        return [form[: form.index("{")] + UNKNOWN]
    match = re.search(r"(?<!\\)\{((?:\\.|[^{}\\])*)\}", form, re.S)
    if not match:
        return [form]
    items = re.split(r"(?<!\\),", match[1])
    before, after = form[: match.start()], form[match.end() :]
    if len(items) == 1:
        inner = f"\\{{{match[1]}\\}}" if ".." not in match[1] else "*"
        items = [inner]
    found: list[str] = []
    for item in items:
        found += _braces(f"{before}{item}{after}")
        if len(found) > MAX_WORDS:
            return [UNKNOWN]
    return found

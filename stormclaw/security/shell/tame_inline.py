"""Which reader of tame code belongs to an interpreter, and which of its options leave it valid."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence

from stormclaw.protocol.effects import Risk
from stormclaw.security.shell.tame_code import tame_perl
from stormclaw.security.shell.tame_node import tame_javascript
from stormclaw.security.shell.tame_python import Tame, tame_python
from stormclaw.security.shell.tame_words import tame_php, tame_ruby

_NODE = r"(--input-type=(module|commonjs) |--no-warnings )*(-e|--eval|-p|--print|-pe) "
_LINES: Mapping[str, str] = {
    "python": r"(-[uBIEsSqO]+ )*-[uBIEsSqO]*c ",
    "node": _NODE,
    "nodejs": _NODE,
    "perl": r"(-M(JSON::PP|List::Util|POSIX|Time::Piece|Data::Dumper|Config) |-F[^\s\w/`|]+ "
    r"|-[npilaw07]+ )*-[npilaw07]*e ",
    "ruby": r"(-r(json|set|date|time|digest|yaml|pp|securerandom|bigdecimal) |-W[012]? |-w )*-e ",
    "php": r"(-n )?-r ",
}
"""Every option an interpreter may be given before the code, each followed by a blank."""

_SERVES = re.compile(
    r"(?!.*\.\.)-S (?:localhost|127\.0\.0\.1):\d+(?: -t [\w.-]+(?:/[\w.-]+)*)?"
    r"(?: [\w.-]+(?:/[\w.-]+)*\.php)?"
)


def carried_code(language: str, own: Sequence[str], rest: Sequence[str]) -> str:
    """What is done to the words behind code on the command line: read, write; "" if it is unclear.

    Args:
        language: The interpreter.
        own: Its options, the one before the code last.
        rest: The words behind the code; only python takes no more options from there.
    """
    line = "".join(f"{text} " for text in own)
    if not re.fullmatch(_LINES.get(language, "(?!)"), line):
        return ""
    if language != "python" and any(text.startswith(("-", "+")) for text in rest):
        return ""
    edits = language == "perl" and any(re.match(r"-[a-z07]*i", text) for text in own)
    return "write" if edits else "read"


def read_code(language: str, code: str) -> Tame | None:
    """What code touches that only computes, prints and reads; None where it may do more."""
    match language:
        case "python":
            found = tame_python(code)
            return found if isinstance(found, Tame) else None
        case "node" | "nodejs":
            return tame_javascript(code)
        case "perl":
            return Tame() if tame_perl(code) else None
        case "ruby":
            return tame_ruby(code)
        case "php":
            return tame_php(code)
        case _:
            return None


def parses(code: str) -> bool:
    """Whether a text is Python by itself, so that it cannot be half of something else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def serves_here(words: Sequence[str]) -> tuple[Risk, str, str] | None:
    """Risk, reason and rule for php telling about itself, or serving this machine; None else."""
    line = " ".join(words)
    if line in ("-m", "-i", "--ini", "--info", "--modules"):
        return ("low", "tells about itself", "shipped list: php")
    if _SERVES.fullmatch(line):
        return ("medium", "serves the project to this machine alone", "shipped list: php -S")
    return None

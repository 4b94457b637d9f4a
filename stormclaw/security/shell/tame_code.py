"""Small perl programs on the command line: those that only transform and print text."""

from __future__ import annotations

import re

MAX_CODE = 2_048

_SUBSTITUTION = re.compile(
    r"(?:s|tr|y)([/|,#!])((?:\\.|(?!\1)[^\\\n])*)\1((?:\\.|(?!\1)[^\\\n])*)\1[gimsxrcd]*", re.S
)
_CONDITION = (
    r"(?:\s+(?:if|unless)\s+(?:/(?:\\.|[^/\\\n])*/[imsx]*|\d+\s*\.\.\s*\d+|"
    r"\$\.\s*(?:==|<=?|>=?)\s*\d+))?"
)
_PRINT = re.compile(
    rf"print\s+[A-Z]\w*(?:::\w+)*->VERSION|"
    rf"print(?:\s+(?:\$_|\$\.|\$F\[-?\d+\]|\"[\w\s:,.\\$-]*\"|,|\s)+)?{_CONDITION}|"
    rf"next{_CONDITION}|chomp"
)
_PERL_RISK = re.compile(r"[@`]|\$\{|\(\?\??\{|\$\(")
"""What runs code inside a perl pattern or replacement."""


def tame_perl(code: str) -> bool:
    """Whether a perl program only substitutes and prints."""
    if len(code) > MAX_CODE or _PERL_RISK.search(code):
        return False
    rest = code.strip()
    while rest:
        match = _SUBSTITUTION.match(rest) or _PRINT.match(rest)
        if not match or not match[0]:
            return False
        rest = rest[match.end() :].strip()
        if rest and not rest.startswith(";"):
            return False
        rest = rest.lstrip("; \n")
    return True

"""Keys in what a tool found: recognised before a model sees them, masked or pointed out.

Stricter than `redact`, which guards records and may mask too much: what a model reads is code, and
`token = next(tokens)` must reach it as it stands.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from stormclaw.log import KEY_SHAPES
from stormclaw.security.redact import MASK, SHOWN, head_of_key

LEAST_LENGTH, MOST_LENGTH = 16, 512
"""Characters of a value that may be a key if its name says so."""
LEAST_BITS = 3.2
"""Shannon entropy per character from which such a value is random enough."""

_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|change[-_]?me|your[-_]|dummy|sample|redacted|xxxx|\*\*\*|<|\$\{|\{\{"
)
_JOINTS = re.compile(r"[._-]+")
_WORD = re.compile(r"[A-Za-z]*\d{0,3}")
"""What names in programs are made of: `self.tokens.session_token_v2`."""
_FAMOUS = frozenset({"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"})
"""Keys that stand in every manual."""


@dataclass(frozen=True, slots=True)
class Screened:
    """A text with the keys in it masked.

    Attributes:
        text: The masked text; the same object if there was nothing to mask.
        found: Each key's first characters, in order, without duplicates: `sk-o***`.
    """

    text: str
    found: tuple[str, ...] = ()


def screen(text: str) -> Screened:
    """Mask what is shaped like a key, a private key, or a password in an address. Linear time."""
    found: dict[str, None] = {}

    def cut(secret: str) -> str:
        shown = f"{secret[:SHOWN]}{MASK}"
        found[shown] = None
        return shown

    for pattern, masked in _patterns():
        text = pattern.sub(partial(masked, cut=cut), text)
    return Screened(text, tuple(found))


_Cut = Callable[[str], str]
_Masked = Callable[..., str]
"""(hit, cut=...) -> what stands in its place."""


def _whole(hit: re.Match[str], cut: _Cut) -> str:
    secret = hit[0]
    if secret in _FAMOUS or _PLACEHOLDER.search(secret):
        return secret
    if secret.startswith("-----BEGIN"):
        head = head_of_key(secret)
        cut("private key")
        return f"{head}\n{MASK}"
    return cut(secret)


def _address(hit: re.Match[str], cut: _Cut) -> str:
    password = hit["password"]
    if _PLACEHOLDER.search(password) or password.lower() in _PUBLIC_PASSWORDS:
        return hit[0]
    cut(hit["user"] or "user")
    return f"{hit['head']}{MASK}@"


def _named(hit: re.Match[str], cut: _Cut) -> str:
    value = hit["value"]
    if not _random(value):
        return hit[0]
    return f"{hit['name']}{cut(value)}"


def _random(value: str) -> bool:
    """Whether a value is as random as a key: long, mixed, no words of a program."""
    if not LEAST_LENGTH <= len(value) <= MOST_LENGTH or value in _FAMOUS:
        return False
    if _PLACEHOLDER.search(value) or not any(map(str.isdigit, value)):
        return False
    if not any(map(str.isalpha, value)) or all(map(_WORD.fullmatch, _JOINTS.split(value))):
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= LEAST_BITS


_PUBLIC_PASSWORDS = frozenset(
    {"password", "pass", "postgres", "root", "admin", "secret", "user", "test", "guest", "pw", "p"}
)
"""What stands in the address of every development database."""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], _Masked], ...]:
    shapes = re.compile("|".join(f"(?:{shape})" for shape in KEY_SHAPES))
    address = re.compile(
        r"(?P<head>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://(?P<user>[^\s/:@\"'<>]{0,64}):)"
        r"(?P<password>[^\s/@\"'<>]{3,256})@",
        re.I,
    )
    named = re.compile(
        r"(?P<name>(?:api[_-]?key|(?:access|account)[_-]?key(?:[_-]?id)?|secret(?:[_-]?(?:access)?[_-]?key)?"
        r"|client[_-]?secret|(?:auth|access|refresh|bearer|session|bot)[_-]?token|token|passwo?r?d"
        r"|private[_-]?key|signing[_-]?key|encryption[_-]?key|webhook[_-]?secret)"
        r"(?:\\?[\"'])?[ \t]{0,4}(?:[:=]|=>|:=)[ \t]{0,4}(?:\\?[\"'`])?)"
        r"(?P<value>[A-Za-z0-9+/=_.~!@#%^*-]{16,512}+)(?![(\[])",
        re.I,
    )
    bearer = re.compile(
        r"(?P<name>\b(?:bearer|basic|authorization:[ \t]{0,4}token)[ \t]{1,4})"
        r"(?P<value>[A-Za-z0-9._~+/=-]{16,512})",
        re.I,
    )
    return (shapes, _whole), (address, _address), (named, _named), (bearer, _named)

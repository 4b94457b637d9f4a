"""Reads a web address in one way only, so that what is judged is what is connected to."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

from stormclaw.errors import ToolFailure

MAX_LENGTH = 8_000
"""Characters of an address."""

PORTS = {"http": 80, "https": 443}

_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_TWO_READINGS = re.compile("[\u00df\u03c2\u200c\u200d]")
"""Letters that old and new rules for international names turn into different hosts."""


def canonical(url: str) -> str:
    """The address in plain ASCII: host in lower case, no fragment, no dot at the host's end.

    Raises:
        ToolFailure: No http(s) address, a name or password in it, or a host that programs read
            differently.
    """
    text = url.strip()
    if not text:
        raise _wrong(url, "it is empty")
    if len(text) > MAX_LENGTH:
        raise _wrong(text, f"it is longer than {MAX_LENGTH:,} characters")
    if _ODD.search(text):
        raise _wrong(text, "it holds white space, a backslash or control characters")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as problem:
        raise _wrong(text, str(problem)) from problem
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not parts.netloc:
        raise _wrong(text, "write it in full, beginning with https:// or http://")
    if "@" in parts.netloc:
        raise _wrong(text, "a name or password in it is not sent")
    if port == 0:
        raise _wrong(text, "there is no port 0")
    place = _host(text, parts) + (f":{port}" if port not in (None, PORTS[scheme]) else "")
    return urlunsplit((scheme, place, parts.path or "/", parts.query, ""))


def host_and_port(url: str) -> tuple[str, int]:
    """Where a canonical address leads: the host without brackets, and the port."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS[parts.scheme]


def _host(url: str, parts: SplitResult) -> str:
    host = (parts.hostname or "").removesuffix(".")
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host)}]"
        except ValueError as problem:
            raise _wrong(url, str(problem)) from problem
    if _TWO_READINGS.search(host):
        raise _wrong(url, "its host is read in two ways; write the host in its xn-- form")
    try:
        name = host.encode("idna").decode("ascii").lower()
    except UnicodeError as problem:
        raise _wrong(url, f"{host[:100]!r} is no host name") from problem
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise _wrong(url, f"{host[:100]!r} is no host name")
    return name


def _wrong(url: str, why: str) -> ToolFailure:
    shown = url if len(url) <= 200 else f"{url[:200]}…"
    return ToolFailure(f"{shown!r} is no address to ask: {why}", summary="bad address")

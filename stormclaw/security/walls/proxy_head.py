"""Reads what a program asks of the proxy, in one way only: what is judged is what is sent on."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from stormclaw.security.hosts import host_of, port_of

END = b"\r\n\r\n"
MAX_HEAD = 32_768
"""Bytes up to the empty line."""
MOST_FIELDS = 200
MAX_AUTHORITY = 300
USUAL = {True: 443, False: 80}
"""The port of a tunnel, and that of plain HTTP."""

_REQUEST = re.compile(r"([A-Za-z]{1,32}) ([\x21-\x7e]{1,16384}) (HTTP/1\.[01])")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\\]+):(\d{1,5})")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_OF_THIS_HOP = frozenset({
    "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer",
    "upgrade", "host",
})  # fmt: skip


class Refusal(Exception):
    """The proxy says no to a program.

    Attributes:
        status: HTTP status with a reason: `403 not among ...`.
        offer: What the person could list to let it pass; "" where that would not help.
    """

    def __init__(self, status: str, offer: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.offer = offer


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a program wants to go.

    Attributes:
        host: Lower case, without brackets.
        port: Of the host.
        tunnel: It wants to speak with the host itself (`CONNECT`), not to ask for one page.
        head: What is to be sent to the host first.
        length: Bytes of the request's body, which are sent after it.
    """

    host: str
    port: int
    tunnel: bool
    head: bytes = b""
    length: int = 0

    @property
    def usual(self) -> bool:
        """Whether it goes to the port one expects."""
        return self.port == USUAL[self.tunnel]

    @property
    def place(self) -> str:
        """Host and port as one writes them; without the port if it is the usual one."""
        if self.usual:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_head(head: bytes) -> Wish:
    """What a request wants.

    Args:
        head: Up to and with the empty line.

    Raises:
        Refusal: It is none, or one that programs read differently.
    """
    first, *rest = head.removesuffix(END).split(b"\r\n")
    if any(map(_CONTROL.search, (first, *rest))) or len(rest) > MOST_FIELDS:
        raise Refusal("400 bad request")
    request = _REQUEST.fullmatch(first.decode("latin-1"))
    fields = [_FIELD.fullmatch(line.decode("latin-1")) for line in rest]
    if request is None or None in fields:
        raise Refusal("400 bad request")
    method, target, version = request.groups()
    pairs = [(each[1], each[2].strip(" \t")) for each in fields if each is not None]
    if method == "CONNECT":
        return _tunnel(target)
    return _plain(method, target, version, pairs)


def _tunnel(target: str) -> Wish:
    authority = _AUTHORITY.fullmatch(target)
    if authority is None:
        raise Refusal("400 bad address")
    return Wish(*_place(f"https://{target}/"), tunnel=True)


def _plain(method: str, target: str, version: str, fields: list[tuple[str, str]]) -> Wish:
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http":
        raise Refusal("400 only http, or CONNECT for all else")
    host, port = _place(target)
    split = re.search(r"[/?#]", rest)
    path = rest[split.start() :].partition("#")[0] if split else ""
    path = path if path.startswith("/") else f"/{path}"
    named = {name.lower() for name, _ in fields}
    lengths = {value for name, value in fields if name.lower() == "content-length"}
    if "transfer-encoding" in named:
        raise Refusal("411 length required")
    if len(lengths) > 1 or not all(each.isascii() and each.isdigit() for each in lengths):
        raise Refusal("400 bad length")
    dropped = set(_OF_THIS_HOP)
    for name, value in fields:
        if name.lower() == "connection":
            dropped |= {each.strip().lower() for each in value.split(",")} - {"content-length"}
    kept = [f"{name}: {value}" for name, value in fields if name.lower() not in dropped]
    bare = f"[{host}]" if ":" in host else host
    own = [f"Host: {bare}" if port == USUAL[False] else f"Host: {bare}:{port}", "Connection: close"]
    head = "\r\n".join([f"{method} {path} {version}", *own, *kept]).encode("latin-1") + END
    return Wish(host, port, False, head, int(min(lengths, default="0")[:18]))


def _place(url: str) -> tuple[str, int]:
    authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
    if len(authority) > MAX_AUTHORITY:
        raise Refusal("400 bad address")
    host, problem = host_of(url)
    if problem or not _is_host(host) or urlsplit(url).port == 0:
        raise Refusal("400 bad address")
    return host, port_of(url) or 0


def _is_host(host: str) -> bool:
    if ":" not in host:
        return bool(_NAME.fullmatch(host)) and len(host) <= 253
    try:
        return bool(ipaddress.IPv6Address(host)) and "%" not in host
    except ValueError:
        return False

"""Which addresses may be talked to: allowed hosts freely, others by asking, this machine not."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias
from urllib.parse import urlsplit

from stormclaw.protocol.effects import Grant
from stormclaw.security.finding import Finding
from stormclaw.security.policy import Policy

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

SCHEMES = frozenset({"http", "https"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
LOCAL_NAMES = ("localhost", "*.localhost", "*.local", "*.internal", "*.lan", "*.home.arpa",
               "metadata", "metadata.google.internal", "instance-data")  # fmt: skip
"""Names that mean this machine, its network or a cloud's metadata service."""

UNROUTED = ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")
"""What the standard library takes for public: protocol assignments, a cloud's own service."""

GLOBAL_UNICAST = "2000::/3"
NAT64 = "64:ff9b::/96"
"""Where public IPv6 addresses lie, and where IPv4 ones are translated from."""

PRIVATE_4 = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
PRIVATE_6 = "fc00::/7"
METADATA = ("100.100.100.200/32", "fd00:ec2::/32")
"""Networks of one's own, and what of them hands out credentials."""

_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+)){0,3}\.?", re.I)
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")


def judge_fetch(url: str, method: str, policy: Policy) -> Finding:
    """May `url` be asked for with `method`?

    Only the name in the URL is judged; whoever connects must judge the address it leads to.
    """
    verb = method.upper() or "GET"
    shown = url if verb == "GET" else f"{verb} {url}"
    host, problem = host_of(url)
    if problem:
        return Finding(shown, "blocked", problem, "bad address")
    rule = allowing(host, policy.allowed_hosts, port_of(url))
    if is_local(host) and not (rule and opening(host, host, policy.allowed_hosts)):
        reason = f"{host} is this machine, its network or a metadata service"
        return Finding(shown, "high", reason, "private addresses")
    if verb in SAFE_METHODS:
        return _get(shown, host, rule, policy)
    reason = f"{verb} may change something at {host}"
    return Finding(shown, "medium", reason, f"method {verb}")


def judge_address(host: str, address: str, policy: Policy) -> str:
    """Why `host`, found at `address`, may not be talked to; "" if it may.

    A name is judged by where it leads: one that leads to this machine or its network is refused
    unless the person allowed it. Whoever follows a redirect asks again, for every hop.
    """
    if not is_local(address) or opening(host, address, policy.allowed_hosts):
        return ""
    return f"{host} leads to {address}, this machine or its network"


def opening(host: str, address: str, patterns: tuple[str, ...]) -> str:
    """The pattern that opens an address that is not public, "" if none does.

    The address itself does, and so does the very name, but a public name never opens loopback,
    link-local or metadata addresses; a wildcard opens nothing unless it is one of local names
    (`*.internal`): whoever owns a name below `*.example.com` decides where it leads.
    """
    for pattern in patterns:
        name = _host_part(pattern)
        if _same_address(name, address):
            return pattern
        named = _matches(host, name) and (not name.startswith("*.") or _local_name(f"x{name[1:]}"))
        if named and (is_local(host) or not _innermost(address)):
            return pattern
    return ""


def host_of(url: str) -> tuple[str, str]:
    """The host of a URL in lower case, or ("", what is wrong with the URL)."""
    if _ODD.search(url):
        return "", "the address holds white space, a backslash or control characters"
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        _ = parts.port
    except ValueError as error:
        return "", f"not an address: {error}"
    if parts.scheme.lower() not in SCHEMES:
        return "", f"only http and https, not {parts.scheme or 'an address without a scheme'}"
    if not host:
        return "", "no host in the address"
    if parts.username or parts.password:
        return "", "a name or password in the address"
    try:
        return (host if ":" in host else host.encode("idna").decode("ascii").lower()), ""
    except UnicodeError:
        return "", f"not a host name: {host}"


def is_local(host: str) -> bool:
    """Whether a host is no public one, in whatever notation the address is written."""
    if _local_name(host):
        return True
    bare = "." not in host and ":" not in host
    return bare or _local_address(host)


def allowing(host: str, patterns: tuple[str, ...], port: int | None = None) -> str:
    """The pattern that allows `host` (at `port`, where the pattern names one), "" if none does."""
    for pattern in patterns:
        name, wanted = _host_part(pattern), _port_part(pattern)
        same = _matches(host, name) or _same_address(name, host)
        if same and wanted in (None, port):
            return pattern
    return ""


def port_of(url: str) -> int | None:
    """The port a sound URL leads to, its scheme's own if it names none."""
    parts = urlsplit(url)
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower())


def _get(shown: str, host: str, rule: str, policy: Policy) -> Finding:
    if rule:
        origin = policy.origin("security.allowed_hosts")
        return Finding(shown, "low", "an allowed host", f"allowed_hosts: {rule}", origin)
    grant = Grant("host", host)
    if policy.covers(grant):
        origin = policy.grant_origin(grant)
        reason = "a host you allowed"
        return Finding(shown, "medium", reason, f"granted: {host}", origin, grant, granted=True)
    reason = f"{host} is not among the allowed hosts"
    return Finding(shown, "medium", reason, "allowed_hosts", grant=grant)


def _local_name(host: str) -> bool:
    return any(_matches(host, pattern) for pattern in LOCAL_NAMES)


def _matches(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return host == pattern


def _host_part(pattern: str) -> str:
    """`pattern` without brackets and port."""
    if pattern.startswith("["):
        return pattern[1:].partition("]")[0]
    return pattern if pattern.count(":") > 1 else pattern.partition(":")[0].rstrip(".")


def _port_part(pattern: str) -> int | None:
    """The port a pattern names; 0, which fits no URL, where that is no number."""
    after = pattern.partition("]")[2] if pattern.startswith("[") else pattern
    if after.count(":") != 1:
        return None
    text = after.partition(":")[2]
    return int(text) if text.isascii() and text.isdigit() else 0


def _same_address(pattern: str, address: str) -> bool:
    wanted = _address(pattern)
    return wanted is not None and wanted == _address(address)


def _local_address(host: str) -> bool:
    address = _address(host)
    return address is not None and not _public(address)


def _public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return _public(inner)
        if address not in ipaddress.ip_network(GLOBAL_UNICAST):
            return False
    if any(address in ipaddress.ip_network(net) for net in UNROUTED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one is a wrapping of, None if it is none."""
    if address in ipaddress.ip_network(NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _innermost(text: str) -> bool:
    """Whether an address is this machine itself, or where machines keep their credentials."""
    address = _address(text)
    if isinstance(address, ipaddress.IPv6Address):
        address = _inner(address) or address
    own = (*PRIVATE_4, PRIVATE_6)
    return (
        address is None
        or any(address in ipaddress.ip_network(net) for net in METADATA)
        or not any(address in ipaddress.ip_network(net) for net in own)
    )


def _address(host: str) -> Address | None:
    """The IP address a host stands for, as lenient as the C library: octal, hex, short forms."""
    try:
        return ipaddress.ip_address(host.strip("[]").split("%", 1)[0])
    except ValueError:
        pass
    if not _NUMERIC.fullmatch(host):
        return None
    try:
        *head, tail = [_number(part) for part in host.rstrip(".").split(".")]
        value = tail
        for index, octet in enumerate(head):
            value += octet << (24 - 8 * index)
        return ipaddress.IPv4Address(value)
    except ValueError:
        return ipaddress.IPv4Address(0)  # reads like an address and is none: not public


def _number(text: str) -> int:
    if text.lower().startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if text.startswith("0") and len(text) > 1 else 10)

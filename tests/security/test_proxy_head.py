"""What the proxy makes of a request, and whom it lets it go to."""

from __future__ import annotations

import contextlib

import pytest

from stormclaw.security.walls.proxy_head import MOST_FIELDS, Refusal, Wish, read_head
from stormclaw.security.walls.proxy_rules import judge_addresses, judge_wish


def wish(*lines: str) -> Wish:
    return read_head(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def refused(*lines: str) -> str:
    with pytest.raises(Refusal) as refusal:
        wish(*lines)
    return refusal.value.status


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("pypi.org:443", ("pypi.org", 443)),
        ("PyPI.org.:443", ("pypi.org", 443)),
        ("git.example:8443", ("git.example", 8443)),
        ("[2001:DB8::1]:443", ("2001:db8::1", 443)),
        ("10.0.0.1:443", ("10.0.0.1", 443)),
    ],
)
def test_a_tunnel(target: str, place: tuple[str, int]) -> None:
    found = wish(f"CONNECT {target} HTTP/1.1", "Host: something.else")
    assert (found.host, found.port, found.tunnel) == (*place, True)
    assert (found.head, found.length) == (b"", 0)


@pytest.mark.parametrize(
    "target",
    [
        "pypi.org",
        "pypi.org:",
        "pypi.org:0",
        "pypi.org:70000",
        "pypi.org:443443",
        ":443",
        "user@pypi.org:443",
        "pypi.org:443@evil.example",
        "pypi.org/x:443",
        "pypi.org#:443",
        "pypi.org\\:443",
        "*.example.com:443",
        "*:443",
        "a,b.example:443",
        "a%2eexample:443",
        "[::1%25lo]:443",
        "[nonsense]:443",
        "a..b:443",
        f"{'a' * 300}.example:443",
        "https://pypi.org:443",
        "p\xffpi.org:443",
    ],
)
def test_no_tunnel(target: str) -> None:
    assert refused(f"CONNECT {target} HTTP/1.1").startswith("400")


def test_a_page_is_asked_for_as_a_proxy_asks() -> None:
    found = wish(
        "GET http://Mirror.Example:80/simple/?a=b#frag HTTP/1.1",
        "Host: evil.example",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic c2VjcmV0",
        "Connection: keep-alive, X-Own",
        "Keep-Alive: 3",
        "X-Own: dropped",
        "TE: trailers",
        "Upgrade: websocket",
        "User-Agent: pip",
    )
    assert (found.host, found.port, found.tunnel, found.length) == ("mirror.example", 80, False, 0)
    assert found.head == (
        b"GET /simple/?a=b HTTP/1.1\r\nHost: mirror.example\r\nConnection: close\r\n"
        b"User-Agent: pip\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [
        ("http://a.example", b"GET / ", b"a.example"),
        ("http://a.example?x", b"GET /?x ", b"a.example"),
        ("http://a.example#x", b"GET / ", b"a.example"),
        ("HTTP://a.example/x", b"GET /x ", b"a.example"),
        ("http://a.example:8080/x", b"GET /x ", b"a.example:8080"),
        ("http://[2001:db8::1]:81/", b"GET / ", b"[2001:db8::1]:81"),
    ],
)
def test_the_path_and_the_host_of_a_page(target: str, path: bytes, host: bytes) -> None:
    head = wish(f"GET {target} HTTP/1.0").head
    assert head.startswith(path + b"HTTP/1.0\r\nHost: " + host + b"\r\n")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET / HTTP/1.1", "400"),
        ("GET https://a.example/ HTTP/1.1", "400"),
        ("GET ftp://a.example/ HTTP/1.1", "400"),
        ("GET http:///x HTTP/1.1", "400"),
        ("GET http://u:p@a.example/ HTTP/1.1", "400"),
        ("GET http://a.example\\@b.example/ HTTP/1.1", "400"),
        ("GET http://a.example/ HTTP/2.0", "400"),
        ("GET http://a.example/  HTTP/1.1", "400"),
        ("GET\thttp://a.example/ HTTP/1.1", "400"),
        ("GET http://a.example/\x00 HTTP/1.1", "400"),
        ("GET http://a.example/\n HTTP/1.1", "400"),
        ("G\xe9T http://a.example/ HTTP/1.1", "400"),
        ("", "400"),
        ("\x16\x03\x01\x02\x00", "400"),
    ],
)
def test_no_request(line: str, status: str) -> None:
    assert refused(line).startswith(status)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (("Content-Length: 5", "Content-Length: 6"), "400"),
        (("Content-Length: +5",), "400"),
        (("Content-Length: 5, 5",), "400"),
        (("Content-Length:",), "400"),
        (("Transfer-Encoding: chunked",), "411"),
        (("Content-Length: 5", "transfer-encoding: identity"), "411"),
        (("X-Folded: a", " b"), "400"),
        (("X-Space : a",), "400"),
        (("no colon",), "400"),
        (("X-Line: a\nHost: b",), "400"),
        (("X-Return: a\rb",), "400"),
        (tuple("X: y" for _ in range(MOST_FIELDS + 1)), "400"),
    ],
)
def test_fields_that_are_read_differently(fields: tuple[str, ...], status: str) -> None:
    assert refused("POST http://a.example/ HTTP/1.1", *fields).startswith(status)


def test_a_body_has_its_length() -> None:
    found = wish(
        "POST http://a.example/ HTTP/1.1",
        "Content-Length: 12",
        "Content-Length: 12",
        "Connection: content-length",
    )
    assert found.length == 12
    assert found.head.count(b"Content-Length: 12") == 2
    assert wish("POST http://a.example/ HTTP/1.1", f"Content-Length: {'9' * 60}").length > 10**17


def allowed(line: str, *hosts: str) -> str:
    """What is offered, "yes" if it passes, "" if nothing helps."""
    asked = wish(f"{line} HTTP/1.1")
    try:
        judge_wish(asked, hosts)
    except Refusal as refusal:
        return refusal.offer if refusal.status.startswith("403") else refusal.status
    return "yes"


@pytest.mark.parametrize(
    ("line", "hosts", "answer"),
    [
        ("CONNECT pypi.org:443", ("pypi.org",), "yes"),
        ("GET http://pypi.org/", ("pypi.org",), "yes"),
        ("CONNECT pypi.org:80", ("pypi.org",), "pypi.org:80"),
        ("CONNECT pypi.org:22", ("pypi.org",), "pypi.org:22"),
        ("GET http://pypi.org:443/", ("pypi.org",), "pypi.org:443"),
        ("CONNECT pypi.org:22", ("pypi.org:22",), "yes"),
        ("CONNECT pypi.org:443", ("pypi.org:22",), "pypi.org"),
        ("CONNECT pypi.org:443", ("pypi.org:22", "pypi.org"), "yes"),
        ("CONNECT pypi.org:8443", ("pypi.org", "pypi.org:8443"), "yes"),
        ("CONNECT a.npmjs.org:443", ("*.npmjs.org",), "yes"),
        ("CONNECT npmjs.org:443", ("*.npmjs.org",), "npmjs.org"),
        ("CONNECT evilnpmjs.org:443", ("*.npmjs.org", "npmjs.org"), "evilnpmjs.org"),
        ("CONNECT pypi.org.evil.example:443", ("pypi.org",), "pypi.org.evil.example"),
        ("CONNECT a.example:443", ("*",), "a.example"),
        ("CONNECT a.example:443", (), "a.example"),
        ("CONNECT 93.184.216.34:443", (), "93.184.216.34"),
        ("CONNECT [2606:2800::1]:22", (), "[2606:2800::1]:22"),
        ("CONNECT localhost:443", (), ""),
        ("CONNECT 127.0.0.1:443", ("pypi.org",), ""),
        ("CONNECT 0x7f.1:443", ("pypi.org",), ""),
        ("CONNECT 169.254.169.254:443", (), ""),
        ("CONNECT 10.1.2.3:443", (), ""),
        ("CONNECT intranet:443", (), ""),
        ("GET http://metadata.google.internal/", (), ""),
        ("CONNECT 127.0.0.1:5000", ("127.0.0.1:5000",), "yes"),
        ("CONNECT 127.0.0.1:5001", ("127.0.0.1:5000",), ""),
    ],
)
def test_who_may_go_where(line: str, hosts: tuple[str, ...], answer: str) -> None:
    assert allowed(line, *hosts) == answer


@pytest.mark.parametrize(
    ("addresses", "hosts", "may"),
    [
        (("93.184.216.34",), ("a.example",), True),
        (("93.184.216.34", "127.0.0.1"), ("a.example",), False),
        (("127.0.0.1",), ("a.example",), False),
        (("127.0.0.1",), ("a.example", "127.0.0.1"), True),
        (("10.0.0.7",), ("a.example",), True),
        (("10.0.0.7",), ("*.example",), False),
        (("169.254.169.254",), ("a.example",), False),
        (("::1",), ("a.example",), False),
        (("::ffff:127.0.0.1",), ("a.example",), False),
        (("fe80::1%eth0",), ("a.example",), False),
        (("64:ff9b::7f00:1",), ("a.example",), False),
        (("0.0.0.0",), ("a.example",), False),
    ],
)
def test_a_name_is_judged_by_where_it_leads(
    addresses: tuple[str, ...], hosts: tuple[str, ...], may: bool
) -> None:
    if may:
        judge_addresses("a.example", addresses, hosts)
        return
    with pytest.raises(Refusal) as refusal:
        judge_addresses("a.example", addresses, hosts)
    assert refusal.value.offer == ""


def test_no_head_takes_long() -> None:
    """Each of these would take minutes where time grows with the square of the length."""
    blanks = " " * 32_000
    for line in (f"X: a{blanks}b", f"X:{blanks}b", f"X:{blanks}\x01"):
        with contextlib.suppress(Refusal):
            wish("GET http://a.example/ HTTP/1.1", line)
    long = "a" * 16_000
    for target in (f"{long}:443", f"{'a.' * 8_000}:443", f"[{'::' * 8_000}]:443"):
        assert refused(f"CONNECT {target} HTTP/1.1").startswith("400")
    assert refused(f"GET http://{long}/ HTTP/1.1").startswith("400")
    assert wish(f"GET http://a.example/{long} HTTP/1.1").host == "a.example"

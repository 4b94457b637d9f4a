"""The host a TLS client greets, read from what real clients send and from what attackers would."""

from __future__ import annotations

import pytest
from greetings import hello, made, records
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.security.walls.client_hello import MAX_HELLO, Greeting, is_tls


def server_name(sent: bytes) -> str | None:
    return Greeting().hear(sent)


def test_the_name_a_real_client_says() -> None:
    assert server_name(hello("pypi.org")) == "pypi.org"
    assert server_name(hello("PyPI.ORG")) == "pypi.org"
    assert server_name(hello(None)) == ""
    assert is_tls(hello("pypi.org"))


def test_by_hand_it_is_the_same() -> None:
    assert server_name(made(b"Files.Example.")) == "files.example"
    assert server_name(made(b"files.example", kinds=(7, 0))) == "files.example"
    assert server_name(made(b"files.example", kinds=(7,))) == ""


def test_it_waits_for_the_whole_greeting() -> None:
    whole = hello("pypi.org")
    assert all(server_name(whole[:cut]) is None for cut in range(len(whole)))


def test_what_follows_is_not_looked_at() -> None:
    early = b"\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x02hi"
    assert server_name(hello("pypi.org") + early) == "pypi.org"


def test_byte_by_byte() -> None:
    greets, whole = Greeting(), hello("pypi.org")
    assert {greets.hear(whole[at : at + 1]) for at in range(len(whole) - 1)} == {None}
    assert greets.hear(whole[-1:]) == "pypi.org"


@pytest.mark.parametrize("size", [1, 3, 50])
def test_a_greeting_in_many_records(size: int) -> None:
    whole = hello("pypi.org")[5:]
    assert server_name(records(whole, size)) == "pypi.org"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\x02",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff" + bytes(9),
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        made(b"good.example", b"evil.example"),
        made(b"good.example", kinds=(0, 0)),
        made(b"g\xc3\xb6\xc3\xb6d.example"),
        records(hello("pypi.org")[5:], 20)[:75] + b"\x17\x03\x03\x00\x01x",
    ],
    ids=range(13),
)
def test_what_is_no_greeting(sent: bytes) -> None:
    with pytest.raises(ValueError):
        server_name(sent)


def test_one_without_an_end_is_given_up() -> None:
    start = b"\1" + MAX_HELLO.to_bytes(3, "big")
    with pytest.raises(ValueError):
        server_name(records(start + bytes(10), 1) * 3000)
    stretched = b"\1" + (MAX_HELLO - 9).to_bytes(3, "big") + bytes(MAX_HELLO // 2)
    with pytest.raises(ValueError, match="without an end"):
        server_name(records(stretched, 1))


@given(st.binary(max_size=400), st.integers(0, 300))
def test_nonsense_is_refused_and_nothing_worse(noise: bytes, at: int) -> None:
    whole = made(b"pypi.org")
    for sent in (noise, b"\x16\x03\x01" + noise, whole[:at] + noise + whole[at + len(noise) :]):
        try:
            found = server_name(sent)
        except ValueError:
            continue
        assert found is None or isinstance(found, str)

"""One connection through the proxy: real sockets on loopback, and what an attacker would send."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from greetings import hello, made, records

from stormclaw.security.walls.proxy_head import MAX_HEAD, Wish
from stormclaw.security.walls.proxy_relay import Terms, Wire, attend, greeting

END = b"\r\n\r\n"


@dataclass
class World:
    """A host that remembers what it is sent, a proxy, and what that refused.

    Attributes:
        hosts: Listed; `PORT` stands for the host's port.
        names: Name -> addresses, one list for each time it is asked for.
        answer: What the host says before it listens.
        head_s: The proxy's patience.
    """

    hosts: tuple[str, ...] = ("a.example:PORT", "127.0.0.1")
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    answer: bytes = b""
    head_s: float = 20.0
    idle_s: float = 20.0
    port: int = 0
    got: bytearray = field(default_factory=bytearray)
    connections: int = 0
    offers: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        found = self.names.get(host, [["127.0.0.1"]])
        addresses = found.pop(0) if len(found) > 1 else found[0]
        if not addresses:
            raise OSError("no such host")
        return addresses

    async def host(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(self.answer)
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65536):
                self.got += chunk
                if END in self.got and self.got[:1] != b"\x16":
                    body = self.got.partition(END)[2]
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage" + body)
                    if b"Connection: close" in self.got and b"stay" not in self.got:
                        break
        writer.close()
        self.ended.set()


@asynccontextmanager
async def proxied(world: World) -> AsyncIterator[Wire]:
    """A program's end of a connection to the proxy."""
    server = await asyncio.start_server(world.host, "127.0.0.1", 0)
    world.port = server.sockets[0].getsockname()[1]
    hosts = tuple(each.replace("PORT", str(world.port)) for each in world.hosts)
    terms = Terms(hosts, world.resolve, world.offers.append, world.head_s, world.idle_s)
    ours, theirs = socket.socketpair()
    proxy = Wire(*await asyncio.open_connection(sock=theirs, limit=MAX_HEAD))
    serving = asyncio.create_task(attend(proxy, terms))
    program = Wire(*await asyncio.open_connection(sock=ours))
    try:
        yield program
    finally:
        program.writer.close()
        await asyncio.wait_for(serving, 60)
        server.close()


async def said(world: World, request: bytes) -> bytes:
    """All the proxy answers to a request; `PORT` in it is the host's."""
    async with proxied(world) as program:
        program.writer.write(request.replace(b"PORT", str(world.port).encode()))
        return await asyncio.wait_for(program.reader.read(), 60)


async def test_a_page() -> None:
    world = World()
    answer = await said(world, b"GET http://a.example:PORT/x HTTP/1.1\r\nHost: evil.example" + END)
    assert answer.endswith(b"page")
    host = f"a.example:{world.port}".encode()
    assert bytes(world.got) == (
        b"GET /x HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close" + END
    )
    assert world.offers == []


async def test_a_body_goes_over_and_nothing_after_it() -> None:
    world = World()
    smuggled = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example" + END
    request = b"POST http://a.example:PORT/ HTTP/1.1\r\nContent-Length: 4" + END + b"body"
    answer = await said(world, request + smuggled)
    assert b"page" in answer
    assert bytes(world.got).partition(END)[2] == b"body"
    assert b"evil" not in world.got


async def test_a_second_request_on_the_same_connection_goes_nowhere() -> None:
    world = World()
    async with proxied(world) as program:
        target = f"http://a.example:{world.port}/stay".encode()
        program.writer.write(b"GET " + target + b" HTTP/1.1" + END)
        assert await program.reader.readuntil(b"page")
        program.writer.write(b"GET http://evil.example/ HTTP/1.1" + END)
        await program.writer.drain()
    assert b"evil" not in world.got


async def test_a_tunnel_carries_whatever_it_is_given_at_a_port_the_person_named() -> None:
    world = World(answer=b"SSH-2.0-host\r\n")
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        assert (await program.reader.readuntil(END)).startswith(b"HTTP/1.1 200 ")
        assert await program.reader.readline() == b"SSH-2.0-host\r\n"  # the host speaks first
        program.writer.write(b"SSH-2.0-program\r\n")
        program.writer.write_eof()
        assert await program.reader.read() == b""
    assert bytes(world.got) == b"SSH-2.0-program\r\n"


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_tls_to_the_host_that_was_asked_for(size: int) -> None:
    world, greets = World(answer=b"hello"), hello("a.example")
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        await program.reader.readuntil(END)
        for at in range(0, len(greets), size):
            program.writer.write(greets[at : at + size])
            await program.writer.drain()
        assert await program.reader.readexactly(5) == b"hello"
        program.writer.write(b"secret")
        program.writer.write_eof()
        await world.ended.wait()
    assert bytes(world.got) == greets + b"secret"


@pytest.mark.parametrize(
    "greets",
    [
        hello("evil.example"),
        hello(None),
        made(b"a.example.evil.example"),
        made(b"a.example", kinds=(0, 0)),
        records(hello("evil.example")[5:], 9),
        b"\x16\x03\x01\x00\x00",
        b"\x16",
    ],
    ids=range(7),
)
async def test_tls_to_another_host_is_cut_before_a_byte_of_it_goes_out(greets: bytes) -> None:
    world = World(answer=b"")
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        await program.reader.readuntil(END)
        program.writer.write(greets)
        program.writer.write_eof()
        with contextlib.suppress(ConnectionError):
            assert await program.reader.read() == b""
        await world.ended.wait()
    assert world.got == b""


async def greeted(sent: bytes, host: str, port: int) -> bytes:
    reader = asyncio.StreamReader()
    reader.feed_data(sent)
    reader.feed_eof()
    return await greeting(reader, Wish(host, port, tunnel=True))


async def test_at_443_it_must_be_tls() -> None:
    right = hello("a.example")
    assert await greeted(right, "a.example", 443) == right
    assert await greeted(hello(None), "93.184.216.34", 443)
    for sent in (b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\n\r\n", hello(None), right[:50]):
        with pytest.raises(ValueError):
            await greeted(sent, "a.example", 443)
    with pytest.raises(ValueError):
        await greeted(hello("evil.example"), "93.184.216.34", 443)
    assert await greeted(b"", "a.example", 443) == b""
    assert await greeted(b"SSH-2.0-x\r\n", "a.example", 22) == b"SSH-2.0-x\r\n"


@pytest.mark.parametrize(
    ("request_line", "status", "offers"),
    [
        (b"CONNECT evil.example:443", b"403", ["evil.example"]),
        (b"CONNECT a.example:443", b"403", ["a.example"]),
        (b"CONNECT a.example:22", b"403", ["a.example:22"]),
        (b"GET http://evil.example/", b"403", ["evil.example"]),
        (b"GET http://localhost:PORT/", b"403", []),
        (b"GET http://169.254.169.254/latest/meta-data/", b"403", []),
        (b"GET / ", b"400", []),
        (b"nonsense", b"400", []),
    ],
)
async def test_refused_without_a_connection(
    request_line: bytes, status: bytes, offers: list[str]
) -> None:
    world = World()
    answer = await said(world, request_line + b" HTTP/1.1" + END)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert (world.connections, world.offers) == (0, offers)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["::1"]],
)
async def test_a_listed_name_that_leads_inside(addresses: list[str]) -> None:
    world = World(hosts=("*.example:PORT",), names={"a.example": [addresses]})
    answer = await said(world, b"CONNECT a.example:PORT HTTP/1.1" + END)
    assert answer.startswith(b"HTTP/1.1 403 this name leads to this machine")
    assert (world.connections, world.offers) == (0, [])


async def test_a_name_that_leads_elsewhere_the_second_time_is_asked_for_once() -> None:
    world = World(names={"a.example": [["127.0.0.1"], ["127.0.0.2"]]})
    assert (await said(world, b"GET http://a.example:PORT/ HTTP/1.1" + END)).endswith(b"page")
    answer = await said(world, b"GET http://a.example:PORT/ HTTP/1.1" + END)
    assert answer.startswith(b"HTTP/1.1 403")
    assert world.connections == 1


async def test_a_host_that_is_not_there() -> None:
    nowhere = World(names={"a.example": [[]]})
    answer = await said(nowhere, b"CONNECT a.example:PORT HTTP/1.1" + END)
    assert answer.startswith(b"HTTP/1.1 502 this host has no address")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        world = World(hosts=(f"a.example:{port}", "127.0.0.1"))
        answer = await said(world, f"CONNECT a.example:{port} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 502 this host cannot be reached")


async def test_a_slow_program_is_given_up() -> None:
    world = World(head_s=0.05)
    answer = await said(world, b"GET http://a.example:PORT/ HTTP/1.1\r\nX-Slow: ")
    assert answer.startswith(b"HTTP/1.1 408")
    assert world.connections == 0


async def test_a_head_without_an_end_is_given_up() -> None:
    world = World()
    async with proxied(world) as program:
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                program.writer.write(b"X" * 16_384)
                await program.writer.drain()
                if program.reader.at_eof():
                    break
        answer = await program.reader.read()
    assert answer.startswith(b"HTTP/1.1 431") or answer == b""
    assert world.connections == 0


async def test_silence_ends_a_tunnel() -> None:
    world = World(idle_s=0.05)
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(program.reader.read(), 60)
        await asyncio.wait_for(world.ended.wait(), 60)


async def test_a_program_that_goes_away_takes_the_connection_with_it() -> None:
    world = World()
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        await program.reader.readuntil(END)
        program.writer.transport.abort()
        await asyncio.wait_for(world.ended.wait(), 60)


async def test_much_goes_through() -> None:
    much = bytes(range(256)) * 20_000
    world = World(answer=much)
    async with proxied(world) as program:
        program.writer.write(f"CONNECT a.example:{world.port} HTTP/1.1\r\n\r\n".encode())
        await program.reader.readuntil(END)
        program.writer.write(much)
        assert await program.reader.readexactly(len(much)) == much
        program.writer.write_eof()
        await world.ended.wait()
    assert bytes(world.got) == much

"""http: which addresses a host may lead to; it is looked up once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from web_site import Site, page, site

from stormclaw.config.settings import SecuritySettings
from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.security.hosts import judge_address
from stormclaw.security.policy import policy_from
from stormclaw.tools._fetching import Request, fetch

Call = Callable[..., Awaitable[ToolResult]]
Narrow = Callable[..., ToolContext]


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    async with site() as there:
        yield there


def real(*allowed: str) -> Callable[[str, str], str]:
    policy = policy_from(
        SecuritySettings(allowed_hosts=allowed), workspace=Path("/w"), home=Path("/h")
    )
    return lambda host, address: judge_address(host, address, policy)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "127.1", "0x7f.1", "2130706433", "017700000001", "0",
        "[::1]", "[::ffff:127.0.0.1]", "127.0.0.1.",
    ],
)  # fmt: skip
async def test_this_machine_is_refused_in_every_notation(
    call: Call, web: Site, narrow: Narrow, host: str
) -> None:
    web.pages["/"] = page("secret")
    with pytest.raises(ToolFailure, match=r"leads to .*this machine|has no address") as failure:
        await call("http", ctx=narrow(reachable=real()), url=web.url(host=host))
    assert not web.heard
    if "leads to" in str(failure.value):
        assert "`security.allowed_hosts: [" in str(failure.value)


async def test_this_machine_is_reached_when_allowed(call: Call, web: Site, narrow: Narrow) -> None:
    web.pages["/"] = page("mine")
    ctx = narrow(reachable=real("127.0.0.1"))
    assert (await call("http", ctx=ctx, url=web.url())).output.endswith("mine")


async def test_one_bad_address_refuses_the_host(web: Site, narrow: Narrow) -> None:
    asked: list[str] = []

    def reachable(host: str, address: str) -> str:
        asked.append(address)
        return "private" if address == "10.0.0.1" else ""

    async def lookup(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1", "10.0.0.1")

    with pytest.raises(ToolFailure, match="refused: private"):
        await fetch(
            Request(web.url(host="two.example")), narrow(reachable=reachable), lookup=lookup
        )
    assert asked == ["127.0.0.1", "10.0.0.1"]
    assert not web.heard


async def test_a_host_is_looked_up_once_and_only_that_is_connected_to(
    web: Site, narrow: Narrow
) -> None:
    """A name that leads elsewhere at the second look gains nothing."""
    web.pages["/"] = page("first")
    looks: list[str] = []
    judged: list[tuple[str, str]] = []

    async def lookup(host: str, port: int) -> tuple[str, ...]:
        looks.append(f"{host}:{port}")
        return ("127.0.0.1",) if len(looks) == 1 else ("10.0.0.1",)

    def reachable(host: str, address: str) -> str:
        judged.append((host, address))
        return ""

    answer = await fetch(
        Request(web.url(host="rebind.example")), narrow(reachable=reachable), lookup=lookup
    )
    assert answer.body == b"first"
    assert looks == [f"rebind.example:{web.port}"]
    assert judged == [("rebind.example", "127.0.0.1")]
    assert web.heard[0].headers["host"] == f"rebind.example:{web.port}"


async def test_the_second_address_is_tried(web: Site, ctx: ToolContext) -> None:
    web.pages["/"] = page("here")

    async def lookup(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.2", "127.0.0.1")

    answer = await fetch(Request(web.url(host="two.example")), ctx, lookup=lookup)
    assert answer.body == b"here"


async def test_a_host_there_is_not(ctx: ToolContext) -> None:
    async def nobody(host: str, port: int) -> tuple[str, ...]:
        raise OSError(-2, "Name or service not known")

    async def nothing(host: str, port: int) -> tuple[str, ...]:
        return ()

    with pytest.raises(ToolFailure, match=r"^no\.example has no address: Name or service"):
        await fetch(Request("http://no.example/"), ctx, lookup=nobody)
    with pytest.raises(ToolFailure, match=r"^no\.example has no address$"):
        await fetch(Request("http://no.example/"), ctx, lookup=nothing)
    with pytest.raises(ToolFailure, match="has no address"):
        await fetch(Request(f"http://{'a' * 64}.example/"), ctx)

"""http: redirects, each judged again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from web_site import Site, away, page, site

from stormclaw.config.settings import SecuritySettings
from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Effect, Fetches
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


async def test_redirects_are_followed(call: Call, web: Site) -> None:
    web.pages |= {
        "/a": away("/b?x=1", "301 Moved"),
        "/b": away("../c", "308 Permanent Redirect"),
        "/c": page("end"),
    }
    result = await call("http", url=web.url("/a"))
    assert result.output.startswith(
        f"200 OK\n{web.url('/c')}\nredirected from {web.url('/a')} to {web.url('/b?x=1')}\n"
    )
    assert result.metadata["redirects"] == [web.url("/a"), web.url("/b?x=1")]


async def test_another_place_is_put_through_the_gate(web: Site, narrow: Narrow) -> None:
    judged: list[tuple[Effect, ...]] = []

    async def permit(effects: tuple[Effect, ...]) -> None:
        judged.append(effects)
        if len(judged) == 2:
            raise ToolFailure("refused on the way: not among the allowed hosts")

    async def lookup(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    web.pages |= {
        "/a": away("/b"),
        "/b": away(web.url("/c", "other.example")),
        "/c": away(web.url("/d", "third.example")),
        "/d": page("never"),
    }
    start = Request(web.url("/a", "one.example"))
    with pytest.raises(ToolFailure) as failure:
        await fetch(start, narrow(permit=permit), lookup=lookup)
    assert judged == [
        (Fetches(web.url("/c", "other.example"), "GET"),),
        (Fetches(web.url("/d", "third.example"), "GET"),),
    ]
    assert str(failure.value) == (
        f"{web.url('/c', 'other.example')} redirects to {web.url('/d', 'third.example')}, which "
        "was refused on the way: not among the allowed hosts. Ask for that address by itself if "
        "you need it"
    )
    assert [heard.path for heard in web.heard] == ["/a", "/b", "/c"]


async def test_another_port_is_another_place(web: Site, narrow: Narrow) -> None:
    judged: list[tuple[Effect, ...]] = []

    async def permit(effects: tuple[Effect, ...]) -> None:
        judged.append(effects)

    async with site({"/": page("other")}) as second:
        web.pages["/"] = away(second.url())
        answer = await fetch(Request(web.url()), narrow(permit=permit))
    assert answer.body == b"other"
    assert judged == [(Fetches(second.url(), "GET"),)]


async def test_a_redirect_to_a_private_address(web: Site, narrow: Narrow) -> None:
    """The gate may say yes to the name: the address is judged all the same."""

    async def lookup(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",) if host == "inside.example" else ("93.184.215.14",)

    web.pages["/"] = away("http://169.254.169.254/latest/meta-data/")
    ctx = narrow(reachable=real("127.0.0.1"))
    with pytest.raises(ToolFailure, match=r"169\.254\.169\.254 leads to"):
        await fetch(Request(web.url()), ctx)
    web.pages["/"] = away(web.url("/x", "inside.example"))
    with pytest.raises(ToolFailure, match=r"inside\.example leads to 127\.0\.0\.1"):
        await fetch(
            Request(web.url()),
            narrow(reachable=lambda host, at: "" if host == "127.0.0.1" else real()(host, at)),
            lookup=lambda host, port: lookup("inside.example", port),
        )
    assert [heard.path for heard in web.heard] == ["/", "/"]


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://a@b/",
        "http://[x/",
        "http://a b/",
    ],
)
async def test_redirects_to_no_address(call: Call, web: Site, location: str) -> None:
    web.pages["/"] = away(location)
    with pytest.raises(ToolFailure, match="redirects where nothing can be asked"):
        await call("http", url=web.url())


async def test_redirects_in_circles(call: Call, web: Site) -> None:
    web.pages |= {"/a": away("/b"), "/b": away("/a"), "/self": away("/self")}
    for start in ("/a", "/self"):
        with pytest.raises(ToolFailure, match="redirects in circles"):
            await call("http", url=web.url(start))


async def test_five_redirects_and_no_more(call: Call, web: Site) -> None:
    web.pages |= {f"/{n}": away(f"/{n + 1}") for n in range(9)} | {"/6": page("six")}
    assert (await call("http", url=web.url("/1"))).output.endswith("six")
    with pytest.raises(ToolFailure, match=r"redirects more than 5 times; last to .*/6$"):
        await call("http", url=web.url("/0"))
    assert "/6" not in [heard.path for heard in web.heard[6:]]


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [
        ("301", "GET", b""), ("302", "GET", b""), ("303", "GET", b""),
        ("307", "POST", b"x"), ("308", "POST", b"x"),
    ],
)  # fmt: skip
async def test_what_becomes_of_a_post(
    call: Call, web: Site, status: str, method: str, body: bytes
) -> None:
    web.pages |= {"/a": away("/b", f"{status} Gone"), "/b": page("end")}
    await call("http", url=web.url("/a"), method="POST", body="x")
    second = web.heard[1]
    assert (second.method, second.body) == (method, body)
    assert ("content-type" in second.headers) == bool(body)


async def test_a_body_goes_only_where_it_was_meant_to_go(call: Call, web: Site) -> None:
    async with site({"/": page("other")}) as second:
        web.pages |= {
            "/keep": away(second.url(), "307 Temporary Redirect"),
            "/see": away(second.url(), "303 See Other"),
        }
        with pytest.raises(ToolFailure, match="would send the POST to another place"):
            await call("http", url=web.url("/keep"), method="POST", body="x")
        assert not second.heard
        await call(
            "http", url=web.url("/see"), method="POST", body="x", headers={"Accept-Language": "de"}
        )
        (heard,) = second.heard
    assert (heard.method, heard.body, heard.headers["accept-language"]) == ("GET", b"", "de")
    assert "content-type" not in heard.headers


async def test_a_head_stays_a_head(call: Call, web: Site) -> None:
    see_other = page("", "text/plain", "303 See Other", "Location: /b")
    web.pages |= {"/a": see_other, "/b": page("")}
    await call("http", url=web.url("/a"), method="HEAD")
    assert [heard.method for heard in web.heard] == ["HEAD", "HEAD"]


async def test_a_redirect_to_nowhere_is_an_answer(call: Call, web: Site) -> None:
    web.pages["/"] = page("choose", "text/plain", "302 Found")
    result = await call("http", url=web.url())
    assert (result.ok, result.output.startswith("302 Found\n")) == (False, True)

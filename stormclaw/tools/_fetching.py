"""Asks for a web address within a time, and follows redirects by hand: each is judged again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Fetches
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools._address import canonical, host_and_port

if TYPE_CHECKING:
    from stormclaw.tools._web import Lookup

MAX_HOPS = 5
"""Redirects that are followed."""

CARRIED = frozenset({"accept", "accept-language"})
"""Headers that also go to a host the request was not written for."""

_TO_GET: Mapping[int, frozenset[str]] = {
    301: frozenset({"POST"}),
    302: frozenset({"POST"}),
    303: frozenset({"POST"}),
    307: frozenset(),
    308: frozenset(),
}
"""Redirect -> the methods it turns into GET, as browsers do."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: a canonical address, a method in capitals, headers, a body."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        url: Who answered, after all redirects.
        status: HTTP status.
        reason: The server's words for it.
        headers: By name in lower case; of a repeated one the first.
        body: Unpacked.
        cut: The body is not whole.
        trail: The addresses that led here by redirects, first one first.
    """

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False
    trail: tuple[str, ...] = ()


async def fetch(
    request: Request, ctx: ToolContext, *, hops: int = MAX_HOPS, lookup: Lookup | None = None
) -> Answer:
    """The answer to a request, redirects followed.

    Args:
        request: Already allowed by the gate.
        ctx: Its limits hold for the whole; the wait for a permission does not count.
        hops: Most redirects; with 0 a redirect is an answer like any other.
        lookup: How hosts are looked up, if not by the system.

    Raises:
        ToolFailure: Refused, too slow, broken, or sent around in circles.
    """
    from stormclaw.tools._web import exchange

    clock = asyncio.get_running_loop().time
    left = ctx.http_timeout_s
    trail: list[str] = []
    while True:
        began = clock()
        try:
            async with asyncio.timeout(left):
                answer = await exchange(request, ctx, ctx.max_response_bytes, lookup)
        except TimeoutError as problem:
            raise ToolFailure(
                f"{request.url} did not answer in full within {ctx.http_timeout_s:g} s",
                summary="timed out",
            ) from problem
        left -= clock() - began
        following = redirected(request, answer) if hops else None
        if following is None:
            return replace(answer, trail=tuple(trail))
        trail.append(request.url)
        if following.url in trail:
            raise ToolFailure(f"{trail[0]} redirects in circles", summary="redirects in circles")
        if len(trail) > hops:
            raise ToolFailure(
                f"{trail[0]} redirects more than {hops} times; last to {following.url}",
                summary="too many redirects",
            )
        await _judge(request, following, ctx)
        request = following


def redirected(request: Request, answer: Answer) -> Request | None:
    """What an answer asks to ask instead, None if it asks nothing.

    A body goes only to the place it was meant for, and so do all headers but harmless ones.

    Raises:
        ToolFailure: To no web address, from https to http, or with a body to another place.
    """
    location = answer.headers.get("location", "").strip()
    if answer.status not in _TO_GET or not location:
        return None
    try:
        url = canonical(urljoin(request.url, location))
    except (ToolFailure, ValueError) as problem:
        raise ToolFailure(
            f"{request.url} redirects where nothing can be asked: {problem}",
            summary="redirect refused",
        ) from problem
    if urlsplit(request.url).scheme == "https" and urlsplit(url).scheme == "http":
        raise _refused(request.url, url, "leaves https, so it is not followed")
    method = "GET" if request.method in _TO_GET[answer.status] else request.method
    body = request.body if method == request.method else b""
    if same_place(request.url, url):
        dropped = {"content-type"} if request.body and not body else set()
        headers = {name: text for name, text in request.headers.items() if name not in dropped}
        return Request(url, method, headers, body)
    if method not in {"GET", "HEAD"}:
        raise _refused(request.url, url, f"would send the {method} to another place")
    headers = {name: text for name, text in request.headers.items() if name in CARRIED}
    return Request(url, method, headers)


def same_place(old: str, new: str) -> bool:
    """Whether two addresses are of one host and port; from http up to https also counts."""
    there, here = host_and_port(old), host_and_port(new)
    schemes = (urlsplit(old).scheme, urlsplit(new).scheme)
    upgrade = (there[0], 80, here[1]) == (here[0], there[1], 443) and schemes == ("http", "https")
    return upgrade or (there == here and schemes[0] == schemes[1])


async def _judge(request: Request, following: Request, ctx: ToolContext) -> None:
    """Another place is put through the gate; the same one, asked no harder, was allowed."""
    if same_place(request.url, following.url):
        return
    try:
        await ctx.permit((Fetches(following.url, following.method),))
    except ToolFailure as refusal:
        raise ToolFailure(
            f"{request.url} redirects to {following.url}, which was {refusal}. Ask for that "
            "address by itself if you need it",
            summary="redirect refused",
        ) from refusal


def _refused(old: str, new: str, why: str) -> ToolFailure:
    return ToolFailure(
        f"{old} redirects to {new}: {why}. Ask for that address by itself if you need it",
        summary="redirect refused",
    )

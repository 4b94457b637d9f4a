"""The search services there may be a key for, as a table: how each is asked, what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Literal
from urllib.parse import urlencode

from stormclaw.tools._fetching import Request

MAX_TITLE = 200
MAX_URL = 1_000
MAX_SNIPPET = 600
"""Characters of a result that are kept."""


@dataclass(frozen=True, slots=True)
class Service:
    """A search service.

    Attributes:
        name: For people.
        keys: Environment variables its key may stand in, first one first.
        url: Where it is asked; "" where the variable holds the server's address.
        method: How. A search only asks, so the gate is told GET whatever this is.
        header: Name of the header that carries the key and the text before the key.
        query: Name of the parameter with the question.
        count: Name of the parameter with the number of results, "" if there is none.
        path: Where the list of results stands in the JSON.
        title: Name of a result's title.
        link: Name of its address.
        snippet: Name of its text, or list of texts.
        extra: Other parameters, always the same.
    """

    name: str
    keys: tuple[str, ...]
    url: str
    method: Literal["GET", "POST"]
    header: tuple[str, str]
    query: str
    count: str
    path: tuple[str, ...]
    title: str
    link: str
    snippet: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A result: plain text, white space collapsed, cut where too long."""

    title: str
    url: str
    snippet: str


SERVICES: tuple[Service, ...] = (
    Service(
        name="Brave",
        keys=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
        url="https://api.search.brave.com/res/v1/web/search",
        method="GET",
        header=("x-subscription-token", ""),
        query="q",
        count="count",
        path=("web", "results"),
        title="title",
        link="url",
        snippet="description",
        extra={"text_decorations": "false"},
    ),
    Service(
        name="Tavily",
        keys=("TAVILY_API_KEY",),
        url="https://api.tavily.com/search",
        method="POST",
        header=("authorization", "Bearer "),
        query="query",
        count="max_results",
        path=("results",),
        title="title",
        link="url",
        snippet="content",
    ),
    Service(
        name="Exa",
        keys=("EXA_API_KEY",),
        url="https://api.exa.ai/search",
        method="POST",
        header=("x-api-key", ""),
        query="query",
        count="numResults",
        path=("results",),
        title="title",
        link="url",
        snippet="highlights",
        extra={"contents": {"highlights": True}},
    ),
    Service(
        name="Serper",
        keys=("SERPER_API_KEY",),
        url="https://google.serper.dev/search",
        method="POST",
        header=("x-api-key", ""),
        query="q",
        count="num",
        path=("organic",),
        title="title",
        link="link",
        snippet="snippet",
    ),
    Service(
        name="SearXNG",
        keys=("SEARXNG_URL",),
        url="",
        method="GET",
        header=("", ""),
        query="q",
        count="",
        path=("results",),
        title="title",
        link="url",
        snippet="content",
        extra={"format": "json"},
    ),
)


def question(service: Service, url: str, key: str, query: str, count: int) -> Request:
    """The request that asks `service` at `url`."""
    counted = {service.count: count} if service.count else {}
    values: dict[str, Any] = {service.query: query, **counted, **service.extra}
    name, before = service.header
    headers = {"accept": "application/json", **({name: before + key} if name else {})}
    if service.method == "GET":
        return Request(f"{url}?{urlencode(values)}", "GET", headers)
    headers["content-type"] = "application/json"
    return Request(url, "POST", headers, json.dumps(values).encode())


def results(service: Service, answer: object, count: int) -> tuple[Found, ...] | None:
    """The results in an answer's JSON, those without an address left out.

    Returns:
        None if the list is not where it should be; no list at all is an empty one.
    """
    there = answer
    for name in service.path:
        if not isinstance(there, dict):
            return None
        there = there.get(name) or ([] if name == service.path[-1] else {})
    if not isinstance(there, list):
        return None
    found = (_found(service, each) for each in there if isinstance(each, dict))
    return tuple(each for each in found if each.url)[:count]


def _found(service: Service, each: Mapping[str, Any]) -> Found:
    said = each.get(service.snippet)
    if isinstance(said, list):
        said = " … ".join(part for part in said if isinstance(part, str))
    return Found(
        title=_plain(each.get(service.title), MAX_TITLE),
        url=_plain(each.get(service.link), MAX_URL),
        snippet=_plain(said, MAX_SNIPPET),
    )


def _plain(value: object, most: int) -> str:
    whole = value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
    text = " ".join(unescape(whole).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"

"""web_search: every service asked as it documents, on loopback, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from web_site import Site, away, page, site

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Plain
from stormclaw.protocol.effects import Fetches
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import web_search
from stormclaw.tools._search_services import SERVICES, Service

Narrow = Callable[..., ToolContext]
Search = Callable[..., Awaitable[ToolResult]]

KEY = "key-1234567890"

ANSWERS: dict[str, Any] = {
    "Brave": {
        "type": "search",
        "query": {"original": "tide", "more_results_available": True},
        "web": {
            "type": "search",
            "results": [
                {"title": "One", "url": "https://one.example/", "description": "First &amp; best",
                 "extra_snippets": [], "profile": {"name": "x"}},
                {"title": "Two", "url": "https://two.example/a", "description": "Second\nline"},
            ],
        },
    },
    "Tavily": {
        "query": "tide", "answer": None, "images": [], "response_time": 1.2,
        "results": [
            {"title": "One", "url": "https://one.example/", "content": "First & best",
             "score": 0.9, "raw_content": None},
            {"title": "Two", "url": "https://two.example/a", "content": "Second line"},
        ],
    },
    "Exa": {
        "requestId": "1", "searchType": "auto", "costDollars": {"total": 0.005},
        "results": [
            {"id": "1", "title": "One", "url": "https://one.example/", "publishedDate": None,
             "author": None, "highlights": ["First & best"], "highlightScores": [0.4]},
            {"id": "2", "title": "Two", "url": "https://two.example/a",
             "highlights": ["Second line"]},
        ],
    },
    "Serper": {
        "searchParameters": {"q": "tide", "type": "search", "engine": "google"},
        "organic": [
            {"title": "One", "link": "https://one.example/", "snippet": "First & best",
             "position": 1},
            {"title": "Two", "link": "https://two.example/a", "snippet": "Second line",
             "position": 2},
        ],
        "credits": 1,
    },
    "SearXNG": {
        "query": "tide", "number_of_results": 0, "unresponsive_engines": [],
        "results": [
            {"title": "One", "url": "https://one.example/", "content": "First & best",
             "engine": "x", "score": 1.0},
            {"title": "Two", "url": "https://two.example/a", "content": "Second line"},
        ],
    },
}  # fmt: skip

TOLD = (
    "1. One\n   https://one.example/\n   First & best\n"
    "2. Two\n   https://two.example/a\n   Second line"
)


def named(name: str) -> Service:
    return next(service for service in SERVICES if service.name == name)


def at(web: Site, name: str) -> tuple[Service, ...]:
    """The service's row of the table with its address on loopback."""
    service = named(name)
    return (replace(service, url=web.url("/search")) if service.url else service,)


def keys(web: Site, name: str, value: str = KEY) -> Callable[[str], str]:
    """A person who set the (last of the) service's variables."""
    held = {named(name).keys[-1]: value if named(name).url else web.url("/")}
    return lambda variable: held.get(variable, "")


async def search(
    services: tuple[Service, ...], ctx: ToolContext, query: str = "tide  tables", count: int = 2
) -> ToolResult:
    tool = web_search.tool_for(services)
    args = web_search.Args(query, count)
    tool.effects(args, ctx)
    return await tool.run(args, ctx)


@pytest.mark.parametrize("name", ANSWERS)
async def test_each_service(narrow: Narrow, name: str) -> None:
    async with site({"/search": page(json.dumps(ANSWERS[name]), "application/json")}) as web:
        services, ctx = at(web, name), narrow(key=keys(web, name))
        result = await search(services, ctx)
        args = web_search.Args("tide")
        tool = web_search.tool_for(services)
        assert tool.effects(args, ctx) == (Fetches(web.url("/search"), "GET"),)
        assert tool.preview is not None
        preview = await tool.preview(args, ctx)
        assert preview == Plain(f"tide\n\nis asked of {name}, {web.url('/search')}")
        (heard,) = web.heard
    assert (result.output, result.summary) == (TOLD, "2 results")
    assert result.metadata["service"] == name
    asked: dict[str, tuple[str, str, str, object]] = {
        "Brave": ("GET", "/search?q=tide+tables&count=2&text_decorations=false",
                  "x-subscription-token", ""),
        "Tavily": ("POST", "/search", "authorization", {"query": "tide tables", "max_results": 2}),
        "Exa": ("POST", "/search", "x-api-key",
                {"query": "tide tables", "numResults": 2, "contents": {"highlights": True}}),
        "Serper": ("POST", "/search", "x-api-key", {"q": "tide tables", "num": 2}),
        "SearXNG": ("GET", "/search?q=tide+tables&format=json", "", ""),
    }  # fmt: skip
    method, path, header, body = asked[name]
    assert (heard.method, heard.path) == (method, path)
    assert (json.loads(heard.body) if heard.body else "") == body
    if header:
        assert heard.headers[header] == ("Bearer " if name == "Tavily" else "") + KEY
    assert KEY not in heard.path


def test_the_table_is_of_real_places() -> None:
    assert [(service.name, service.url) for service in SERVICES] == [
        ("Brave", "https://api.search.brave.com/res/v1/web/search"),
        ("Tavily", "https://api.tavily.com/search"),
        ("Exa", "https://api.exa.ai/search"),
        ("Serper", "https://google.serper.dev/search"),
        ("SearXNG", ""),
    ]


async def test_without_a_key(ctx: ToolContext) -> None:
    assert web_search.TOOL.effects(web_search.Args("x"), ctx) == ()
    with pytest.raises(ToolFailure) as failure:
        await web_search.TOOL.run(web_search.Args("x"), ctx)
    assert (
        "BRAVE_API_KEY or BRAVE_SEARCH_API_KEY (Brave), TAVILY_API_KEY (Tavily), EXA_API_KEY "
        "(Exa), SERPER_API_KEY (Serper), SEARXNG_URL (SearXNG)" in str(failure.value)
    )
    assert failure.value.summary == "no search key"


def test_the_first_service_with_a_key_is_asked(narrow: Narrow) -> None:
    held = {"TAVILY_API_KEY": " t ", "EXA_API_KEY": "e", "BRAVE_API_KEY": " "}
    effects = web_search.TOOL.effects(
        web_search.Args("x"), narrow(key=lambda name: held.get(name, ""))
    )
    assert effects == (Fetches("https://api.tavily.com/search", "GET"),)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("401 Unauthorized", "Tavily refuses the key in TAVILY_API_KEY"),
        ("403 Forbidden", "Tavily refuses: the key in TAVILY_API_KEY may not search"),
        ("429 Too Many Requests", "Tavily has had too many questions; wait"),
        ("432 Plan", "the plan of the key in TAVILY_API_KEY is used up"),
        ("500 Oops", "Tavily answers 500"),
        ("302 Found", "Tavily answers 302"),
    ],
)
async def test_refusals_name_what_to_do(narrow: Narrow, status: str, said: str) -> None:
    body = json.dumps({"detail": {"error": f"no good: {KEY}"}, "long": "x" * 5_000})
    async with site({"/search": page(body, "application/json", status)}) as web:
        with pytest.raises(ToolFailure) as failure:
            await search(at(web, "Tavily"), narrow(key=keys(web, "Tavily")))
    assert said in str(failure.value)
    assert KEY not in str(failure.value)
    assert "no good" in str(failure.value)
    assert len(str(failure.value)) < 500


async def test_a_key_follows_no_redirect(narrow: Narrow) -> None:
    async with site() as elsewhere, site({"/search": away(elsewhere.url())}) as web:
        with pytest.raises(ToolFailure, match="Brave answers 302"):
            await search(at(web, "Brave"), narrow(key=keys(web, "Brave")))
        assert not elsewhere.heard


@pytest.mark.parametrize(
    "body",
    [
        "", "not json", '{"web":', "[]", '"text"', '{"web":7}', '{"web":{"results":"x"}}',
        "[" * 100_000, b"\xff\xfe",
    ],
    ids=lambda body: repr(body[:30]),
)  # fmt: skip
async def test_broken_answers(narrow: Narrow, body: str | bytes) -> None:
    async with site({"/search": page(body, "application/json")}) as web:
        ctx = narrow(key=keys(web, "Brave"))
        with pytest.raises(ToolFailure, match="cannot be read as search results"):
            await search(at(web, "Brave"), ctx)


@pytest.mark.parametrize(
    "body", ["{}", '{"web":null}', '{"web":[]}', '{"web":{}}', '{"web":{"results":null}}']
)
async def test_nothing_found(narrow: Narrow, body: str) -> None:
    async with site({"/search": page(body, "application/json")}) as web:
        result = await search(at(web, "Brave"), narrow(key=keys(web, "Brave")))
    assert result.output == "Brave found nothing for 'tide tables'; try other words"


async def test_odd_results(narrow: Narrow) -> None:
    results = [
        7, None, {"title": "no address"}, {"title": 5, "url": ["x"]},
        {"title": "", "url": "https://a.example/", "description": None},
        {"title": "\ud800" + "T" * 5_000, "url": "https://b.example/", "description": "d" * 5_000},
        {"title": "third", "url": "https://c.example/"},
    ]  # fmt: skip
    body = json.dumps({"web": {"results": results}})
    async with site({"/search": page(body, "application/json")}) as web:
        result = await search(at(web, "Brave"), narrow(key=keys(web, "Brave")))
    assert result.metadata["urls"] == ["https://a.example/", "https://b.example/"]
    assert result.output.startswith("1. https://a.example/\n   https://a.example/\n2. ?TTT")
    assert result.output.encode()
    assert len(result.output) < 1_000


async def test_results_are_bounded(narrow: Narrow) -> None:
    results = [{"title": "t", "url": f"https://e.example/{n}"} for n in range(20)]
    body = json.dumps({"web": {"results": results}})
    async with site({"/search": page(body, "application/json")}) as web:
        ctx = narrow(key=keys(web, "Brave"), max_output_chars=100)
        result = await search(at(web, "Brave"), ctx, count=20)
    assert result.output.endswith("… 17 more left out")


@pytest.mark.parametrize("query", [" ", "x" * 401])
async def test_questions_that_make_no_sense(ctx: ToolContext, query: str) -> None:
    with pytest.raises(ToolFailure, match="`query` is"):
        web_search.TOOL.effects(web_search.Args(query), ctx)


@pytest.mark.parametrize("value", ["ключ", "a\nX-Evil: b"])
async def test_what_cannot_be_a_key(narrow: Narrow, value: str) -> None:
    ctx = narrow(key=lambda name: value if name == "EXA_API_KEY" else "")
    with pytest.raises(ToolFailure, match="what stands in EXA_API_KEY is no key") as failure:
        web_search.TOOL.effects(web_search.Args("x"), ctx)
    assert value not in str(failure.value)


@pytest.mark.parametrize("value", ["searx", "file:///x", "http://me:secret@host/"])
async def test_what_is_no_server(narrow: Narrow, value: str) -> None:
    ctx = narrow(key=lambda name: value if name == "SEARXNG_URL" else "")
    with pytest.raises(ToolFailure, match="SEARXNG_URL must hold the address of a server"):
        web_search.TOOL.effects(web_search.Args("x"), ctx)


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("https://s.example", "https://s.example/search"),
        ("https://s.example/sub/?a=b", "https://s.example/sub/search"),
        ("https://s.example/search", "https://s.example/search"),
    ],
)
def test_where_a_server_is_asked(narrow: Narrow, value: str, asked: str) -> None:
    ctx = narrow(key=lambda name: value if name == "SEARXNG_URL" else "")
    assert web_search.TOOL.effects(web_search.Args("x"), ctx) == (Fetches(asked, "GET"),)

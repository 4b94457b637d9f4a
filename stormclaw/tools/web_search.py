"""Searches the web with the service the person has a key for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Display, Headline, Plain
from stormclaw.protocol.effects import Effect, Fetches
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._address import canonical
from stormclaw.tools._bounded import Bounded
from stormclaw.tools._fetching import Answer, fetch
from stormclaw.tools._search_services import SERVICES, Found, Service, question, results
from stormclaw.tools._text import counted

USUAL = 8
MOST = 20
MAX_QUERY = 400

_REFUSALS: Mapping[int, str] = {
    400: "{name} does not understand the question",
    401: "{name} refuses the key in {key}: the person must check it",
    402: "the plan of the key in {key} is used up at {name}: the person must look after it",
    403: "{name} refuses: the key in {key} may not search, or the server gives no JSON",
    422: "{name} does not understand the question or refuses the key in {key}",
    429: "{name} has had too many questions; wait, or ask fewer",
    432: "the plan of the key in {key} is used up at {name}: the person must look after it",
}


class Args(Struct, frozen=True):
    """What to search for."""

    query: str
    count: Annotated[int, Meta(ge=1, le=MOST, description="Default 8")] | None = None


def tool_for(services: tuple[Service, ...]) -> Tool[Args]:
    """The tool, searching with the first of these services that there is a key for."""

    def effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
        _query(args)
        chosen = _choose(services, ctx)
        # A search only asks, also where the service wants it as a POST.
        return (Fetches(chosen[1]),) if chosen else ()

    async def preview(args: Args, ctx: ToolContext) -> Display:
        chosen = _choose(services, ctx)
        place = f"{chosen[0].name}, {chosen[1]}" if chosen else "no service"
        return Plain(f"{_query(args)}\n\nis asked of {place}")

    async def run(args: Args, ctx: ToolContext) -> ToolResult:
        query, count = _query(args), args.count or USUAL
        chosen = _choose(services, ctx)
        if chosen is None:
            raise _no_service(services)
        service, url, variable = chosen
        request = question(service, url, ctx.key(variable).strip(), query, count)
        answer = await fetch(request, ctx, hops=0)
        found = _read(service, variable, answer, ctx.key(variable).strip(), count)
        return _told(service, query, found, ctx.max_output_chars)

    return Tool(
        name="web_search",
        description="Search the web; read what is found with http.",
        args=Args,
        headline=lambda args: Headline("search", " ".join(args.query.split()) or "?"),
        effects=effects,
        run=run,
        preview=preview,
        aliases=("WebSearch",),
        own_time=True,
    )


def _query(args: Args) -> str:
    query = " ".join(args.query.split())
    if not query:
        raise ToolFailure("`query` is empty: name what to search for", summary="no query")
    if len(query) > MAX_QUERY:
        raise ToolFailure(
            f"`query` is longer than {MAX_QUERY} characters; use fewer words", summary="too long"
        )
    return query


def _choose(services: tuple[Service, ...], ctx: ToolContext) -> tuple[Service, str, str] | None:
    """The first service there is a key for, where it is asked, and the variable with the key.

    Raises:
        ToolFailure: What stands in the variable cannot be a key or an address.
    """
    for service in services:
        for variable in service.keys:
            value = ctx.key(variable).strip()
            if not value:
                continue
            if not value.isascii() or not value.isprintable():
                raise ToolFailure(
                    f"what stands in {variable} is no key for {service.name}; the person must "
                    "mend it",
                    summary="bad key",
                )
            return service, service.url or _server(variable, value), variable
    return None


def _server(variable: str, value: str) -> str:
    try:
        address = canonical(value).partition("?")[0].rstrip("/")
    except ToolFailure as problem:
        raise ToolFailure(
            f"{variable} must hold the address of a server: {problem}", summary="bad address"
        ) from problem
    return address if address.endswith("/search") else f"{address}/search"


def _no_service(services: tuple[Service, ...]) -> ToolFailure:
    ways = ", ".join(f"{' or '.join(each.keys)} ({each.name})" for each in services)
    return ToolFailure(
        "web search needs a key for a search service, and there is none. Tell the person: set one "
        f"of these in the environment and start again: {ways}. Known addresses can be read with "
        "http without a key",
        summary="no search key",
    )


def _read(
    service: Service, variable: str, answer: Answer, key: str, count: int
) -> tuple[Found, ...]:
    """The results in an answer.

    Raises:
        ToolFailure: It refuses, it fails, or its JSON cannot be read.
    """
    said = answer.body.decode("utf-8", "replace")
    if not 200 <= answer.status < 300:
        usual = f"{{name}} answers {answer.status}"
        why = _REFUSALS.get(answer.status, usual).format(name=service.name, key=variable)
        hidden = said.replace(key, "…") if service.url else said
        words = " ".join(hidden.split())[:300]
        raise ToolFailure(f"{why}. It says: {words or 'nothing'}", summary=str(answer.status))
    try:
        found = results(service, json.loads(said), count)
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise ToolFailure(
            f"the answer of {service.name} cannot be read as search results; try again later, or "
            "read known addresses with http",
            summary="unreadable answer",
        )
    return found


def _told(service: Service, query: str, found: tuple[Found, ...], room: int) -> ToolResult:
    if not found:
        return ToolResult(
            f"{service.name} found nothing for {query!r}; try other words", summary="nothing found"
        )
    lines = Bounded(room)
    for number, each in enumerate(found, 1):
        lines.add("\n".join(filter(None, (
            f"{number}. {each.title or each.url}", f"   {each.url}",
            f"   {each.snippet}" if each.snippet else "",
        ))))  # fmt: skip
    if lines.left_out:
        lines.lines.append(f"… {lines.left_out} more left out")
    return ToolResult(
        "\n".join(lines.lines),
        summary=counted(len(found), "result"),
        metadata={"service": service.name, "urls": [each.url for each in found]},
    )


TOOL = tool_for(SERVICES)

"""remember and recall: what a model writes, and what it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Plain
from stormclaw.protocol.tool import Kept, ToolContext, ToolResult
from stormclaw.tools import recall, remember
from stormclaw.tools.registry import Registry
from stormclaw.tools.schema import spec_of

Call = Callable[..., Awaitable[ToolResult]]
Narrow = Callable[..., ToolContext]


def keeping(*kept: Kept) -> Any:
    """A session that keeps these: all of them for "", else by id."""

    def look(wanted: str) -> tuple[Kept, ...]:
        return tuple(one for one in kept if wanted in ("", one.id))

    return look


async def test_something_is_kept_and_forgotten(call: Call, ctx: ToolContext) -> None:
    result = await call("remember", key="  the\n port ", value="8080")
    assert (result.output, result.summary) == ("Kept: the port", "4 characters")
    assert result.display == Plain("8080")
    assert (await call("memory.write", key="the port", value=" \n")).output == "Forgotten: the port"
    args = remember.Args(" the\nport", "8080")
    assert remember.TOOL.effects(args, ctx) == ()
    assert (remember.TOOL.headline(args).verb, remember.TOOL.headline(args).object) == (
        "keep",
        "the port",
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (" \n", "x", "`key` is empty"),
        ("k" * 101, "x", "at most 100 characters, not 101"),
        ("k", "x" * 8001, "at most 8,000 characters, not 8,001"),
    ],
)
async def test_notes_that_cannot_be_kept(call: Call, key: str, value: str, said: str) -> None:
    with pytest.raises(ToolFailure, match=said) as failure:
        await call("remember", key=key, value=value)
    assert "nothing kept" in str(failure.value)


async def test_the_longest_note_is_kept(call: Call) -> None:
    assert (await call("remember", key="k" * 100, value="x" * 8000)).ok


async def test_a_note_comes_back_whole(call: Call, narrow: Narrow, ctx: ToolContext) -> None:
    kept = keeping(Kept("port", "note", "8080", "8080\nnot 80"))
    result = await call("recall", ctx=narrow(kept=kept), what=" port ")
    assert result.output == "[note port: 8080; 2 lines]\n8080\nnot 80"
    assert result.summary == "2 lines"
    args = recall.Args("a\n b")
    assert recall.TOOL.effects(args, ctx) == ()
    assert recall.TOOL.headline(args).object == "a b"
    assert recall.TOOL.headline(recall.Args()).object == "what is kept"


async def test_all_of_a_large_result_can_be_read(call: Call, narrow: Narrow) -> None:
    lines = [f"line {number} {'x' * 90}" for number in range(1, 1001)]
    ctx = narrow(kept=keeping(Kept("ab12", "result", "grep", "\n".join(lines), held_back=True)))
    read: list[str] = []
    offset = 1
    while True:
        result = await call("recall", ctx=ctx, what="ab12", offset=offset)
        assert len(result.output) < recall.MOST_CHARS + 200
        _, *body = result.output.split("\n")
        more = body.pop() if body[-1].startswith("… read on with offset=") else ""
        read += body
        if not more:
            break
        offset = int(more.rpartition("=")[2])
    assert read == lines


async def test_a_line_without_an_end_is_broken(call: Call, narrow: Narrow) -> None:
    ctx = narrow(kept=keeping(Kept("ab12", "result", "cat", "x" * 50_000)))
    first = await call("recall", ctx=ctx, what="ab12")
    assert first.summary == "lines 1-11 of 50"
    last = await call("recall", ctx=ctx, what="ab12", offset=50)
    assert last.output.split("\n")[1] == "x" * 1000
    part = await call("recall", ctx=ctx, what="ab12", offset=2, limit=3)
    assert part.summary == "lines 2-4 of 50"
    assert part.output.endswith("… read on with offset=5")
    with pytest.raises(ToolFailure, match="has 50 lines; offset=51 is past its end"):
        await call("recall", ctx=ctx, what="ab12", offset=51)


async def test_an_empty_what_lists(call: Call, narrow: Narrow) -> None:
    kept = keeping(Kept("port", "note", "8080"), Kept("ab12", "result", "grep x", held_back=True))
    ctx = narrow(kept=kept)
    result = await call("recall", ctx=ctx)
    assert result.output == "note port  8080\nresult ab12  grep x (held back)"
    assert result.summary == "1 note, 1 result"
    assert (await call("recall", ctx=ctx, offset=2)).output == "result ab12  grep x (held back)"
    with pytest.raises(ToolFailure, match="past the last"):
        await call("recall", ctx=ctx, offset=3)
    assert (await call("recall", what="")).output == "Nothing is kept and nothing is held back"


async def test_a_long_listing_is_bounded_and_goes_on(call: Call, narrow: Narrow) -> None:
    many = tuple(Kept(f"key{n:04}", "note", "x" * 100) for n in range(500))
    ctx = narrow(kept=keeping(*many))
    result = await call("recall", ctx=ctx)
    assert len(result.output) < recall.MOST_CHARS + 100
    more = result.output.split("\n")[-1]
    offset = int(more.rpartition("=")[2])
    following = await call("recall", ctx=ctx, offset=offset)
    assert following.output.startswith(f"note key{offset - 1:04}")


async def test_what_nobody_kept_names_the_nearest(call: Call, narrow: Narrow) -> None:
    ctx = narrow(kept=keeping(Kept("retry limit", "note", "5"), Kept("zebra", "note", "no")))
    with pytest.raises(ToolFailure, match=r"The nearest notes: retry limit$"):
        await call("recall", ctx=ctx, what="retrylimits")
    with pytest.raises(ToolFailure, match="There are no notes"):
        await call("recall", what="anything")


async def test_numbers_that_make_no_sense(call: Call) -> None:
    with pytest.raises(ToolFailure, match="`offset` must be"):
        await call("recall", what="x", offset=0)
    with pytest.raises(ToolFailure, match="`limit` must be"):
        await call("recall", what="x", limit=0)


def test_the_two_take_little_of_every_request(registry: Registry) -> None:
    specs = [spec_of(registry.tools[name]) for name in ("remember", "recall")]
    assert sum(len(spec.description) + len(str(spec.parameters)) for spec in specs) < 520

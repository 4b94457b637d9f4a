"""todo and memory_search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from stormclaw.errors import StoreError, ToolFailure
from stormclaw.protocol.display import Checklist, Step
from stormclaw.protocol.tool import Recalled, ToolContext, ToolResult
from stormclaw.tools import memory_search, todo
from stormclaw.tools.registry import Registry

Call = Callable[..., Awaitable[ToolResult]]
Narrow = Callable[..., ToolContext]


async def test_a_plan_is_shown_whole(call: Call, ctx: ToolContext) -> None:
    steps = [
        {"text": "read  the\ncode", "state": "done"},
        {"text": "mend it", "state": "doing"},
        {"text": "test it"},
        {"text": "rewrite all", "state": "dropped"},
    ]
    result = await call("todo", steps=steps)
    assert result.display == Checklist(
        (
            Step("read the code", "done"),
            Step("mend it", "doing"),
            Step("test it", "open"),
            Step("rewrite all", "dropped"),
        )
    )
    assert result.output == "Plan noted: 2 of 4 done; now: mend it"
    assert result.summary == "2 of 4 done"
    args = todo.Args((todo.Item("a"), todo.Item("b  c", "in_progress")))
    assert todo.TOOL.effects(args, ctx) == ()
    assert todo.TOOL.headline(args).object == "b c"
    assert todo.TOOL.headline(todo.Args((todo.Item("a"),))).object == "1 step"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("open", "open"), ("pending", "open"), ("todo", "open"),
        ("doing", "doing"), ("in_progress", "doing"), ("In Progress", "doing"),
        ("in-progress", "doing"),
        ("done", "done"), ("completed", "done"), (" DONE ", "done"),
        ("dropped", "dropped"), ("cancelled", "dropped"), ("canceled", "dropped"),
    ],
)  # fmt: skip
async def test_states_as_models_write_them(call: Call, written: str, meant: str) -> None:
    result = await call("TodoWrite", steps=[{"text": "x", "state": written}])
    assert isinstance(result.display, Checklist)
    assert result.display.steps[0].state == meant


async def test_plain_texts_are_open_steps(call: Call) -> None:
    result = await call("update_plan", steps=["one", "two"])
    assert result.display == Checklist((Step("one"), Step("two")))


async def test_an_empty_plan_clears(call: Call) -> None:
    result = await call("todo", steps=[])
    assert (result.output, result.display) == ("The plan is empty now", Checklist(()))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"text": " \n"}], "step 1 has no text"),
        ([{"text": "a"}, {"text": "b", "state": "soon"}], "step 2: there is no state 'soon'"),
        (
            [{"text": "a", "state": "doing"}, {"text": "b"}, {"text": "c", "state": "doing"}],
            "steps 1, 3 are all `doing`",
        ),
        ([{"text": "x"}] * 101, "101 steps are too many"),
    ],
)
async def test_plans_that_make_no_sense(call: Call, steps: list[object], said: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        await call("todo", steps=steps)
    assert said in str(failure.value)
    assert "the plan stays as it was" in str(failure.value)


async def test_a_long_step_is_cut(call: Call) -> None:
    result = await call("todo", steps=["x" * 5000])
    assert isinstance(result.display, Checklist)
    assert result.display.steps[0].text == "x" * 499 + "…"
    assert len(result.output) < 600


def hit(text: str = "we chose port 8080", at: float = 1_700_000_000) -> Recalled:
    return Recalled("20231114-ab12", "The\nport", at, "assistant", text)


async def test_what_was_said_earlier(call: Call, narrow: Narrow, ctx: ToolContext) -> None:
    asked: list[tuple[str, int]] = []

    async def recall(query: str, most: int) -> tuple[Recalled, ...]:
        asked.append((query, most))
        return (hit(), hit("line one\n\x1b[31mline two"))

    result = await call("memory_search", ctx=narrow(recall=recall), query=" port\n 8080 ", limit=3)
    assert asked == [("port 8080", 3)]
    assert result.output == (
        "20231114-ab12  2023-11-14 22:13Z  assistant  The port\n  we chose port 8080\n"
        "20231114-ab12  2023-11-14 22:13Z  assistant  The port\n  line one \x1b[31mline two"
    )
    assert result.summary == "2 hits"
    args = memory_search.Args("a  b")
    assert memory_search.TOOL.effects(args, ctx) == ()
    assert memory_search.TOOL.headline(args).object == "a b"


async def test_a_hit_says_who_said_it_and_how_to_see_all_of_it(call: Call, narrow: Narrow) -> None:
    place = "20231114-221320-ab12/n7"
    found = replace(hit("first\n\n  second"), agent="root/scout", place=place)
    asked: list[str] = []

    async def recall(query: str, most: int) -> tuple[Recalled, ...]:
        asked.append(query)
        return (found,)

    ctx = narrow(recall=recall)
    result = await call("memory_search", ctx=ctx, query="port")
    head = f"{place}  2023-11-14 22:13Z  assistant of root/scout  The port"
    assert result.output == f"{head}\n  first second"
    result = await call("memory_search", ctx=ctx, query=f" {place} ")
    assert result.output == f"{head}\nfirst\n\n  second"
    assert result.summary == place
    short = narrow(recall=recall, max_output_chars=len(head) + 7)
    result = await call("memory_search", ctx=short, query=place)
    assert result.output == f"{head}\nfirst\n… 2 lines left out"
    assert asked == ["port", place, place]


async def test_nothing_was_said(call: Call) -> None:
    result = await call("memory_search", query="zebra")
    assert result.output.startswith("No earlier conversation says anything about 'zebra'")
    assert (result.summary, result.ok) == ("nothing found", True)
    with pytest.raises(ToolFailure, match="`query` is empty"):
        await call("memory_search", query=" \n")


@pytest.mark.parametrize("limit", [0, 51, -1])
async def test_how_many_hits(call: Call, limit: int) -> None:
    with pytest.raises(ToolFailure, match="at least 1 and at most 50"):
        await call("memory_search", query="x", limit=limit)


async def test_many_long_hits_are_bounded(call: Call, narrow: Narrow) -> None:
    async def recall(query: str, most: int) -> tuple[Recalled, ...]:
        return tuple(hit("x" * 100) for _ in range(most))

    result = await call("memory_search", ctx=narrow(recall=recall, max_output_chars=500), query="x")
    assert len(result.output) < 560
    assert result.output.endswith("… 7 more; ask for fewer with `limit`")


async def test_a_date_nobody_can_write(call: Call, narrow: Narrow) -> None:
    async def recall(query: str, most: int) -> tuple[Recalled, ...]:
        return (hit(at=1e300),)

    result = await call("memory_search", ctx=narrow(recall=recall), query="x")
    assert "date unknown" in result.output


async def test_a_broken_index_is_no_fault_of_the_model(call: Call, narrow: Narrow) -> None:
    async def recall(query: str, most: int) -> tuple[Recalled, ...]:
        raise StoreError("memory.sqlite cannot be read")

    with pytest.raises(ToolFailure, match="cannot be searched now: memory"):
        await call("memory_search", ctx=narrow(recall=recall), query="x")


def test_names(registry: Registry) -> None:
    for name in ("todo_write", "TodoWrite", "update_plan"):
        tool = registry.resolve(name)
        assert tool is not None
        assert tool.name == "todo"

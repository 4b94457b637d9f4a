"""Keeps the agent's plan: what it means to do, in order, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Checklist, Headline, Progress, Step
from stormclaw.protocol.effects import Effect
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._text import counted

MAX_STEPS = 100
MAX_TEXT = 500
"""Characters of one step."""

STATES: Mapping[str, Progress] = MappingProxyType(
    {
        "open": "open",
        "pending": "open",
        "todo": "open",
        "doing": "doing",
        "in_progress": "doing",
        "done": "done",
        "completed": "done",
        "dropped": "dropped",
        "cancelled": "dropped",
        "canceled": "dropped",
    }
)
"""What models write -> the state it means."""


class Item(Struct, frozen=True):
    """One step as the model wrote it."""

    text: str
    state: Annotated[str, Meta(description="open, doing (one), done, dropped")] = "open"


class Args(Struct, frozen=True):
    """The whole plan; it replaces the one before."""

    steps: tuple[Item, ...]


def plan(args: Args) -> Checklist:
    """The plan, checked.

    Raises:
        ToolFailure: Too long, a step without text, an unknown state, several steps in work.
    """
    if len(args.steps) > MAX_STEPS:
        raise ToolFailure(
            f"{len(args.steps)} steps are too many to follow (at most {MAX_STEPS}); the plan "
            "stays as it was. Put small ones together",
            summary="too many steps",
        )
    checklist = Checklist(tuple(_step(number, item) for number, item in enumerate(args.steps, 1)))
    in_work = [str(n) for n, step in enumerate(checklist.steps, 1) if step.state == "doing"]
    if len(in_work) > 1:
        raise ToolFailure(
            f"steps {', '.join(in_work)} are all `doing`; the plan stays as it was. Send it again "
            "with the one you work on now as `doing` and the others `open` or `done`",
            summary="several in work",
        )
    return checklist


def _step(number: int, item: Item) -> Step:
    text = " ".join(item.text.split())
    state = STATES.get(item.state.strip().lower().replace("-", "_").replace(" ", "_"))
    if not text:
        raise ToolFailure(f"step {number} has no text; the plan stays as it was", summary="no text")
    if state is None:
        raise ToolFailure(
            f"step {number}: there is no state {item.state[:40]!r}; the plan stays as it was. "
            "States: open, doing, done, dropped",
            summary="unknown state",
        )
    return Step(text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…", state)


def _headline(args: Args) -> Headline:
    now = next((item.text for item in args.steps if _is_doing(item)), "")
    return Headline("plan", " ".join(now.split()) or counted(len(args.steps), "step"))


def _is_doing(item: Item) -> bool:
    return item.state.strip().lower() in {"doing", "in_progress"}


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    return ()


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    checklist = plan(args)
    if not checklist.steps:
        return ToolResult("The plan is empty now", summary="cleared", display=checklist)
    closed = sum(step.state in {"done", "dropped"} for step in checklist.steps)
    doing = next((step.text for step in checklist.steps if step.state == "doing"), "")
    total = len(checklist.steps)
    return ToolResult(
        f"Plan noted: {closed} of {total} done{f'; now: {doing}' if doing else ''}",
        summary=f"{closed} of {total} done",
        display=checklist,
    )


TOOL = Tool(
    name="todo",
    description="Show the person your plan for a task of several steps; replaces the whole plan. "
    "Keep it current.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
    aliases=("todo_write", "TodoWrite", "update_plan"),
)

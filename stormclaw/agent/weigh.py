"""What a call would do: its tool, its typed arguments, its effects. Nothing runs here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stormclaw.agent.kit import Kit
from stormclaw.agent.limits import confirmed
from stormclaw.errors import ToolFailure
from stormclaw.processes import marked_call
from stormclaw.protocol.asks import Question
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import (
    WALLED_IN,
    Effect,
    Fetches,
    Foreign,
    Reach,
    Reads,
    Runs,
    Spawns,
)
from stormclaw.protocol.events import ToolProgress
from stormclaw.protocol.messages import ToolCall
from stormclaw.protocol.tool import AnyTool, Tool, ToolContext, ToolResult
from stormclaw.security.hosts import SAFE_METHODS
from stormclaw.security.redact import redact
from stormclaw.security.secrets import screen
from stormclaw.tools.schema import parse


class NoArguments:
    """The arguments of a tool whose arguments we do not know."""


class Refused(ToolFailure):
    """The call makes no sense: no such tool, or arguments it cannot be given.

    Attributes:
        tool: Canonical name where there is one, else what the model wrote.
        headline: For the card.
    """

    def __init__(self, message: str, summary: str, tool: str, headline: Headline) -> None:
        super().__init__(message, summary=summary)
        self.tool = tool
        self.headline = headline


@dataclass(frozen=True)
class Weighed:
    """A call that makes sense."""

    call: ToolCall
    tool: AnyTool
    arguments: Any
    effects: tuple[Effect, ...]
    headline: Headline
    reach: Reach = WALLED_IN


def weigh(call: ToolCall, kit: Kit, reach: Reach = WALLED_IN) -> Weighed:
    """Find the tool, read the arguments, ask the tool what it would do, programs with `reach`.

    Raises:
        Refused: With a message the model can act on.
    """
    tool = kit.resolve(call.name)
    if tool is None and kit.foreign and ":" in call.name:
        return _foreign(call)
    if tool is None:
        raise Refused(
            kit.toolset.absent(call.name),
            "no such tool",
            call.name,
            Headline("tool", call.name or "without a name"),
        )
    headline = Headline(tool.name, tool.name)
    try:
        arguments = parse(tool, call.arguments)
        headline = _shown(tool.headline(arguments))
        effects = tool.effects(arguments, context(kit, call.id, reach))
    except ToolFailure as failure:
        summary = failure.summary or "arguments refused"
        raise Refused(str(failure), summary, tool.name, headline) from failure
    if kit.foreign:
        effects = tuple(
            replace(effect, walled=False) if isinstance(effect, Runs) else effect
            for effect in effects
        )
    return Weighed(call, tool, arguments, effects, headline, reach)


def _foreign(call: ToolCall) -> Weighed:
    """A call of a tool that only the foreign program has: `claude:WebSearch`."""
    program, _, name = call.name.partition(":")
    effects = (Foreign(program, name),)
    headline = _shown(Headline("use", f"{program}'s {name}"))

    async def run(arguments: Any, ctx: ToolContext) -> ToolResult:
        raise ToolFailure(f"{name} is a tool of {program}: only {program} can run it")

    tool = Tool(call.name, "", NoArguments, lambda _: headline, lambda *_: effects, run)
    return Weighed(call, tool, None, effects, headline)


def _shown(headline: Headline) -> Headline:
    """Without keys: a headline stands on cards, in the record and in the panel."""
    return replace(headline, object=redact(headline.object))


def only_looks(weighed: Weighed) -> bool:
    """Whether the call itself changes nothing; a sub-agent's own calls are weighed one by one."""
    return all(
        isinstance(effect, Reads | Spawns)
        or (isinstance(effect, Fetches) and effect.method in SAFE_METHODS)
        for effect in weighed.effects
    )


def context(
    kit: Kit,
    call_id: str,
    reach: Reach = WALLED_IN,
    places: tuple[tuple[Path, Path], ...] = (),
) -> ToolContext:
    """What a tool of this kit may touch while it does this call, and what programs may reach."""

    async def question(text: str, options: tuple[str, ...]) -> str:
        reply = await kit.asks.put(Question(kit.asks.new_id(), kit.agent, text, options))
        if reply.choice != "text":
            why = reply.text or "the person did not answer"
            raise ToolFailure(f"no answer: {why}", summary="not answered")
        return reply.text

    async def permit(effects: tuple[Effect, ...]) -> None:
        verdict = await asyncio.to_thread(kit.rules.judge, effects)
        if verdict.decision == "ask" and kit.asks.attended:
            what = ", ".join(segment.text for segment in verdict.segments)
            if await confirmed(kit, f"On its way it is sent on to {what}. Go on?"):
                return
        if verdict.decision != "allow":
            raise ToolFailure(
                f"refused on the way: {verdict.reason} ({verdict.rule})", summary="refused"
            )

    return ToolContext(
        workspace=kit.workspace,
        agent=kit.agent,
        notes=kit.notes,
        environ=kit.environ,
        shell_timeout_s=kit.limits.shell_timeout_s,
        max_shell_timeout_s=kit.limits.max_shell_timeout_s,
        max_output_chars=kit.limits.max_output_chars,
        seen=kit.seen,
        progress=lambda text: kit.hub.publish(ToolProgress(kit.agent, call_id, screen(text).text)),
        spawn=kit.spawn,
        question=question,
        confined=kit.rules.policy.workspace_only,
        # What a foreign program runs stands outside our walls, and the person is told so.
        sandbox="none" if kit.foreign else kit.sandbox.level,
        reach=WALLED_IN if kit.foreign else reach,
        launch=lambda line: kit.sandbox.launch(
            line, kit.workspace, marked_call(kit.environ), reach
        ),
        lack=kit.sandbox.lack,
        permit=permit,
        reachable=kit.rules.reachable,
        recall=kit.recall,
        kept=kit.kept,
        key=kit.key,
        http_timeout_s=kit.limits.http_timeout_s,
        max_response_bytes=kit.limits.max_response_bytes,
        places=dict(places),
    )

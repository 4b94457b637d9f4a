"""What header and footer say, read off the app: the one place where labels are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from stormclaw.ui.keymap import Situation
from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.footer import Costs
from stormclaw.ui.widgets.header import Where

if TYPE_CHECKING:
    from stormclaw.providers.ways import Way
    from stormclaw.ui.agents import Agent
    from stormclaw.ui.app import StormApp


def where_of(app: StormApp) -> Where:
    """Where you are: folder, branch, changes, title, model."""
    start, runtime, session = app.start, app.runtime, app.session
    model, provider = start.model_label, start.provider_label
    if runtime is not None:
        own = runtime.model_label, runtime.provider_label
        model, provider = _answering(runtime.way, app.board.root) or own
    return Where(
        one_line(start.workspace.name or str(start.workspace)),
        branch=one_line(app.branch),
        changed=app.board.lines_changed,
        title=one_line(session.title if session is not None else start.title),
        model=one_line(model),
        provider=one_line(provider),
        scripted=runtime.scripted if runtime is not None else start.scripted,
        stopped=app.stopped,
    )


def _answering(way: Way, root: Agent) -> tuple[str, str] | None:
    """(model, `steady/openai`) of who answered last, where that is not known before.

    Several may stand in for each other, and a program or a server may choose its own model.
    """
    provider, model = root.answered
    short = model.rpartition("/")[2]
    if short and provider in {part.name for part in _leaves(way.parts)}:
        return short, f"{way.name}/{provider}"
    return (short, provider) if short and not way.model and provider == way.name else None


def _leaves(parts: Iterable[Way]) -> Iterator[Way]:
    for part in parts:
        yield from _leaves(part.parts) if part.parts else (part,)


def costs_of(app: StormApp, situation: Situation, below: int) -> Costs:
    """What you may do, and what it has cost."""
    root = app.board.root
    cost = root.usage.cost_usd
    if cost is None and not root.tokens:
        cost = 0.0
    return Costs(
        autonomy=app.autonomy,
        situation=situation,
        context=root.context_tokens / root.context_window if root.context_window else None,
        tokens=root.tokens,
        cost_usd=cost if app.session is not None else None,
        cost_estimated=root.usage.cost_estimated,
        budget_usd=root.budget_usd,
        receipts=app.board.receipts if app.session is not None else None,
        chain=app.chain,
        below=below,
        alarm=_alarm(app),
    )


def _alarm(app: StormApp) -> str:
    """What is not as it should be, worst first; "" when all is well."""
    if app.chain is False:
        return "chain broken"
    walls = app.runtime.sandbox.level if app.runtime is not None else ""
    return "sandbox off" if walls == "none" else ""

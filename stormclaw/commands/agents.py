"""`/agents`: the sub-agents of this session."""

from __future__ import annotations

from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.protocol.messages import AssistantTurn, UserText
from stormclaw.runtime import Runtime


async def _run(runtime: Runtime, rest: str) -> Answer:
    session = runtime.session
    rows = []
    for path in session.children():
        bodies = [node.body for node in session.nodes(path)]
        task = next((body.text for body in bodies if isinstance(body, UserText)), "")
        used = [body.usage for body in bodies if isinstance(body, AssistantTurn)]
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in used)
        state = "at work" if path in session.running_children else "done"
        rows.append((path, state, str(tokens), " ".join(task.split())[:80]))
    if not rows:
        return Answer("no sub-agent has been started in this session", screen="agents")
    return Answer(table=Table(("agent", "state", "tokens", "task"), tuple(rows)), screen="agents")


COMMAND = Command("agents", "Sub-agents: state, tokens, task", _run, aliases=("tasks",))

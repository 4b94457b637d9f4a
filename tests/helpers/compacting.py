"""Long conversations for tests of compaction, written through the one door."""

from __future__ import annotations

from collections.abc import Sequence

from scripted import Ear

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.kit import Kit
from stormclaw.protocol.display import Headline
from stormclaw.protocol.events import Notice
from stormclaw.protocol.messages import (
    AssistantTurn,
    Node,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
)
from stormclaw.runtime import Runtime


def conversation_of(runtime: Runtime) -> Conversation:
    return runtime.session._conversation


def kit_of(runtime: Runtime) -> Kit:
    return runtime.session.kit


async def talked(conversation: Conversation, turns: int, size: int = 600, begin: int = 0) -> None:
    """Turns as they stand in a record: words, a call, its outcome, an answer."""
    for number in range(begin, begin + turns):
        await conversation.commit(UserText(f"do thing {number}"))
        made = ToolCall(f"call{number}", "read_file", f'{{"path": "f{number}.py"}}')
        await conversation.commit(AssistantTurn("", calls=(made,)))
        head = Headline("read", f"f{number}.py", "path")
        output = f"line of f{number}\n" * (size // 12)
        await conversation.commit(ToolOutcome(made.id, "read_file", "done", output, head))
        await conversation.commit(AssistantTurn(f"did thing {number}"))


def summaries(nodes: Sequence[Node]) -> list[Summary]:
    return [node.body for node in nodes if isinstance(node.body, Summary)]


def notices(ear: Ear) -> list[str]:
    ear.heard += ear._events.waiting()
    return [notice.text for notice in ear.of(Notice)]

"""Branches of a conversation for tests: made by hand, or by hypothesis."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from stormclaw.protocol.display import Display, Headline, ObjectKind
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Delegation,
    Node,
    Note,
    Status,
    Summary,
    ToolCall,
    ToolOutcome,
    UserText,
)


class Talk:
    """A branch in the making; `nodes` is all of it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, body: Body) -> str:
        """Append; returns the node's id."""
        name = f"{len(self.nodes):04x}beef{len(self.nodes):04x}"
        parent = self.nodes[-1].id if self.nodes else None
        self.nodes.append(Node(name, parent, "root", float(len(self.nodes)), body))
        return name

    def says(self, text: str, *, steered: bool = False) -> str:
        return self.add(UserText(text, steered))

    def answers(self, text: str) -> str:
        return self.add(AssistantTurn(text))

    def called(
        self,
        tool: str,
        about: str,
        output: str = "out",
        status: Status = "done",
        *,
        arguments: Any = None,
        kind: ObjectKind = "text",
        summary: str = "1 line",
        display: Display | None = None,
    ) -> str:
        """A call and its outcome; returns the outcome's id."""
        call_id = f"c{len(self.nodes)}"
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        self.add(AssistantTurn("", calls=(ToolCall(call_id, tool, raw),)))
        head = Headline(tool.partition("_")[0], about, kind)
        return self.add(ToolOutcome(call_id, tool, status, output, head, summary, display))

    def remembered(self, key: str, value: str, status: Status = "done") -> str:
        arguments = {"key": key, "value": value}
        return self.called("remember", key, "Kept", status, arguments=arguments)

    def decide(self, *changes: Change, by: str = "you", undoes: str = "") -> str:
        return self.add(ContextEdit(by, changes, undoes=undoes))

    def hide(self, *names: str, by: str = "drop results") -> str:
        return self.decide(*(Change(name, include=False) for name in names), by=by)

    def summed_up(self, text: str, *names: str) -> str:
        return self.add(Summary(text, names))


_CALL_IDS = st.sampled_from(["c1", "c2", "c3", "c4", "c5"])
_TEXT = st.text(alphabet="ab \n#é", min_size=1, max_size=400)
_HEAD = Headline("read", "a.txt", "path")


def _outcome(call_id: str, output: str, status: Status = "done") -> ToolOutcome:
    return ToolOutcome(call_id, "read_file", status, output, _HEAD, "1 line")


def _calls(ids: list[str], text: str) -> AssistantTurn:
    return AssistantTurn(text, calls=tuple(ToolCall(i, "read_file", "{}") for i in ids))


SAID: st.SearchStrategy[Body] = st.one_of(
    st.builds(UserText, _TEXT, st.booleans()),
    st.builds(AssistantTurn, _TEXT),
    st.builds(_calls, st.lists(_CALL_IDS, min_size=1, max_size=3, unique=True), _TEXT),
    st.builds(_outcome, _CALL_IDS, _TEXT, st.sampled_from(["done", "failed", "denied"])),
    st.builds(
        lambda call_id, text: Delegation(_outcome(call_id, text), "root/x", "t", "done", NO_USAGE),
        _CALL_IDS,
        _TEXT,
    ),
    st.builds(
        lambda text: ToolOutcome("p", "shell_exec", "done", text, _HEAD, author="person"), _TEXT
    ),
    st.just(Note("info", "n")),
)
"""Whatever may stand in a conversation, in no sensible order."""

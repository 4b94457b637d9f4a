"""Where a conversation goes on in claude's own, and what claude is told of the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import Message
from stormclaw.providers._claude.session import Place, begun, kept, told

CWD = "/ws"


def place(messages: list[Message], turn: str, answer: str) -> Place:
    return replace(begun(messages, CWD, turn), session_id="s", answer=answer)


def answered(messages: list[Message], text: str, turn: str, answer: str = "a") -> list[Message]:
    """The conversation with claude's whole answer to it."""
    echo = place(messages, turn, answer).echo("claude", "m")
    return [*messages, AssistantTurn(text, provider="claude", echo=echo)]


def talked() -> list[Message]:
    """Two turns; in the second a tool was used."""
    first = answered([UserText("one")], "first", "t1", "a1")
    second = [*first, UserText("two")]
    step = place(second, "t2", "").echo("claude", "m")
    call = ToolCall("c", "shell_exec", '{"command": "ls"}')
    acted: list[Message] = [
        *second,
        AssistantTurn("step", calls=(call,), provider="claude", echo=step),
        ToolOutcome("c", "shell_exec", "done", "a.txt", Headline("shell", "ls")),
    ]
    echo = place(second, "t2", "a2").echo("claude", "m")
    return [*acted, AssistantTurn("second", provider="claude", echo=echo)]


def test_it_goes_on_from_its_newest_answer_and_gets_only_what_is_new() -> None:
    messages = [*talked(), UserText("three"), UserText("and four")]
    found = kept(messages, "claude", CWD)
    assert found is not None
    assert (found[0].answer, found[1]) == ("a2", 6)
    assert told(messages, found[1]) == "three\n\nand four"


def test_a_tool_result_that_is_shown_shorter_does_not_matter() -> None:
    messages = [*talked(), UserText("three")]
    outcome = messages[4]
    assert isinstance(outcome, ToolOutcome)
    messages[4] = replace(outcome, output="(left out)")
    assert kept(messages, "claude", CWD) is not None


def test_a_rewound_conversation_goes_on_from_the_answer_it_went_back_to() -> None:
    found = kept([*talked()[:2], UserText("other")], "claude", CWD)
    assert found is not None
    assert (found[0].answer, found[1]) == ("a1", 2)


def test_an_interrupted_turn_is_told_as_text() -> None:
    messages = [*talked()[:-1], UserText("three")]
    found = kept(messages, "claude", CWD)
    assert found is not None
    assert found[0].answer == "a1"
    text = told(messages, found[1])
    assert text.endswith("</conversation>\n\nthree")
    assert "[assistant calls shell_exec]" in text
    assert "a.txt" in text
    assert "since your last answer" in text


@pytest.mark.parametrize(
    "change",
    [
        {0: UserText("one, edited")},
        {2: UserText("two, edited")},
        {5: AssistantTurn("somebody else's", provider="other")},
        {5: AssistantTurn("with broken echo", provider="claude", echo="{no json")},
        {3: UserText("put between")},
    ],
)
def test_a_changed_conversation_is_told_anew(change: dict[int, Message]) -> None:
    messages = [*talked(), UserText("three")]
    for at, message in change.items():
        messages[at] = message
    assert kept(messages, "claude", CWD) is None
    text = told(messages, 0)
    assert text.startswith("This conversation began elsewhere.")
    assert text.endswith("three")


def test_it_is_bound_to_its_folder_and_its_provider() -> None:
    messages = [*talked(), UserText("three")]
    assert kept(messages, "claude", "/elsewhere") is None
    assert kept(messages, "claude-2", CWD) is None
    assert kept([UserText("one")], "claude", CWD) is None

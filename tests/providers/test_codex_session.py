"""A conversation goes on in its thread of codex while it is the same one, and only then."""

from __future__ import annotations

from dataclasses import replace

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, ToolCall, ToolOutcome, Usage, UserText
from stormclaw.protocol.provider import Message
from stormclaw.providers._codex.session import Thread, kept
from stormclaw.providers._programs.hands import MOST_OF_ONE, digest
from stormclaw.providers._programs.hands import retold as told

ASK, CALL = UserText("ask"), ToolCall("c1", "shell_exec", '{"command": "ls"}')
OUTCOME = ToolOutcome("c1", "shell_exec", "done", "a.txt\n[exit 0]", Headline("shell", "ls"))


def answer(
    before: list[Message],
    text: str,
    *,
    whole: bool = True,
    calls: tuple[ToolCall, ...] = (),
    start: int | None = None,
) -> AssistantTurn:
    length = len(before) if start is None else start
    thread = Thread("thread", "t1", length, digest(before[:length]), whole, Usage(9, 2, 1))
    return AssistantTurn(text, calls=calls, provider="codex", echo=thread.echo("codex", "m"))


def conversation() -> list[Message]:
    messages: list[Message] = [ASK]
    messages.append(answer(messages, "", whole=False, calls=(CALL,)))
    messages.append(OUTCOME)
    messages.append(answer(messages, "done", start=1))
    return messages


def test_it_goes_on_after_a_whole_turn() -> None:
    messages = [*conversation(), UserText("and now?")]
    found = kept(messages, "codex")
    assert found is not None
    thread, covered = found
    assert (thread.thread_id, thread.turn_id, thread.whole, covered) == ("thread", "t1", True, 4)
    assert thread.total == Usage(9, 2, 1)
    assert told(messages[covered:]) == "and now?"


def test_it_goes_on_after_a_step_that_was_interrupted() -> None:
    messages = [*conversation()[:3], UserText("go on")]
    found = kept(messages, "codex")
    assert found is not None
    assert (found[0].whole, found[1]) == (False, 3)


def test_an_output_that_was_cut_or_masked_changes_nothing() -> None:
    messages = conversation()
    messages[2] = replace(OUTCOME, output="[left out]")
    assert kept(messages, "codex") is not None


def test_an_edited_conversation_is_another() -> None:
    messages = conversation()
    messages[0] = UserText("ask something else")
    assert kept(messages, "codex") is None


def test_so_is_one_that_was_steered_in_the_middle_of_the_turn() -> None:
    messages = conversation()
    messages.insert(3, UserText("no, like this", steered=True))
    assert kept(messages, "codex") is None


def test_and_one_another_provider_answered_last() -> None:
    messages = [*conversation(), UserText("b"), AssistantTurn("mine", provider="other")]
    assert kept(messages, "codex") is None
    assert kept(conversation(), "codex-work") is None
    assert kept([ASK], "codex") is None


def test_the_rest_of_an_interrupted_answer_is_told_not_looked_for() -> None:
    cut = AssistantTurn("half an ans", provider="codex")
    messages = [*conversation(), UserText("b"), cut, UserText("c")]
    found = kept(messages, "codex")
    assert found is not None
    text = told(messages[found[1] :])
    assert text.index("half an ans") < text.index("</conversation>") < text.index("\n\nc")


def test_an_echo_of_somebody_else_is_no_place() -> None:
    for echo in ("{}", "nonsense", '{"fields": {"thread_id": ""}}', "[1]"):
        assert kept([ASK, AssistantTurn("x", provider="codex", echo=echo)], "codex") is None


def test_a_conversation_is_told_whole_to_a_new_thread() -> None:
    text = told([*conversation(), UserText("and now?")])
    assert text.endswith("\n\nand now?")
    order = ["[person]\nask", "[assistant calls shell_exec]", "[shell_exec: done]", "]\ndone"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    long = replace(OUTCOME, output="x" * (MOST_OF_ONE + 5))
    assert "5 characters left out" in told([ASK, long, UserText("b")])
    assert told([ASK, AssistantTurn("x")]).endswith("Go on from here.")

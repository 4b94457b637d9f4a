"""What codex tells of a turn, as recorded from 0.169.0 on both its wires, becomes our words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import ProviderError
from stormclaw.protocol.messages import Usage
from stormclaw.protocol.provider import (
    ChatResponse,
    Delta,
    Observed,
    Progress,
    Remark,
    Retrying,
    Step,
    Text,
    Thinking,
    Withdrawn,
)
from stormclaw.providers._codex.exec import Lines
from stormclaw.providers._codex.items import Items
from stormclaw.providers._codex.tools import hooked_call, item_call, observed
from stormclaw.providers._codex.turn import Turn
from stormclaw.providers._programs.events import Result

WS = Path("/ws")
HERE = Path(__file__).parent
NOTES = [json.loads(line) for line in (HERE / "test_codex_app_server.jsonl").open()]
LINES = (HERE / "test_codex_exec.jsonl").read_bytes().splitlines()
PATCH = (
    "*** Begin Patch\n*** Add File: n.txt\n+hello\n*** Update File: /ws/d.txt\n@@\n-old\n+new\n"
    "*** End Patch"
)


def turn() -> Turn:
    return Turn(
        "some-model",
        lambda item: item_call(item, WS),
        lambda call, item: observed(call, item, WS),
        lambda whole: "whole" if whole else "on the way",
    )


def heard(
    notes: Iterable[Mapping[str, Any]], put: Turn | None = None, items: Items | None = None
) -> list[Delta | ChatResponse]:
    put = put or turn()
    items = items or Items("THREAD")
    items.turn_id = "TURN"
    return [
        out
        for note in notes
        for event in items.read(note["method"], note["params"])
        for out in put.take(event)
    ]


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "THREAD", "turnId": "TURN", **params}}


def counted(sent: int, turn_id: str = "TURN", last: int = 100) -> dict[str, Any]:
    def tokens(number: int) -> dict[str, int]:
        return {"inputTokens": number, "cachedInputTokens": 0, "outputTokens": number // 10}

    usage = {"total": tokens(sent), "last": tokens(last), "modelContextWindow": 258_400}
    return note("thread/tokenUsage/updated", turnId=turn_id, tokenUsage=usage)


def ended(**fields: Any) -> dict[str, Any]:
    return note("turn/completed", turn={"id": "TURN", "status": "completed", **fields})


def said(text: str, name: str = "m1") -> list[dict[str, Any]]:
    item = {"type": "agentMessage", "id": name, "text": ""}
    return [
        note("item/started", item=item),
        note("item/agentMessage/delta", itemId=name, delta=text),
        note("item/completed", item={**item, "text": text}),
    ]


def test_a_recorded_turn_is_two_steps_and_an_answer() -> None:
    told = heard(NOTES)
    kinds = [type(each) for each in told]
    assert kinds[:6] == [Thinking, Thinking, Thinking, Text, Text, Step]
    steps = [each.response for each in told if isinstance(each, Step)]
    assert [step.final_text for step in steps] == ["I will run it.", ""]
    assert steps[0].thinking == "Let me think about it"
    assert steps[0].tool_calls[0].name == "shell_exec"
    assert json.loads(steps[0].tool_calls[0].arguments) == {"command": "echo hi; false"}
    assert steps[0].echo == "on the way"
    last = told[-1]
    assert isinstance(last, ChatResponse)
    assert (last.final_text, last.finish, last.echo) == ("All done.", "stop", "whole")


def test_tokens_are_counted_once_although_a_broken_connection_tells_them_again() -> None:
    told = heard(NOTES)
    usages = [each.response.usage for each in told if isinstance(each, Step)]
    usages += [each.usage for each in told if isinstance(each, ChatResponse)]
    assert sum(usages, Usage()) == Usage(300, 30, 120)


def test_a_resumed_thread_counts_from_where_it_was() -> None:
    notes = [counted(700, "BEFORE"), *said("hi"), counted(800), ended()]
    items = Items("THREAD", resumed=True)
    assert heard(notes, items=items)[-1].usage == Usage(100, 10)  # type: ignore[union-attr]
    assert (items.total.input_tokens, items.window) == (800, 258_400)
    untold = heard([*said("hi"), counted(800), ended()], items=Items("THREAD", resumed=True))
    assert untold[-1].usage == Usage(100, 10)  # type: ignore[union-attr]


def test_recorded_ends_are_worded_as_our_own_tools_word_them() -> None:
    ends = [each for each in heard(NOTES) if isinstance(each, Observed)]
    assert (ends[0].status, ends[0].output) == ("failed", "hi\n[exit 1]")
    assert ends[0].summary == "exit 1, 1 line"
    assert (ends[1].status, ends[1].summary) == ("done", "2 files, +2 −1")
    assert ends[1].output == "Patched 2 files:\nM d.txt +1 −1\nA n.txt +1 −0"


def test_what_was_begun_before_the_connection_broke_is_withdrawn() -> None:
    told = heard(NOTES)
    at = next(i for i, each in enumerate(told) if isinstance(each, Withdrawn))
    assert [each.text for each in told[at - 2 : at]] == ["half an", " ans"]  # type: ignore[union-attr]
    assert isinstance(told[at + 1], Retrying)
    assert "disconnected" in told[at + 1].reason  # type: ignore[union-attr]


def test_a_whole_answer_survives_a_connection_that_breaks_after_it() -> None:
    error = {"message": "Reconnecting... 2/5", "additionalDetails": "gone"}
    begun = [*said("whole"), note("item/started", item={"type": "agentMessage", "id": "m2"})]
    begun.append(note("item/agentMessage/delta", itemId="m2", delta="half"))
    told = heard([*begun, note("error", error=error, willRetry=True), *said("next", "m3"), ended()])
    at = next(i for i, each in enumerate(told) if isinstance(each, Withdrawn))
    assert told[at + 1] == Text("whole")
    assert told[-1].final_text == "whole\n\nnext"  # type: ignore[union-attr]


def test_text_that_never_came_in_pieces_comes_whole() -> None:
    item = {"type": "agentMessage", "id": "m", "text": "all of it"}
    told = heard([note("item/completed", item=item), ended()])
    assert told[0] == Text("all of it")


def test_live_output_is_passed_on_and_kept_for_a_call_that_never_ends() -> None:
    item = {"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'sleep 9'"}
    told = heard(
        [
            note("item/started", item=item),
            note("item/commandExecution/outputDelta", itemId="c", delta="one\n"),
            note("item/commandExecution/outputDelta", itemId="other", delta="two\n"),
            *said("left it running"),
            ended(),
        ]
    )
    assert Progress("c", "one\n") in told
    end = next(each for each in told if isinstance(each, Observed))
    assert end.status == "interrupted"
    assert end.output == "one\n[it still ran when the turn ended, and was stopped]"


def test_of_a_call_no_item_tells_of_it_is_not_said_that_it_still_ran() -> None:
    put = turn()
    call = hooked_call("c", "Bash", {"command": "touch /etc/x"}, "/ws", WS)
    begun = hooked_call("d", "Bash", {"command": "sleep 9"}, "/ws", WS)
    assert len([*put.begin(call), *put.begin(begun)]) == 2
    assert list(put.lost) == [call, begun]
    heard([note("item/started", item={"type": "commandExecution", "id": "d"})], put)
    assert list(put.lost) == [call]
    told = heard([counted(100), *said("on it goes"), ended()], put)
    ends = {each.call_id: each for each in told if isinstance(each, Observed)}
    assert ends["c"] == Observed("c", "failed", "[codex did not tell how it ended]", "no end")
    assert ends["d"].status == "interrupted"
    assert "still ran" in ends["d"].output


@pytest.mark.parametrize(("went_on", "status"), [(True, "failed"), (False, "interrupted")])
def test_a_call_in_a_turn_that_fails_ran_if_nothing_came_after_it(
    went_on: bool, status: str
) -> None:
    put = turn()
    list(put.begin(hooked_call("c", "Bash", {"command": "make"}, "/ws", WS)))
    heard([counted(100)] if went_on else [], put)
    first = next(put.take(Result(True, message="it broke")))
    assert isinstance(first, Observed)
    assert first.status == status


def test_a_call_is_told_once_whoever_tells_of_it_first() -> None:
    put = turn()
    call = hooked_call("c", "Bash", {"command": "ls"}, "/ws", WS)
    first = list(put.begin(call))
    again = heard([note("item/started", item={"type": "commandExecution", "id": "c"})], put)
    assert (len(first), again) == (1, [])
    done = {"type": "commandExecution", "id": "c", "exitCode": 0, "status": "completed"}
    ends = heard([note("item/completed", item=done), note("item/completed", item=done)], put)
    assert ends == [Observed("c", "done", "(no output)\n[exit 0]", "exit 0, no output")]


def test_a_call_no_item_tells_of_is_over_with_its_answer() -> None:
    put = turn()
    list(put.begin(hooked_call("v", "view_image", {"path": "a.png"}, "/ws", WS), quiet=True))
    told = heard([counted(100)], put)
    assert [(each.call_id, each.status) for each in told] == [("v", "done")]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("info", "message", "kind"),
    [
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "unexpected status 401", "auth"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "exceeded", "rate_limit"),
        ("usageLimitExceeded", "Quota exceeded. Check your plan.", "payment"),
        ("internalServerError", "We’re currently experiencing high demand", "server"),
        ("modelNotFound", "The model `x` does not exist", "not_found"),
        ("contextWindowExceeded", "Codex ran out of room", "context_length"),
        ("other", "stream disconnected before completion: idle timeout", "timeout"),
        ("other", "stream disconnected before completion: Transport error", "connection"),
        ("other", '{"error": {"message": "bad", "type": "invalid_request_error"}}', "bad_request"),
        (None, "Missing environment variable: `KEY`.", "auth"),
        (None, "nobody has seen this before", "provider"),
        ({"newKind": {"httpStatusCode": 503}}, "down", "server"),
    ],
)
def test_a_failed_turn_is_an_error_of_our_classes(info: object, message: str, kind: str) -> None:
    error = {"message": message, "codexErrorInfo": info}
    with pytest.raises(ProviderError) as raised:
        heard([*said("so far"), ended(status="failed", error=error)])
    assert raised.value.kind == kind
    assert raised.value.partial == "so far"
    assert not str(raised.value).startswith("{")


def test_a_turn_without_a_word_is_no_answer() -> None:
    with pytest.raises(ProviderError, match="without an answer"):
        heard([ended()])


def test_other_threads_and_what_nobody_knows_are_left_out_and_counted() -> None:
    items = Items("THREAD")
    told = heard(
        [
            {**note("item/agentMessage/delta"), "params": {"threadId": "OTHER", "delta": "psst"}},
            note("something/new"),
            note("turn/diff/updated"),
            note("warning", message="Model metadata for `m` not found."),
            note("warning", message="your plan ends soon"),
        ],
        items=items,
    )
    assert told == [Remark("codex: your plan ends soon")]
    assert items.unknown == 1


def test_a_recorded_turn_of_exec() -> None:
    put, lines = turn(), Lines()
    told = [out for line in LINES for event in lines.read(line) for out in put.take(event)]
    calls = [each.response.tool_calls[0] for each in told if isinstance(each, Step)]
    assert [call.name for call in calls] == ["shell_exec", "apply_patch"]
    assert calls[0].id != "item_3", "items of exec are numbered anew in each thread"
    ends = {each.call_id: each for each in told if isinstance(each, Observed)}
    assert ends[calls[1].id].output == "Patched 2 files:\nd.txt\nn.txt"
    assert ends[calls[0].id].status == "interrupted"
    last = told[-1]
    assert isinstance(last, ChatResponse)
    assert (last.final_text, last.usage) == ("All done.", Usage(300, 30, 120))
    assert lines.unknown == 0


def test_an_error_item_of_exec_is_a_remark_and_a_failed_turn_an_error() -> None:
    put, lines = turn(), Lines()
    item = b'{"type":"item.completed","item":{"id":"item_0","type":"error","message":"odd"}}'
    told = [out for event in lines.read(item) for out in put.take(event)]
    assert told == [Remark("codex: odd")]
    failed = b'{"type":"turn.failed","error":{"message":"last status: 429 Too Many Requests"}}'
    with pytest.raises(ProviderError) as raised:
        [out for event in lines.read(failed) for out in put.take(event)]
    assert raised.value.kind == "rate_limit"
    assert list(lines.read(b"no json")) == list(lines.read(b"[1]")) == []

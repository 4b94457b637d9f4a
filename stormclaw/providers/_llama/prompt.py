"""From a request to the messages of a local model: short, in turns, the same beginning every time.

What changes least comes first, so that of a long conversation only the new end is read. Texts of
people, files and tools cannot speak for another role: marks with a meaning are broken up in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from stormclaw.protocol.messages import AssistantTurn, Delegation, ToolCall, ToolOutcome, UserText
from stormclaw.protocol.provider import ChatRequest, Message, ToolSpec
from stormclaw.providers._llama.examples import call_text, example_lines, final_text, tool_lines
from stormclaw.providers._llama.grammar import ARGUMENTS, FINAL, TOOL
from stormclaw.providers._surrogates import mend
from stormclaw.providers._usage import CHARS_PER_TOKEN

SYSTEM_SHARE: Final = 0.25
"""The part of the context that instructions from the request may take; what lies in their middle
is left out first: they begin with the rules and end with where the work is done."""
ECHO: Final = "raw"
"""Where a turn keeps what the model wrote, letter for letter, so that its cache knows it again."""
_TAIL: Final = 0.25
_NO_BREAK: Final = "\u2060"
"""A word joiner: nobody sees it, and a mark with it in the middle is no mark."""
_EMPTY: Final = "(no output)"

_FORM: Final = f"""\
You do coding work by answering with exactly one JSON object, and nothing else:
{{"{TOOL}": NAME, "{ARGUMENTS}": {{...}}}} uses a tool; its result comes next.
{{"{FINAL}": TEXT}} ends the work, or says what no tool is needed for.
One step at a time: look at files before you change them, use what results say, never guess.

Tools (? may be left out):
{{tools}}

Examples:
{{examples}}"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is sent.

    Attributes:
        messages: System first, then user and assistant in turns.
        left_out: Characters of the instructions that had no room.
    """

    messages: tuple[dict[str, str], ...]
    left_out: int


def form_text(tools: tuple[ToolSpec, ...]) -> str:
    """How to answer, with these tools."""
    return _FORM.replace("{tools}", tool_lines(tools)).replace("{examples}", example_lines(tools))


def write(request: ChatRequest, window: int, control_tokens: Sequence[str]) -> Prompt:
    """The messages for `request`.

    Args:
        request: As the loop makes it.
        window: Tokens the model takes.
        control_tokens: Texts that would have a meaning of their own.
    """
    marks = re.compile("|".join(map(re.escape, control_tokens))) if control_tokens else None
    instructions, left_out = fit(request.system_prompt, int(window * SYSTEM_SHARE))
    parts = [form_text(request.tools)] if request.tools else []
    system = "\n\n".join([*parts, *filter(None, [instructions])])
    turns = list(_turns(request.messages, acts=bool(request.tools)))
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", "(what came before is not shown)"))
    messages = [("system", system)] if system else []
    messages += _merged(turns)
    clean = ({"role": role, "content": mend(_broken_up(text, marks))} for role, text in messages)
    return Prompt(tuple(clean), left_out)


def fit(text: str, tokens: int) -> tuple[str, int]:
    """(the text within so many tokens, about; characters left out of its middle)."""
    room = tokens * CHARS_PER_TOKEN
    if len(text) <= room:
        return text, 0
    tail = int(room * _TAIL)
    left_out = len(text) - room
    head = text[: room - tail].rstrip()
    return f"{head}\n\n[{left_out:,} characters left out]\n\n{text[-tail:].lstrip()}", left_out


def echo_of(provider: str, raw: str) -> str:
    """What an answer keeps so that it can be sent again as it was written."""
    return json.dumps({"provider": provider, ECHO: raw}, ensure_ascii=False)


def _turns(messages: Sequence[Message], *, acts: bool) -> Iterator[tuple[str, str]]:
    for message in messages:
        match message:
            case UserText(text):
                yield "user", text
            case AssistantTurn():
                if said := _said(message, acts=acts):
                    yield "assistant", said
            case ToolOutcome():
                yield "user", _result(message)
            case Delegation(outcome):
                yield "user", _result(outcome)
            case _:
                assert_never(message)


def _said(turn: AssistantTurn, *, acts: bool) -> str:
    """A former answer in the form this one is to have."""
    if acts and (raw := _raw(turn.echo)):
        return raw
    calls = [_called(call) for call in turn.calls]
    if calls:
        return "\n".join(calls)
    if not turn.text.strip():
        return ""
    return final_text(turn.text) if acts else turn.text


def _raw(echo: str) -> str:
    try:
        kept: Any = json.loads(echo) if echo else {}
    except ValueError:
        return ""
    raw = kept.get(ECHO, "") if isinstance(kept, dict) else ""
    return raw if isinstance(raw, str) else ""


def _called(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        arguments = {}
    return call_text(call.name, arguments if isinstance(arguments, dict) else {})


def _result(outcome: ToolOutcome) -> str:
    how = "" if outcome.status == "done" else f" ({outcome.status})"
    return f"Result of {outcome.tool}{how}:\n{outcome.output or _EMPTY}"


def _merged(turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Turns of one role in a row become one: many templates take them in turns only."""
    merged: list[tuple[str, str]] = []
    for role, text in turns:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    return merged


def _broken_up(text: str, marks: re.Pattern[str] | None) -> str:
    if marks is None:
        return text
    return marks.sub(lambda found: f"{found[0][0]}{_NO_BREAK}{found[0][1:]}", text)

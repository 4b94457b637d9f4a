"""A session as Markdown to be read: whatever was said in it stays inside its own quote or fence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store.export import words
from stormclaw.store.sessions import SessionInfo

MOST_LINES = 60
"""Lines of one result; the JSON export has all of them."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~&$])")
_RUN = re.compile(r"`+")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")
"""What could begin HTML or load a picture from somewhere."""
_CODE_OR_TAG = re.compile(f"{_SPAN.pattern}|{_TAG.pattern}")
_HARMLESS = {"<": "&lt;", "!": "&#33;"}


def to_markdown(info: SessionInfo, nodes: Sequence[Node]) -> str:
    """The session as one Markdown document (CommonMark, read well on GitHub too).

    What people, models and tools said is quoted or fenced, so that it can neither end its own
    block nor pass for a heading of the document, load anything, or be HTML.

    Args:
        info: The session.
        nodes: What to show, all agents, in the order written.
    """
    threads = words.Threads(nodes)
    rows = words.facts(info, nodes)
    blocks = [
        f"# {_line(info.title) or words.UNTITLED}",
        "\n".join(f"- {name}: {_code(value)}" for name, value in rows),
    ]
    root = threads.take(ROOT)
    if root is not None:
        blocks += _thread(root, threads, 0)
    for thread in threads.rest():
        blocks.append(f"## Sub-agent {_code(thread.agent)}")
        blocks += _thread(thread, threads, 1)
    return "\n\n".join(blocks) + "\n"


def _thread(thread: words.Thread, threads: words.Threads, depth: int) -> Iterator[str]:
    turn = 0
    for node in thread.nodes:
        match node.body:
            case UserText() as said:
                turn += not said.steered
                yield _heading(said, turn, node.at, depth)
                yield _quoted(said.text)
            case AssistantTurn() as answer:
                yield from _answer(answer, thread)
            case ToolOutcome() as outcome:
                yield from _outcome(outcome)
            case Delegation() as delegation:
                yield from _outcome(delegation.outcome)
                yield from _child(delegation, threads, depth)
            case Note() | Summary() | ContextEdit() | Moved() | Label() as decision:
                yield f"*{_line(words.remark(decision))}*"
                if isinstance(decision, Summary):
                    yield _quoted(decision.text)
                if isinstance(decision, Note) and decision.detail:
                    yield _quoted(decision.detail)
            case _:
                assert_never(node.body)


def _heading(said: UserText, turn: int, at: float, depth: int) -> str:
    if said.steered:
        return f"**You, meanwhile** · {words.when(at)}"
    return f"**Task** · {words.when(at)}" if depth else f"## {turn}. You · {words.when(at)}"


def _answer(answer: AssistantTurn, thread: words.Thread) -> Iterator[str]:
    used = ", ".join(filter(None, (words.tokens(answer.usage), words.cost(answer.usage))))
    name = _line(answer.model) or "Answer"
    if answer.text.strip() or answer.thinking.strip():
        yield f"**{name}**" + (f" · {used}" if used else "")
    if answer.thinking.strip():
        yield "*Thinking:*"
        yield _quoted(answer.thinking)
    if answer.text.strip():
        yield _quoted(answer.text)
    for call in answer.calls:
        if call in thread.unanswered:
            yield f"**{_line(call.name) or 'a tool'}**: no result was recorded"
            yield fenced("json", call.arguments)


def _outcome(outcome: ToolOutcome) -> Iterator[str]:
    head, ended = outcome.headline, _line(words.outcome_line(outcome))
    first, newline, _ = head.object.strip().partition("\n")
    yield f"**{_line(head.verb) or 'tool'}** {_code(first)}: {ended}"
    if newline:
        yield fenced("", head.object)
    for language, text in words.result_of(outcome):
        shown, rest = words.cut(text, MOST_LINES)
        yield fenced(language, shown)
        if rest:
            yield f"*{rest}*"


def _child(delegation: Delegation, threads: words.Threads, depth: int) -> Iterator[str]:
    thread = threads.take(delegation.child, depth + 1)
    if thread is None:
        return
    inside = [f"**Sub-agent** {_code(words.child_line(delegation))}"]
    inside += _thread(thread, threads, depth + 1)
    yield _prefixed("\n\n".join(inside).split("\n"))


def fenced(language: str, text: str) -> str:
    """The text in a fence that nothing in it can close."""
    text = inert(text).strip("\n")
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    """Markdown of somebody else as a quote: fences stay, HTML and pictures become letters."""
    return _prefixed(_tamed(inert(text, prose=True).strip("\n").split("\n")))


def _prefixed(lines: Iterable[str]) -> str:
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _tamed(lines: Iterable[str]) -> Iterator[str]:
    fence, sure = "", True
    for line in lines:
        found = _FENCE.fullmatch(line)
        if fence:
            closes = _FENCE.fullmatch(line.strip()) if line[:4].strip() else None
            if closes and closes[1].startswith(fence) and not closes[2].strip():
                fence = ""
            yield line
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence, sure = found[1], True
            yield line
        else:
            sure = not line.strip() or (sure and _is_plain(line))
            yield (_CODE_OR_TAG if sure else _TAG).sub(_letters, line)


def _is_plain(line: str) -> bool:
    """Whether anybody would agree on what of a line is code: every run of backticks has its twin.

    Escaped backticks, and the cells of a table, are read differently by different readers.
    """
    return "|" not in line and "\\`" not in line and "`" not in _SPAN.sub("", line)


def _letters(sign: re.Match[str]) -> str:
    """What stands for a sign; code shows as it is."""
    return _HARMLESS.get(sign[0], sign[0])


def _line(text: str) -> str:
    """One line of foreign text that is no markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(inert(text).split()))


def _code(text: str) -> str:
    """One line of foreign text as code."""
    line = " ".join(inert(text).split()) or "?"
    longest = max((len(run) for run in _RUN.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"

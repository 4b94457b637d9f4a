"""Working memory: what the agent kept for itself, and what is off the wire but can be read again.

It has no store of its own. Notes are the `remember` calls of the branch, results are its nodes: a
branch that was left takes its notes with it, and a resumed session has them without more ado.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from stormclaw.agent.context.graph import YOU, Standings, fold
from stormclaw.agent.context.wording import LONGEST_ARGUMENT, gist
from stormclaw.errors import ToolFailure
from stormclaw.protocol.messages import (
    AssistantTurn,
    Delegation,
    Node,
    Summary,
    ToolCall,
    UserText,
    outcome_of,
)
from stormclaw.protocol.tool import Kept
from stormclaw.tools import recall, remember
from stormclaw.tools.remember import key_of
from stormclaw.tools.schema import parse

OWN_TOOLS = frozenset({remember.TOOL.name, recall.TOOL.name})
"""Their results repeat what is kept elsewhere."""
SHORTEST_BEGINNING = 6
"""Characters of an id that may stand for all of it; fewer are rather a word."""
MOST_HITS = 20
LONGEST_TITLE = 120
AROUND = 60
"""Characters shown on both sides of a word that was found."""
OF_A_TITLE, OF_A_NOTE, MOST_OF_A_TEXT = 4, 6, 5
"""What a word counts in a title, in a note, and at most in a text."""


def kept(nodes: Sequence[Node], wanted: str) -> tuple[Kept, ...]:
    """What of a session need not be on the wire to be reachable. A pure fold.

    Args:
        nodes: The branch, oldest first, decisions included.
        wanted: A note's key, the id of a node or of a call (of a node also a unique beginning):
            that one, whole. Other words: whatever says all of them, best first, whole where there
            is only one. "": all notes, then what is held back, newest first.

    What the person took out of sight is listed and found only where it is a result.
    """
    standings = fold(nodes)
    own = notes(nodes)
    if not wanted.strip():
        return (*_listed(own), *_held_back(nodes, standings))
    key = key_of(wanted)
    name = key.strip("`'\"[]").removeprefix("recall ")
    found = _note(own, key) or _note(own, name) or _by_id(nodes, standings, name)
    return (found,) if found is not None else _said(nodes, standings, own, wanted)


def notes(nodes: Iterable[Node]) -> Mapping[str, str]:
    """What the agent keeps in mind, by key, in the order it was last written."""
    own: dict[str, str] = {}
    calls: dict[str, ToolCall] = {}
    for node in nodes:
        if isinstance(node.body, AssistantTurn):
            calls.update((call.id, call) for call in node.body.calls)
            continue
        outcome = outcome_of(node.body)
        if outcome is None or outcome.tool != remember.TOOL.name or outcome.status != "done":
            continue
        with suppress(ToolFailure, KeyError):
            args = parse(remember.TOOL, calls[outcome.call_id].arguments)
            own.pop(key_of(args.key), None)
            if args.value.strip():
                own[key_of(args.key)] = args.value
    return own


def _listed(own: Mapping[str, str]) -> Iterator[Kept]:
    for key, value in reversed(tuple(own.items())):
        yield Kept(key, "note", _line(value))


def _held_back(nodes: Sequence[Node], standings: Standings) -> Iterator[Kept]:
    """What is off the wire and worth a look, without its text."""
    for node in reversed(nodes):
        if not standings[node.id].include and _open_to_all(node, standings):
            yield Kept(node.id, "result", _title(node), held_back=True)


def _open_to_all(node: Node, standings: Standings) -> bool:
    """Whether the agent may come across a node: words the person took out of its sight are not."""
    outcome = outcome_of(node.body)
    if outcome is not None:
        return outcome.tool not in OWN_TOOLS
    standing = standings[node.id]
    hidden = not standing.include and standing.by == YOU
    return isinstance(node.body, UserText | AssistantTurn) and not hidden and bool(_title(node))


def _note(own: Mapping[str, str], key: str) -> Kept | None:
    if key not in own:  # The same in another case will do.
        key = next((name for name in own if name.lower() == key.lower()), "")
    return Kept(key, "note", _line(own[key]), own[key]) if key else None


def _by_id(nodes: Sequence[Node], standings: Standings, wanted: str) -> Kept | None:
    exact = [node for node in nodes if wanted in (node.id, _call_id(node))]
    if not exact and len(wanted) >= SHORTEST_BEGINNING:
        exact = [node for node in nodes if node.id.startswith(wanted)]
    if len(exact) != 1:
        return None
    (node,) = exact
    standing = standings[node.id]
    hidden = not standing.include and standing.by == YOU and outcome_of(node.body) is None
    text = "" if hidden else _text(node, _calls(nodes))
    if not text:
        return None
    return Kept(node.id, "result", _title(node), text, not standing.include)


def _said(
    nodes: Sequence[Node], standings: Standings, own: Mapping[str, str], wanted: str
) -> tuple[Kept, ...]:
    """Notes and results that hold all the words, the best and newest first."""
    words = wanted.lower().split()
    ranked: list[tuple[int, int, Kept]] = []
    for place, (key, value) in enumerate(own.items()):
        score = _score(words, key, value)
        if score:
            found = Kept(key, "note", _excerpt(value, words), value)
            ranked.append((score + OF_A_NOTE, len(nodes) + place, found))
    calls = _calls(nodes)
    for place, node in enumerate(nodes):
        if not _open_to_all(node, standings) or (
            outcome_of(node.body) is None and standings[node.id].include
        ):
            continue  # What was said and is on the wire, the agent sees anyway.
        title, text = _title(node), _text(node, calls)
        if score := _score(words, title, text):
            shown = f"{title} … {_excerpt(text, words)}"
            held = not standings[node.id].include
            ranked.append((score, place, Kept(node.id, "result", shown, text, held)))
    ranked.sort(key=lambda hit: hit[:2], reverse=True)
    hits = tuple(hit for *_, hit in ranked[:MOST_HITS])
    if len(hits) == 1:
        return hits
    return tuple(Kept(hit.id, hit.kind, hit.title, "", hit.held_back) for hit in hits)


def _score(words: Sequence[str], title: str, text: str) -> int:
    """How well something fits; 0 unless it says every word."""
    in_title, in_text = title.lower(), text.lower()
    if not all(word in in_title or word in in_text for word in words):
        return 0
    return sum(
        OF_A_TITLE * (word in in_title) + min(in_text.count(word), MOST_OF_A_TEXT) for word in words
    )


def _excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first of the words in it, on one line."""
    lowered = text.lower()
    places = [at for word in words if (at := lowered.find(word)) >= 0]
    middle = min(places, default=0)
    return _line(text[max(0, middle - AROUND) : middle + AROUND])


def _title(node: Node) -> str:
    """A node in one line, "" for one that says nothing."""
    match node.body:
        case UserText(text=text):
            return f"the person: {_line(text)}" if text.strip() else ""
        case AssistantTurn(text=text):
            return f"answer: {_line(text)}" if text.strip() else ""
        case Summary(text=text):
            return f"summary: {_line(text)}"
        case _:
            return gist(node)


def _text(node: Node, calls: Mapping[str, ToolCall]) -> str:
    """All a node says; of a result also what the call was given, where that is long."""
    match node.body:
        case UserText(text=text) | AssistantTurn(text=text) | Summary(text=text):
            return text
        case _:
            outcome = outcome_of(node.body)
    if outcome is None:
        return ""
    call = calls.get(outcome.call_id)
    given = call.arguments if call is not None and len(call.arguments) > LONGEST_ARGUMENT else ""
    task = f"[the task]\n{node.body.task}\n\n" if isinstance(node.body, Delegation) else ""
    sent = f"\n\n[what the call was given]\n{given}" if given and not task else ""
    return f"{task}{outcome.output or '(no output)'}{sent}"


def _calls(nodes: Iterable[Node]) -> Mapping[str, ToolCall]:
    turns = (node.body for node in nodes if isinstance(node.body, AssistantTurn))
    return {call.id: call for turn in turns for call in turn.calls}


def _call_id(node: Node) -> str:
    outcome = outcome_of(node.body)
    return outcome.call_id if outcome is not None else ""


def _line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_TITLE].split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"

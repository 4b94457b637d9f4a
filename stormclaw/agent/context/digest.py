"""What a conversation comes to without asking a model: words, files, failures, plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stormclaw.agent.context.wording import gist
from stormclaw.agent.context.working import OWN_TOOLS, notes
from stormclaw.protocol.display import Checklist, Diff, Patch, Step
from stormclaw.protocol.messages import AssistantTurn, Node, ToolOutcome, UserText, outcome_of

READERS = frozenset({"read", "pdf"})
"""Verbs of headlines whose object is a file that was looked into."""
WRITERS = frozenset({"write", "edit", "patch"})
LONGEST_LINE = 200
LONGEST_ANSWER = 400
"""Characters of an answer that a digest repeats."""
MOST_DEEDS = 12
"""Calls of one turn that a digest names."""


@dataclass(frozen=True, slots=True)
class Words:
    """Something the person said; `id` is its node."""

    id: str
    text: str


@dataclass(slots=True)
class Touched:
    """What was done to a file."""

    read: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    created: bool = False

    def __str__(self) -> str:
        done = [f"read {self.read} times" if self.read > 1 else "read"] if self.read else []
        if self.changed:
            times = f" {self.changed} times" if self.changed > 1 else ""
            verb = "created" if self.created else "changed"
            lines = f" +{self.added} -{self.removed}" if self.added or self.removed else ""
            done.append(f"{verb}{times}{lines}")
        return ", ".join(done)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a stretch of a conversation.

    Attributes:
        words: What the person said, oldest first.
        plan: The newest plan's steps that are not done, () if there are none.
        notes: Keys of working memory and how each note begins.
        files: By path as shown, the file touched last comes last.
        failures: One line each, oldest first.
        results: One line each, with the id that recalls it, oldest first.
    """

    words: tuple[Words, ...] = ()
    plan: tuple[Step, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Touched] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def facts(covered: Sequence[Node], branch: Sequence[Node]) -> Facts:
    """What of `covered` has to be known later; plan and notes are those of the whole branch."""
    outcomes = [(node, found) for node in covered if (found := outcome_of(node.body))]
    return Facts(
        words=tuple(_words(covered)),
        plan=_plan(branch),
        notes={key: one_line(value, 80) for key, value in notes(branch).items()},
        files=_files(outcome for _, outcome in outcomes),
        failures=tuple(_failures(outcomes)),
        results=tuple(
            f"recall {node.id}: {gist(node)}"
            for node, outcome in outcomes
            if outcome.tool not in OWN_TOOLS and outcome.output
        ),
    )


def told(covered: Sequence[Node]) -> Iterator[str]:
    """What happened, a paragraph for each turn, oldest first: what was done and answered."""
    deeds: list[str] = []
    answer = ""
    about = "Before that"
    for node in covered:
        match node.body:
            case UserText(text=text, steered=False):
                yield from _turn(about, deeds, answer)
                about, deeds, answer = f"On “{one_line(text, 80)}”", [], ""
            case AssistantTurn(text=text):
                answer = text if text.strip() else answer
            case _ if outcome_of(node.body) is not None:
                deeds.append(gist(node))
            case _:
                pass
    yield from _turn(about, deeds, answer)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A text on one line of at most `longest` characters."""
    line = " ".join(text[: 4 * longest].split())
    whole = len(line) <= longest and len(text) <= 4 * longest
    return line if whole else f"{line[: longest - 1]}…"


def _turn(about: str, deeds: Sequence[str], answer: str) -> Iterator[str]:
    if not deeds and not answer:
        return
    shown = [f"- {deed}" for deed in deeds[-MOST_DEEDS:]]
    left = [f"- {len(deeds) - len(shown)} calls before these"] if len(deeds) > len(shown) else []
    said = [f"answered: {one_line(answer, LONGEST_ANSWER)}"] if answer else []
    yield "\n".join([f"{about}:", *left, *shown, *said])


def _words(covered: Iterable[Node]) -> Iterator[Words]:
    for node in covered:
        match node.body:
            case UserText(text=text) if text.strip():
                yield Words(node.id, text)
            case ToolOutcome(author="person") as ran:
                yield Words(node.id, f"!{ran.headline.object}")
            case _:
                pass


def _plan(branch: Sequence[Node]) -> tuple[Step, ...]:
    for node in reversed(branch):
        outcome = outcome_of(node.body)
        shown = outcome.display if outcome is not None and outcome.status == "done" else None
        if isinstance(shown, Checklist):
            return tuple(step for step in shown.steps if step.state in ("open", "doing"))
    return ()


def _files(outcomes: Iterable[ToolOutcome]) -> Mapping[str, Touched]:
    files: dict[str, Touched] = {}
    for outcome in outcomes:
        if outcome.status != "done":
            continue
        head = outcome.headline
        for path, diff in _changes(outcome):
            touched = files[path] = files.pop(path, Touched())
            touched.changed += 1
            if diff is not None:
                touched.added += diff.added
                touched.removed += diff.removed
                touched.created |= diff.created
        if head.kind == "path" and head.verb in READERS:
            touched = files[head.object] = files.pop(head.object, Touched())
            touched.read += 1
    return files


def _changes(outcome: ToolOutcome) -> Iterator[tuple[str, Diff | None]]:
    match outcome.display:
        case Diff() as diff:
            yield diff.path, diff
        case Patch(files=files):
            yield from ((diff.path, diff) for diff in files)
        case _ if outcome.headline.kind == "path" and outcome.headline.verb in WRITERS:
            yield outcome.headline.object, None
        case _:
            pass


def _failures(outcomes: Sequence[tuple[Node, ToolOutcome]]) -> Iterator[str]:
    """What was tried in vain, each once, and whether the same worked later."""
    worked = {
        (outcome.tool, outcome.headline.object): number
        for number, (_, outcome) in enumerate(outcomes)
        if outcome.status == "done"
    }
    last: dict[tuple[str, str, str, str], int] = {}
    times: dict[tuple[str, str, str, str], int] = {}
    for number, (_, outcome) in enumerate(outcomes):
        if outcome.status in ("failed", "denied"):
            key = (outcome.tool, outcome.headline.object, str(outcome.status), outcome.summary)
            last[key] = number
            times[key] = times.get(key, 0) + 1
    for key, number in sorted(last.items(), key=lambda entry: entry[1]):
        node, outcome = outcomes[number]
        count = f" ({times[key]} times)" if times[key] > 1 else ""
        later = "; it worked later" if worked.get(key[:2], -1) > number else ""
        why = _why(outcome)
        yield f"{gist(node)}{count}{f': {why}' if why else ''}{later} (recall {node.id})"


def _why(outcome: ToolOutcome) -> str:
    """The line that says most about a failure: the last of a program's, else the first."""
    lines = [line for line in outcome.output.splitlines() if line.strip()]
    if not lines:
        return ""
    return one_line(lines[-1] if outcome.headline.kind == "command" else lines[0], 120)

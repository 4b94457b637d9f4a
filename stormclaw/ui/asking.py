"""A question as lines: who asks, the thing itself, why, and the keys. Pure; the sheet shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from stormclaw.protocol.asks import Ask, Permission, Question
from stormclaw.protocol.display import Checklist, Diff, Patch, Plain, Shell, Table
from stormclaw.protocol.effects import Risk, Segment, Verdict
from stormclaw.ui.exactly import exact_rows
from stormclaw.ui.rows import BLANK, Row, Run, spread, wrap
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import cells, count, duration, fit, inert, one_line, shorten_path, take

WANTS: Mapping[str, str] = {
    "shell": "wants to run a command",
    "agent": "wants to start the agent",
    "note": "wants to note",
    "ask": "asks",
    "grep": "wants to search for",
    "glob": "wants to look for",
}
"""Verb of a call -> what its agent wants; for all others the verb itself: `wants to edit`."""

WHY_INDENT = 7
MOST_VERB = 24
"""Cells a verb may take; it is the name of a tool, and a tool may be called anything."""
WORST: tuple[Risk, ...] = ("blocked", "high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Place:
    """Where among the open questions this one stands, from 1 on, and its agent's colour."""

    number: int
    total: int
    role: str


def held(ask: Permission) -> bool:
    """Only a change of policy would let it run."""
    return ask.verdict.decision == "deny"


def head(ask: Ask, place: Place, width: int, signs: Signs) -> Row:
    """`? fixer wants to edit src/tide/retry.py                    ◆ medium risk`."""
    name = Run(one_line(ask.agent.rpartition("/")[2]), place.role, "b")
    start = (Run(f"{signs.asks} ", "attention"), name, Run(" "))
    if isinstance(ask, Question):
        return spread((*start, Run("asks")), _counted(place), width, mark=signs.elided)
    headline, risk = ask.headline, ask.verdict.risk
    wants = WANTS.get(headline.verb, f"wants to {fit(one_line(headline.verb), MOST_VERB)}")
    what = (
        () if headline.kind == "command" else (Run(f" {one_line(headline.object)}", "text", "b"),)
    )
    right = (Run(f"{signs.risk(risk)} {risk}", f"risk-{risk}"), Run(" risk", "muted"))
    return spread((*start, Run(wants), *what), right, width, mark=signs.elided)


def name_rows(ask: Ask, place: Place, width: int, signs: Signs) -> list[Row]:
    """What the call is about in full, where the head has no room for all of it."""
    if isinstance(ask, Question) or ask.headline.kind == "command":
        return []
    if one_line(ask.headline.object) in head(ask, place, width, signs).text:
        return []
    return [*exact_rows(ask.headline.object, width, signs, first="  ", more="  "), BLANK]


def _counted(place: Place) -> tuple[Run, ...]:
    if place.total < 2:
        return ()
    return (Run(f"{place.number} of {place.total} questions", "muted"),)


def second(ask: Ask, place: Place, hunk: tuple[int, int], width: int, signs: Signs) -> Row | None:
    """The line under the head: hunks and counts, or where a command runs; None if empty."""
    left: tuple[Run, ...] = ()
    if isinstance(ask, Permission):
        match ask.display:
            case Diff() as diff:
                left = (*_diff_place(ask, diff, width), *_diff_facts(diff, hunk, signs))
            case Shell() as shell:
                left = _shell_facts(shell, width - 2 - cells(_words(_counted(place))), signs)
            case Patch() as patch:
                left = _patch_facts(patch, signs)
            case Plain() | Table() | Checklist():
                pass
            case other:
                assert_never(other)
    right = _counted(place) if isinstance(ask, Permission) else ()
    if not left and not right:
        return None
    return spread((Run("  "), *left), right, width, mark=signs.elided)


def _diff_place(ask: Permission, diff: Diff, width: int) -> tuple[Run, ...]:
    """The file that would change, where the head names something else: a note."""
    if ask.headline.kind == "path":
        return ()
    return (Run("in ", "muted"), Run(shorten_path(one_line(diff.path), width // 2)), Run("    "))


def _diff_facts(diff: Diff, hunk: tuple[int, int], signs: Signs) -> tuple[Run, ...]:
    counts = Run(f"+{diff.added} {signs.removed}{diff.removed}", "muted")
    new = (Run("new file    ", "muted"),) if diff.created else ()
    cut = (Run(f"    {diff.cut} changed lines not kept", "attention"),) if diff.cut else ()
    number, total = hunk
    if total < 2:
        return (*new, counts, *cut)
    hunks = (Run("hunk ", "muted"), Run(str(number)), Run(f" of {total}    ", "muted"))
    return (*new, *hunks, counts, *cut)


def _patch_facts(patch: Patch, signs: Signs) -> tuple[Run, ...]:
    added = sum(diff.added for diff in patch.files)
    removed = sum(diff.removed for diff in patch.files)
    return (
        Run(f"{count(len(patch.files), 'file')}    +{added} {signs.removed}{removed}", "muted"),
    )


LEAST_PLACE = 12
"""Cells the folder a command runs in gets at least; what is opened is never cut for it."""


def _shell_facts(shell: Shell, width: int, signs: Signs) -> tuple[Run, ...]:
    room = _shell_room(shell, width)
    opened = _wider(shell, named=room >= LEAST_PLACE)
    taken = cells(f"in {_limit(shell)}{opened}")
    place = shorten_path(shell.cwd or ".", max(3, width - taken), elided=signs.elided)
    wider = (Run(opened, "attention"),) if opened else ()
    return (Run("in ", "muted"), Run(place), Run(_limit(shell), "muted"), *wider)


def _shell_room(shell: Shell, width: int) -> int:
    """Cells left for the folder it runs in when all that is opened is named."""
    return width - cells(f"in {_limit(shell)}{_wider(shell, named=True)}")


def _limit(shell: Shell) -> str:
    box = "no sandbox" if shell.sandbox == "none" else f"sandbox: {shell.sandbox}"
    return f"  up to {duration(shell.timeout_s).removesuffix(' 00s')}, {box}"


def _wider(shell: Shell, *, named: bool) -> str:
    opened = ["with network"] if shell.network else []
    if shell.hosts:
        some = ", ".join(map(one_line, shell.hosts)) if named else count(len(shell.hosts), "host")
        opened.append(f"with network to {some}")
    if named:
        opened += [f"may write {one_line(folder)}" for folder in shell.folders]
    elif shell.folders:
        opened.append(f"may write {count(len(shell.folders), 'folder')}")
    return "".join(f", {words}" for words in opened)


def _words(runs: Sequence[Run]) -> str:
    return "".join(run.text for run in runs)


def checklist_rows(checklist: Checklist, width: int, signs: Signs) -> list[Row]:
    """What is meant to be done, a row each."""
    return [
        row
        for step in checklist.steps
        for row in exact_rows(
            one_line(step.text), width, signs, first=f"  {signs.step(step.state)} "
        )
    ]


def command_rows(shell: Shell, verdict: Verdict, width: int, signs: Signs) -> list[Row]:
    """The whole command, never shortened, and one row for each part that was judged."""
    rows = exact_rows(shell.command, width, signs, first="  $ ", more="  > ")
    rows += _opened(shell, width, signs)
    if verdict.segments:
        rows += [BLANK, *_segments(verdict.segments, width, signs)]
    return rows


def _opened(shell: Shell, width: int, signs: Signs) -> list[Row]:
    """Where it runs, each host and folder to be opened, if the second line cannot name them."""
    if _shell_room(shell, width) >= max(LEAST_PLACE, cells(one_line(shell.cwd))):
        return []
    names = [(shell.cwd, "in "), *((host, "network to ") for host in shell.hosts)]
    names += [(folder, "may write ") for folder in shell.folders]
    rows: list[Row] = [BLANK]
    for folder, words in names:
        rows += exact_rows(folder, width, signs, first=f"  {words}")
    return rows


def _segments(segments: Sequence[Segment], width: int, signs: Signs) -> list[Row]:
    worst = min((segment.risk for segment in segments), key=WORST.index)
    shown = [one_line(segment.text) for segment in segments]
    digits = len(str(len(segments)))
    room = max(8, min(max(map(cells, shown)), (width - digits - 8) * 55 // 100))
    rows: list[Row] = []
    for number, (segment, text) in enumerate(zip(segments, shown, strict=True), 1):
        low = segment.risk == "low"
        sign = signs.done if low else signs.risk(segment.risk)
        role = "muted" if low else f"risk-{segment.risk}"
        flags = "b" if segment.risk == worst and not low else ""
        reason = wrap(one_line(segment.reason), max(8, width - room - digits - 7))
        parts = wrap(text, room)
        for line in range(max(len(parts), len(reason))):
            lead = (Run(f"  {number:>{digits}} ", "muted"), Run(f"{sign} ", role))
            first = lead if line == 0 else (Run(" " * (digits + 5)),)
            part = parts[line] if line < len(parts) else ""
            why = reason[line] if line < len(reason) else ""
            gap = " " * (room - cells(part) + 2)
            why_run = Run(why, "muted" if low else "text")
            rows.append(Row((*first, Run(part, "text", flags), Run(gap), why_run)))
    return rows


def plain_rows(text: str, width: int, signs: Signs) -> list[Row]:
    """Foreign text, whole and harmless."""
    return exact_rows(text, width, signs, first="  ", more="  ")


MOST_WHY = 3
"""Rows of the reason under the thing itself; `?` shows all of it."""


def why_rows(ask: Permission, width: int, signs: Signs) -> list[Row]:
    """`why   Edits a file in the workspace. Rule: supervised asks at medium.`"""
    verdict = ask.verdict
    reason = one_line(verdict.reason).rstrip(".")
    rule = one_line(verdict.rule).rstrip(".")
    named = "" if rule.lower() in reason.lower() else f" Rule: {rule}."
    words = f"{reason[:1].upper()}{reason[1:]}.{named}"
    room = max(10, width - WHY_INDENT - 2)
    lines = wrap(words, room)
    if len(lines) > MOST_WHY:
        lines = lines[:MOST_WHY]
        more = f"{signs.elided} ? shows all"
        lines[-1] = f"{take(lines[-1], room - cells(more))}{more}"
    lead = [Run("  why   ", "muted")] + [Run(" " * (WHY_INDENT + 1))] * (len(lines) - 1)
    return [Row((start, Run(line))) for start, line in zip(lead, lines, strict=True)]


def trace_rows(ask: Permission, width: int, signs: Signs) -> list[Row]:
    """Every step of the judgement, and where the deciding rule stands."""
    verdict = ask.verdict
    rows: list[Row] = []
    for number, step in enumerate(verdict.trace or (verdict.reason,), 1):
        rows += exact_rows(one_line(step), width, signs, first=f"  {number:>2}  ")
    rows.append(BLANK)
    facts = [
        ("why", verdict.reason),
        ("rule", verdict.rule),
        ("from", verdict.origin),
        ("answer", verdict.decision),
        *(("would add", f"{grant.kind} {grant.match}") for grant in verdict.grants),
    ]
    for name, value in facts:
        rows += exact_rows(one_line(value), width, signs, first=f"  {name:<9}  ")
    return rows


def question_rows(ask: Question, picked: int, width: int, signs: Signs) -> list[Row]:
    """The question, and its options with the one Enter would take."""
    rows = [Row((Run("  "), Run(line))) for line in wrap(inert(ask.text, prose=True), width - 2)]
    if ask.options:
        rows.append(BLANK)
    for number, option in enumerate(ask.options):
        chosen = number == picked
        sign = Run(f"{signs.selected} ", "accent") if chosen else Run("  ")
        label = Run(f"{number + 1}  ", "muted")
        words = wrap(one_line(option), max(10, width - 7))
        ground = "row" if chosen else ""
        rows.append(spread((sign, label, Run(words[0])), (), width, ground=ground))
        rows += [Row((Run(" " * 5), Run(line)), ground) for line in words[1:]]
    return rows

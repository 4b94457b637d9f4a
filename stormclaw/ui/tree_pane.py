"""The right side of the sessions screen: what the line under the cursor would cause, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormclaw.ui.rows import BLANK, Row, Run, indented, spread, wrap_runs
from stormclaw.ui.session_words import (
    all_changes,
    changes,
    folder_words,
    full_moment,
    last_used,
    path_runs,
)
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import clock_time, count, money, one_line, shorten_path

if TYPE_CHECKING:
    from stormclaw.agent.history.values import FileStep, Foreign, Leaf, Preview, Touched
    from stormclaw.store.sessions import SessionInfo
    from stormclaw.ui.session_shelf import Glimpse

MOST_FILES = 200
"""Files named; a build may have made thousands."""
MOST_FOREIGN = 4
WORD_LINES = 3
SAID_LINES = 6
LABEL = 9
"""Cells of the labels of a session's facts."""
INDENT = 2
CONFLICT = "Changed by somebody else since: stays unless F."
SAFE = "Nothing is lost: the turns stay as a branch, the files as a checkpoint. U brings both back."
COUNTED = {"restored": "", "removed": "removed", "recreated": "back again"}


@dataclass(frozen=True, slots=True)
class Paper:
    """What the rows are written on.

    Attributes:
        width: Cells.
        signs: Of this terminal.
        now: Unix seconds.
    """

    width: int
    signs: Signs
    now: float

    def fact(self, label: str, value: str, role: str = "text") -> Row:
        """A label and what ends at the right edge."""
        return self.pair((Run(label, "muted"),), value, role)

    def pair(self, left: Sequence[Run], right: str, role: str = "text") -> Row:
        """What begins at the left edge and what ends at the right one."""
        end = (Run(right, role),) if right else ()
        return spread(left, end, self.width, mark=self.signs.elided)

    def prose(self, text: str, role: str = "text", flags: str = "", most: int = 0) -> list[Row]:
        """Foreign or own words, wrapped; at most so many lines, the last one then elided."""
        rows = wrap_runs(text, self.width, role, flags)
        if not most or len(rows) <= most:
            return rows
        last = rows[most - 1].text[: self.width - len(self.signs.elided)].rstrip()
        return [*rows[: most - 1], Row((Run(last + self.signs.elided, role, flags),))]


def turn_rows(
    leaf: Leaf, preview: Preview | None, paper: Paper, dot: str, working: str
) -> list[Row]:
    """What going back to before a turn would do; until that is known, a dot and `working`."""
    when = full_moment(leaf.at, paper.now)
    where = "" if leaf.current else ", another branch"
    rows = paper.prose(f"Rewind to {when}{where}", "text", "b")
    rows += paper.prose(one_line(leaf.text), "muted", most=WORD_LINES)
    if leaf.label:
        rows.append(paper.pair((Run(one_line(leaf.label), "accent"),), ""))
    if leaf.did or leaf.files:
        counted = all_changes(leaf.files, paper.signs)
        rows.append(paper.pair((Run(one_line(leaf.did), "muted"),), counted, "muted"))
    rows.append(BLANK)
    if preview is None:
        return [*rows, Row((Run(f"{dot} ", "accent"), Run(working, "muted")))]
    leave = f"{count(preview.turns, 'turn')} leave{'s' if preview.turns == 1 else ''}"
    rows.append(paper.fact("conversation", leave if preview.turns else "stays"))
    rows += file_rows(preview, paper)
    rows += foreign_rows(preview.foreign, paper)
    return [*rows, BLANK, *paper.prose(SAFE, "muted")]


def file_rows(preview: Preview, paper: Paper) -> list[Row]:
    """How many files go back, which, and why some do not."""
    if preview.blocked:
        reason = paper.prose(one_line(preview.blocked), "muted")
        return [paper.fact("files", "cannot go back", "attention"), BLANK, *reason]
    going = [step for step in preview.files if not step.conflict]
    held = [step for step in preview.files if step.conflict]
    words = f"{len(going)} go{'es' if len(going) == 1 else ''} back" if going else "stay"
    rows = [paper.fact("files", words)]
    if going:
        rows += [BLANK, *_steps(going, paper)]
    if held:
        rows += [BLANK, *_steps(held, paper), *paper.prose(CONFLICT, "attention")]
    return rows


def _steps(steps: Sequence[FileStep], paper: Paper) -> list[Row]:
    rows = []
    for step in steps[:MOST_FILES]:
        counted = COUNTED[step.fate] or changes(step.added, step.removed, paper.signs)
        role = "attention" if step.conflict else "muted"
        room = max(8, paper.width - INDENT - len(counted) - 2)
        sign = Run(f"{paper.signs.asks} " if step.conflict else "  ", role)
        left = (sign, *path_runs(step.path, room, paper.signs))
        rows.append(paper.pair(left, counted, role))
    return [*rows, *_more(len(steps) - MOST_FILES, paper)]


def foreign_rows(foreign: Sequence[Foreign], paper: Paper) -> list[Row]:
    """Files the person has edited meanwhile, and that nothing happens to them."""
    rows: list[Row] = []
    for file in foreign[:MOST_FOREIGN]:
        did, at = ("edited", f" at {clock_time(file.at)}.") if file.at else ("removed", ".")
        room = max(8, paper.width - INDENT - len(f"You {did} ") - len(at))
        path = Run(shorten_path(one_line(file.path), room, elided=paper.signs.elided), "text", "b")
        lead = Run(f"{paper.signs.between} ", "muted")
        rows.append(Row((lead, Run(f"You {did} "), path, Run(at))))
    if not rows:
        return []
    stays = "It stays as it is." if len(foreign) == 1 else "They stay as they are."
    more = _more(len(foreign) - MOST_FOREIGN, paper)
    return [BLANK, *rows, *more, *indented([Row((Run(stays, "muted"),))], INDENT)]


def _more(number: int, paper: Paper) -> list[Row]:
    words = f"{paper.signs.elided} {number} more"
    return indented([Row((Run(words, "muted"),))], INDENT) if number > 0 else []


def here_rows(leaves: Sequence[Leaf], paper: Paper) -> list[Row]:
    """Where the conversation stands."""
    on_trunk = [leaf for leaf in leaves if leaf.current]
    files = {file.path for leaf in on_trunk for file in leaf.files}
    left = len(leaves) - len(on_trunk)
    facts = [paper.fact("turns", str(len(on_trunk)))]
    if left:
        facts.append(paper.fact("on other branches", str(left)))
    facts.append(paper.fact("files changed", str(len(files))))
    words = "u takes back what was rewound last; l names this place, so that n comes back to it."
    return [
        *paper.prose("You are here", "text", "b"),
        BLANK,
        *facts,
        BLANK,
        *paper.prose(words, "muted"),
    ]


def other_turn_rows(leaf: Leaf, paper: Paper) -> list[Row]:
    """A turn of a session that is not open."""
    rows = paper.prose(full_moment(leaf.at, paper.now), "text", "b")
    rows += paper.prose(one_line(leaf.text), "text", most=SAID_LINES)
    if leaf.did:
        rows += [BLANK, *paper.prose(one_line(leaf.did), "muted", most=WORD_LINES)]
    rows += touched_rows(leaf.files, paper)
    return [*rows, BLANK, *paper.prose("enter goes on with its session", "muted")]


def touched_rows(files: Sequence[Touched], paper: Paper) -> list[Row]:
    """Files a turn or a session changed."""
    rows: list[Row] = [BLANK] if files else []
    for file in files[:MOST_FILES]:
        counted = changes(file.added, file.removed, paper.signs)
        room = max(8, paper.width - INDENT - len(counted) - 2)
        left = (Run("  "), *path_runs(file.path, room, paper.signs))
        rows.append(paper.pair(left, counted, "muted"))
    return [*rows, *_more(len(files) - MOST_FILES, paper)]


def session_rows(info: SessionInfo, glimpse: Glimpse | None, paper: Paper, hint: str) -> list[Row]:
    """What a session was about; `hint` says how to learn more while there is no glimpse."""
    room = max(8, paper.width - LABEL)
    facts = (
        ("folder", folder_words(info.workspace, room, paper.signs)),
        ("model", one_line(f"{info.provider}/{info.model}")),
        ("begun", full_moment(info.created, paper.now)),
        ("used", last_used(info.updated, paper.now)),
        ("turns", str(info.turns) if info.turns else ""),
        ("cost", money(info.cost_usd, estimated=info.cost_estimated)),
        ("from", one_line(info.origin)),
        ("id", info.id),
    )
    title = one_line(info.title) or "nothing said yet"
    rows = [*paper.prose(title, "text", "b", most=WORD_LINES), BLANK]
    for label, value in facts:
        if value:
            rows.append(paper.pair((Run(f"{label:<{LABEL}}", "muted"), Run(value)), ""))
    rows.append(BLANK)
    if glimpse is None:
        return [*rows, *paper.prose(hint, "muted")]
    for words, role in ((glimpse.asked, "text"), (glimpse.answered, "muted")):
        if words:
            rows += [*paper.prose(one_line(words), role, most=SAID_LINES), BLANK]
    return [*rows, *touched_rows(glimpse.files, paper)[1:]]

"""Takes files off the wire that were read again or changed since: what they said is out of date."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stormclaw.agent.context.view import Policy, Proposal, Result, View, arguments_of, held_back
from stormclaw.agent.context.wording import elided
from stormclaw.protocol.display import Patch

READERS = frozenset({"read_file"})
WRITERS = frozenset({"edit_file", "write_file", "apply_patch"})
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:---|\+\+\+) (?:[ab]/)?)(\S.*)$",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"(\d+)\t")
_TOTAL = re.compile(r"\bof ([\d,]+)$")
_ENDLESS = 1 << 60


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is on the wire of a file after a read: lines `first` to `last`."""

    first: int
    last: int

    def covers(self, other: _Seen) -> bool:
        return self.first <= other.first and self.last >= other.last


_EVERYTHING, _NOTHING = _Seen(1, _ENDLESS), _Seen(_ENDLESS, 0)


def _propose(view: View) -> Sequence[Proposal]:
    newer: dict[str, list[_Seen]] = {}
    changed: set[str] = set()
    found: list[Proposal] = []
    for result in reversed(view.results):
        if result.outcome.status != "done":
            continue
        if result.outcome.tool in WRITERS:
            changed.update(_written(result, view.workspace))
        elif result.outcome.tool in READERS:
            path = _path(result.outcome.headline.object, view.workspace)
            seen = _seen(result)
            again = any(later.covers(seen) for later in newer.get(path, ()))
            why = "changed later" if path in changed else "read again later" if again else ""
            if why and view.open(result.node):
                left = elided(result.node, why)
                if view.worth(result, left):
                    found.append(held_back(result.node, view.standings[result.node.id], left, why))
            if not again:
                newer.setdefault(path, []).append(seen)
    return found[::-1]


def _path(given: str, workspace: str) -> str:
    """One spelling for one path, as far as can be told without the disk."""
    return posixpath.normpath(posixpath.join(workspace, given.strip()))


def _seen(result: Result) -> _Seen:
    """The lines a read showed; to the file's end counts as endless, so that a read of a file that
    has become shorter covers what stood there before."""
    summary = result.outcome.summary
    if not summary.startswith("lines "):
        return _EVERYTHING
    lines = [match for match in map(_NUMBERED.match, _edges(result.outcome.output)) if match]
    if not lines:
        return _NOTHING
    first, last = int(lines[0][1]), int(lines[-1][1])
    total = _TOTAL.search(summary)
    ends = total is not None and last >= int(total[1].replace(",", ""))
    return _Seen(first, _ENDLESS if ends else last)


def _edges(output: str) -> tuple[str, ...]:
    """The first line, and the last ones: some may be remarks."""
    return (output.partition("\n")[0], *output.rsplit("\n", 4)[1:])


def _written(result: Result, workspace: str) -> Iterator[str]:
    display = result.outcome.display
    if isinstance(display, Patch):
        names = [each.path for each in display.files]
    elif result.outcome.tool == "apply_patch":
        names = _PATCHED.findall(str(arguments_of(result.call).get("patch", "")))
    else:
        names = [result.outcome.headline.object]
    return (_path(name, workspace) for name in names)


POLICY = Policy(
    name="superseded_reads",
    label="superseded reads",
    about="files read again or changed since",
    propose=_propose,
)

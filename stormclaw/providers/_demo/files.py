"""What the demo does with files and commands, step by step.

Each function takes an intent and what was done since; nothing else is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from stormclaw.providers._demo.grammar import (
    Append,
    Create,
    Find,
    ListFiles,
    ReadFile,
    Replace,
    Run,
)
from stormclaw.providers._demo.step import Done, Step, ask, of_tool
from stormclaw.providers._demo.text import (
    code,
    counted,
    fence,
    next_offset,
    numbered_lines,
    receipt,
    trouble,
)

SHOWN: Final = 12
MAX_PARTS: Final = 20
"""How often the demo reads on in a long file."""


def list_files(intent: ListFiles, done: Sequence[Done]) -> Step:
    """List, then name the first few."""
    where = "here" if intent.path == "." else f"in {code(intent.path)}"
    if not done:
        return ask(f"Listing what is {where}.", "list_files", path=intent.path)
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    lines = [line for line in done[-1].output.splitlines() if line and line[0] not in "…("]
    names = ", ".join(code(line) for line in lines[:SHOWN])
    more = f", and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return Step(
        f"{done[-1].outcome.summary or counted(len(lines), 'entry')} {where}: {names}{more}."
    )


def read_file(intent: ReadFile, done: Sequence[Done]) -> Step:
    """Read, then show the beginning."""
    if not done:
        return ask(f"Reading {code(intent.path)}.", "read_file", path=intent.path)
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    lines = numbered_lines(done[-1].output)
    if not lines:
        return Step(f"{code(intent.path)}: {done[-1].outcome.summary or 'nothing to show'}.")
    shown = "\n".join(lines[:SHOWN])
    size = done[-1].outcome.summary or counted(len(lines), "line")
    head = f"The first {SHOWN} lines" if len(lines) > SHOWN else "All of it"
    return Step(f"{code(intent.path)} has {size}. {head}:\n\n{fence(shown, intent.path)}")


def find(intent: Find, done: Sequence[Done]) -> Step:
    """Search contents, or names where there is a `*`."""
    by_name = "*" in intent.text and " " not in intent.text
    if not done:
        text = f"Looking for {code(intent.text)}."
        if by_name:
            pattern = intent.text if "/" in intent.text else f"**/{intent.text}"
            return ask(text, "glob", pattern=pattern, path=intent.path)
        pattern = re.escape(intent.text).replace(r"\ ", " ")
        return ask(text, "grep", pattern=pattern, path=intent.path, ignore_case=True)
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    lines = done[-1].output.splitlines()
    shown = "\n".join(lines[:SHOWN])
    summary = done[-1].outcome.summary
    if summary.startswith("0 "):
        return Step(f"No match for {code(intent.text)}. I look for exactly these words.")
    more = (
        f"\n\n{counted(len(lines) - SHOWN, 'more line')} in the card." if len(lines) > SHOWN else ""
    )
    return Step(
        f"{code(intent.text)}: {summary or counted(len(lines), 'line')}.\n\n{fence(shown)}{more}"
    )


def create(intent: Create, done: Sequence[Done]) -> Step:
    """Write a new file."""
    content = f"{intent.content}\n" if intent.content else ""
    if not done:
        text = f"Creating {code(intent.path)}."
        return ask(text, "write_file", path=intent.path, content=content)
    if not done[-1].ok:
        return Step(trouble(done[-1].outcome))
    return Step(f"{code(intent.path)} is written.{receipt(done[-1].outcome)}")


def append(intent: Append, done: Sequence[Done]) -> Step:
    """Read to the end, then put the text behind the last line; a missing file is created."""
    path = intent.path
    changes = [*of_tool(done, "edit_file"), *of_tool(done, "write_file")]
    if changes:
        if not changes[-1].ok:
            return Step(trouble(changes[-1].outcome))
        return Step(f"The text is at the end of {code(path)}.{receipt(changes[-1].outcome)}")
    reads = of_tool(done, "read_file")
    if not reads:
        return ask(f"Reading {code(path)} to find its end.", "read_file", path=path)
    last = reads[-1]
    if not last.ok:
        if last.outcome.status == "failed" and "does not exist" in last.output:
            text = f"There is no {code(path)} yet, so I create it."
            return ask(text, "write_file", path=path, content=f"{intent.text}\n")
        return Step(trouble(last.outcome))
    if (offset := next_offset(last.output)) and len(reads) < MAX_PARTS:
        return ask("Reading on.", "read_file", path=path, offset=offset)
    lines = [line for read in reads for line in numbered_lines(read.output)]
    anchor = _last_unique(lines)
    if not anchor:
        if lines:
            return Step(
                f"I found no place in {code(path)} that is unlike all others; nothing changed."
            )
        return ask("It is empty.", "write_file", path=path, content=f"{intent.text}\n")
    new = f"{anchor}\n{intent.text}"
    text = f"Appending to {code(path)}, behind its {counted(len(lines), 'line')}."
    return ask(text, "edit_file", path=path, old_string=anchor, new_string=new)


def replace(intent: Replace, done: Sequence[Done]) -> Step:
    """Read, see whether the text is there, edit."""
    path, old, new = intent.path, intent.old, intent.new
    if edits := of_tool(done, "edit_file"):
        if not edits[-1].ok:
            return Step(trouble(edits[-1].outcome))
        what = f"{code(old)} became {code(new)}" if new else f"{code(old)} is gone"
        change = edits[-1].outcome.summary
        return Step(
            f"{what} in {code(path)}{f' ({change})' if change else ''}.{receipt(edits[-1].outcome)}"
        )
    reads = of_tool(done, "read_file")
    if not reads:
        return ask(f"Reading {code(path)} first.", "read_file", path=path)
    if not reads[-1].ok:
        return Step(trouble(reads[-1].outcome))
    text = "\n".join(line for read in reads for line in numbered_lines(read.output))
    count = text.count(old)
    if not count:
        if (offset := next_offset(reads[-1].output)) and len(reads) < MAX_PARTS:
            return ask("Not in this part; reading on.", "read_file", path=path, offset=offset)
        return Step(f"{code(old)} is not in {code(path)}; nothing changed.")
    words = f"It stands there {counted(count, 'time')}. This is the change:"
    return ask(words, "edit_file", path=path, old_string=old, new_string=new, replace_all=count > 1)


def run(intent: Run, done: Sequence[Done]) -> Step:
    """Run a command, then show how it ended."""
    if not done:
        return ask(f"Running {code(intent.command)}.", "shell_exec", command=intent.command)
    outcome = done[-1].outcome
    if outcome.status in ("denied", "interrupted"):
        return Step(trouble(outcome))
    lines = done[-1].output.rstrip().splitlines()
    shown = "\n".join(lines[-SHOWN:])
    part = f", its last {SHOWN} lines" if len(lines) > SHOWN else ""
    return Step(
        f"{code(intent.command)}: {outcome.summary or outcome.status}{part}:\n\n{fence(shown)}"
    )


def _last_unique(lines: Sequence[str]) -> str:
    """The shortest end of a text that stands in it only once; "" if there is none."""
    whole = "\n".join(lines)
    for start in reversed(range(len(lines))):
        end = "\n".join(lines[start:])
        if end.strip() and whole.count(end) == 1:
            return end
    return ""

"""What a slash command answered, for front ends without a screen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

from stormclaw.channels.headless import OutputFormat, print_result
from stormclaw.channels.result import FAILED, OK, USAGE, TurnResult
from stormclaw.commands.run import find, run_command
from stormclaw.protocol.command import Answer, Draft
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import Note
from stormclaw.runtime import Runtime


def lines_of(answer: Answer) -> Iterator[str]:
    """Text and table, inert, columns side by side."""
    if answer.text:
        yield inert(answer.text)
    if answer.table is not None:
        rows = (answer.table.columns, *answer.table.rows)
        shown = [[" ".join(inert(cell).split()) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for row in shown:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()


def is_command(text: str) -> bool:
    """Whether a prompt is a slash command there is; anything else is words for the model."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first.startswith("/") and find(first[1:].lower()) is not None


async def one_command(
    runtime: Runtime,
    line: str,
    output: OutputFormat,
    *,
    out: IO[str] = sys.stdout,
    err: IO[str] = sys.stderr,
) -> int:
    """Run a slash command where there is nothing to go on with afterwards; returns the exit code.

    A command that only makes sense inside a conversation (`/new`, `/model`) is refused.
    """
    answer = await run_command(runtime, line)
    result = TurnResult(runtime.session.id, "\n".join(lines_of(answer)), reason="done")
    code = OK if answer.ok else FAILED
    if answer.change is not None and not isinstance(answer.change, Draft):
        name = line.split(maxsplit=1)[0]
        result.text, code = f"{name} needs a conversation; `stormclaw` opens one", USAGE
    if code != OK:
        result.reason, result.note = "failed", Note("failed", result.text, code="bad_request")
        result.text = ""
    print_result(result, output, out, err)
    return code

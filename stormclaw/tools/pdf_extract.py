"""Reads the text of a PDF file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta, Struct

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline
from stormclaw.protocol.effects import Effect, Reads
from stormclaw.protocol.tool import Tool, ToolContext, ToolResult
from stormclaw.tools._apart import Told, apart
from stormclaw.tools._files import open_regular, resolve, shown
from stormclaw.tools._output import clean
from stormclaw.tools._text import counted, size_of

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is opened."""
SECONDS = 20.0
MAX_SPANS = 50

_SPAN = re.compile(r"(\d{1,6})?(?:\s*(-)\s*(\d{1,6})?)?", re.ASCII)


class Args(Struct, frozen=True):
    """Which file, and which of its pages."""

    path: str
    pages: Annotated[str, Meta(description="1-3,7,10-; default all")] | None = None


@dataclass(slots=True)
class _Reading:
    """What the reader told: how many pages there are, their texts, those it could not read."""

    count: int = 0
    texts: dict[int, str] = field(default_factory=dict)
    sick: dict[int, str] = field(default_factory=dict)
    locked: str = ""
    broken: str = ""


def spans(pages: str | None) -> tuple[tuple[int, int], ...]:
    """Pages as pairs of first and last, in order, none twice; a last page of 0 means the end.

    Raises:
        ToolFailure: Not of the form `1-3,7,10-`.
    """
    parts = [part.strip() for part in (pages or "1-").split(",") if part.strip()]
    found = sorted(map(_span, parts))
    if not found or len(found) > MAX_SPANS:
        raise _bad_pages(pages or "")
    merged = [found[0]]
    for first, last in found[1:]:
        before, end = merged[-1]
        if end and first > end + 1:
            merged.append((first, last))
        else:
            merged[-1] = (before, max(end, last) if end and last else 0)
    return tuple(merged)


def _span(part: str) -> tuple[int, int]:
    match = _SPAN.fullmatch(part)
    if match is None or (match[1] is None and match[3] is None):
        raise _bad_pages(part)
    first = int(match[1] or 1)
    last = int(match[3] or 0) if match[2] else first
    if first < 1 or (match[3] is not None and last < first):
        raise _bad_pages(part)
    return first, last


def _bad_pages(part: str) -> ToolFailure:
    return ToolFailure(
        f"`pages` must name pages from 1 as in `1-3,7,10-`, not {part[:60]!r}", summary="bad pages"
    )


def _headline(args: Args) -> Headline:
    return Headline("pdf", args.path or "?", "path")


def _effects(args: Args, ctx: ToolContext) -> tuple[Effect, ...]:
    spans(args.pages)
    return (Reads(resolve(args.path, ctx)),)


async def _run(args: Args, ctx: ToolContext) -> ToolResult:
    wanted = spans(args.pages)
    path = resolve(args.path, ctx)
    name = shown(path, ctx)
    descriptor = open_regular(path, name, ctx)
    try:
        _must_be_pdf(descriptor, name)
        told = await apart(
            "_pdf:tell", json.dumps(wanted), str(ctx.max_output_chars),
            given=descriptor, seconds=SECONDS, most_bytes=16 * ctx.max_output_chars + 2_000_000,
        )  # fmt: skip
    finally:
        os.close(descriptor)
    reading = _read(told.output)
    _must_be_readable(reading, told, name)
    return _result(reading, told, wanted, name, ctx.max_output_chars)


def _must_be_pdf(descriptor: int, name: str) -> None:
    size = os.fstat(descriptor).st_size
    if b"%PDF-" not in os.pread(descriptor, 1024, 0):
        raise ToolFailure(f"{name} is no PDF; read it with read_file", summary="no PDF")
    if size > MAX_BYTES:
        raise ToolFailure(
            f"{name} is too large ({size_of(size)}); take pages out of it through shell_exec",
            summary="too large",
        )


def _read(output: bytes) -> _Reading:
    """The lines of `_pdf`; one cut off in its middle is left out."""
    reading = _Reading()
    for raw in output.split(b"\n")[:-1]:
        line: list[Any] = json.loads(raw)
        match line:
            case ["pages", int(count)]:
                reading.count = count
            case ["page", int(number), str(text)]:
                reading.texts[number] = clean(text).strip()
            case ["sick", int(number), str(why)]:
                reading.sick[number] = why
            case ["locked", str(why)]:
                reading.locked = why
            case ["broken", str(why)]:
                reading.broken = why
            case _:
                raise ValueError(f"not a line of the PDF reader: {raw[:80]!r}")
    return reading


def _must_be_readable(reading: _Reading, told: Told, name: str) -> None:
    if reading.locked:
        raise ToolFailure(
            f"{name} is encrypted: {reading.locked}. Ask the person for an open copy "
            "(`qpdf --decrypt` makes one)",
            summary="encrypted",
        )
    if reading.broken or not (reading.count or told.end == "time"):
        why = reading.broken or told.complaint or "the reader gave up"
        raise ToolFailure(
            f"{name} is broken or hostile and cannot be read: {why}", summary="broken PDF"
        )
    if told.end == "time" and not reading.texts:
        raise ToolFailure(
            f"{name} could not be read within {SECONDS:g} s; try single pages with `pages`",
            summary="timed out",
        )


def _result(
    reading: _Reading, told: Told, wanted: tuple[tuple[int, int], ...], name: str, room: int
) -> ToolResult:
    if not reading.texts and not reading.sick:
        raise ToolFailure(
            f"{name} has {counted(reading.count, 'page')}; there is none of those asked for",
            summary="no such page",
        )
    if not any(reading.texts.values()):
        raise ToolFailure(_no_text(reading, name), summary="no text")
    lines: list[str] = []
    shown_pages = 0
    for number in sorted({*reading.texts, *reading.sick}):
        text = reading.texts.get(number)
        mark = f"--- page {number} of {reading.count} ---"
        said = f"(cannot be read: {reading.sick[number]})" if text is None else text or "(no text)"
        room -= len(mark) + len(said) + 2
        if room < 0 and lines:
            break
        lines += [mark, said if room >= 0 else f"{said[: len(said) + room]}\n… this page goes on"]
        shown_pages = number
    if rest := _rest(wanted, reading.count, shown_pages):
        slow = f" ({SECONDS:g} s are over)" if told.end == "time" else ""
        lines.append(f"… not shown{slow}: go on with pages={rest}")
    summary = f"{counted(reading.count, 'page')}, {counted(len(lines) // 2, 'page')} shown"
    return ToolResult("\n".join(lines), summary=summary, metadata={"pages": reading.count})


def _no_text(reading: _Reading, name: str) -> str:
    if reading.sick:
        number, why = next(iter(reading.sick.items()))
        return f"no page of {name} asked for can be read; page {number}: {why}"
    return (
        f"{name} holds no text on {counted(len(reading.texts), 'page')}: it is probably scanned. "
        "Its letters must be recognised first, for example with ocrmypdf through shell_exec"
    )


def _rest(wanted: Iterable[tuple[int, int]], count: int, shown_to: int) -> str:
    """The pages that were asked for and come after the last one shown."""
    parts = []
    for first, last in wanted:
        start, end = max(first, shown_to + 1), min(last or count, count)
        if start <= end:
            parts.append(str(start) if start == end else f"{start}-{end}")
    return ",".join(parts)


TOOL = Tool(
    name="pdf_extract",
    description="The text of a PDF file.",
    args=Args,
    headline=_headline,
    effects=_effects,
    run=_run,
)

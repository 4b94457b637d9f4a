"""Lists and searches files: through ripgrep where it runs, else the same in Python."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

from stormclaw.errors import ToolFailure
from stormclaw.tools._files import MAX_BYTES
from stormclaw.tools._found import Collector, Found, Query
from stormclaw.tools._ignore import walk
from stormclaw.tools._openat import open_at
from stormclaw.tools._rg import RgUnavailable, find_rg, opened, rg_files, rg_search
from stormclaw.tools._text import HEAD_BYTES

R = TypeVar("R")


async def list_all(base: Path, limit: int = 0, at: int | None = None) -> list[str]:
    """Files below a folder that are not ignored, relative to it, in order of paths.

    Args:
        base: An absolute folder, links resolved.
        limit: At most so many (which ones is open), 0 for all.
        at: Descriptor of the folder; stays open.
    """
    try:
        names = await rg_files(find_rg(), base, limit, at)
    except RgUnavailable:
        names = await _in_thread(lambda stop: plain_files(base, limit, stop, at))
    return await asyncio.to_thread(sorted, names, key=in_order)


async def search(base: Path, query: Query, at: int | None = None) -> Found:
    """Everything that matches in a file or below a folder.

    Args:
        base: An absolute file or folder, links resolved.
        query: What to look for.
        at: Its descriptor; stays open.

    Raises:
        ToolFailure: The regular expression is wrong.
    """
    try:
        return await rg_search(find_rg(), base, query, at)
    except RgUnavailable:
        return await _in_thread(lambda stop: plain_search(base, query, stop, at))


def in_order(name: str) -> bytes:
    """Sorts paths by their parts, so that a folder's files stand together."""
    return os.fsencode(name).replace(b"/", b"\0")


def plain_files(
    base: Path, limit: int = 0, stop: Event | None = None, at: int | None = None
) -> list[str]:
    """`rg_files` in Python."""
    names: list[str] = []
    for entry in walk(base, stop=stop, at=at):
        if entry.kind == "file" and not entry.ignored:
            names.append(entry.path)
            if limit and len(names) >= limit:
                break
    return names


def plain_search(
    base: Path, query: Query, stop: Event | None = None, at: int | None = None
) -> Found:
    """`rg_search` in Python, with Python's regular expressions."""
    try:
        regex = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    except re.error as problem:
        raise ToolFailure(
            f"the regular expression is wrong: {problem}", summary="bad pattern"
        ) from problem
    collector = Collector(query)
    with opened(base, at) as top:
        if not stat.S_ISDIR(os.fstat(top).st_mode):
            _search_file(os.dup(top), base.name, regex, query.context, collector, named=True)
            return collector.found
        for name in sorted(plain_files(base, stop=stop, at=top), key=in_order):
            if stop is not None and stop.is_set():
                break
            if query.keep is not None and not query.keep(name):
                continue
            try:
                file = open_at(top, name, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                collector.found.unreadable = True
                continue
            _search_file(file, name, regex, query.context, collector, named=False)
    return collector.found


def _search_file(
    descriptor: int,
    name: str,
    regex: re.Pattern[str],
    context: int,
    collector: Collector,
    *,
    named: bool,
) -> None:
    """Search an open file, which is closed; a binary not asked for by name is not even counted."""
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            raw = file.read(MAX_BYTES) or b""
    except OSError:
        collector.found.unreadable = True
        return
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # as ripgrep does, only with a mark
        raw = raw.decode("utf-16", "replace").encode()
    if b"\0" in raw[:HEAD_BYTES] and not named:
        return
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    hits = {at: hit.start() for at, line in enumerate(lines) if (hit := regex.search(line))}
    if not hits:
        return
    collector.begin(name)
    near = {n for at in hits for n in range(at - context, at + context + 1)}
    for at in sorted(near & set(range(len(lines)))) if context else sorted(hits):
        legible = lines[at].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        collector.line(at + 1, legible, hits.get(at))
    collector.end(binary=b"\0" in raw)


async def _in_thread(work: Callable[[Event], R]) -> R:
    """Run a walk in a thread; the thread ends soon after nobody waits any more."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()

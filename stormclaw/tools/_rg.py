"""Runs ripgrep: no configuration of others, no environment, dead as soon as nobody waits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import sys
import sysconfig
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from stormclaw.errors import ToolFailure
from stormclaw.tools._found import Collector, Found, Query
from stormclaw.tools._nested import Ignoring
from stormclaw.tools._openat import closing, open_place

CHUNK = 65_536
MAX_COMPLAINT = 4_000


class RgUnavailable(Exception):
    """There is no ripgrep here that runs; the search is done without it."""


class _Written(msgspec.Struct):
    """Text, or bytes that are none in base 64."""

    text: str | None = None
    encoded: str | None = msgspec.field(name="bytes", default=None)

    def raw(self) -> bytes:
        return (self.text or "").encode() if self.encoded is None else b64decode(self.encoded)


class _Submatch(msgspec.Struct):
    start: int


class _Fields(msgspec.Struct):
    path: _Written | None = None
    lines: _Written | None = None
    line_number: int | None = None
    binary_offset: int | None = None
    submatches: Sequence[_Submatch] = ()


class _Message(msgspec.Struct):
    type: str
    data: _Fields


def find_rg() -> str | None:
    """The ripgrep that was installed with us, else one on the PATH."""
    name = "rg"
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    return shutil.which(name)


async def rg_files(rg: str | None, base: Path, limit: int = 0, at: int | None = None) -> list[str]:
    """All files below a folder that are not ignored, relative to it, in no order.

    Args:
        rg: The program.
        base: An absolute folder, links resolved.
        limit: Stop after so many, 0 for all.
        at: Descriptor of the folder; stays open.

    Raises:
        RgUnavailable: It does not run here.
    """
    with opened(base, at) as top:
        ignoring = await asyncio.to_thread(Ignoring, base, top)
        while True:
            text = await asyncio.to_thread(ignoring.told, marks=True)
            names = await _names(rg, text, (), top, limit)
            if not await asyncio.to_thread(ignoring.learn, names):
                break
        return await asyncio.to_thread(ignoring.sift, names)


async def rg_search(rg: str | None, base: Path, query: Query, at: int | None = None) -> Found:
    """Search a file, or everything below a folder, in order of paths.

    Args:
        rg: The program.
        base: An absolute file or folder, links resolved.
        query: What to look for.
        at: Its descriptor; stays open.

    Raises:
        RgUnavailable: It does not run here.
        ToolFailure: The regular expression is wrong; says what ripgrep says.
    """
    with opened(base, at) as top:
        if not stat.S_ISDIR(os.fstat(top).st_mode):
            return await _search(rg, query, top, b"", name=base.name)
        ignoring = await asyncio.to_thread(Ignoring, base, top)
        while True:
            text = await asyncio.to_thread(ignoring.told, marks=True)
            found = await _names(rg, text, _ONLY_MARKS, top, 0)
            if not await asyncio.to_thread(ignoring.learn, found):
                break
        text = await asyncio.to_thread(ignoring.told, marks=False)
        if not ignoring.is_exact:
            keep = query.keep
            query = replace(
                query, keep=lambda path: (keep is None or keep(path)) and ignoring.shows(path)
            )
        return await _search(rg, query, top, text)


async def _names(
    rg: str | None, rules: bytes, flags: Sequence[str], top: int, limit: int
) -> list[str]:
    """The names that ripgrep finds under some rules."""
    names: list[str] = []
    rest = b""
    arguments = [*flags, "--files", "--null", "./"]
    async with _running(rg, arguments, top, rules) as process:
        async for chunk in _chunks(process):
            *whole, rest = (rest + chunk).split(b"\0")
            names += [os.fsdecode(name).removeprefix("./") for name in whole]
            if limit and len(names) >= limit:
                return names[:limit]
        await _finish(process)
    return names


async def _search(rg: str | None, query: Query, top: int, rules: bytes, name: str = "") -> Found:
    """Search an open folder, or an open file that is called `name`."""
    flags = ["--json", "--sort=path", "--no-mmap", "--crlf", "--engine=auto", "--no-stats"]
    flags += ["--glob=!.git"]
    flags += ["--ignore-case"] if query.ignore_case else []
    flags += [f"--context={query.context}"] if query.context and not query.files_only else []
    if query.last_part and ":" not in query.last_part:
        flags += [f"--type-add=wanted:{query.last_part}", "--type=wanted"]
    arguments = [*flags, "--", query.pattern, f"/dev/fd/{top}" if name else "./"]
    collector = Collector(query)
    decoder = msgspec.json.Decoder(_Message)
    rest = b""
    async with _running(rg, arguments, top, rules) as process:
        async for chunk in _chunks(process):
            head, newline, tail = chunk.rpartition(b"\n")
            if not newline:
                rest += tail
                continue
            for line in (rest + head).split(b"\n"):
                _take(decoder.decode(line), collector, name)
            rest = tail
        collector.found.unreadable = await _finish(process)
    return collector.found


def _take(message: _Message, collector: Collector, name: str) -> None:
    """Hand a message on; `name` of the only file that is searched, "" for those of a folder."""
    found = message.data
    match message.type:
        case "begin" if found.path is not None:
            collector.begin(name or os.fsdecode(found.path.raw()).removeprefix("./"))
        case "match" | "context" if found.lines is not None and found.line_number is not None:
            raw = found.lines.raw().removesuffix(b"\n").removesuffix(b"\r")
            hit_at = None
            if message.type == "match":
                start = found.submatches[0].start if found.submatches else 0
                hit_at = len(raw[:start].decode("utf-8", "replace"))
            collector.line(found.line_number, raw.decode("utf-8", "replace"), hit_at)
        case "end":
            collector.end(binary=found.binary_offset is not None)
        case _:
            return


_ONLY_MARKS = (
    "--glob=.gitignore", "--glob=.ignore", "--glob=.git", "--glob=**/.git/HEAD",
)  # fmt: skip
"""Of all names only those that tell where rules and repositories begin."""

_COMMON = (
    "--no-config", "--no-messages", "--hidden", "--no-ignore", "--no-follow",
    "--glob=!.stormclaw-????????????????.tmp",
)  # fmt: skip
"""Flags of every call; what is ignored is told by ourselves, in a file of our own."""


@contextmanager
def opened(base: Path, at: int | None) -> Iterator[int]:
    """A file or folder as a descriptor: the given one, or a new one for the length of the block."""
    if at is not None:
        yield at
        return
    with closing(open_place(base, os.O_RDONLY | os.O_NONBLOCK)) as top:
        yield top


def _where(top: int) -> str:
    """A path to start a program in an open folder, wherever its name leads by now."""
    here = f"/proc/self/fd/{top}"
    return here if Path(here).is_dir() else f"/dev/fd/{top}"


@asynccontextmanager
async def _running(
    rg: str | None, arguments: list[str], top: int, rules: bytes
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A ripgrep that does not outlive the block."""
    if rg is None:
        raise RgUnavailable("not installed")
    from tempfile import TemporaryFile  # not on the start-up path

    try:
        with TemporaryFile() as file:
            file.write(rules)
            file.flush()
            file.seek(0)  # where /dev/fd shares the position
            told = [f"--ignore-file=/dev/fd/{file.fileno()}"] if rules else []
            process = await asyncio.create_subprocess_exec(
                rg,
                *_COMMON,
                *told,
                *arguments,
                cwd=_where(top) if stat.S_ISDIR(os.fstat(top).st_mode) else None,
                env={"PATH": os.defpath},
                pass_fds=(file.fileno(), top),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
    except OSError as problem:
        raise RgUnavailable(str(problem)) from problem
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _chunks(process: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    if process.stdout is None:
        raise RuntimeError("ripgrep was started without a pipe")
    while chunk := await process.stdout.read(CHUNK):
        yield chunk


async def _finish(process: asyncio.subprocess.Process) -> bool:
    """Wait for the end; True when some files could not be read.

    Raises:
        ToolFailure: ripgrep complains about the arguments.
        RgUnavailable: It crashed.
    """
    complaint = b"" if process.stderr is None else await process.stderr.read(MAX_COMPLAINT)
    code = await process.wait()
    if code not in {0, 1, 2}:
        raise RgUnavailable(f"exit code {code}")
    if code == 2 and complaint:
        words = complaint.decode("utf-8", "replace").removeprefix("rg: ").strip()
        raise ToolFailure(f"the search was refused: {words}", summary="bad pattern")
    return code == 2

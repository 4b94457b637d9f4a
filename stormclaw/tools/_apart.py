"""Lets a parser that hostile bytes could hang or blow up work in a process that can be ended.

A thread cannot be ended: 180 kB of unclosed attributes keep Python's HTML parser busy for a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

End: TypeAlias = Literal["done", "time", "size", "broken"]

MAX_COMPLAINT = 4_000
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from stormclaw.tools._apart_child import serve; serve()"
)
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Told:
    """What the other process wrote, and how it ended.

    Attributes:
        output: Its whole output, or what there was of it.
        end: done; out of time; more output than allowed; broken (`complaint` says how).
        complaint: The last line of what it said about its failure.
    """

    output: bytes
    end: End
    complaint: str = ""


async def apart(
    function: str,
    *arguments: str,
    given: bytes | int,
    seconds: float,
    most_bytes: int,
) -> Told:
    """Call a function of this package in a Python of its own, with little memory and time.

    The process is gone when this returns or is cancelled. It sees no environment, no workspace
    and no module but ours.

    Args:
        function: `module:name` in `stormclaw.tools`; takes the arguments, reads standard input,
            writes standard output.
        arguments: Texts for it.
        given: Its standard input: bytes, or a descriptor (which the caller closes).
        seconds: Until it is ended.
        most_bytes: Most output that is read.
    """
    paths = [entry for entry in sys.path if entry and Path(entry).is_absolute()]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-B", "-c", _BOOT,
        json.dumps(paths), function, str(int(seconds) + 1), *arguments,
        stdin=given if isinstance(given, int) else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        start_new_session=True,
        limit=1 << 16,
    )  # fmt: skip
    output, complaint = bytearray(), bytearray()
    end: End = "done"
    try:
        async with asyncio.timeout(seconds):
            given_bytes = given if isinstance(given, bytes) else b""
            await asyncio.gather(
                _feed(process.stdin, given_bytes),
                _take(process.stdout, output, most_bytes),
                _take(process.stderr, complaint, MAX_COMPLAINT),
            )
            await process.wait()
    except TimeoutError:
        end = "time"
    except _TooMuch:
        end = "size"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if end == "done" and process.returncode:
        end = "broken"
    said = complaint.decode("utf-8", "replace").strip().splitlines()
    return Told(bytes(output), end, said[-1] if said else "")


class _TooMuch(Exception):
    """More output than allowed."""


async def _feed(stdin: asyncio.StreamWriter | None, given: bytes) -> None:
    if stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(given)
        await stdin.drain()
    stdin.close()


async def _take(stream: asyncio.StreamReader | None, into: bytearray, most: int) -> None:
    while stream is not None and (piece := await stream.read(1 << 16)):
        into += piece
        if len(into) > most:
            del into[most:]
            raise _TooMuch

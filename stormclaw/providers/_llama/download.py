"""Brings a model's file: resumed where it was left, checked, in its place only when it is whole.

What has come so far is kept beside its place under a name that holds the checksum, so that it is
never gone on with as another file.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from stormclaw.errors import ProviderError, StoreError, UsageError
from stormclaw.providers._llama.hub import AGAIN, Hub, RemoteFile, raise_for
from stormclaw.providers.local_models import free_disk, size

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

PIECE: Final = 1 << 20
SPARE_BYTES: Final = 200_000_000
"""What is left free on the disk, for everybody else."""
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


def part_of(place: Path, file: RemoteFile) -> Path:
    """Where what has come so far is kept."""
    return place.with_name(f"{place.name}.{file.sha256[:12]}.part")


def check_disk(place: Path, missing: int) -> None:
    """Refuse what the disk has no room for.

    Raises:
        StoreError: It has none; says how much is missing.
    """
    free = free_disk(place.parent)
    if missing + SPARE_BYTES > free:
        raise StoreError(
            f"no room for {size(missing)} in {place.parent}: {size(free)} are free, and "
            f"{size(SPARE_BYTES)} of them are left to others"
        )


async def fetch(
    hub: Hub,
    session: ClientSession,
    repo: str,
    file: RemoteFile,
    place: Path,
    progress: Callable[[int], None],
) -> None:
    """Bring `file` to `place`; what is there already of it is not fetched again.

    Args:
        hub: Where it comes from.
        session: To speak with the hub.
        repo: For words.
        file: What the hub says of it.
        place: Where it shall be.
        progress: Told how many bytes are there.

    Raises:
        ProviderError: The hub refused, the connection broke, or the checksum is wrong.
        StoreError: It cannot be written.
        UsageError: Another one is just bringing it.
    """
    part = part_of(place, file)
    import aiohttp

    try:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        async with _locked(part) as out:
            digest = hashlib.sha256()
            await asyncio.to_thread(_digest, out, digest, file.size)
            have = out.tell()
            check_disk(place, file.size - have)
            progress(have)
            if have < file.size:
                digest = await _rest(hub, session, repo, file, out, digest, progress)
            await asyncio.to_thread(_settle, out, part, place, file, digest.hexdigest())
    except aiohttp.ClientError:
        raise
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise StoreError(f"{place}: {reason}; what has come is kept") from None


@asynccontextmanager
async def _locked(part: Path) -> AsyncIterator[IO[bytes]]:
    with part.open("a+b") as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another `stormclaw local pull` is bringing {part.name}") from None
        yield out


def _digest(out: IO[bytes], digest: hashlib._Hash, most: int) -> None:
    """Take in what is there; what is longer than the file is no part of it."""
    if out.seek(0, os.SEEK_END) > most:
        out.truncate(0)
    out.seek(0)
    while piece := out.read(PIECE):
        digest.update(piece)


async def _rest(
    hub: Hub,
    session: ClientSession,
    repo: str,
    file: RemoteFile,
    out: IO[bytes],
    digest: hashlib._Hash,
    progress: Callable[[int], None],
) -> hashlib._Hash:
    """What is missing; returns the digest of the whole."""
    have = out.tell()
    headers = hub.headers() | {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    async with session.get(file.url, headers=headers) as answer:
        raise_for(answer, hub, repo)
        if have and not _continues(answer, have):
            out.truncate(0)
            have, digest = 0, hashlib.sha256()
        async for piece in answer.content.iter_chunked(PIECE):
            have += len(piece)
            if have > file.size:
                raise ProviderError("protocol", f"{file.name}: more came than the hub announced")
            await asyncio.to_thread(_keep, out, digest, piece)
            progress(have)
    if have < file.size:
        message = f"{file.name}: only {have:,} of {file.size:,} bytes came"
        raise ProviderError("connection", message, hint=AGAIN)
    return digest


def _continues(answer: ClientResponse, have: int) -> bool:
    """Whether the answer begins where we stopped; a plain 200 begins anew."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    return answer.status == 206 and found is not None and int(found[1]) == have


def _keep(out: IO[bytes], digest: hashlib._Hash, piece: bytes) -> None:
    out.write(piece)
    digest.update(piece)


def _settle(out: IO[bytes], part: Path, place: Path, file: RemoteFile, found: str) -> None:
    """Put the whole file in its place, if it is what the hub said.

    Raises:
        ProviderError: It is not; it is thrown away.
    """
    if found != file.sha256:
        part.unlink()
        raise ProviderError(
            "protocol",
            f"{file.name} has the wrong checksum: {found[:12]}... and not {file.sha256[:12]}...; "
            "it was thrown away",
            hint="try again; if it happens twice, do not trust the place it comes from",
        )
    out.flush()
    os.fsync(out.fileno())
    part.replace(place)

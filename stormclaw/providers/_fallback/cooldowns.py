"""Who is passed over for a while: providers and keys that failed, until when and why.

One of these is shared by all agents of a process. A key that was refused, or has no credit, stays
known over a restart, in a small file of the user folder. That file holds no key: a salted
fingerprint of four bytes says whether a key is still the same, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from stormclaw.config.disk import read_text, write_text
from stormclaw.errors import RETRYABLE, ConfigError, ErrorClass, ProviderError
from stormclaw.log import mask_secrets, one_line
from stormclaw.providers.recovery import RECOVERY, cooldown_s

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "cooldowns.json"
VERSION: Final = 1
LASTING: Final[frozenset[ErrorClass]] = frozenset({"auth", "payment", "forbidden"})
"""What is still so after a restart."""
LONGEST_S: Final = 24 * 3600.0
REASON_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Rest:
    """Somebody is passed over.

    Attributes:
        until: Unix time in seconds.
        kind: The class of the error.
        reason: What was said, on one line, without keys; "" after a restart.
        firm: Asking earlier is no use, even where nobody else is left.
        mark: Fingerprint of the key it was about, "" for none.
    """

    until: float
    kind: ErrorClass
    reason: str = ""
    firm: bool = False
    mark: str = ""


class Cooldowns:
    """Who rests. Cheap to ask; what has to be kept is written by `keep`.

    Args:
        path: The file for what lasts; None keeps nothing. Reading it blocks.
        clock: Unix time in seconds.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self.clock = clock
        self._salt = secrets.token_hex(8)
        self._rests: dict[str, Rest] = {}
        self._changed: set[str] = set()
        if path is not None:
            self._salt, self._rests = _read(path, self._salt, clock() + LONGEST_S)
        self._kept = set(self._rests)

    @property
    def lasts(self) -> bool:
        """Whether it knows where to keep what lasts."""
        return self._path is not None

    def of(self, who: str, secret: str = "") -> Rest | None:
        """Why `who` is to be passed over now; None if not, or if its key is another one by now."""
        rest = self._rests.get(who)
        if rest is None or rest.until <= self.clock() or rest.mark != self._mark(secret):
            return None
        return rest

    def left_s(self, rest: Rest) -> float:
        """Seconds until it is over."""
        return max(0.0, rest.until - self.clock())

    def rest(
        self, who: str, error: ProviderError, secret: str = "", *, lasting: bool = False
    ) -> Rest | None:
        """Pass `who` over from now on; None if what failed says nothing about the next request.

        Args:
            who: A name for it.
            error: How it failed.
            secret: Its key: with another one the cooldown is over.
            lasting: Whether what lasts may be kept over a restart.
        """
        seconds = min(cooldown_s(error), LONGEST_S)
        if seconds <= 0 or not RECOVERY[error.kind].cooldown_s:
            return None
        firm = error.kind not in RETRYABLE or error.retry_after_s is not None
        reason = one_line(mask_secrets(str(error)))[:REASON_CHARS]
        mark = self._mark(secret)
        rest = self._rests[who] = Rest(self.clock() + seconds, error.kind, reason, firm, mark)
        if lasting and error.kind in LASTING and secret:
            self._kept.add(who)
            self._changed.add(who)
        return rest

    def clear(self, who: str) -> None:
        """`who` has answered."""
        self._rests.pop(who, None)
        if who in self._kept:
            self._kept.remove(who)
            self._changed.add(who)

    async def keep(self) -> None:
        """Write down what changed and lasts; a disk that refuses is logged, no more."""
        if self._changed and self._path is not None:
            changed, self._changed = self._changed, set()
            await asyncio.to_thread(self._write, self._path, changed)

    async def look_again(self) -> None:
        """Drop what somebody took out of the file meanwhile: `stormclaw key retry`."""
        if self._path is None or not self._path.exists():
            return
        _, kept = await asyncio.to_thread(_read, self._path, self._salt, 0.0)
        for who in self._kept - kept.keys():
            self._kept.discard(who)
            self._rests.pop(who, None)

    def _mark(self, secret: str) -> str:
        if not secret:
            return ""
        salt = bytes.fromhex(self._salt)
        return hashlib.blake2b(secret.encode(), salt=salt, digest_size=4).hexdigest()

    def _write(self, path: Path, changed: set[str]) -> None:
        try:
            with _locked(path):
                salt, kept = _read(path, self._salt, 0.0)
                kept = kept if salt == self._salt else {}
                now = self.clock()
                rests = {who: rest for who, rest in kept.items() if who not in changed}
                rests |= {who: self._rests[who] for who in changed if who in self._rests}
                _put(path, self._salt, {k: rest for k, rest in rests.items() if rest.until > now})
        except OSError as error:
            LOG.warning("%s cannot be written: %s", path, error.strerror or error)


def resting(path: Path, clock: Callable[[], float] = time.time) -> Mapping[str, Rest]:
    """What the file says of keys that are passed over now. Blocks."""
    now = clock()
    _, kept = _read(path, "", now + LONGEST_S)
    return {who: rest for who, rest in kept.items() if rest.until > now}


def forget(path: Path, names: Callable[[str], bool]) -> int:
    """Take keys out of the file, so that they are tried again -> how many. Blocks.

    Raises:
        OSError: It cannot be written.
    """
    if not path.exists():
        return 0
    with _locked(path):
        salt, kept = _read(path, secrets.token_hex(8), 0.0)
        left = {who: rest for who, rest in kept.items() if not names(who)}
        if len(left) < len(kept):
            _put(path, salt, left)
        return len(kept) - len(left)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time changes the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(path: Path, salt: str, latest: float) -> tuple[str, dict[str, Rest]]:
    """(salt, rests); as if it were not there where it cannot be read.

    Args:
        path: The file.
        salt: For a file that is not there.
        latest: No rest ends after this, should a clock have been wrong; 0 leaves them as they are.
    """
    if not path.is_file():
        return salt, {}
    try:
        content: Any = json.loads(read_text(path))
        if content["version"] != VERSION:
            return salt, {}
        hashlib.blake2b(salt=bytes.fromhex(content["salt"]))
        rests = {who: _rest(entry, latest) for who, entry in content["resting"].items()}
    except (ConfigError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        LOG.warning("%s is damaged and counts as empty", path)
        return salt, {}
    return content["salt"], rests


def _rest(entry: Mapping[str, Any], latest: float) -> Rest:
    until = float(entry["until"])
    if entry["kind"] not in LASTING:
        raise ValueError(entry["kind"])
    until = min(until, latest) if latest else until
    return Rest(until, entry["kind"], firm=True, mark=str(entry["mark"]))


def _put(path: Path, salt: str, rests: Mapping[str, Rest]) -> None:
    # The reason stays out: a server may quote the key in it.
    kept = ("until", "kind", "mark")
    entries = {
        who: {name: value for name, value in asdict(rest).items() if name in kept}
        for who, rest in sorted(rests.items())
    }
    content = {"version": VERSION, "salt": salt, "resting": entries}
    write_text(path, json.dumps(content, indent=2) + "\n", mode=0o600)

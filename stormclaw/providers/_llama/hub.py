"""What the Hugging Face hub says of a model before it is fetched: size, licence, checksum.

Asked over plain HTTP: the hub's own library compares sizes only, and warns where a disk is short.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from stormclaw.errors import ConfigError, Problem, ProviderError, UsageError
from stormclaw.providers.local_models import parts_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

HUB: Final = "https://huggingface.co"
WAIT_S: Final = 30.0
"""Seconds without a byte before the hub is given up."""
AGAIN: Final = "check the network; the same command goes on where it stopped"
MOST_BYTES: Final = 16_000_000
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_HELD: Final = re.compile(r"[A-Za-z0-9._/-]{1,64}")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the hub describes it.

    Attributes:
        name: Its path in the repository.
        size: Bytes.
        sha256: Its checksum, in hex.
        url: Where it is fetched from.
    """

    name: str
    size: int
    sha256: str
    url: str


@dataclass(frozen=True, slots=True)
class Remote:
    """What would be pulled.

    Attributes:
        repo: `owner/name`.
        licence: As the hub names it, `apache-2.0`; "" where it names none.
        files: The model, in all its parts.
    """

    repo: str
    licence: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Hub:
    """A place models come from.

    Attributes:
        base: Its address, without a slash at the end.
        token: For what is not public; never shown.
    """

    base: str = HUB
    token: str = field(default="", repr=False)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ClientSession]:
        """An HTTP session; leave it with nothing but our own errors.

        Raises:
            ProviderError: The hub cannot be reached, went silent, or the connection broke.
        """
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, connect=WAIT_S, sock_read=WAIT_S)
        try:
            async with aiohttp.ClientSession(
                timeout=timeout, trust_env=True, headers={"User-Agent": "stormclaw"}
            ) as session:
                yield session
        except TimeoutError:
            raise ProviderError("timeout", f"{self.base} went silent", hint=AGAIN) from None
        except aiohttp.ClientError as error:
            said = str(error) or type(error).__name__
            message = f"the connection to {self.base} broke: {said}"
            raise ProviderError("connection", message, hint=AGAIN) from None

    def headers(self) -> dict[str, str]:
        """What a request to the hub carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    async def describe(self, session: ClientSession, repo: str, file: str) -> Remote:
        """The model `file` of `repo`; "" takes the only one there is.

        Raises:
            UsageError: There is no such file, or there are several; names them.
            ProviderError: The hub does not answer, or not with what is needed.
        """
        url = f"{self.base}/api/models/{quote(repo)}?blobs=true"
        async with session.get(url, headers=self.headers()) as answer:
            raise_for(answer, self, repo)
            body = await answer.content.read(MOST_BYTES)
        listed = _parsed(body)
        entries = {
            entry["rfilename"]: entry
            for entry in listed.get("siblings") or ()
            if isinstance(entry, Mapping) and isinstance(entry.get("rfilename"), str)
        }
        revision = listed.get("sha")
        if not isinstance(revision, str) or not re.fullmatch(r"[0-9a-f]{7,64}", revision):
            revision = "main"
        names = parts_of(file or _only(repo, list(entries)))
        files = [self._file(repo, revision, name, entries) for name in names]
        return Remote(repo, _licence(listed), tuple(files))

    def _file(
        self, repo: str, revision: str, name: str, entries: Mapping[str, Mapping[str, Any]]
    ) -> RemoteFile:
        if name not in entries:
            raise UsageError(f"{repo} has no {name}; {_models(list(entries))}")
        kept = entries[name].get("lfs")
        kept = kept if isinstance(kept, Mapping) else {}
        size, sha = kept.get("size", entries[name].get("size")), kept.get("sha256")
        if not isinstance(size, int) or not isinstance(sha, str) or not _SHA.fullmatch(sha):
            raise ProviderError(
                "protocol", f"the hub names no size and checksum of {name}; it was not fetched"
            )
        url = f"{self.base}/{quote(repo)}/resolve/{revision}/{quote(name)}"
        return RemoteFile(name, size, sha, url)


def hub_from(env: Mapping[str, str]) -> Hub:
    """The hub as the environment names it: `HF_ENDPOINT`, `HF_TOKEN`.

    Raises:
        ConfigError: The address is none.
    """
    base = env.get("HF_ENDPOINT", "").strip().rstrip("/") or HUB
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError([Problem("environment", "HF_ENDPOINT", base, "must be an http address")])
    return Hub(base, env.get("HF_TOKEN", "").strip())


def raise_for(answer: ClientResponse, hub: Hub, repo: str) -> None:
    """Turn a refusal into words.

    Raises:
        ProviderError: The hub refused.
    """
    if answer.status < 400:
        return
    page = f"{hub.base}/{repo}"
    match answer.status:
        case 401 | 403 if not hub.token:
            raise ProviderError(
                "auth",
                f"the hub does not give {repo} to just anyone (HTTP {answer.status}), or there "
                "is no such repository",
                hint=f"accept its licence at {page}, then set HF_TOKEN to a token of yours",
            )
        case 401 | 403:
            raise ProviderError(
                "forbidden",
                f"the token in HF_TOKEN may not read {repo} (HTTP {answer.status})",
                hint=f"accept its licence at {page}, or take another token",
            )
        case 404:
            raise ProviderError("not_found", f"there is no {repo} at {hub.base}")
        case 429:
            raise ProviderError("rate_limit", "the hub asks to wait (HTTP 429)", hint="try later")
        case status if status >= 500:
            raise ProviderError("server", f"the hub has trouble (HTTP {status})", hint="try later")
        case status:
            raise ProviderError("provider", f"the hub refused (HTTP {status})")


def _parsed(body: bytes) -> Mapping[str, Any]:
    import json

    try:
        listed = json.loads(body)
    except ValueError:
        listed = None
    if not isinstance(listed, Mapping):
        raise ProviderError(
            "protocol", "what answers is no Hugging Face hub", hint="check HF_ENDPOINT"
        )
    return listed


def _only(repo: str, names: list[str]) -> str:
    models = sorted({parts_of(name)[0] for name in names if name.endswith(".gguf")})
    if len(models) == 1:
        return models[0]
    raise UsageError(f"name a file of {repo}; {_models(names)}")


def _models(names: list[str]) -> str:
    models = sorted({parts_of(name)[0] for name in names if name.endswith(".gguf")})
    return f"there are: {', '.join(models)}" if models else "it has no GGUF file at all"


def _licence(listed: Mapping[str, Any]) -> str:
    card = listed.get("cardData")
    named = card.get("license") if isinstance(card, Mapping) else None
    if not isinstance(named, str):
        tags = listed.get("tags") or ()
        marks = (tag for tag in tags if isinstance(tag, str) and tag.startswith("license:"))
        named = next(marks, "").removeprefix("license:")
    return named if _HELD.fullmatch(named) else ""

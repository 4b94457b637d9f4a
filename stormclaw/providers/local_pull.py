"""Pulling a model: first what it is and whether there is room, then, if wanted, all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stormclaw.errors import UsageError
from stormclaw.providers._llama.download import check_disk, fetch, part_of
from stormclaw.providers._llama.hub import Hub, Remote, hub_from
from stormclaw.providers._llama.memory import PROMPTS_MIB, WORKSPACE_BYTES, free_memory
from stormclaw.providers.local_models import place_of


@dataclass(frozen=True, slots=True)
class Plan:
    """What pulling would do.

    Attributes:
        hub: Where it comes from.
        remote: What it is.
        places: Where each part goes.
    """

    hub: Hub
    remote: Remote
    places: tuple[Path, ...]

    @property
    def here(self) -> int:
        """Bytes of it that are here already."""
        return sum(
            _size(place) or _size(part_of(place, file))
            for place, file in zip(self.places, self.remote.files, strict=True)
        )

    @property
    def is_done(self) -> bool:
        """Whether all of it is in its place."""
        sizes = [_size(place) for place in self.places]
        return sizes == [file.size for file in self.remote.files]

    def too_large(self) -> int | None:
        """The free memory, if that is less than the model takes even without context."""
        free, need = free_memory(), self.remote.size + WORKSPACE_BYTES + PROMPTS_MIB * 2**20
        return free if free is not None and need > free else None

    def check_disk(self) -> None:
        """Refuse what the disk has no room for.

        Raises:
            StoreError: It has none.
        """
        check_disk(self.places[0], self.remote.size - self.here)

    async def pull(self, progress: Callable[[int], None]) -> Path:
        """Bring what is missing; returns the model's file.

        Args:
            progress: Told how many bytes of all parts are here.

        Raises:
            ProviderError: The hub refused, the connection broke, or a checksum is wrong.
            StoreError: It cannot be written.
            UsageError: Another one is just bringing it.
        """
        before = 0
        async with self.hub.session() as session:
            for file, place in zip(self.remote.files, self.places, strict=True):
                if _size(place) != file.size:
                    start = before
                    await fetch(
                        self.hub,
                        session,
                        self.remote.repo,
                        file,
                        place,
                        lambda have, start=start: progress(start + have),  # type: ignore[misc]
                    )
                before += file.size
        return self.places[0]


async def look(env: Mapping[str, str], home: Path, repo: str, file: str) -> Plan:
    """Ask the hub what `file` of `repo` is; "" takes the only one there is.

    Raises:
        UsageError: There is no such repository or file, by its name or by what the hub says.
        ConfigError: `HF_ENDPOINT` is no address.
        ProviderError: The hub does not answer, or not with what is needed.
    """
    hub = hub_from(env)
    try:
        place_of(home, repo, file or "any.gguf")
    except ValueError as error:
        raise UsageError(str(error)) from None
    async with hub.session() as session:
        remote = await hub.describe(session, repo, file)
    try:
        places = tuple(place_of(home, repo, part.name) for part in remote.files)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Plan(hub, remote, places)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

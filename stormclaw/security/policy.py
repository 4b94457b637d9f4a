"""What the gate judges by: one frozen value, made from settings and narrowed, never widened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from stormclaw.config.settings import SecuritySettings, Settings
from stormclaw.protocol.effects import Autonomy, Grant
from stormclaw.security.finding import SHIPPED

PATH_LISTS = ("forbidden_paths", "sandbox_folders")
WORD_LISTS = ("forbidden_commands", "allowed_commands", "sandbox_network")
HOST_LISTS = ("allowed_hosts", "sandbox_hosts")
"""Settings whose items are rules of their own, each named `LIST: ITEM`."""

NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything a judgement depends on besides the effects themselves.

    Attributes:
        autonomy: How much may happen without asking.
        workspace: The folder work happens in; absolute, links resolved.
        home: StormClaw's own folder (keys, grants, receipts); tools never touch it.
        user_home: What `~` and `$HOME` mean in a shell line.
        workspace_only: Everything outside the workspace is blocked.
        forbidden_paths: Absolute, links resolved; blocked with all they hold.
        forbidden_commands: Names (`rm`) or leading words (`git push`); blocked in any wrapping.
        allowed_commands: Leading words added to the shipped list.
        allowed_hosts: Hosts a GET may reach without asking; `*.example.com` covers subdomains.
        grants: Standing permissions of the person.
        origins: Dotted settings key -> `file:line`; a grant's key is `grant:KIND:MATCH`.
        readable: Folders outside the workspace that may be read all the same.
        sandbox: The walls around shell commands: none, landlock, bwrap.
        sandbox_required: Without walls no shell command runs.
        sandbox_network: Leading words of commands that may always use the network.
        sandbox_hosts: Where there are any, the hosts that commands may talk to unasked.
        sandbox_folders: Folders outside the workspace that commands may write; links resolved.
    """

    autonomy: Autonomy
    workspace: Path
    home: Path
    user_home: Path
    workspace_only: bool = True
    forbidden_paths: tuple[Path, ...] = ()
    forbidden_commands: tuple[str, ...] = ()
    allowed_commands: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()
    origins: Mapping[str, str] = field(default_factory=lambda: NO_ORIGINS)
    readable: tuple[Path, ...] = ()
    sandbox: str = "none"
    sandbox_required: bool = False
    sandbox_network: tuple[str, ...] = ()
    sandbox_hosts: tuple[str, ...] = ()
    sandbox_folders: tuple[Path, ...] = ()

    @property
    def walled(self) -> bool:
        """Whether anything keeps a shell command from what it was not allowed."""
        return self.sandbox != "none"

    def origin(self, key: str) -> str:
        """Where the setting with this dotted key was made."""
        place = self.origins.get(key, SHIPPED)
        return SHIPPED if place == "defaults" else place

    def rule_origin(self, rule: str, otherwise: str) -> str:
        """Where the item stands that a rule `LIST: ITEM` comes from; `otherwise` if unknown."""
        place = self.origins.get(f"security.{rule}", otherwise)
        return SHIPPED if place == "defaults" else place

    def grant_origin(self, grant: Grant) -> str:
        """Where a standing grant was written down; `this session` if nowhere."""
        return self.origins.get(grant_key(grant), "this session")

    def covers(self, grant: Grant) -> bool:
        """Whether the person gave exactly this permission."""
        return grant in self.grants


def grant_key(grant: Grant) -> str:
    """The key under which `Policy.origins` says where a grant was written."""
    return f"grant:{grant.kind}:{grant.match}"


def policy_from(
    settings: Settings | SecuritySettings,
    *,
    workspace: Path,
    home: Path,
    origins: Mapping[str, str] = NO_ORIGINS,
    grants: Iterable[Grant] = (),
    readable: Iterable[Path] = (),
    user_home: Path | None = None,
    sandbox: str = "none",
) -> Policy:
    """The policy that `settings` ask for.

    Args:
        settings: All settings, or their security part.
        workspace: Need not be resolved.
        home: StormClaw's own folder.
        origins: As `config.layers` reports them, merged with those of the grants.
        grants: What the person allowed for this project.
        readable: Folders outside the workspace that may be read.
        user_home: What `~` stands for; the person's home folder if None.
        sandbox: The walls there are on this machine: none, landlock, bwrap.
    """
    security = settings.security if isinstance(settings, Settings) else settings
    person = (user_home or Path.home()).absolute()
    paths = {name: tuple(_paths(getattr(security, name), person)) for name in PATH_LISTS}
    lists = {name: tuple(_texts(getattr(security, name))) for name in WORD_LISTS}
    lists |= {name: tuple(_hosts(getattr(security, name))) for name in HOST_LISTS}
    items: Mapping[str, tuple[tuple[int, Path | str], ...]] = {**paths, **lists}
    places = {
        f"security.{name}: {item}": origins[f"security.{name}[{index}]"]
        for name, found in items.items()
        for index, item in found
        if f"security.{name}[{index}]" in origins
    }
    return Policy(
        autonomy=security.autonomy,
        workspace=_resolved(workspace),
        home=_resolved(home),
        user_home=person,
        workspace_only=security.workspace_only,
        forbidden_paths=tuple(path for _, path in paths["forbidden_paths"]),
        forbidden_commands=tuple(text for _, text in lists["forbidden_commands"]),
        allowed_commands=tuple(text for _, text in lists["allowed_commands"]),
        allowed_hosts=tuple(text for _, text in lists["allowed_hosts"]),
        grants=tuple(grants),
        origins={**places, **origins},
        readable=tuple(map(_resolved, readable)),
        sandbox=sandbox,
        sandbox_required=security.sandbox == "required",
        sandbox_network=tuple(text for _, text in lists["sandbox_network"]),
        sandbox_hosts=tuple(text for _, text in lists["sandbox_hosts"]),
        sandbox_folders=tuple(path for _, path in paths["sandbox_folders"]),
    )


def _paths(texts: Iterable[str], person: Path) -> Iterator[tuple[int, Path]]:
    """(position in the setting, where it really leads) of every path; empty ones left out."""
    for index, text in enumerate(texts):
        if text.strip():
            yield index, _resolved(_expanded(text.strip(), person))


def _texts(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(position in the setting, the text) of every item; empty ones left out."""
    for index, text in enumerate(texts):
        if text.strip():
            yield index, text.strip()


def _hosts(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The same of host names, which are the same in upper and lower case."""
    return ((index, text.lower()) for index, text in _texts(texts))


def _expanded(text: str, person: Path) -> Path:
    if text == "~" or text.startswith("~/"):
        return person / text[2:]
    return Path(os.path.expandvars(text)).expanduser()


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))

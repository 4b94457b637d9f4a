"""What a person can connect by name: hosted servers, programs with a login of their own, this
machine's models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings
from stormclaw.providers._installed import local_model, logged_in
from stormclaw.providers.choose import BUILT_IN, LOCAL, known_key, known_names
from stormclaw.providers.presets import PRESETS


@dataclass(frozen=True, slots=True)
class Connectable:
    """One of them.

    Attributes:
        name: Our name of the provider.
        label: As the person knows it.
        where: Where it answers: a host, or a few words.
        settings: What would be configured.
        key_envs: Variables that may hold its key; empty where it needs none.
        key_url: Where a key can be had, "" for nowhere.
    """

    name: str
    label: str
    where: str
    settings: ModelSettings
    key_envs: tuple[str, ...] = ()
    key_url: str = ""

    @property
    def model(self) -> str:
        """The usual model, "" for what it has."""
        return self.settings.model

    @property
    def needs_key(self) -> bool:
        """False for what is on this machine, and for programs with a login of their own."""
        return bool(self.key_envs)

    def configured(self, model: str = "", base_url: str = "") -> ModelSettings:
        """The settings, with another model or address where one is given."""
        return replace(
            self.settings,
            model=model or self.settings.model,
            base_url=base_url or self.settings.base_url,
        )


_OTHERS: Final = (
    (
        "anthropic",
        "Anthropic",
        "api.anthropic.com",
        "https://console.anthropic.com/settings/keys",
    ),
    ("claude", "Claude Code", "the program `claude`, with its own login", ""),
    ("codex", "Codex", "the program `codex`, with its own login", ""),
    (LOCAL, "A model file", "on this machine, `stormclaw local pull` gets one", ""),
)


def connectables() -> tuple[Connectable, ...]:
    """Presets and what is built in, hosted ones first."""
    there = set(known_names())
    presets = [
        Connectable(
            preset.name,
            preset.label,
            urlsplit(preset.base_url).netloc,
            preset.settings(),
            preset.key_envs,
            preset.key_url,
        )
        for preset in PRESETS
    ]
    others = [
        Connectable(
            name,
            label,
            where,
            BUILT_IN[name],
            (BUILT_IN[name].api_key_env,) if BUILT_IN[name].api_key_env else (),
            url,
        )
        for name, label, where, url in _OTHERS
        if name in there
    ]
    hosted = [one for one in (presets[0], *others, *presets[1:]) if one.needs_key]
    return (*hosted, *(one for one in (*others, *presets) if not one.needs_key))


def by_name(name: str) -> Connectable | None:
    """The one of that name."""
    return next((one for one in connectables() if one.name == name), None)


def at_hand(env: Mapping[str, str], home: Path) -> Mapping[str, str]:
    """Name -> what is there for it already, in a few words; the preferred one first.

    Looks at files and the environment only; servers have to be asked.
    """
    found: dict[str, str] = {}
    if key := known_key(env):
        found[key[0]] = "key in the environment"
    for one in connectables():
        if any(env.get(variable, "").strip() for variable in one.key_envs):
            found[one.name] = "key in the environment"
    found |= dict.fromkeys(logged_in(env), "logged in here")
    if file := local_model(home):
        found[LOCAL] = file.name
    return found

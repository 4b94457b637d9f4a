"""Finds the provider modules by name, and imports only the one that is asked for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Final

import stormclaw.providers as package
from stormclaw.config.composites import FIELDS
from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem
from stormclaw.protocol.provider import Provider

if TYPE_CHECKING:
    from stormclaw.providers._fallback.cooldowns import Cooldowns
    from stormclaw.providers._fallback.failover import Part

HELPERS: Final = frozenset(
    {
        "check",
        "choose",
        "connectable",
        "local_models",
        "local_pull",
        "models",
        "offers",
        "presets",
        "quirks",
        "recovery",
        "registry",
        "ways",
    }
)
"""Modules of this package that are no provider."""


def kinds() -> tuple[str, ...]:
    """Every `kind:` a configuration may name, sorted."""
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(
        sorted(
            name.replace("_", "-")
            for name in names
            if not name.startswith("_") and name not in HELPERS
        )
    )


def connect(name: str, settings: ModelSettings, key: str | None = None) -> Provider:
    """The provider called `name`, of the kind its settings say; nothing is sent yet.

    Args:
        name: Our name for it, as under `providers.models`.
        settings: What the person configured, or a preset's.
        key: Its API key, None if it needs none or has none.

    Raises:
        ConfigError: There is no such kind, it is made of others, or the settings do not suit it.
    """
    module = _module(name, settings)
    if settings.kind in FIELDS:
        place = f"providers.models.{name}.{FIELDS[settings.kind]}"
        raise ConfigError([Problem("configuration", place, "", "names nobody")])
    provider: Provider = module.connect(name, settings, key)
    return provider


def problems(
    models: Mapping[str, ModelSettings], origins: Mapping[str, str]
) -> tuple[Problem, ...]:
    """What is wrong with entries that only their own kind can tell: quirks, routing, addresses.

    Nothing is sent, and what is merely missing on this machine is no problem of the settings.

    Args:
        models: The entries of `providers.models`.
        origins: Dotted key -> where it was set, as `config.layers` tells.
    """
    found: list[Problem] = []
    for name, settings in models.items():
        if settings.kind in FIELDS:
            continue
        own = f"providers.models.{name}."
        try:
            connect(name, settings)
        except ConfigError as error:
            found += [
                replace(each, file=_origin(each.key, origins))
                for each in error.problems
                if each.key.startswith(own)
            ]
    return tuple(found)


def _origin(key: str, origins: Mapping[str, str]) -> str:
    """Where a key was set, or what is part of it, or whatever it is a part of."""
    while key:
        inside = (at for name, at in origins.items() if name == key or name.startswith(f"{key}."))
        if place := next((at for at in inside if at != "defaults"), ""):
            return place
        key = key.rpartition(".")[0]
    return "configuration"


def compose(
    name: str, settings: ModelSettings, parts: Sequence[Part], cooldowns: Cooldowns
) -> Provider:
    """The provider called `name`, of a kind that is made of others; nothing is sent yet.

    Args:
        name: Our name for it, as under `providers.models`.
        settings: What the person configured.
        parts: Those it is made of, connected; at least one, the usual one first.
        cooldowns: Who is passed over.

    Raises:
        ConfigError: There is no such kind.
    """
    provider: Provider = _module(name, settings).compose(name, settings, parts, cooldowns)
    return provider


def _module(name: str, settings: ModelSettings) -> ModuleType:
    known = kinds()
    kind = settings.kind.replace("_", "-")
    if kind not in known:
        place = f"providers.models.{name}.kind"
        allowed = f"must be one of {', '.join(known)}"
        raise ConfigError([Problem("configuration", place, settings.kind, allowed)])
    return importlib.import_module(f"{package.__name__}.{kind.replace('-', '_')}")

"""A way to a model, complete with its key: what the composition root connects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stormclaw.config.edit import add_model
from stormclaw.config.keys import find_key, save_key
from stormclaw.config.settings import ModelSettings, Settings
from stormclaw.errors import ConfigError, Problem
from stormclaw.protocol.provider import Provider
from stormclaw.providers.choose import (
    AUTO,
    DEMO,
    Chosen,
    choose,
    named,
    probe_loopback,
    split_target,
)
from stormclaw.providers.presets import PRESETS
from stormclaw.providers.registry import connect


@dataclass(frozen=True, slots=True)
class Way:
    """Everything that is needed to talk to a model.

    Attributes:
        name: Our name of the provider.
        settings: As configured, or a preset's.
        key: Its API key, None if it has or needs none; never shown.
        why: Why this one, in a few words.
    """

    name: str
    settings: ModelSettings
    key: str | None
    why: str

    @property
    def model(self) -> str:
        """The model asked for, "" for whatever the server has."""
        return self.settings.model

    def connect(self) -> Provider:
        """The provider; nothing is sent yet.

        Raises:
            ConfigError: The settings do not suit its kind.
        """
        return connect(self.name, self.settings, self.key)

    def __repr__(self) -> str:
        return f"Way({self.name}/{self.model}, {self.why})"


DEMO_WAY = Way(DEMO, ModelSettings(kind=DEMO, model=DEMO), None, "nothing else is connected")


async def find_way(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    *,
    target: str = "",
    current: str = "",
) -> Way:
    """What to run on.

    Args:
        settings: The layered configuration.
        env: The environment.
        home: StormClaw's own folder, where keys may be kept.
        target: `provider/model`, `provider` or `model`; "" leaves it to the settings.
        current: The provider a bare model name belongs to; "" for what the settings choose.

    Raises:
        ConfigError: No such provider.
    """
    chosen = await _chosen(settings, env)
    if target:
        name, model, effort = split_target(target, settings, current or chosen.name)
        meant = named(name, settings)
        if meant is None:
            raise _unknown(name, settings)
        meant = replace(meant, model=model or meant.model, reasoning=effort or meant.reasoning)
        chosen = Chosen(name, meant, "you asked for it")
    key = await asyncio.to_thread(
        find_key, chosen.name, env, home, api_key_env=chosen.settings.api_key_env
    )
    return Way(chosen.name, chosen.settings, key, chosen.why)


async def _chosen(settings: Settings, env: Mapping[str, str]) -> Chosen:
    chosen = choose(settings, env, None)
    if chosen is None:
        raise _unknown(settings.default_provider, settings)
    if chosen.name == DEMO and settings.default_provider == AUTO:
        chosen = choose(settings, env, await probe_loopback()) or chosen
    return chosen


def _unknown(name: str, settings: Settings) -> ConfigError:
    known = (*settings.providers.models, *(preset.name for preset in PRESETS), DEMO)
    return ConfigError(
        [Problem("model", "", name, f"no such provider; there are: {', '.join(known)}")]
    )


def keep_way(home: Path, way: Way) -> None:
    """Write down a way that works: the key where keys belong, the rest into the configuration.

    Raises:
        ConfigError: The configuration file is not sound; nothing is written to it.
    """
    if way.key:
        save_key(way.name, way.key, home)
    add_model(home, way.name, way.settings, make_default=True)

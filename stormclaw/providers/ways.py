"""A way to a model, complete with its keys and what it is made of: what the composition root
connects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stormclaw.config.composites import FIELDS, ROUTER, Entry, complaints
from stormclaw.config.edit import add_model
from stormclaw.config.keys import Profile, find_keys, save_key, stored_keys, stored_profiles
from stormclaw.config.settings import Effort, ModelSettings, Settings
from stormclaw.errors import ConfigError, Problem
from stormclaw.protocol.provider import Provider
from stormclaw.providers._absent import Absent
from stormclaw.providers._fallback.cooldowns import FILE_NAME, Cooldowns
from stormclaw.providers._fallback.failover import Part
from stormclaw.providers._fallback.rotating import rotating
from stormclaw.providers.choose import (
    AUTO,
    DEMO,
    Chosen,
    choose,
    known_names,
    look_around,
    named,
    probe_loopback,
    split_target,
)
from stormclaw.providers.presets import by_name
from stormclaw.providers.registry import compose, connect
from stormclaw.providers.router import usual_target

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Way:
    """Everything that is needed to talk to a model.

    Attributes:
        name: Our name of the provider.
        settings: As configured, or a preset's.
        key: Its API key, None if it has or needs none; never shown.
        why: Why this one, in a few words.
        keys: All its keys, where it has several; the first is `key`.
        parts: What it is made of, where it is made of others; the usual one first.
        target: What the one it is part of calls it.
        cooldowns: Who is passed over for a while.
    """

    name: str
    settings: ModelSettings
    key: str | None
    why: str
    keys: tuple[Profile, ...] = ()
    parts: tuple[Way, ...] = ()
    target: str = ""
    cooldowns: Cooldowns = field(default_factory=Cooldowns, compare=False)

    @property
    def model(self) -> str:
        """The model asked for, "" for whatever the server has."""
        return self.parts[0].model if self.parts else self.settings.model

    def connect(self) -> Provider:
        """The provider; nothing is sent yet.

        Raises:
            ConfigError: The settings do not suit its kind.
        """
        name, settings = self.name, self.settings
        if self.parts:
            return compose(name, settings, _connected(self.parts), self.cooldowns)
        if len(self.keys) < 2:
            return connect(name, settings, self.key)
        patient = settings.max_retries
        hasty = replace(settings, max_retries=0)
        return rotating(
            name,
            self.keys,
            lambda key: connect(name, hasty, key),
            self.cooldowns,
            max_retries=patient,
        )

    def __repr__(self) -> str:
        return f"Way({self.name}/{self.model}, {self.why})"


def _connected(ways: tuple[Way, ...]) -> list[Part]:
    """The parts; one that lacks something here (a model file, a package) says so when it is asked.

    Raises:
        ConfigError: Not one of them can be used.
    """
    parts: list[Part] = []
    problems: list[Problem] = []
    for way in ways:
        try:
            provider = way.connect()
        except ConfigError as error:
            provider = Absent(way.name, way.model, error)
            problems += error.problems
        parts.append(Part(way.target, provider))
    if all(isinstance(part.provider, Absent) for part in parts):
        raise ConfigError(problems)
    return parts


DEMO_WAY: Final = Way(DEMO, ModelSettings(kind=DEMO, model=DEMO), None, "nothing else is connected")


async def find_way(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    *,
    target: str = "",
    current: str = "",
    cooldowns: Cooldowns | None = None,
) -> Way:
    """What to run on.

    Args:
        settings: The layered configuration.
        env: The environment.
        home: StormClaw's own folder, where keys may be kept.
        target: `provider/model`, `provider` or `model`, each perhaps with `:effort`; "" leaves it
            to the settings.
        current: The provider a bare model name belongs to; "" for what the settings choose.
        cooldowns: Of the way used before, so that what it learnt is not forgotten.

    Raises:
        ConfigError: No such provider, or one made of others that does not hold together.
    """
    plan = _Plan(settings, env, home, cooldowns)
    if not target:
        return await asyncio.to_thread(plan.way, await _chosen(settings, env, home))
    if not current and not await asyncio.to_thread(plan.names_provider, target):
        current = (await _chosen(settings, env, home)).name
    return await asyncio.to_thread(plan.asked_for, target, current)


class _Plan:
    """From names to ways. Blocks: keys may be in a keyring."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        home: Path,
        cooldowns: Cooldowns | None,
    ) -> None:
        self._settings = settings
        self._env = env
        self._home = home
        self._given = cooldowns

    def names_provider(self, target: str) -> bool:
        """Whether there is no need to know which provider is the usual one."""
        return bool(split_target(target, self._settings, "", self._usable).name)

    def asked_for(self, target: str, current: str) -> Way:
        """The way to what the person named."""
        asked = split_target(target, self._settings, current, self._usable)
        meant = named(asked.name, self._settings)
        if meant is None:
            raise _unknown(asked.name, self._settings)
        meant = _with(meant, asked.model, asked.effort)
        return self.way(Chosen(asked.name, meant, "you asked for it"))

    def way(self, chosen: Chosen) -> Way:
        """The way to what was chosen."""
        self._check(chosen.settings)
        given = self._given
        kept = given if given is not None and given.lasts else Cooldowns(self._home / FILE_NAME)
        return self._assembled(chosen, kept)

    def _assembled(self, chosen: Chosen, cooldowns: Cooldowns, *, target: str = "") -> Way:
        name, settings = chosen.name, chosen.settings
        if settings.kind not in FIELDS:
            keys = self._keys(name, settings)
            key = keys[0].key if keys else None
            return Way(name, settings, key, chosen.why, keys, (), target, cooldowns)
        parts = tuple(
            self._assembled(part, cooldowns, target=to) for to, part in self._parts(settings)
        )
        return Way(name, settings, None, chosen.why, (), parts, target, cooldowns)

    def _parts(self, settings: ModelSettings) -> list[tuple[str, Chosen]]:
        """(target, what it stands for), the usual one first; a model asked for is its model."""
        targets = list(dict.fromkeys(_targets(settings)))
        parts: list[tuple[str, Chosen]] = []
        for target in targets:
            asked = split_target(target, self._settings, target)
            meant = named(asked.name, self._settings)
            if meant is None:
                raise _unknown(asked.name, self._settings)
            meant = _with(meant, asked.model, asked.effort or settings.reasoning)
            if settings.kind != ROUTER or not settings.max_retries:
                meant = replace(meant, max_retries=0)
            parts.append((target, Chosen(asked.name, meant, f"part of {settings.kind}")))
        return _preferring(parts, settings) if settings.model else parts

    def _keys(self, name: str, settings: ModelSettings) -> tuple[Profile, ...]:
        wanted = settings.profiles
        found = find_keys(
            name, self._env, self._home, api_key_env=settings.api_key_env, profiles=wanted
        )
        there = {profile.name for profile in found}
        if missing := [profile for profile in wanted if profile not in there]:
            text = f"no key is stored under {', '.join(missing)}; {self._stored(name)}"
            if not found:
                place = f"providers.models.{name}.profiles"
                raise ConfigError([Problem("configuration", place, ", ".join(wanted), text)])
            LOG.warning("%s: %s", name, text)
        return found

    def _stored(self, name: str) -> str:
        stored = [one.profile for one in stored_profiles(self._home) if one.provider == name]
        add = f"`stormclaw key add {name} --profile NAME` stores one"
        return f"there are {', '.join(stored)}; {add}" if stored else add

    def _usable(self, name: str) -> bool:
        """Whether a vendor's name can mean the provider: it needs no key, or there is one."""
        preset = by_name(name)
        settings = named(name, self._settings)
        if settings is None:
            return False
        variables = preset.key_envs if preset else (settings.api_key_env,)
        if not any(variables) or any(self._env.get(one, "").strip() for one in variables):
            return True
        return name in stored_keys(self._home)

    def _check(self, settings: ModelSettings) -> None:
        if settings.kind not in FIELDS:
            return
        entries = {
            name: Entry(one.kind, one.providers, one.routes)
            for name, one in self._settings.providers.models.items()
        }
        problems = [
            Problem(
                "configuration",
                f"providers.models.{found.name}.{found.setting}{found.at}",
                found.value,
                found.message,
            )
            for found in complaints(entries, known_names())
        ]
        if problems:
            raise ConfigError(problems)


def _targets(settings: ModelSettings) -> tuple[str, ...]:
    if settings.kind != ROUTER:
        return settings.providers
    return (usual_target(settings.routes), *settings.routes.values())


def _with(settings: ModelSettings, model: str, effort: Effort) -> ModelSettings:
    return replace(settings, model=model or settings.model, reasoning=effort or settings.reasoning)


def _preferring(parts: list[tuple[str, Chosen]], whole: ModelSettings) -> list[tuple[str, Chosen]]:
    """A model is wanted of something made of others: the part that is called so or has it comes
    first; one that nobody has is asked of the first."""
    wanted = whole.model
    for place, (target, chosen) in enumerate(parts):
        if wanted in (target, chosen.name, chosen.settings.model) and whole.kind != ROUTER:
            return [parts[place], *parts[:place], *parts[place + 1 :]]
    (target, first), *others = parts
    return [(target, replace(first, settings=replace(first.settings, model=wanted))), *others]


async def _chosen(settings: Settings, env: Mapping[str, str], home: Path) -> Chosen:
    chosen = choose(settings, env, None)
    if chosen is None:
        raise _unknown(settings.default_provider, settings)
    if chosen.name != DEMO or settings.default_provider != AUTO:
        return chosen
    found, stored, installed = await asyncio.gather(
        probe_loopback(),
        asyncio.to_thread(stored_keys, home),
        asyncio.to_thread(look_around, env, home),
    )
    return choose(settings, env, found, stored=tuple(stored), installed=installed) or chosen


def _unknown(name: str, settings: Settings) -> ConfigError:
    known = dict.fromkeys((*settings.providers.models, *known_names()))
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

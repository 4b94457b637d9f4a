"""Which models can be chosen here and now, by provider: for the picker, `/model`, `model list`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from stormclaw.config.keys import stored_keys
from stormclaw.config.settings import ModelSettings, Settings
from stormclaw.errors import ConfigError
from stormclaw.providers._installed import local_model, logged_in
from stormclaw.providers._models.offer import COLUMNS as COLUMNS
from stormclaw.providers._models.offer import Group as Group
from stormclaw.providers._models.offer import Offer as Offer
from stormclaw.providers._models.offer import Standing as Standing
from stormclaw.providers._models.offer import cells_of as cells_of
from stormclaw.providers._models.offer import efforts_of as efforts_of
from stormclaw.providers._models.offer import hay_of as hay_of
from stormclaw.providers._models.offer import is_current as is_current
from stormclaw.providers._models.offer import json_of as json_of
from stormclaw.providers._models.offer import words_in as words_in
from stormclaw.providers._models.servers import Served, served
from stormclaw.providers.choose import DEMO, LOCAL, known_names, named
from stormclaw.providers.local_models import installed
from stormclaw.providers.models import ModelBook, ModelCard
from stormclaw.providers.presets import by_name

LABELS: Mapping[str, str] = {
    "anthropic": "Anthropic",
    "bedrock": "Amazon Bedrock",
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
    LOCAL: "On this machine",
    DEMO: "Demo, scripted",
}
SHORT = 12
"""Models of a list that are few enough to stand beside those one would choose."""
PROGRAMS: Mapping[str, str] = {"claude-cli": "claude", "codex-cli": "codex"}
"""Kind -> the program whose login it uses."""
CLI_MODELS: Mapping[str, tuple[str, ...]] = {"claude-cli": ("opus", "sonnet", "haiku")}
"""What a program takes for a model, beside its own default."""


async def survey(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    book: ModelBook,
    *,
    places: Sequence[tuple[str, str]] | None = None,
) -> tuple[Group, ...]:
    """Everything that can be chosen, and last what could be after connecting it. Never raises.

    Args:
        settings: The layered configuration.
        env: The environment.
        home: StormClaw's own folder.
        book: The registry; loaded if it is not yet.
        places: (preset, base_url) of model servers on this machine; None for the usual ones.
    """
    answering, _ = await asyncio.gather(served(places), book.load())
    return await asyncio.to_thread(_groups, settings, env, home, book, answering)


def _groups(
    settings: Settings,
    env: Mapping[str, str],
    home: Path,
    book: ModelBook,
    answering: Sequence[Served],
) -> tuple[Group, ...]:
    look = _Look(settings, env, home, book, answering)
    ready = sorted(look.ready(), key=lambda group: _RANK.index(group.standing))
    return (*look.everything(ready), *look.missing(ready))


_RANK: Sequence[Standing] = ("configured", "key", "server", "program", "local", "built in")


class _Look:
    """One look around."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        home: Path,
        book: ModelBook,
        answering: Sequence[Served],
    ) -> None:
        self._settings, self._env, self._home = settings, env, home
        self._book = book
        self._answering = {server.preset: server for server in answering}
        try:
            self._stored: Mapping[str, str] = stored_keys(home)
        except ConfigError:  # `stormclaw doctor` tells what is wrong with it.
            self._stored = {}
        self._programs = logged_in(env)

    def ready(self) -> Iterator[Group]:
        """The providers that can be used now, each with its own few models."""
        for name in dict.fromkeys((*self._settings.providers.models, *known_names())):
            settings = named(name, self._settings)
            if settings is None:
                continue
            standing, state = self._standing(name, settings)
            if standing != "none":
                offers = tuple(self._few(name, settings, standing))
                if standing == "configured" and state != standing:
                    offers = tuple(replace(offer, key=False) for offer in offers)
                yield Group(name, label_of(name), state, standing, offers)

    def everything(self, ready: Iterable[Group]) -> Iterator[Group]:
        """The lists of all models of those providers; a short one stands where the few stand."""
        rest = [(group, tuple(self._rest(group))) for group in ready]
        for group, offers in rest:
            short = len(offers) <= SHORT
            yield replace(group, offers=(*group.offers, *offers)) if short else group
        for group, offers in rest:
            if len(offers) > SHORT:
                label, state = f"{group.label}, all models", f"{len(offers)} more"
                yield Group(group.name, label, state, group.standing, offers, True)

    def _rest(self, group: Group) -> Iterator[Offer]:
        """All models of a provider but the few that one would choose."""
        usable = all(offer.key for offer in group.offers)
        if group.standing not in ("configured", "key") or not usable:
            return
        few = {offer.model.lower() for offer in group.offers}
        for card in sorted(self._book.cards(group.name), key=_by_use):
            if card.id.lower() not in few:
                yield self._offer(group.name, card)

    def missing(self, ready: Iterable[Group]) -> Iterator[Group]:
        """The providers that only lack a key."""
        there = {group.name for group in ready}
        offers = []
        for name in known_names():
            settings = named(name, self._settings)
            if name in there or settings is None or not settings.api_key_env:
                continue
            lacks = f"no {settings.api_key_env}"
            offers.append(self._offer(name, self._card(name, settings.model), lacks, key=False))
        if offers:
            yield Group("", "Not connected", "enter asks for a key", "none", tuple(offers))

    # One provider ------------------------------------------------------------------------------

    def _standing(self, name: str, settings: ModelSettings) -> tuple[Standing, str]:
        configured = name in self._settings.providers.models
        variable = self._variable(name, settings)
        stored = self._stored.get(name)
        if configured:
            lacks = settings.api_key_env and not variable and not stored
            return "configured", f"{settings.api_key_env} is not set" if lacks else "configured"
        if variable:
            return "key", f"{variable} is set"
        if stored:
            return "key", "its key is stored"
        if name in self._answering:
            return "server", f"answers at {urlsplit(self._answering[name].base_url).netloc}"
        if name in self._programs:
            return "program", "logged in on this machine"
        if name == LOCAL and (file := local_model(self._home)) is not None:
            return "local", file.name
        return ("built in", "no model: a script") if name == DEMO else ("none", "")

    def _variable(self, name: str, settings: ModelSettings) -> str:
        """The environment variable that holds its key, "" for none."""
        preset = by_name(name)
        usual = preset.key_envs if preset is not None else ()
        names = dict.fromkeys((settings.api_key_env, *usual))
        return next((known for known in names if known and self._env.get(known, "").strip()), "")

    def _few(self, name: str, settings: ModelSettings, standing: Standing) -> Iterator[Offer]:
        """The models one would choose: as configured, of the person's own file, as served."""
        seen: set[str] = set()

        def once(model: str, origin: str, window: int = 0) -> Iterator[Offer]:
            if model.lower() in seen:
                return
            seen.add(model.lower())
            card = self._card(name, model)
            if window:
                card = replace(card, context_window=window)
            yield self._offer(name, card, origin)

        server = self._answering.get(name)
        if standing == "configured":
            yield from once(settings.model, "config", settings.context_window)
        if server is not None:
            for model, window in server.models:
                yield from once(model, "answers here", window)
        elif standing not in ("configured", "local"):
            yield from once(settings.model, "preset" if by_name(name) else "built in")
        if name == LOCAL:
            for file in installed(self._home):
                yield from once(file.name, "a file here")
        for model in CLI_MODELS.get(settings.kind, ()):
            yield from once(model, "program")
        for model in self._book.own_models(name):
            yield from once(model, "models.json")

    def _card(self, name: str, model: str) -> ModelCard:
        return self._book.card(name, model) or ModelCard(name, model)

    def _offer(self, name: str, card: ModelCard, origin: str = "", *, key: bool = True) -> Offer:
        return Offer(name, card.id, card, origin or card.source, key)


def has_login(program: str, env: Mapping[str, str]) -> bool:
    """Whether a program is on PATH and somebody is logged in with it."""
    return program in logged_in(env)


def _by_use(card: ModelCard) -> tuple[bool, str]:
    """Those known to call tools first: without that a model cannot work on files."""
    return card.tools is not True, card.id.lower()


def label_of(name: str) -> str:
    """A provider as the person knows it; a name of their own as they wrote it."""
    preset = by_name(name)
    return preset.label if preset is not None else LABELS.get(name, name)

"""Which model to run on: what the config names, else what is at hand, else the demo.

Everything here is decided without importing a provider, and nothing asked waits longer than 300 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, get_args
from urllib.parse import urlsplit

from stormclaw.config.settings import Effort, ModelSettings, Settings
from stormclaw.providers._installed import local_model, logged_in
from stormclaw.providers._loopback import first_model, loaded_window
from stormclaw.providers.presets import PRESETS, by_name, local
from stormclaw.providers.registry import kinds

PROBE_S: Final = 0.3
AUTO: Final = "auto"
DEMO: Final = "demo"
LOCAL: Final = "local"

BUILT_IN: Final[Mapping[str, ModelSettings]] = MappingProxyType(
    {
        "anthropic": ModelSettings(
            "anthropic", model="claude-sonnet-5-5", api_key_env="ANTHROPIC_API_KEY"
        ),
        "bedrock": ModelSettings("bedrock"),
        "claude": ModelSettings("claude-cli"),
        "codex": ModelSettings("codex-cli"),
        "gemini-cli": ModelSettings("gemini-cli"),
        "opencode": ModelSettings("opencode-cli"),
        LOCAL: ModelSettings("llama"),
        DEMO: ModelSettings(DEMO, model=DEMO),
    }
)
"""What a name stands for without configuration, besides the presets, which all speak OpenAI's."""

EFFORTS: Final[Mapping[str, Effort]] = {word: word for word in get_args(Effort) if word}
"""What may stand behind a colon at the end of `provider/model`."""


@dataclass(frozen=True, slots=True)
class Found:
    """A model server that answered on this machine.

    Attributes:
        preset: Whose usual port it is.
        base_url: Where it answers.
        model: The first model it names.
        context_window: What the model takes in tokens, 0 if it does not say.
    """

    preset: str
    base_url: str
    model: str
    context_window: int = 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to connect to.

    Attributes:
        name: Of the provider.
        settings: As if configured.
        why: For the person, in a few words: `OPENROUTER_API_KEY is set`.
    """

    name: str
    settings: ModelSettings
    why: str


class Target(NamedTuple):
    """What `provider/model:effort` says; "" for what is left to the provider."""

    name: str
    model: str
    effort: Effort = ""


def choose(
    settings: Settings,
    env: Mapping[str, str],
    found: Found | None,
    *,
    stored: Sequence[str] = (),
    installed: Chosen | None = None,
) -> Chosen | None:
    """The first-run order, as a pure function.

    Config, then a key in the environment, then a stored one, then a server on this machine, then a
    CLI that is logged in or a model file, then the demo. `default_model` replaces the model of
    whatever is chosen.

    Args:
        settings: The layered configuration.
        env: The environment.
        found: What `probe_loopback` found; None when it was not asked or found nothing.
        stored: The providers for which a key is kept.
        installed: What `look_around` found.

    Returns:
        None when the config names a provider that neither it nor a preset defines.
    """
    wanted = settings.default_provider
    chosen: Chosen | None
    if wanted != AUTO:
        defined = named(wanted, settings)
        why = f"default_provider: {wanted}"
        chosen = None if defined is None else Chosen(wanted, defined, why)
    elif settings.providers.models:
        name, first = next(iter(settings.providers.models.items()))
        chosen = Chosen(name, first, "the first under providers.models")
    else:
        chosen = (
            _by_key(env)
            or _by_stored_key(stored)
            or _by_server(found)
            or installed
            or Chosen(DEMO, BUILT_IN[DEMO], "no model is configured and none was found")
        )
    if chosen is None or settings.default_model == AUTO:
        return chosen
    return replace(chosen, settings=replace(chosen.settings, model=settings.default_model))


def named(name: str, settings: Settings) -> ModelSettings | None:
    """What a provider's name stands for: the config's own, a preset, or what is built in."""
    if name in settings.providers.models:
        return settings.providers.models[name]
    preset = by_name(name)
    if preset is not None:
        return preset.settings()
    meant = BUILT_IN.get(name)
    return meant if meant is not None and meant.kind in kinds() else None


def known_names() -> tuple[str, ...]:
    """The names that need no configuration: presets, then what is built in."""
    there = kinds()
    built_in = (name for name, settings in BUILT_IN.items() if settings.kind in there)
    return (*(preset.name for preset in PRESETS), *built_in)


def split_target(
    target: str,
    settings: Settings,
    current: str,
    usable: Callable[[str], bool] = lambda _: True,
) -> Target:
    """`provider/model`, `provider` or `model`, each perhaps with `:effort`, taken apart.

    A first part that names no provider belongs to the model (`openrouter`'s `x-ai/grok-4`). So does
    one that is a vendor's name as well as a provider's (`anthropic/claude-sonnet-4.5`), where that
    provider cannot be used. After a colon only the words for effort are one: `qwen:7b` and
    `x/y:free` are models.

    Args:
        target: As typed.
        settings: The layered configuration.
        current: Whose model it is if no provider is named.
        usable: Whether a provider that is not configured could answer: there is a key for it.
    """
    rest, colon, word = target.rpartition(":")
    effort = EFFORTS.get(word, "") if colon else ""
    text = rest if effort else target
    head, slash, model = text.partition("/")
    if head in settings.providers.models:
        return Target(head, model, effort)
    if named(head, settings) is not None and (not slash or head == current or usable(head)):
        return Target(head, model, effort)
    return Target(current, text, effort)


def known_key(env: Mapping[str, str]) -> tuple[str, str] | None:
    """(provider, variable) of the first key in the environment; OpenRouter's counts first."""
    for name, variables in _key_variables():
        for variable in variables:
            if env.get(variable, "").strip():
                return name, variable
    return None


def _key_variables() -> Iterable[tuple[str, tuple[str, ...]]]:
    first, *others = ((preset.name, preset.key_envs) for preset in PRESETS)
    yield first
    yield "anthropic", (BUILT_IN["anthropic"].api_key_env,)
    yield from others


def _by_key(env: Mapping[str, str]) -> Chosen | None:
    if (key := known_key(env)) is None:
        return None
    name, variable = key
    settings = named(name, Settings())
    if settings is None:
        return None
    return Chosen(name, replace(settings, api_key_env=variable), f"{variable} is set")


def _by_stored_key(stored: Sequence[str]) -> Chosen | None:
    for name, _ in _key_variables():
        if name in stored and (settings := named(name, Settings())) is not None:
            return Chosen(name, settings, "a key for it is stored")
    return None


def _by_server(found: Found | None) -> Chosen | None:
    if found is None or (preset := by_name(found.preset)) is None:
        return None
    settings = preset.settings(
        model=found.model, base_url=found.base_url, window=found.context_window
    )
    return Chosen(found.preset, settings, f"it answers at {urlsplit(found.base_url).netloc}")


def look_around(env: Mapping[str, str], home: Path) -> Chosen | None:
    """A CLI that is logged in, else a model file; starts nothing, takes a few milliseconds."""
    for name in logged_in(env):
        if (settings := named(name, Settings())) is not None:
            return Chosen(name, settings, f"the program `{name}` is logged in here")
    settings = named(LOCAL, Settings())
    file = local_model(home) if settings is not None else None
    if settings is None or file is None:
        return None
    meant = replace(settings, path=str(file), model=file.stem)
    return Chosen(LOCAL, meant, f"{file.name} is on this machine")


def usual_places() -> tuple[tuple[str, str], ...]:
    """(preset, base_url) of the model servers that may run on this machine."""
    return tuple((preset.name, preset.base_url) for preset in local())


async def probe_loopback(
    timeout: float = PROBE_S,
    places: Sequence[tuple[str, str]] | None = None,
) -> Found | None:
    """Ask the usual places for a model, all at once; the first of the list that has one.

    Never raises, and is back after `timeout` seconds.
    """
    asked = usual_places() if places is None else places
    replies = [asyncio.ensure_future(_probe(name, url, timeout)) for name, url in asked]
    try:
        answers: Iterable[Found | None] = await asyncio.gather(*replies)
    finally:
        for reply in replies:
            reply.cancel()
    return next((found for found in answers if found), None)


async def _probe(preset: str, base_url: str, limit_s: float) -> Found | None:
    found: Found | None = None
    try:
        async with asyncio.timeout(limit_s):
            loaded = await first_model(base_url)
            if loaded is None:
                return None
            found = Found(preset, base_url, loaded.model, loaded.context_window)
            if loaded.more:
                found = replace(found, context_window=await loaded_window(base_url))
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
        pass
    return found

"""Which model to run on: what the config names, else what is at hand, else the demo.

Everything here is decided without importing a provider, and nothing asked waits longer than 300 ms.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from stormclaw.config.settings import ModelSettings, Settings
from stormclaw.providers.presets import PRESETS, by_name, local

PROBE_S: Final = 0.3
MAX_REPLY_BYTES: Final = 256 * 1024
AUTO: Final = "auto"
DEMO: Final = "demo"


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


def choose(settings: Settings, env: Mapping[str, str], found: Found | None) -> Chosen | None:
    """The first-run order, as a pure function.

    Config, then a key in the environment, then a server on this machine, then the demo.
    `default_model` replaces the model of whatever is chosen.

    Args:
        settings: The layered configuration.
        env: The environment.
        found: What `probe_loopback` found; None when it was not asked or found nothing.

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
        chosen = _at_hand(env, found)
    if chosen is None or settings.default_model == AUTO:
        return chosen
    return replace(chosen, settings=replace(chosen.settings, model=settings.default_model))


def named(name: str, settings: Settings) -> ModelSettings | None:
    """What a provider's name stands for: the config's own, a preset, or the demo."""
    if name in settings.providers.models:
        return settings.providers.models[name]
    if name == DEMO:
        return ModelSettings(kind=DEMO, model=DEMO)
    preset = by_name(name)
    return preset.settings() if preset else None


def split_target(target: str, settings: Settings, current: str) -> tuple[str, str]:
    """`provider/model`, `provider` or `model` as (provider, model); model "" is its default.

    A first part that names no provider belongs to the model (`anthropic/claude-sonnet-4.5`).
    """
    head, _, rest = target.partition("/")
    if named(head, settings) is not None:
        return head, rest
    return current, target


def known_key(env: Mapping[str, str]) -> tuple[str, str] | None:
    """(preset, variable) of the first key in the environment; OpenRouter's counts first."""
    for preset in PRESETS:
        for variable in preset.key_envs:
            if env.get(variable, "").strip():
                return preset.name, variable
    return None


def _at_hand(env: Mapping[str, str], found: Found | None) -> Chosen:
    if key := known_key(env):
        name, variable = key
        preset = by_name(name)
        if preset is not None:
            settings = replace(preset.settings(), api_key_env=variable)
            return Chosen(name, settings, f"{variable} is set")
    if found is not None and (preset := by_name(found.preset)) is not None:
        settings = preset.settings(
            model=found.model, base_url=found.base_url, window=found.context_window
        )
        return Chosen(found.preset, settings, f"it answers at {urlsplit(found.base_url).netloc}")
    demo = ModelSettings(kind=DEMO, model=DEMO)
    return Chosen(DEMO, demo, "no model is configured and none was found")


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
            listed = await _get_json(base_url, "/models")
            entry = _first_model(listed)
            if entry is None:
                return None
            found = Found(preset, base_url, entry["id"], _window(entry))
            if entry.get("owned_by") == "llamacpp" and not found.context_window:
                root = base_url.removesuffix("/v1")
                window = _loaded_window(await _get_json(root, "/props"))
                found = replace(found, context_window=window)
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
        pass
    return found


def _first_model(listed: object) -> Mapping[str, Any] | None:
    """The first model in an answer of `/models` that can chat; None if it is no such answer."""
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(name, str) and name and "embed" not in name.lower():
            return dict(entry)
    return None


def _window(entry: Mapping[str, Any]) -> int:
    """What the model takes, as vLLM or llama.cpp say it beside the model's name."""
    meta = entry.get("meta")
    loaded = meta.get("n_ctx") if isinstance(meta, Mapping) else None
    return _whole(entry.get("max_model_len")) or _whole(loaded)


def _loaded_window(props: object) -> int:
    """The loaded context of an older llama.cpp, which does not tell it in its list."""
    loaded = props.get("default_generation_settings") if isinstance(props, Mapping) else None
    return _whole(loaded.get("n_ctx")) if isinstance(loaded, Mapping) else 0


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


async def _get_json(base_url: str, path: str) -> object:
    """One GET without an HTTP library: importing one takes longer than the answer."""
    address = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(
        address.hostname, address.port, limit=MAX_REPLY_BYTES
    )
    try:
        # HTTP/1.0: the answer ends with the connection and never comes in chunks.
        writer.write(
            f"GET {address.path}{path} HTTP/1.0\r\nHost: {address.netloc}\r\n"
            "Accept: application/json\r\n\r\n".encode()
        )
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            raise ValueError("no such page")
        parsed: object = json.loads(await _body(head, reader))
        return parsed
    finally:
        writer.close()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    """As many bytes as the head names, else all until the connection ends."""
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return await reader.readexactly(min(int(value), MAX_REPLY_BYTES))
    return await reader.read(MAX_REPLY_BYTES)

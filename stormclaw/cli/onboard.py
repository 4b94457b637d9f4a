"""Connect a model and settle how StormClaw works here, step by step: provider, key, model, one test
call, autonomy; what the sandbox is and what the project asks for is told.

examples:
  stormclaw onboard                                       asks for everything
  stormclaw onboard ollama --model qwen3                  asks for nothing
  stormclaw onboard openrouter --autonomy full < key.txt  the key on standard input
  stormclaw onboard ours --base-url http://host:8000/v1   any OpenAI-like server

exit codes: 0 connected, 1 the test call failed and nothing was saved, 2 something is missing
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace

from stormclaw.cli.asking import ask, ask_secret, is_person
from stormclaw.cli.options import place_from
from stormclaw.config.edit import set_autonomy
from stormclaw.config.keys import find_key, stored_keys
from stormclaw.config.place import Place
from stormclaw.config.settings import ModelSettings
from stormclaw.errors import UsageError
from stormclaw.protocol.effects import AUTONOMY_LEVELS
from stormclaw.protocol.inert import inert
from stormclaw.providers.check import CheckReport, try_provider
from stormclaw.providers.choose import known_key, probe_loopback
from stormclaw.providers.connectable import Connectable, at_hand, by_name, connectables
from stormclaw.providers.presets import KIND
from stormclaw.providers.ways import Way, keep_way

LEVELS = {
    "readonly": "looks, changes nothing",
    "supervised": "changes are asked about, risky commands are blocked",
    "full": "asks only for risky things; what is forbidden stays forbidden",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Arguments of `stormclaw onboard`; what is not given is asked."""
    parser.add_argument("provider", nargs="?", help="a preset's name, for example openrouter")
    parser.add_argument("--base-url", default="", help="another address of an OpenAI-like server")
    parser.add_argument("--model", default="", help="the model")
    parser.add_argument(
        "--no-key", action="store_true", help="the server needs none; standard input is not read"
    )


def run(options: argparse.Namespace) -> int:
    """Walk to a real model; returns the exit code."""
    if not is_person() and not options.provider:
        raise UsageError(
            "without a terminal: stormclaw onboard PROVIDER [--model M] [--base-url URL] "
            "[--autonomy LEVEL], the key on standard input"
        )
    place = place_from(options)
    preset = _preset(options, place)
    settings = preset.configured(options.model, options.base_url)
    key = _key(preset, place, options)
    if not settings.model and is_person():
        settings = replace(settings, model=ask("model (empty: the usual one)", ""))
    way = _connected(place, preset, settings, key)
    if way is None:
        return 1
    _keep(place, way)
    _settle(place, options)
    print("`stormclaw` opens on it; `stormclaw doctor` checks everything else")
    return 0


def _preset(options: argparse.Namespace, place: Place) -> Connectable:
    name = options.provider or _provider_asked(place)
    known = by_name(name)
    if known is not None:
        return known
    if options.base_url:
        settings = ModelSettings(kind=KIND, base_url=options.base_url)
        return Connectable(name, name, options.base_url, settings)
    names = ", ".join(entry.name for entry in connectables())
    raise UsageError(
        f"no provider {name!r}; there are: {names}; another OpenAI-like server: --base-url URL"
    )


def _provider_asked(place: Place) -> str:
    server = asyncio.run(probe_loopback())
    there = dict(at_hand(place.env, place.home))
    if server:
        there[server.preset] = f"answers here with {server.model}"
    known = connectables()
    keyed = known_key(place.env)
    usual = keyed[0] if keyed else server.preset if server else next(iter(there), known[0].name)
    for entry in known:
        state = f"  ({there[entry.name]})" if entry.name in there else ""
        print(inert(f"  {entry.name:<12} {entry.label}{state}"))
    while True:
        name = ask("provider", usual)
        if by_name(name) is not None:
            return name
        print(f"  there is no {inert(name)} here; one of the names above")


def _key(preset: Connectable, place: Place, options: argparse.Namespace) -> str:
    """The key that was typed or piped in, "" where there is one already or none is needed."""
    if options.no_key or not (preset.needs_key or by_name(preset.name) is None):
        return ""
    for variable in preset.key_envs:
        if place.env.get(variable):
            print(f"the key is in {variable}; it stays there")
            return ""
    if not is_person():
        return sys.stdin.readline().strip()
    if preset.key_url:
        print(f"a key can be had at {preset.key_url}")
    kept = preset.name in stored_keys(place.home)
    hint = "; empty: the one that is stored" if kept else ""
    return ask_secret(f"{preset.label} key (not shown{hint})")


def _connected(place: Place, preset: Connectable, settings: ModelSettings, key: str) -> Way | None:
    """A way that has answered; None when it was given up. Nothing is saved here."""
    while True:
        way = Way(preset.name, settings, key or None, "you connected it")
        known = key or find_key(way.name, place.env, place.home, api_key_env=settings.api_key_env)
        print(f"asking {inert(preset.label)} ...")
        report = asyncio.run(_tried(replace(way, key=known or None)))
        for line in report.lines():
            print(inert(f"  {line}"))
        if report.ok:
            print(f"connected: {inert(way.name)}/{inert(report.model)}")
            return way
        again = _again() if is_person() else ""
        if again == "key":
            key = ask_secret(f"{preset.label} key (not shown)") or key
        elif again == "model":
            settings = replace(settings, model=ask("model", settings.model))
        elif not again:
            print("nothing was saved; run `stormclaw onboard` again with another key or model")
            return None


def _again() -> str:
    """What to change and try again: key, model, same; "" gives up."""
    words = {"k": "key", "m": "model", "a": "same"}
    return words.get(ask("another [k]ey, another [m]odel, [a]gain; empty leaves", "")[:1], "")


async def _tried(way: Way) -> CheckReport:
    provider = way.connect()
    try:
        return await try_provider(provider)
    finally:
        await provider.close()


def _keep(place: Place, way: Way) -> None:
    keep_way(place.home, way)
    where = stored_keys(place.home).get(way.name, "") if way.key else ""
    if where:
        told = "the system's keyring" if where == "keyring" else f"{where}, which only you can read"
        print(f"the key is in {told}")
    print(f"the rest is in {place.home / 'config.yaml'}")


def _settle(place: Place, options: argparse.Namespace) -> None:
    """Autonomy is chosen; sandbox and trust are told."""
    level = options.autonomy or ""
    if not level and is_person():
        level = _level_asked(place.settings.security.autonomy)
    if level:
        set_autonomy(place.home, level)
        print(f"autonomy {level}: {LEVELS[level]}")
    print(inert(f"sandbox {_walls(place)}"))
    _tell_of_trust(place)


def _level_asked(usual: str) -> str:
    for name in AUTONOMY_LEVELS:
        print(f"  {name:<12} {LEVELS[name]}")
    while True:
        level = ask("autonomy", usual)
        if level in AUTONOMY_LEVELS:
            return level
        print("  one of the names above")


def _walls(place: Place) -> str:
    from pathlib import Path

    from stormclaw.security.redact import scrubbed_environ
    from stormclaw.security.sandbox import choose

    walls = choose(
        place.settings.security.sandbox,
        workspace=place.workspace,
        home=place.home,
        user_home=Path(place.env.get("HOME") or Path.home()),
        environ=scrubbed_environ(place.env),
    )
    walls.close()
    return f"{walls.level}: {walls.why}"


def _tell_of_trust(place: Place) -> None:
    """What the project here asks for; trusting it is a command of its own."""
    from stormclaw.config import trust

    asked = () if place.trusted else trust.asks_for(place.workspace, place.loaded.warnings)
    if asked:
        print(f"this project asks for {len(asked)} things that need your trust; they stay off:")
        for one in asked[:10]:
            print(inert(f"  {one.kind:<12}{one.what}  ({one.where})"))
        print("  `stormclaw config trust --yes` trusts them as they are now")

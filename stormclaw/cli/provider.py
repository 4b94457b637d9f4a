"""Ways to a model: what is configured and known, and whether one works."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.errors import UsageError
from stormclaw.log import mask_secrets
from stormclaw.protocol.inert import inert

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw provider`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    from stormclaw.config.keys import find_key
    from stormclaw.config.settings import ModelSettings
    from stormclaw.providers.choose import known_names, named
    from stormclaw.providers.presets import by_name

    place = place_from(options)
    ways: dict[str, tuple[ModelSettings, str]] = {}
    for name in known_names():
        if (settings := named(name, place.settings)) is not None:
            ways[name] = (settings, "preset" if by_name(name) else "built in")
    for name, settings in place.settings.providers.models.items():
        ways[name] = (settings, "configured")
    entries = []
    for name, (settings, source) in ways.items():
        variable = settings.api_key_env
        key = find_key(name, place.env, place.home, api_key_env=variable)
        missing = f"{variable} not set" if variable else _login(settings.kind, place.env)
        entries.append(
            {
                "name": name,
                "kind": settings.kind,
                "model": settings.model,
                "server": mask_secrets(settings.base_url),
                "key": "found" if key else missing,
                "from": source,
            }
        )
    show(entries, as_json=options.as_json)
    return 0


def _login(kind: str, env: Mapping[str, str]) -> str:
    """What is needed instead of a key."""
    from stormclaw.providers.offers import PROGRAMS, has_login

    if kind == "bedrock":
        return "AWS credentials"
    program = PROGRAMS.get(kind)
    if program is None:
        return "none needed"
    return "logged in" if has_login(program, env) else f"`{program}` is not logged in here"


def _test(options: argparse.Namespace) -> int:
    return asyncio.run(_try(options))


async def _try(options: argparse.Namespace) -> int:
    from stormclaw.errors import RETRYABLE
    from stormclaw.providers.check import try_provider
    from stormclaw.providers.choose import named, split_target
    from stormclaw.providers.models import ModelBook
    from stormclaw.providers.ways import find_way

    place = place_from(options)
    if named(split_target(options.name, place.settings, "").name, place.settings) is None:
        raise UsageError(f"no provider {options.name!r}; `stormclaw provider list` shows them")
    way = await find_way(place.settings, place.env, place.home, target=options.name)
    if not options.as_json and sys.stderr.isatty():
        sys.stderr.write(f"asking {inert(options.name)} ...\n")
    provider = way.connect()
    try:
        book = ModelBook(place.settings.providers.models, place.home)
        report = await try_provider(provider, settings=way.settings, book=book)
    finally:
        await provider.close()
    if options.as_json:
        told = {"name": way.name, "server": way.settings.base_url, **asdict(report)}
        print(json.dumps({name: _masked(value) for name, value in told.items()}, indent=2))
    else:
        stream = sys.stdout if report.ok else sys.stderr
        for line in report.lines():
            stream.write(f"{inert(mask_secrets(line))}\n")
    if report.ok:
        return 0
    return 75 if report.error in RETRYABLE else 1


def _masked(value: object) -> object:
    return mask_secrets(value) if isinstance(value, str) else value


VERBS = {
    "list": Verb("Every way to a model", "stormclaw provider list", _list, lists=True),
    "test": Verb(
        "One small real call with a tool, and what of it worked (exit 0, 1, or 75: try later)",
        "stormclaw provider test openrouter --json",
        _test,
        lambda parser: parser.add_argument("name", help="provider, or provider/model"),
        lists=True,
    ),
}

"""The configuration: is it right, what is in force and why, where does it stand."""

from __future__ import annotations

import argparse

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.config import trust
from stormclaw.config.show import rows
from stormclaw.errors import ConfigError
from stormclaw.protocol.inert import inert

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw config`."""
    add_verbs(parser, VERBS)


def _validate(options: argparse.Namespace) -> int:
    from stormclaw.providers.registry import problems

    place = place_from(options)
    if found := problems(place.settings.providers.models, place.loaded.origins):
        raise ConfigError(found)
    for warning in place.loaded.warnings:
        print(f"ignored: {warning}")
    read = [str(path) for path in place.loaded.files if path.is_file()]
    print(f"valid: {', '.join(read) if read else 'no file, all defaults'}")
    return 0


def _show(options: argparse.Namespace) -> int:
    place = place_from(options)
    entries = [
        {"key": key, "value": value, "from": origin} for key, value, origin in rows(place.loaded)
    ]
    show(entries, as_json=options.as_json)
    return 0


def _path(options: argparse.Namespace) -> int:
    for path in place_from(options).loaded.files:
        print(path if path.is_file() else f"{path} (not there)")
    return 0


def _trust(options: argparse.Namespace) -> int:
    place = place_from(options)
    if place.trusted:
        print("trusted as it is now")
        return 0
    found = trust.asks_for(place.workspace, place.loaded.warnings)
    seen = trust.fingerprint(place.workspace)
    if not found:
        print("the project asks for nothing that needs trust")
        return 0
    for one in found:
        print(inert(f"{one.kind:<12}{one.what}  ({one.where})"))
    if not options.yes:
        print("nothing was changed; --yes trusts all of this as it is now")
        return 0
    trust.trust(place.home, place.workspace, seen)
    print("trusted; if any of it changes, it is asked about again")
    return 0


def _untrust(options: argparse.Namespace) -> int:
    place = place_from(options)
    taken = trust.untrust(place.home, place.workspace)
    print("no longer trusted" if taken else "it was not trusted")
    return 0


VERBS = {
    "validate": Verb("Report every problem in one pass", "stormclaw config validate", _validate),
    "show": Verb(
        "Every value in force and where it came from; secrets masked",
        "stormclaw config show --json",
        _show,
        lists=True,
    ),
    "trust": Verb(
        "What this project asks for, and trust it",
        "stormclaw config trust --yes",
        _trust,
        lambda parser: parser.add_argument("--yes", action="store_true", help="trust it as it is"),
    ),
    "untrust": Verb("Take that back", "stormclaw config untrust", _untrust),
    "path": Verb("The files that are read", "stormclaw config path", _path),
}

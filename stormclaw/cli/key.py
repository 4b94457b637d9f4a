"""Keys for providers: several for one are used in turn, the next when one is refused or used up.

A key is read from standard input, or typed without being shown; never from the command line, where
others could see it. `profiles:` under `providers.models.NAME` narrows and orders them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from stormclaw.cli.asking import ask_secret, is_person
from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.config.keys import (
    DEFAULT,
    ENVIRONMENT,
    IN_KEYRING,
    delete_key,
    find_keys,
    save_key,
    stored_profiles,
)
from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.protocol.inert import inert

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw key`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    place = place_from(options)
    empty = "no key is stored, and none is in the environment; `stormclaw key add openrouter`"
    show(list(_rows(place)), as_json=options.as_json, empty=empty)
    return 0


def _rows(place: Place) -> Iterator[dict[str, object]]:
    from stormclaw.providers._fallback.cooldowns import FILE_NAME, Cooldowns, resting
    from stormclaw.providers._fallback.excuses import SAID_OF_KEYS, span
    from stormclaw.providers._fallback.rotating import who
    from stormclaw.providers.choose import known_names, named

    stored = stored_profiles(place.home)
    rests = resting(place.home / FILE_NAME)
    cooldowns = Cooldowns(place.home / FILE_NAME)
    names = (*place.settings.providers.models, *known_names(), *(one.provider for one in stored))
    for name in dict.fromkeys(names):
        settings = named(name, place.settings)
        variable = settings.api_key_env if settings else ""
        keys: list[tuple[str, str]] = []
        if variable and place.env.get(variable, "").strip():
            keys.append((ENVIRONMENT, variable))
        keys += [(one.profile, one.where) for one in stored if one.provider == name]
        order = settings.profiles if settings else ()
        for profile, where in sorted(keys, key=lambda key: _place(key[0], order)):
            rest = rests.get(who(name, profile))
            if rest and profile == ENVIRONMENT:
                rest = cooldowns.of(who(name, profile), place.env[variable].strip())
            state = "ready" if not order or profile in order else "left out by profiles"
            if rest:
                state = f"{SAID_OF_KEYS[rest.kind]}, rests for {span(cooldowns.left_s(rest))}"
            yield {"provider": name, "profile": profile, "where": where, "state": state}


def _place(profile: str, order: tuple[str, ...]) -> int:
    return order.index(profile) if profile in order else len(order)


def _unknown(name: str, place: Place) -> UsageError:
    from stormclaw.providers.choose import known_names

    there = dict.fromkeys((*place.settings.providers.models, *known_names()))
    return UsageError(f"no provider {name!r}; there are: {', '.join(there)}")


def _add(options: argparse.Namespace) -> int:
    from stormclaw.providers.choose import named

    place = place_from(options)
    name = options.provider
    settings = named(name, place.settings)
    if settings is None:
        raise _unknown(name, place)
    profiles = [one.profile for one in stored_profiles(place.home) if one.provider == name]
    profile = options.profile or _free(profiles)
    key = ask_secret(f"key for {name} (not shown)") if is_person() else sys.stdin.readline()
    if not key.strip():
        raise UsageError(f"no key came; `stormclaw key add {name} < key.txt` reads one from a file")
    where = save_key(name, key, place.home, profile)
    _forget(place, name, profile)
    told = "the system's keyring" if where == IN_KEYRING else f"{where}, which only you can read"
    done = "replaced" if profile in profiles else "stored"
    print(f"{done} the key {inert(profile)} for {inert(name)} in {told}")
    known = find_keys(
        name,
        place.env,
        place.home,
        api_key_env=settings.api_key_env,
        profiles=settings.profiles,
    )
    if profile not in {one.name for one in known}:
        print("it is not used: another key is the same, or `profiles` leaves it out")
    elif len(known) > 1:
        print(f"used in this order: {inert(', '.join(one.name for one in known))}")
    return 0


def _free(taken: list[str]) -> str:
    """`default`, else `key-2`, `key-3` ..."""
    names = (DEFAULT, *(f"key-{number}" for number in range(2, len(taken) + 2)))
    return next((name for name in names if name not in taken), f"key-{len(taken) + 2}")


def _remove(options: argparse.Namespace) -> int:
    place = place_from(options)
    name, profile = options.provider, options.profile
    stored = [one.profile for one in stored_profiles(place.home) if one.provider == name]
    if profile is None and len(stored) > 1 and not options.all:
        raise UsageError(f"{name} has several keys: name one of {', '.join(stored)}, or --all")
    if not delete_key(name, place.home, profile):
        known = f"; there are: {', '.join(stored)}" if stored else ""
        raise UsageError(f"no key {f'{profile} ' if profile else ''}for {name} is stored{known}")
    for gone in (profile,) if profile else stored:
        _forget(place, name, gone)
    print(f"forgot {inert(profile or ', '.join(stored))} for {inert(name)}")
    return 0


def _retry(options: argparse.Namespace) -> int:
    from stormclaw.providers.choose import named

    place = place_from(options)
    name = options.provider
    stored = any(one.provider == name for one in stored_profiles(place.home))
    if named(name, place.settings) is None and not stored:
        raise _unknown(name, place)
    number = _forget(place, name, options.profile)
    word = "key is" if number == 1 else "keys are"
    again = f"{number} {word} tried again from now on"
    print(again if number else f"no key of {inert(name)} was passed over")
    return 0


def _forget(place: Place, name: str, profile: str | None) -> int:
    """Take its keys out of those that are passed over."""
    from stormclaw.providers._fallback.cooldowns import FILE_NAME, forget
    from stormclaw.providers._fallback.rotating import who

    def meant(entry: str) -> bool:
        return entry == who(name, profile) if profile else entry.startswith(who(name, ""))

    return forget(place.home / FILE_NAME, meant)


def _provider(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", help="a provider's name, for example openrouter")


def _provider_and_name(parser: argparse.ArgumentParser) -> None:
    _provider(parser)
    parser.add_argument(
        "--profile", default="", metavar="NAME", help="what to call it; default: default, key-2 ..."
    )


def _provider_and_profile(parser: argparse.ArgumentParser) -> None:
    _provider(parser)
    parser.add_argument("profile", nargs="?", default=None, help="which of its keys")


def _what_to_remove(parser: argparse.ArgumentParser) -> None:
    _provider_and_profile(parser)
    parser.add_argument("--all", action="store_true", help="all keys of this provider")


VERBS = {
    "list": Verb(
        "Every key: whose, where it is, whether it is passed over; never the key itself",
        "stormclaw key list",
        _list,
        lists=True,
    ),
    "add": Verb(
        "Store a key, read from standard input or typed without being shown",
        "stormclaw key add openrouter --profile work < key.txt",
        _add,
        _provider_and_name,
    ),
    "remove": Verb(
        "Forget a key", "stormclaw key remove openrouter work", _remove, _what_to_remove
    ),
    "retry": Verb(
        "Try keys again that were refused or out of credit",
        "stormclaw key retry openrouter",
        _retry,
        _provider_and_profile,
    ),
}

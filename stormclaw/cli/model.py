"""Models: which can be chosen here, what they take, what they can do, what they cost."""

from __future__ import annotations

import argparse
import asyncio
import sys

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.protocol.inert import inert

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw model`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    return asyncio.run(_tell(options))


async def _tell(options: argparse.Namespace) -> int:
    from stormclaw.errors import ConfigError
    from stormclaw.providers import offers
    from stormclaw.providers.models import ModelBook
    from stormclaw.providers.ways import find_way

    place = place_from(options)
    book = ModelBook(place.settings.providers.models, place.home)
    groups = await offers.survey(place.settings, place.env, place.home, book)
    try:
        way = await find_way(place.settings, place.env, place.home)
        now = way.name, way.model
    except ConfigError as error:  # What is listed may be what mends it.
        sys.stderr.write(f"stormclaw: {inert(str(error))}\n")
        now = "", ""
    words = offers.words_in(" ".join(options.words))
    everything = bool(words) or options.everything
    found = [
        offer
        for group in groups
        if everything or not group.all
        for offer in group.offers
        if (offer.key or options.everything)
        and all(word in offers.hay_of(group, offer) for word in words)
    ]
    marks = [offers.is_current(offer, *now) for offer in found]
    if options.as_json:
        rows = [
            offers.json_of(offer, current=mark) for offer, mark in zip(found, marks, strict=True)
        ]
        show(rows, as_json=True)
    else:
        lines = (
            offers.cells_of(offer, current=mark) for offer, mark in zip(found, marks, strict=True)
        )
        heads = offers.COLUMNS
        empty = "no model can be used; `stormclaw onboard` helps"
        if words:
            wider = "" if options.everything else "; --all looks among those not connected, too"
            empty = f"no model fits{wider}"
        show([dict(zip(heads, line, strict=True)) for line in lines], as_json=False, empty=empty)
    for problem in book.problems:
        sys.stderr.write(f"left out: {inert(str(problem))}\n")
    more = sum(len(group.offers) for group in groups if group.all)
    if not everything and more and not options.as_json:
        print(f"\n{more:,} more are known: `stormclaw model list WORDS`, or --all")
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only models that have them all")
    parser.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="every known model, and what could be connected",
    )


VERBS = {
    "list": Verb(
        "The models that can be used here; with words, all known ones that fit",
        "stormclaw model list claude sonnet --json",
        _list,
        _arguments,
        lists=True,
    ),
}

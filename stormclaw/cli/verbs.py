"""A noun with verbs: `stormclaw memory search ...`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stormclaw.cli.options import common


@dataclass(frozen=True)
class Verb:
    """One verb of a noun.

    Attributes:
        about: One line for help.
        example: A line that can be typed.
        run: Does it; returns the exit code.
        arguments: Adds the verb's own arguments.
        lists: True adds `--json`.
    """

    about: str
    example: str
    run: Callable[[argparse.Namespace], int]
    arguments: Callable[[argparse.ArgumentParser], object] = lambda _: None
    lists: bool = False


def add_verbs(parser: argparse.ArgumentParser, verbs: Mapping[str, Verb]) -> None:
    """Give `parser` the verbs; the chosen one stands in `options.verb`."""
    choices = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in verbs.items():
        child = choices.add_parser(
            name,
            help=verb.about,
            description=verb.about,
            epilog=f"example:\n  {verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[common(after_verb=True)],
        )
        if verb.lists:
            child.add_argument("--json", dest="as_json", action="store_true", help="as JSON")
        verb.arguments(child)
        child.set_defaults(run_verb=verb.run)


def run_verb(options: argparse.Namespace) -> int:
    """Run the chosen verb."""
    code: int = options.run_verb(options)
    return code

"""Models that run on this machine: what is here, fetching one, throwing one away."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stormclaw.cli.asking import ask, is_person
from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.protocol.inert import inert
from stormclaw.providers.local_models import (
    DEFAULT_FILE,
    DEFAULT_REPO,
    PULL_SMALL,
    LocalModel,
    installed,
    label_of,
    remove,
    size,
)

if TYPE_CHECKING:
    from stormclaw.providers.local_pull import Plan

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw local`."""
    add_verbs(parser, VERBS)


def _list(options: argparse.Namespace) -> int:
    models = installed(place_from(options).home)
    rows = [
        {
            "name": model.name,
            "size": model.size if options.as_json else size(model.size),
            "from": model.repo or "put there by hand",
            "file": str(model.path),
        }
        for model in models
    ]
    nothing = f"no model yet; `stormclaw local pull`, or {PULL_SMALL}"
    show(rows, as_json=options.as_json, empty=nothing)
    return 0


def _pull(options: argparse.Namespace) -> int:
    repo, file = options.repo or DEFAULT_REPO, options.file or ""
    if repo == DEFAULT_REPO and not file:
        file = DEFAULT_FILE
    try:
        return asyncio.run(_bring(place_from(options), repo, file, agreed=options.yes))
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what has come is kept, the same command goes on there\n")
        raise


async def _bring(place: Place, repo: str, file: str, *, agreed: bool) -> int:
    from stormclaw.providers.local_pull import look

    plan = await look(os.environ, place.home, repo, file)
    name = label_of(plan.places[0])
    if plan.is_done:
        print(f"{inert(name)} is here already: {plan.places[0]}")
        return 0
    for line in _described(plan):
        print(inert(line))
    plan.check_disk()
    if not (agreed or _agrees()):
        print("nothing was fetched")
        return 1
    meter = _Meter(plan.remote.size, sys.stderr.isatty())
    try:
        path = await plan.pull(meter.tell)
    finally:
        meter.end()
    print(f"{inert(name)} is here, checksum verified: {path}")
    print(f"try it: stormclaw -m local/{inert(name)}")
    return 0


def _described(plan: Plan) -> list[str]:
    here = f" ({size(plan.here)} of it are here)" if plan.here else ""
    lines = [
        f"{plan.remote.repo}, from {plan.hub.base}",
        *(f"file     {file.name}" for file in plan.remote.files),
        f"size     {size(plan.remote.size)}{here}",
        f"licence  {plan.remote.licence or 'the hub names none; see its page'}",
        f"goes to  {plan.places[0].parent}",
    ]
    if (free := plan.too_large()) is not None:
        lines.append(
            f"memory   too large for this machine: {size(free)} are free; smaller: {PULL_SMALL}"
        )
    return lines


def _agrees() -> bool:
    """Whether somebody at a terminal says yes.

    Raises:
        UsageError: Nobody is there to be asked.
    """
    if not is_person():
        raise UsageError("nobody is here to ask: add --yes to fetch it")
    return ask("Fetch it? [y/N]", "").lower() in ("y", "yes")


class _Meter:
    """Shows how far it is: one line that changes on a terminal, else a line every tenth."""

    def __init__(self, total: int, live: bool) -> None:
        self._total = max(total, 1)
        self._live = live
        self._shown = -1

    def tell(self, have: int) -> None:
        """So many bytes are there."""
        percent = have * 100 // self._total
        step = percent if self._live else percent // 10
        if step == self._shown:
            return
        self._shown = step
        line = f"{percent:3d} %  {size(have)} of {size(self._total)}"
        sys.stderr.write(f"\r\033[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._live and self._shown >= 0:
            sys.stderr.write("\n")


def _rm(options: argparse.Namespace) -> int:
    place = place_from(options)
    model = _named(options.name, place.home)
    try:
        remove(model, place.home)
    except OSError as error:
        raise UsageError(f"{model.path} cannot be deleted: {error.strerror}") from None
    print(f"{inert(model.name)} is gone, {size(model.size)} are free again")
    return 0


def _named(name: str, home: Path) -> LocalModel:
    found = [
        model
        for model in installed(home)
        if name in (model.name, model.path.name, f"{model.repo}/{model.name}")
    ]
    if len(found) == 1:
        return found[0]
    if found:
        many = ", ".join(f"{model.repo}/{model.name}" for model in found)
        raise UsageError(f"several models are called {name!r}: {many}")
    raise UsageError(f"no model {name!r} here; `stormclaw local list` shows them")


def _source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", nargs="?", help=f"owner/name (default {DEFAULT_REPO})")
    parser.add_argument("file", nargs="?", help="a GGUF file of it; needed where it has several")
    parser.add_argument("--yes", action="store_true", help="do not ask")


VERBS = {
    "list": Verb("Models on this machine", "stormclaw local list", _list, lists=True),
    "pull": Verb(
        "Fetch a model from the Hugging Face hub; says what it is first, and asks",
        f"stormclaw local {PULL_SMALL.strip('`').partition(' local ')[2]}",
        _pull,
        _source,
    ),
    "rm": Verb(
        "Delete a model from this machine",
        "stormclaw local rm Phi-4-mini-instruct-Q4_K_M",
        _rm,
        lambda parser: parser.add_argument("name", help="as `stormclaw local list` shows it"),
    ),
}

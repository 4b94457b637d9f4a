"""Which session `-c` and `-r` mean."""

from __future__ import annotations

import argparse

from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.store import sessions

PICK = "pick"


def session_to_resume(place: Place, options: argparse.Namespace) -> str:
    """The id of the session to go on with, "" for a new one.

    Raises:
        UsageError: There is none, or none with that id.
    """
    if options.go_on:
        info = sessions.latest(place.home, place.workspace)
        if info is None:
            raise UsageError(f"no session to continue in {place.workspace}; start one without -c")
        return info.id
    if options.resume and options.resume != PICK:
        return sessions.load(place.home, options.resume).id
    if options.resume:
        raise UsageError("-r needs an ID here; `stormclaw session list` shows them")
    return ""

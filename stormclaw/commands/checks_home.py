"""Checks of what StormClaw keeps: configuration, trust, keys, records, room on the disk."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from stormclaw.commands.ages import age
from stormclaw.commands.chain import sentence
from stormclaw.commands.checkup import Check, Patient, Result
from stormclaw.errors import StormClawError

MIN_FREE, GOOD_FREE = 100 * 2**20, 2**30
"""Bytes: below the first nothing can be kept for long, below the second it is time to tidy up."""

READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def configuration(patient: Patient) -> Iterator[Result]:
    """Can it be read, and was anything in it left out?"""
    if patient.complaint:
        yield "problem", patient.complaint, "mend the file; `stormclaw config validate` checks it"
        return
    loaded = patient.place.loaded if patient.place else None
    read = [str(path) for path in loaded.files if path.is_file()] if loaded else []
    yield "ok", f"read: {', '.join(read)}" if read else "no file, all defaults"
    for warning in loaded.warnings if loaded else ():
        yield "warning", f"left out: {warning}", "`stormclaw config trust` shows what waits for you"


def trusted(patient: Patient) -> Iterator[Result]:
    """Does the project ask for something that needs the person's trust?"""
    from stormclaw.config import trust

    if patient.place is None:
        return
    if patient.place.trusted:
        yield "ok", "this project is trusted as it is now"
        return
    asked = trust.asks_for(patient.workspace, patient.place.loaded.warnings)
    if asked:
        text = f"this project asks for {len(asked)} things that need your trust; they are off"
        yield "warning", text, "`stormclaw config trust` lists them"
    else:
        yield "ok", "this project asks for nothing that needs trust"


def home(patient: Patient) -> Iterator[Result]:
    """Can the folder be written, and only by its owner?"""
    folder = patient.home
    if not folder.exists():
        yield "ok", f"{folder} is not there yet", "`stormclaw init` makes it"
        return
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as problem:
        text = f"{folder} cannot be written: {problem.strerror}"
        yield "problem", text, f"make it yours: chown -R $USER {folder}; chmod u+rwx {folder}"
        return
    mode = folder.stat().st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield "problem", f"{folder} can be written by others", f"chmod 700 {folder}"
    else:
        yield "ok", f"{folder} can be written"


def keys(patient: Patient) -> Iterator[Result]:
    """Are stored keys safe, and still there?"""
    from stormclaw.config.keys import FILE_NAME, IN_KEYRING, find_key, stored_keys

    path = patient.home / FILE_NAME
    if not path.exists():
        yield "ok", "none stored"
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & READABLE_BY_OTHERS:
        yield "problem", f"{path} can be read by others ({mode:03o})", f"chmod 600 {path}"
    stored = stored_keys(patient.home)
    for name, where in stored.items():
        if where == IN_KEYRING and find_key(name, {}, patient.home) is None:
            text = f"the key of {name} is not in the keyring any more"
            yield "problem", text, f"`stormclaw onboard {name}` stores it again"
    if stored:
        told = ", ".join(f"{name} ({'keyring' if where == IN_KEYRING else FILE_NAME})"
                         for name, where in stored.items())  # fmt: skip
        yield "ok", f"stored: {told}"


def receipts(patient: Patient) -> Iterator[Result]:
    """Is the chain unbroken?"""
    from stormclaw.store.receipts import verify

    if not patient.settings.receipts.enabled:
        yield "warning", "switched off: nothing is written down", "receipts: {enabled: true}"
        return
    path = Path(patient.settings.receipts.path)
    if not path.exists():
        yield "ok", "none yet"
        return
    verification = verify(path)
    if not verification.ok:
        todo = f"keep a copy of {path}; `stormclaw receipt list` shows what is before it"
        yield "problem", sentence(verification), todo
    elif verification.torn:
        yield "warning", sentence(verification), "nothing: the next receipt mends it"
    else:
        yield "ok", sentence(verification)


def index(patient: Patient) -> Iterator[Result]:
    """Can the index over all sessions be read?"""
    from stormclaw.store.memory import Memory

    path = Path(patient.settings.memory.path)
    if not path.exists():
        yield "ok", "none yet"
        return
    memory = Memory(path)
    try:
        count = len(memory.conversations())
    except StormClawError as error:
        yield "problem", str(error), "`stormclaw memory reindex` rebuilds it from the transcripts"
    else:
        yield "ok", f"{count} conversations in {path}"
    finally:
        memory.close()


def sessions(patient: Patient) -> Iterator[Result]:
    """Can every session be read?"""
    from stormclaw.store.sessions import survey

    listing = survey(patient.home)
    for problem in listing.problems[:3]:
        yield "warning", problem, "its transcript is kept as it is; a newer version may read it"
    yield "ok", f"{len(listing.sessions)} sessions"


def disk(patient: Patient) -> Iterator[Result]:
    """Is there room to keep what is said and done?"""
    folder = next(one for one in (patient.home, *patient.home.parents) if one.exists())
    free, files = shutil.disk_usage(folder).free, os.statvfs(folder)
    if free < MIN_FREE or (files.f_files and not files.f_favail):
        text = (
            f"{_size(free)} free at {folder}" if free < MIN_FREE else f"no files left on {folder}"
        )
        yield "problem", text, "nothing runs that cannot be written down: make room"
    elif free < GOOD_FREE:
        yield "warning", f"{_size(free)} free at {folder}", "make room before it is full"
    else:
        yield "ok", f"{_size(free)} free at {folder}"


def stopped(patient: Patient) -> Iterator[Result]:
    """Is the emergency stop set?"""
    from stormclaw.security import estop

    if not estop.is_stopped(patient.home):
        yield "ok", "not set"
        return
    at = estop.since(patient.home)
    when = f", {age(at)}" if at is not None else ""
    text = f"set by {estop.reason(patient.home)}{when}: no tool runs"
    yield "warning", text, "`stormclaw estop --clear` lets tools run again"


def others(patient: Patient) -> Iterator[Result]:
    """Which StormClaws run, and what was left running by those that ended?"""
    from stormclaw.security.halting import find
    from stormclaw.security.running import running

    listing = running(patient.home)
    here = ", ".join(f"{card.pid} ({card.kind}, {card.workspace})" for card in listing.here)
    yield "ok", f"running: {here}" if here else "no StormClaw runs"
    alive = {card.pid for card in listing.here}
    left = [found for found in find(patient.home) if found.stormclaw not in alive]
    if left:
        named = ", ".join(f"{found.proc.pid} {found.command}"[:60] for found in left[:3])
        text = f"{len(left)} processes of ended sessions still run: {named}"
        yield "warning", text, "`stormclaw estop` ends them, then `stormclaw estop --clear`"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= GOOD_FREE else f"{count / 2**20:.0f} MB"


CHECKS: Mapping[str, Check] = {
    "configuration": configuration,
    "trust": trusted,
    "folder": home,
    "keys": keys,
    "receipts": receipts,
    "index": index,
    "sessions": sessions,
    "disk": disk,
    "emergency stop": stopped,
    "running": others,
}

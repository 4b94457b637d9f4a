"""The tamper-evident chain of every attempted call."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from stormclaw.cli.options import place_from
from stormclaw.cli.table import show
from stormclaw.cli.verbs import Verb, add_verbs, run_verb
from stormclaw.commands.chain import told
from stormclaw.errors import UsageError
from stormclaw.protocol.inert import inert
from stormclaw.store.receipts import Key, Receipt, ReceiptLog, receipt_to_json

run = run_verb


def add(parser: argparse.ArgumentParser) -> None:
    """Verbs of `stormclaw receipt`."""
    add_verbs(parser, VERBS)


def _log(options: argparse.Namespace) -> ReceiptLog:
    place = place_from(options)
    chosen = place.settings.receipts
    return ReceiptLog(Path(chosen.path), key=Key.named(chosen.hmac_key_env, place.env))


def _key(options: argparse.Namespace) -> Key:
    place = place_from(options)
    return Key.named(place.settings.receipts.hmac_key_env, place.env)


def _list(options: argparse.Namespace) -> int:
    receipts = _log(options).read(options.limit, options.session)
    if options.as_json:
        show([receipt_to_json(receipt) for receipt in receipts], as_json=True)
        return 0
    entries = [
        {
            "id": receipt.id,
            "time": receipt.timestamp,
            "agent": receipt.extra.get("agent", ""),
            "object": receipt.extra.get("object", receipt.tool),
            "status": receipt.status,
            "risk": receipt.extra.get("verdict", receipt.risk),
            "decided_by": receipt.extra.get("decided_by", ""),
        }
        for receipt in receipts
    ]
    show(entries, as_json=False, empty="no receipt yet")
    return 0


def _show(options: argparse.Namespace) -> int:
    stored = receipt_to_json(_found(_log(options), options.receipt))
    if options.as_json:
        print(json.dumps(stored, indent=2))
        return 0
    width = max(map(len, stored))
    for name, value in stored.items():
        text = value if isinstance(value, str) else json.dumps(value)
        print(f"{inert(name):<{width}}  {' '.join(inert(text).split())}")
    return 0


def _found(log: ReceiptLog, wanted: str) -> Receipt:
    match = re.fullmatch(r"(?:r|receipt-)?0*(\d{1,15})", wanted)
    if match is None:
        raise UsageError(f"{wanted!r} is no receipt; write 211, r211 or receipt-000211")
    found = log.find(int(match[1]))
    if found is None:
        raise UsageError(f"there is no receipt {match[1]}; `stormclaw receipt list` shows them")
    return found


def _verify(options: argparse.Namespace) -> int:
    if options.file is None:
        verification = _log(options).verify()
    else:
        from stormclaw.store.bundle import verify_file

        verification = verify_file(options.file, _key(options))
    if options.as_json:
        print(json.dumps(asdict(verification), indent=2))
    else:
        print(inert("\n".join(told(verification))))
    return 0 if verification.ok else 1


def _rotate(options: argparse.Namespace) -> int:
    receipt, aside = asyncio.run(_log(options).rotate())
    kept = f"the old log is kept as {aside}" if aside else "there was no log to keep"
    print(f"{kept}; {receipt.id} of the new one tells of it")
    return 0


def _export(options: argparse.Namespace) -> int:
    from stormclaw.store import bundle

    log = _log(options)
    exported = bundle.bundle(log.read(), log.verify(), datetime.now(UTC), options.session)
    if options.session and not exported["receipts"]:
        raise UsageError(f"no receipt of session {options.session!r}")
    text = (
        bundle.to_markdown(exported) if options.format == "md" else json.dumps(exported, indent=2)
    )
    print(text.rstrip("\n"))
    return 0


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="newest N (default 50)")
    parser.add_argument("--session", default="", metavar="ID", help="of one session only")


def _one(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("receipt", metavar="N", help="211, r211 or receipt-000211")


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, help="an export, or a log kept elsewhere, instead")


def _how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="of one session only")
    parser.add_argument(
        "--format", choices=("json", "md"), default="json", help="json (default) or Markdown"
    )


VERBS = {
    "list": Verb(
        "The newest receipts, newest last",
        "stormclaw receipt list --limit 20",
        _list,
        _which,
        lists=True,
    ),
    "show": Verb("One receipt, every field", "stormclaw receipt show 211", _show, _one, lists=True),
    "verify": Verb(
        "Replay the chain; names the first broken link (exit 1)",
        "stormclaw receipt verify\n  stormclaw receipt verify --file receipts.json",
        _verify,
        _where,
        lists=True,
    ),
    "export": Verb(
        "Receipts to give away, with all it takes to verify them elsewhere",
        "stormclaw receipt export --session 20261122-014359-k3f9 --format md > receipts.md",
        _export,
        _how,
    ),
    "rotate": Verb(
        "Keep the log aside and begin a new one, whose first receipt tells of it",
        "stormclaw receipt rotate",
        _rotate,
    ),
}

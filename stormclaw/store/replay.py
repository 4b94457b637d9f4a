"""A chain of receipts, replayed: pure, names the first broken link and what the index misses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.sealing import FIRST_PREVIOUS_HASH, Receipt, open_line
from stormclaw.store.tails import is_torn


@dataclass(frozen=True, slots=True)
class Known:
    """What the index beside the log knows of the chain.

    Attributes:
        count: How many receipts there were.
        head: `receipt_hash` of the last of these, 64 zeros if there was none.
        sealed: Whether it carries the seal of the key in use; without one that means nothing.
    """

    count: int
    head: str
    sealed: bool = True


@dataclass(frozen=True, slots=True)
class Verification:
    """What replaying a log showed.

    Attributes:
        ok: No link is broken.
        count: Whole receipts from the first one on, up to the broken link if there is one.
        head: `receipt_hash` of the last of these, 64 zeros if there is none.
        broken_at: Number of the first receipt that is not as it was written, or is missing, or
            cannot be checked.
        reason: One sentence for the person; "" when all is well.
        torn: The last line was cut by a crash while it was written: no tampering, `ok` stays.
        locked: It could not be checked for want of the right key; that says nothing of tampering.
        missing: How many receipts were cut off at the end, as far as the index knows.
        keyed: How many of the receipts are sealed with a key.
        notes: What else is worth knowing, a sentence each; none of it breaks the chain.
    """

    ok: bool
    count: int
    head: str
    broken_at: int | None = None
    reason: str = ""
    torn: bool = False
    locked: bool = False
    missing: int = 0
    keyed: int = 0
    notes: tuple[str, ...] = ()


def verify_lines(
    lines: Iterable[bytes], key: Key = NO_KEY, known: Known | None = None
) -> Verification:
    """Replay a log, line by line with line ends, and find the first broken link.

    Args:
        lines: The log's lines.
        key: Opens the receipts that were sealed with it.
        known: What the index says; None if nothing can be learned from it.
    """
    replay = _Replay(key, known)
    waiting: bytes | None = None
    problem = ""
    for line in lines:
        if waiting is not None:
            return replay.broken(problem)  # The unreadable line was not the last one.
        try:
            receipt, flaw = open_line(line, key)
        except ValueError as error:
            problem, waiting = f"line {replay.count + 1} of the log is {error}", line
            continue
        if reason := replay.flaw(receipt, flaw):
            return replay.broken(reason)
        replay.take(receipt)
    if waiting is not None and not is_torn(waiting):
        return replay.broken(problem)
    return replay.ended(torn=waiting is not None)


def continues(receipt: Receipt | None, known: Known, key: Key) -> bool:
    """Whether a log's first receipt says that the person began anew where the index stood.

    Where the index carries the seal of the key, only a receipt sealed with it may say so.
    """
    told: Any = receipt.extra.get("continues") if receipt and receipt.number == 1 else None
    if receipt is None or not isinstance(told, dict):
        return False
    if key.secret and known.sealed and receipt.extra.get("key_id") != key.id:
        return False
    return (told.get("index_count"), told.get("index_head")) == (known.count, known.head)


def differs(receipt: Receipt, known: Known, key: Key) -> str:
    """Why a receipt is not the one the index has at its number, "" if it is."""
    if known.head != receipt.receipt_hash:
        return f"receipt {receipt.number} is not the one the index knows: the log was written anew"
    if receipt.keyed and receipt.extra.get("key_id") == key.id and not known.sealed:
        return f"receipt {receipt.number} stands in an index that was written without the key"
    return ""


@dataclass(slots=True)
class _Replay:
    """How far a replay has come."""

    key: Key
    known: Known | None
    count: int = 0
    head: str = FIRST_PREVIOUS_HASH
    keyed: int = 0
    locked: str = ""
    locked_at: int = 0
    notes: list[str] = field(default_factory=list)

    def flaw(self, receipt: Receipt, flaw: str) -> str:
        """Why this is not the receipt that was written at the next place, "" if it is."""
        here, number, extra = self.count + 1, receipt.number, receipt.extra
        if flaw:
            return f"receipt {here} {flaw}"
        if number > here:
            return f"receipt {here} is missing, receipt {number} stands in its place"
        if number < here:
            return f"receipt {here} is missing, receipt {number} stands there once more"
        if receipt.previous_hash != self.head:
            return f"receipt {here} does not follow from the one before it"
        if receipt.id != f"receipt-{number:06}":
            return f"receipt {here} calls itself {receipt.id!r}"
        if self.keyed and not receipt.keyed:
            return f"receipt {here} is not sealed with the key, the one before it is"
        if gap := extra.get("gap"):
            return f"receipt {here} was written after a gap: {gap}"
        if self.known and self.known.count == here and not continues(receipt, self.known, self.key):
            return differs(receipt, self.known, self.key)
        return ""

    def take(self, receipt: Receipt) -> None:
        """Go on behind a receipt that is as it was written."""
        self.count, self.head = receipt.number, receipt.receipt_hash
        if self.known and continues(receipt, self.known, self.key):
            self.known = None  # It speaks of the log before.
        if receipt.keyed:
            self.keyed += 1
            self._unlock(receipt)
        if told := receipt.extra.get("index"):
            self.notes.append(f"receipt {self.count}: the index was {told}")
        if isinstance(told := receipt.extra.get("continues"), dict):
            self.notes.append(
                f"the log was begun anew after {told.get('count')} receipts (head "
                f"{str(told.get('head'))[:8]}), kept in {told.get('file') or 'no file'}: "
                f"{told.get('said')}"
            )

    def _unlock(self, receipt: Receipt) -> None:
        theirs = receipt.extra.get("key_id")
        if self.locked or theirs == self.key.id:
            return
        self.locked_at = receipt.number
        self.locked = (
            f"receipt {receipt.number} was sealed with another key (its id is {theirs}, that of "
            f"the key in {self.key.variable or 'use'} is {self.key.id})"
            if self.key.secret
            else f"from receipt {receipt.number} on they are sealed with a key that is not there: "
            f"{_where(self.key)}"
        )

    def broken(self, reason: str) -> Verification:
        """The chain breaks at the next receipt."""
        here = self.count + 1
        if f"receipt {here}" not in reason:
            reason = f"receipt {here}: {reason}"
        return self._verification(False, here, reason)

    def ended(self, *, torn: bool) -> Verification:
        """All lines were taken; `torn`: but the last one, which a crash cut."""
        ahead = self.count - self.known.count if self.known else 0
        if ahead < 0:
            cut = f"the log was cut after receipt {self.count}"
            if not self.count:
                cut = (
                    "the log is empty or gone. If you moved it away yourself, `stormclaw receipt "
                    "rotate` records that and begins a new one"
                )
            reason = f"{_receipts(-ahead)} missing at the end: {cut}"
            return self._verification(False, self.count + 1, reason, missing=-ahead)
        if self.locked:
            return self._verification(False, self.locked_at, self.locked, locked=True)
        if ahead > 1:
            self.notes.append(f"the last {ahead} receipts were written without the index")
        reason = f"a crash tore the line after receipt {self.count}; all before it is unbroken"
        return self._verification(True, None, reason if torn else "", torn=torn)

    def _verification(
        self,
        ok: bool,
        broken_at: int | None,
        reason: str,
        *,
        torn: bool = False,
        locked: bool = False,
        missing: int = 0,
    ) -> Verification:
        return Verification(
            ok,
            self.count,
            self.head,
            broken_at,
            reason,
            torn,
            locked,
            missing,
            self.keyed,
            tuple(self.notes),
        )


def _receipts(count: int) -> str:
    return f"{count} receipt{' is' if count == 1 else 's are'}"


def _where(key: Key) -> str:
    if key.variable:
        return f"set {key.variable}, as receipts.hmac_key_env says"
    return "name the environment variable that holds it in receipts.hmac_key_env"

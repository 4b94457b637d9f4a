"""What a verification of the receipts comes to, in one sentence."""

from __future__ import annotations

from stormclaw.store.receipts import Verification


def sentence(verification: Verification) -> str:
    """`214 receipts, chain unbroken, head 9f3c07a4`, or where it breaks and why."""
    if verification.locked:
        return f"cannot be verified: {verification.reason}"
    if not verification.ok:
        return f"invalid chain at receipt {verification.broken_at}: {verification.reason}"
    count = verification.count
    parts = [f"{count} receipt{'' if count == 1 else 's'}", "chain unbroken"]
    if verification.keyed:
        parts.append(
            "sealed with the key" if verification.keyed == count else _partly(verification)
        )
    if count:
        parts.append(f"head {verification.head[:8]}")
    torn = "; the last line is torn (a crash while writing), the rest is good"
    return ", ".join(parts) + (torn if verification.torn else "")


def told(verification: Verification) -> tuple[str, ...]:
    """The sentence and what else is worth knowing, a line each."""
    return (sentence(verification), *verification.notes)


def _partly(verification: Verification) -> str:
    first = verification.count - verification.keyed + 1
    return f"sealed with the key from receipt {first} on"

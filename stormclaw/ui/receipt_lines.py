"""A receipt in words: one line of the list, and everything it says."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from stormclaw.protocol.effects import Risk
from stormclaw.ui.rows import BLANK, Row, Run, spread
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import one_line

if TYPE_CHECKING:
    from stormclaw.store.receipts import Receipt


def sizes_of(width: int) -> tuple[int, int, int, int]:
    """Cells of id, time, agent and tool; a narrow list leaves the agent out."""
    return (6, 10, 10, 7) if width >= 64 else (6, 10, 0, 7)


def risk_of(receipt: Receipt) -> Risk:
    """As judged; the log keeps `blocked` beside its three classes."""
    return "blocked" if receipt.extra.get("verdict") == "blocked" else receipt.risk


def facts_of(receipt: Receipt) -> tuple[str, str, str, str, str, str, str]:
    """Id, time, agent, tool, object, risk, decided by."""
    extra = receipt.extra
    verb, _, thing = one_line(str(extra.get("object", ""))).partition(" ")
    return (
        f"r{receipt.number}",
        _local_time(receipt.timestamp),
        one_line(str(extra.get("agent", "root"))).rpartition("/")[2],
        verb or one_line(receipt.tool),
        thing,
        str(risk_of(receipt)),
        one_line(str(extra.get("decided_by", ""))),
    )


def _local_time(timestamp: str) -> str:
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return one_line(timestamp)[11:19]
    return moment.astimezone().strftime("%H:%M:%S")


def detail_rows(receipt: Receipt, width: int, signs: Signs) -> list[Row]:
    """Everything a receipt says."""
    extra, risk = receipt.extra, risk_of(receipt)
    agent = one_line(str(extra.get("agent", "root")))
    parent, _, name = agent.rpartition("/")
    under = f" under {parent.rpartition('/')[2]}" if parent else ""

    def short(digest: str) -> str:
        return f"{digest[:6]}{signs.elided}{digest[-2:]}"

    rows = [
        spread(
            (Run(f"r{receipt.number}", "text", "b"), Run(f"  {name}{under}", "muted")),
            (Run(f"{signs.risk(risk)} {risk}", f"risk-{risk}"),),
            width,
        ),
        BLANK,
    ]
    rule = (one_line(str(extra.get("rule", ""))), one_line(str(extra.get("rule_at", ""))))
    told = (str(extra.get("summary", "")), f"decided by {extra.get('decided_by') or 'policy'}")
    answered = one_line(", ".join(filter(None, told)))
    facts = (
        ("asked", one_line(str(extra.get("object", ""))) or receipt.tool, receipt.tool),
        ("answer", receipt.status, answered),
        ("rule", *rule),
        ("model", one_line(str(extra.get("model", ""))), one_line(str(extra.get("autonomy", "")))),
        ("chain", short(receipt.receipt_hash), f"after {short(receipt.previous_hash)}"),
        ("args", f"sha256 {short(receipt.args_hash)}", f"result {short(receipt.result_hash)}"),
    )
    for label, value, aside in facts:
        if value or aside:
            runs = (Run(f"{label:<9}", "muted"), Run(value), Run(f"  {aside}", "muted"))
            rows.append(spread(runs, (), width, mark=signs.elided))
    return rows

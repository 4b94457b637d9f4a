"""Is everything as it should be? Many small checks side by side, none of which can stop others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stormclaw.config.place import Place
from stormclaw.config.settings import Settings

LOG = logging.getLogger(__name__)

LIMIT_S = 10.0
"""How long all checks together may take; each begins at once."""

State: TypeAlias = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at.

    Attributes:
        home: StormClaw's own folder.
        workspace: The folder worked in.
        env: The environment.
        settings: In force; the defaults where the configuration cannot be read.
        place: The same with its origins, None where the configuration cannot be read.
        complaint: Why the configuration cannot be read, "" if it can.
        at_terminal: Whether a person sits at a terminal.
        size: Columns and lines of the terminal.
    """

    home: Path
    workspace: Path
    env: Mapping[str, str]
    settings: Settings
    place: Place | None
    complaint: str
    at_terminal: bool
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check came to.

    Attributes:
        check: Its name.
        state: ok, warning (works, but less well), problem (something does not work).
        text: What was found.
        todo: What to do next, "" where nothing is to be done.
    """

    check: str
    state: State
    text: str
    todo: str = ""


Result: TypeAlias = tuple[State, str] | tuple[State, str, str]
"""State, what was found, what to do next."""

Check: TypeAlias = Callable[[Patient], Iterable[Result]]


def checks() -> Mapping[str, Check]:
    """Every check by name, in the order they are told."""
    from stormclaw.commands import checks_home, checks_machine, checks_network, checks_terminal

    return {
        **checks_terminal.CHECKS,
        **checks_machine.CHECKS,
        **checks_network.CHECKS,
        **checks_home.CHECKS,
    }


def examine(
    patient: Patient, table: Mapping[str, Check] | None = None, limit_s: float = LIMIT_S
) -> tuple[Finding, ...]:
    """Run all checks side by side; one that crashes or hangs is a finding like any other. Blocks.

    Args:
        patient: What is looked at.
        table: The checks; None for all there are.
        limit_s: After this many seconds those that have not ended are left to themselves.
    """
    wanted = checks() if table is None else table
    found: dict[str, Sequence[Finding]] = {}
    threads = {
        # Daemons: one that hangs in a system call must not keep the program.
        name: threading.Thread(target=_run, args=(name, check, patient, found), daemon=True)
        for name, check in wanted.items()
    }
    for thread in threads.values():
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads.values():
        thread.join(max(0.0, until - time.monotonic()))
    late = "did not answer in time"
    return tuple(
        finding
        for name in wanted
        for finding in found.get(
            name, (Finding(name, "problem", late, "see whether it hangs for you, too"),)
        )
    )


def sound(findings: Iterable[Finding]) -> bool:
    """Whether there is no problem; warnings are none."""
    return all(finding.state != "problem" for finding in findings)


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """A line each, and under what is not well what to do next."""
    width = max((len(finding.check) for finding in findings), default=0)
    for finding in findings:
        yield f"{finding.state:<8} {finding.check:<{width}}  {finding.text}"
        if finding.todo:
            yield f"{'':<8} {'':<{width}}  -> {finding.todo}"
    counts = {
        state: sum(one.state == state for one in findings) for state in ("warning", "problem")
    }
    yield ", ".join(
        f"{count} {state}{'' if count == 1 else 's'}" if count else f"no {state}"
        for state, count in counts.items()
    )


def as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The same for machines."""
    return [asdict(finding) for finding in findings]


def _run(name: str, check: Check, patient: Patient, found: dict[str, Sequence[Finding]]) -> None:
    try:
        found[name] = [Finding(name, *result) for result in check(patient)]
    except Exception as error:
        LOG.exception("the check %s stumbled", name)
        text = f"could not be checked: {type(error).__name__}: {error}"
        found[name] = [Finding(name, "problem", text, "a fault of ours; `-v` shows more")]

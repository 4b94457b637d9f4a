"""Runs the tests; what failed is run once more, alone, and what passes only then is told loudly.

python tests/twice.py [options of pytest]: used by `make test`. A test that is unsteady does not
stop everybody, and does not go unseen. Where more than a few fail something is broken: no second
run then, nor when pytest itself was stopped or could not begin.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILED = 1
"""What pytest ends with when tests ran and some failed."""
MOST = 10
"""So many unsteady tests at once are believed."""
LAST_FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")


def main(options: Sequence[str]) -> int:
    """Run everything, then perhaps what failed; what the last of the two runs ended with."""
    first = pytest("--cache-clear", *options)
    failed = last_failed() if first == FAILED else []
    if not 0 < len(failed) <= MOST:
        return first
    print(f"\n{len(failed)} failed; once more, alone:", *failed, sep="\n  ", flush=True)
    second = pytest("--last-failed", "--last-failed-no-failures=none", *options, "-n0")
    again = set(last_failed()) if second else set()
    unsteady = [test for test in failed if test not in again]
    if second in (0, FAILED) and unsteady:
        rule = "!" * 78
        print(f"\n{rule}\nUNSTEADY: failed, and passed when run again alone:")
        print(*unsteady, sep="\n", end="\n\n")
        print(f"Each is a fault to be mended: CONTRIBUTING.md, 'Unsteady tests'.\n{rule}")
    return second


def pytest(*options: str) -> int:
    """Run pytest; what it ended with."""
    return subprocess.run([sys.executable, "-m", "pytest", *options], check=False).returncode


def last_failed() -> list[str]:
    """What failed in the last run, and has not passed since."""
    try:
        return sorted(json.loads(LAST_FAILED.read_text("utf-8")))
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

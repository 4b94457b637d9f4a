"""`python -m stormclaw` and the `stormclaw` executable."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    if sys.platform == "win32":
        sys.stderr.write("stormclaw runs on Unix (Linux, macOS, WSL), not on Windows itself\n")
        return 1
    sys.path[:] = [entry for entry in sys.path if not _foreign(entry)]
    gc.disable()  # Most commands are over before it would pay; what lives on enables it again.
    from stormclaw.cli.main import run

    return run(sys.argv[1:])


def _foreign(entry: str) -> bool:
    """Whether modules would be imported from the folder we were started in: a project's, not ours.

    `python -m` and an empty part of PYTHONPATH put it there. Our own package's folder stays.
    """
    here = os.path.realpath(entry or os.curdir)
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    return here == os.path.realpath(os.curdir) and here != ours


if __name__ == "__main__":
    sys.exit(main())

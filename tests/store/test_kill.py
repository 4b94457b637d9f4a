"""However a writer is killed, everything it was promised is there and everything goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import tries

import stormclaw

ROUNDS = int(os.environ.get("STORMCLAW_KILLS", tries(12, 200)))
"""`STORMCLAW_KILLS=1000 pytest tests/store/test_kill.py` for a long run."""

PROGRAM = Path(__file__).with_name("kill_rounds.py")


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_promised_is_lost_to_kill_9(tmp_path: Path, seed: int) -> None:
    rounds = max(1, ROUNDS // 2)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(stormclaw.__file__).parents[1])}

    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, str(seed), str(rounds)],
        capture_output=True,
        text=True,
        env=environ,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["killed"] == rounds

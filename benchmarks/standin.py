"""The scripted model server as seen from the measurements: started, asked for its log, ended."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.server import Exchange


@dataclass(frozen=True, slots=True)
class StandIn:
    """A running server."""

    port: int

    @property
    def base_url(self) -> str:
        """What a configuration names."""
        return f"http://127.0.0.1:{self.port}/v1"

    def log(self) -> list[Exchange]:
        """The exchanges since the last call, oldest first."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/log", timeout=10) as answer:
            return [Exchange(**fields) for fields in json.load(answer)]


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """A server in a process of its own, ended on the way out."""
    argv = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or not (line := server.stdout.readline()):
                raise RuntimeError("the scripted server did not start")
            yield StandIn(int(line))
        finally:
            server.terminate()

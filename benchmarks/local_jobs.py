"""`python -m benchmarks.local_jobs`: ten small coding jobs for a local model, and how many it does.

`STORMCLAW_BENCH_GGUF` names the model's file. Without it the smallest model there is plays: that
shows that everything holds together, and says nothing about what a model can do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.programs import ROOT
from stormclaw.config.place import find_place
from stormclaw.protocol.events import TurnEnded
from stormclaw.protocol.messages import NO_USAGE, AssistantTurn, Usage, outcome_of
from stormclaw.providers.local_models import label_of
from stormclaw.providers.registry import kinds
from stormclaw.runtime import open_runtime

TOOLS = ("read_file", "list_files", "grep", "edit_file", "write_file", "shell_exec")
ROUNDS = 8


@dataclass(frozen=True)
class Job:
    """One thing to do, and whether it was done.

    Attributes:
        name: In the table.
        prompt: What the person says.
        files: What is there.
        done: Judges the project and the last words.
    """

    name: str
    prompt: str
    files: Mapping[str, str]
    done: Callable[[Path, str], bool]


def prints(project: Path, code: str, wanted: str) -> bool:
    """Whether Python in the project prints that; what the model wrote may do anything but hang."""
    try:
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=10
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.stdout.strip() == wanted


def has(project: Path, name: str, *parts: str) -> bool:
    path = project / name
    return path.is_file() and all(part in path.read_text() for part in parts)


SHAPES = "def area(width, height):\n    return width * height + 1\n"
BROKEN = """\
def total(numbers):
    result = 0
    for n in numbers:
        result = n
    return result
"""
TEST = "from sums import total\n\nassert total([1, 2, 3]) == 6\nprint('ok')\n"

JOBS = (
    Job(
        "read",
        "What does area(3, 4) in shapes.py return? Read the file first.",
        {"shapes.py": SHAPES},
        lambda _, said: "13" in said,
    ),
    Job(
        "find",
        "Which file defines the function load_config?",
        {
            "app/main.py": "from conf.loader import load_config\n",
            "conf/loader.py": "def load_config():\n    return {}\n",
        },
        lambda _, said: "loader.py" in said,
    ),
    Job(
        "create",
        "Create hello.py that prints hello.",
        {"README.md": "# Demo\n"},
        lambda project, _: (
            (project / "hello.py").is_file() and prints(project, "import hello", "hello")
        ),
    ),
    Job(
        "constant",
        "In settings.py change TIMEOUT to 30.",
        {"settings.py": "RETRIES = 3\nTIMEOUT = 10\n"},
        lambda project, _: has(project, "settings.py", "RETRIES = 3", "TIMEOUT = 30"),
    ),
    Job(
        "fix",
        "test_sums.py fails because of a bug in sums.py. Fix the bug.",
        {"sums.py": BROKEN, "test_sums.py": TEST},
        lambda project, _: (
            prints(project, "import test_sums", "ok") and has(project, "test_sums.py", "== 6")
        ),
    ),
    Job(
        "rename",
        "In tools.py rename the function helper to parse_line, also where it is called.",
        {"tools.py": "def helper(x):\n    return x.strip()\n\n\nprint(helper(' a '))\n"},
        lambda project, _: (
            not has(project, "tools.py", "helper") and prints(project, "import tools", "a")
        ),
    ),
    Job(
        "add",
        "Add a function is_even(n) to numbers_util.py.",
        {"numbers_util.py": "def is_odd(n):\n    return n % 2 == 1\n"},
        lambda project, _: prints(
            project,
            "from numbers_util import *; print(is_even(4), is_even(3), is_odd(3))",
            "True False True",
        ),
    ),
    Job(
        "run",
        "Run `python3 check.py` and tell me the number it prints.",
        {"check.py": "print(17 * 248 + 1)\n"},
        lambda _, said: "4217" in said.replace(",", ""),
    ),
    Job(
        "count",
        "How many Python files are in the folder pkg?",
        {f"pkg/{name}": "" for name in ("a.py", "b.py", "c.py", "notes.txt")},
        lambda _, said: "3" in said or "three" in said.lower(),
    ),
    Job(
        "append",
        "Add the line `License: MIT` to the end of README.md and keep the rest.",
        {"README.md": "# Demo\n\nA small demo.\n"},
        lambda project, _: has(project, "README.md", "# Demo", "A small demo.", "License: MIT"),
    ),
)


@dataclass(frozen=True)
class Result:
    """What became of a job."""

    done: bool
    seconds: float
    calls: int
    failed: int
    usage: Usage
    error: str = ""


async def attempt(job: Job, model: Path, rounds: int, tokens: int) -> Result:
    """One job in a project of its own, through the loop, with nobody to ask."""
    with tempfile.TemporaryDirectory(prefix="stormclaw-job-") as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        home.mkdir()
        for name, text in job.files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        local = {"kind": "llama", "path": str(model), "max_tokens": tokens}
        (home / "config.yaml").write_text(
            yaml.safe_dump(
                {
                    "default_provider": "bench",
                    "providers": {"models": {"bench": local}},
                    "agents": {"tools_allow": list(TOOLS)},
                    "limits": {"max_tool_rounds": rounds},
                    "security": {"autonomy": "full"},
                }
            )
        )
        env = {**os.environ, "STORMCLAW_HOME": str(home)}
        place = find_place(cwd=project, workspace=project, env=env, flags={}, kinds=kinds())
        runtime = await open_runtime(place, "cli", attended=False)
        try:
            await runtime.warm_up()
            began = time.monotonic()
            events = runtime.session.events()
            runtime.session.prompt(job.prompt)
            async for event in events:
                if isinstance(event, TurnEnded):
                    break
            await runtime.session.idle()
            seconds = time.monotonic() - began
            bodies = [node.body for node in runtime.session.nodes()]
        finally:
            await runtime.close()
        turns = [body for body in bodies if isinstance(body, AssistantTurn)]
        outcomes = [found for body in bodies if (found := outcome_of(body))]
        said = turns[-1].text if turns else ""
        return Result(
            job.done(project, said),
            seconds,
            len(outcomes),
            sum(outcome.status != "done" for outcome in outcomes),
            sum((turn.usage for turn in turns), NO_USAGE),
        )


async def measure(model: Path, names: list[str], *, shape_only: bool) -> int:
    """All jobs, a line each; the number done."""
    rounds, tokens = (2, 48) if shape_only else (ROUNDS, 1_024)
    done = asked = 0
    print(
        f"{'job':<10}{'done':<6}{'s':>7}{'calls':>7}{'failed':>8}{'read':>8}{'cached':>8}{'wrote':>7}"
    )
    for job in JOBS:
        if names and job.name not in names:
            continue
        result = await attempt(job, model, rounds, tokens)
        asked += 1
        done += result.done
        usage = result.usage
        print(
            f"{job.name:<10}{'yes' if result.done else 'no':<6}{result.seconds:>7.1f}"
            f"{result.calls:>7}{result.failed:>8}{usage.input_tokens:>8}"
            f"{usage.cached_tokens:>8}{usage.output_tokens:>7}",
            flush=True,
        )
    print(f"\n{done} of {asked} jobs done by {label_of(model)}")
    if shape_only:
        print("shape only: this model is far too small for work; set STORMCLAW_BENCH_GGUF")
    return done


def main() -> int:
    """Run the jobs; 1 where there is no model at all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", help="only these", choices=[[], *(j.name for j in JOBS)])
    options = parser.parse_args()
    named = os.environ.get("STORMCLAW_BENCH_GGUF", "")
    model = Path(named) if named else smallest()
    if model is None or not model.is_file():
        sys.stderr.write("no model: set STORMCLAW_BENCH_GGUF to a GGUF file\n")
        return 1
    asyncio.run(measure(model, options.jobs, shape_only=not named))
    return 0


def smallest() -> Path | None:
    """The test model, where it is installed."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from llama_server import model_file

    return model_file()


if __name__ == "__main__":
    sys.exit(main())

"""How the programs under test are started: in a folder of their own, with nothing from outside."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.server import FILE_PATTERN, MODEL
from benchmarks.terminal import Terminal

ROOT: Final = Path(__file__).resolve().parent.parent
FILES: Final = 60

_CONFIG: Final = """\
default_provider: bench
providers:
  models:
    bench: {{kind: openai-compatible, base_url: "{base_url}", model: {model}}}
memory: {{path: {home}/memory.sqlite}}
receipts: {{path: {home}/tool_receipts.log}}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """Something that can be started in a terminal.

    Attributes:
        name: `stormclaw` or `floor`.
        argv: What is run.
        env: The whole environment.
        cwd: The folder it is run in.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path

    def open(self) -> Terminal:
        """Start it in a terminal."""
        return Terminal(self.argv, env=self.env, cwd=self.cwd)


@dataclass(frozen=True, slots=True)
class Place:
    """A home folder, a workspace, a server: one world for programs to run in."""

    folder: Path
    base_url: str
    port: int

    @property
    def home(self) -> Path:
        """STORMCLAW_HOME."""
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        """Where they work."""
        return self.folder / "project"

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the person's own environment but the way to programs."""
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "STORMCLAW_HOME": str(self.home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
        }

    def stormclaw(self, *options: str) -> Program:
        """The program under test: its installed executable, else the package."""
        script = Path(sys.executable).with_name("stormclaw")
        argv: Sequence[str] = (
            [str(script)] if script.exists() else [sys.executable, "-m", "stormclaw"]
        )
        return Program("stormclaw", (*argv, *options), self.env, self.workspace)

    def floor(self) -> Program:
        """The bare Textual app."""
        return self._python("floor", f"from benchmarks.floor import main; main({self.port})")

    def client(self, prompt: str) -> Program:
        """The bare client without a screen."""
        code = f"from benchmarks.client import main; main({self.port}, {prompt!r})"
        return self._python("bare client", code)

    def _python(self, name: str, code: str) -> Program:
        return Program(name, (sys.executable, "-c", code), self.env, self.workspace)


def make_place(folder: Path, base_url: str, port: int) -> Place:
    """Lay out a home and a workspace with files to read."""
    place = Place(folder, base_url, port)
    place.home.mkdir(parents=True)
    config = _CONFIG.format(base_url=base_url, model=MODEL, home=place.home)
    (place.home / "config.yaml").write_text(config)
    place.workspace.mkdir()
    for number in range(FILES):
        lines = "".join(f"line {line} of part {number}\n" for line in range(1, 41))
        (place.workspace / FILE_PATTERN.format(number)).write_text(lines)
    return place

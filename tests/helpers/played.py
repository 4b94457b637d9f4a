"""A program that plays recorded lines, for CLIs that cannot be had in a test.

It keeps what it was told: its arguments, its standard input, some of its environment.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stormclaw.protocol.effects import Autonomy
from stormclaw.protocol.messages import ToolCall, UserText
from stormclaw.protocol.provider import ChatRequest, Hands, Ruling

SCRIPT = """#!{python}
import json, os, sys
told = {{"argv": sys.argv[1:], "stdin": sys.stdin.read(), "environ": dict(os.environ)}}
told["files"] = {{word: open(word).read() for word in sys.argv if os.path.isfile(word)}}
open({told!r}, "w").write(json.dumps(told))
sys.stdout.write(open({lines!r}).read())
sys.stderr.write({stderr!r})
sys.exit({code})
"""


@dataclass(frozen=True)
class Played:
    """The program, and where it writes down what it was told."""

    command: str
    notes: Path

    @property
    def told(self) -> Any:
        """argv, stdin, environ and the text of files among its arguments."""
        return json.loads(self.notes.read_text())


def played(folder: Path, lines: str, *, stderr: str = "", code: int = 0) -> Played:
    """A program that says these lines and ends."""
    program, notes, said = (folder / name for name in ("program", "told.json", "lines"))
    said.write_text(lines)
    script = SCRIPT.format(
        python=sys.executable, told=str(notes), lines=str(said), stderr=stderr, code=code
    )
    program.write_text(script)
    program.chmod(0o755)
    return Played(str(program), notes)


def asked(workspace: Path, autonomy: Autonomy | None, **environ: str) -> ChatRequest:
    """A request; `autonomy` None gives no hands. Nothing is permitted."""

    async def permit(call: ToolCall) -> Ruling:
        raise AssertionError(f"nobody is asked about {call.name}")

    given = {"PATH": os.environ["PATH"], **environ}
    hands = Hands(workspace, given, autonomy, permit) if autonomy else None
    return ChatRequest("Be kind.", (UserText("do it"),), (), "", hands=hands)

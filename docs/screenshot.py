"""Draws docs/screenshot.svg: the program itself, at work on a small project, asking for a yes.

Run by `make screenshot`. Nothing is staged but the model's words: the tools, the diff, the receipts
and the sub-agent are real.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from stormclaw.agent.hub import Subscription
from stormclaw.config.place import Place, find_place
from stormclaw.protocol.events import Asked
from stormclaw.runtime import Runtime, open_runtime
from stormclaw.ui.app import StormApp
from stormclaw.ui.start import Start

TARGET = Path(__file__).with_name("screenshot.svg")
SIZE = (120, 36)
PROMPT = "Back off when a 429 has no Retry-After, and stop after five tries."

RETRY = '''\
"""Calls that may fail."""

from asyncio import sleep


class Client:
    def __init__(self, base=0, cap=30.0):
        self.base, self.cap = base, cap

    async def call(self, request):
        for n in range(3):
            reply = await self.send(request)
            if reply.status != 429:
                return reply
            await sleep(0)
'''

SCRIPT = r"""
turns:
  - text: "`call()` has no ceiling and sleeps for zero seconds. I look at who relies on that."
    thinking: "Three tries and no pause: a strict server sees a burst. Who else calls it?"
    calls:
      - {name: read_file, arguments: {path: src/tide/retry.py}}
      - {name: grep, arguments: {pattern: "Client", path: tests}}
      - {name: spawn_agent, arguments: {name: scout, task: "Find every retry loop here."}}
    usage: {input_tokens: 9200, output_tokens: 412, cost_usd: 0.31}
  - text: |
      Two loops, one of them without a pause. This backs off and stops after five tries:

      ```python
      delay = min(self.cap, self.base * 2 ** attempt)
      await sleep(delay)
      ```
    calls:
      - name: edit_file
        arguments:
          path: src/tide/retry.py
          old_string: "        for n in range(3):"
          new_string: "        for n in range(self.attempts):"
    usage: {input_tokens: 11800, output_tokens: 260, cost_usd: 0.09}
agents:
  scout:
    turns:
      - calls: [{name: grep, arguments: {pattern: "for n in range", path: src}}]
        usage: {input_tokens: 2100, output_tokens: 40, cost_usd: 0.01}
      - text: "2 retry loops in 3 files."
        usage: {input_tokens: 2400, output_tokens: 30, cost_usd: 0.01}
"""

CONFIG = """
default_provider: openrouter
agents: {budget_usd: 2.0}
providers:
  models:
    openrouter: {kind: mock, model: anthropic/sonnet-4.5, script: SCRIPT}
"""


def main() -> None:
    """Draw the picture."""
    os.environ.update(TEXTUAL_ANIMATIONS="none", TERM="xterm-256color", COLORTERM="truecolor")
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_draw(_project(Path(folder))))


def _project(folder: Path) -> Place:
    project, home = folder / "tidepool", folder / "home"
    files = {
        project / ".git" / "HEAD": "ref: refs/heads/main\n",
        project / "src" / "tide" / "retry.py": RETRY,
        project / "tests" / "test_retry.py": "from tide.retry import Client\n",
        folder / "script.yaml": SCRIPT,
        home / "config.yaml": CONFIG.replace("SCRIPT", str(folder / "script.yaml")),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = {"HOME": str(folder), "STORMCLAW_HOME": str(home), "PATH": os.environ["PATH"]}
    return find_place(cwd=project, workspace=project, env=env, flags={})


async def _draw(place: Place) -> None:
    asked = asyncio.Event()

    async def opener() -> Runtime:
        runtime = await open_runtime(place, "tui", attended=True)
        runtime.beside(_wait_for_a_question(runtime.session.events(), asked))
        return runtime

    start = Start(home=place.home, workspace=place.workspace, branch="main", prompt=PROMPT)
    app = StormApp(start, opener)
    async with app.run_test(size=SIZE) as pilot:
        await asyncio.wait_for(asked.wait(), 30)
        await pilot.pause(1.2)
        TARGET.write_text(app.export_screenshot(title="stormclaw"))


async def _wait_for_a_question(events: Subscription, asked: asyncio.Event) -> None:
    async for event in events:
        if isinstance(event, Asked):
            asked.set()


if __name__ == "__main__":
    main()

"""One answer over `codex exec --json`, where there is no app-server.

Nothing can be asked on this way. So either codex may do everything (autonomy `full`), or it is left
without its shell, behind walls that let it write nothing. Nor can it be seen whether codex' own
record of a conversation is still ours, so it is told all of it each time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Final

from stormclaw.errors import ProviderError
from stormclaw.protocol.provider import ChatResponse, Delta
from stormclaw.providers._codex.exec import Lines
from stormclaw.providers._codex.job import Job
from stormclaw.providers._codex.rpc import ended
from stormclaw.providers._codex.turn import Turn
from stormclaw.providers._programs.hands import retold
from stormclaw.providers._programs.process import Program, Silence

ANYTHING: Final = ("--dangerously-bypass-approvals-and-sandbox",)
UNTOLD: Final = "[codex did not tell how it ended]"
NOTHING: Final = ("--sandbox", "read-only", "-c", "features.shell_tool=false")


async def executed(job: Job) -> AsyncGenerator[Delta | ChatResponse, None]:
    """The answer.

    Raises:
        ProviderError: The turn failed.
    """
    text = retold(job.request.messages)
    if job.request.system_prompt:
        text = f"<instructions>\n{job.request.system_prompt}\n</instructions>\n\n{text}"
    lines = Lines()
    program = await Program.start(tuple(arguments(job)), cwd=job.workspace, environ=job.environ)
    try:
        await program.write(text.encode())
        program.end_input()
        turn = Turn(job.model, job.call_of, job.observed, lambda _: "", UNTOLD)
        while (line := await _line(program, turn, job)) is not None:
            for event in lines.read(line):
                for item in turn.take(event):
                    yield item
                    if isinstance(item, ChatResponse):
                        return
        await program.ended(1.0)
        error = ended(program)
        error.partial = turn.partial
        raise error
    finally:
        await program.stop()


def arguments(job: Job) -> Iterator[str]:
    """The command line; what is said goes over standard input."""
    yield from (job.program, "exec", "--json", "--skip-git-repo-check")
    yield from ANYTHING if job.free else NOTHING
    yield from _flags("", job.config())
    if job.model:
        yield from ("--model", job.model)
    if job.effort:
        yield from ("-c", f"model_reasoning_effort={json.dumps(job.effort)}")
    yield from ("--ephemeral", *job.args, "-")


def _flags(prefix: str, config: Mapping[str, Any]) -> Iterator[str]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flags(f"{prefix}{name}.", value)
        else:
            yield from ("-c", f"{prefix}{name}={json.dumps(value)}")


async def _line(program: Program, turn: Turn, job: Job) -> bytes | None:
    limit_s = job.tool_s if turn.open else job.idle_s
    try:
        return await program.line(limit_s)
    except Silence:
        raise ProviderError(
            "timeout", f"codex said nothing for {limit_s:g} s", partial=turn.partial
        ) from None

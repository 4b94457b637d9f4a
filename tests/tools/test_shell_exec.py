"""Shell lines: what they say, how they end, and that nothing of them stays behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Shell
from stormclaw.protocol.effects import Runs
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import shell_exec

Call = Callable[..., Coroutine[Any, Any, ToolResult]]


class Witness:
    """A named pipe that processes hold open for writing: when it ends, all of them are gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self.reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.writing = os.open(path, os.O_WRONLY)  # so that reading waits for the first words
        os.set_blocking(self.reading, True)

    async def told(self, words: str) -> None:
        """Wait until the processes have said these lines, in any order."""
        wanted, raw = sorted(words.split()), b""
        while sorted(raw.decode().split()) != wanted:
            raw += await asyncio.to_thread(os.read, self.reading, 4096)

    async def ended(self) -> bool:
        """Wait until nobody holds the pipe any more."""
        os.close(self.writing)
        while await asyncio.to_thread(os.read, self.reading, 4096):
            continue
        os.close(self.reading)
        return True


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness")


async def test_output_and_exit_code(ctx: ToolContext, call: Call) -> None:
    result = await call("shell_exec", command="echo out; echo err >&2; pwd")
    assert result.output == f"out\nerr\n{ctx.workspace}\n[exit 0]"
    assert (result.summary, result.ok) == ("exit 0, 3 lines", True)
    assert result.metadata == {"exit_code": 0, "lines": 3, "left_out": 0}
    failed = await call("shell_exec", command="echo no; exit 3")
    assert (failed.output, failed.summary, failed.ok) == ("no\n[exit 3]", "exit 3, 1 line", False)
    silent = await call("shell_exec", command="true")
    assert (silent.output, silent.summary) == ("(no output)\n[exit 0]", "exit 0, no output")
    killed = await call("shell_exec", command="kill -9 $$")
    assert killed.summary == "killed by SIGKILL, no output"


async def test_effects_and_preview(ctx: ToolContext) -> None:
    args = shell_exec.Args("make  test", 5)
    assert shell_exec.TOOL.effects(args, ctx) == (Runs("make  test", ctx.workspace),)
    assert shell_exec.TOOL.preview is not None
    assert await shell_exec.TOOL.preview(args, ctx) == Shell(
        "make  test", str(ctx.workspace), 5, "none"
    )
    long = shell_exec.Args("x", 99_999)
    preview = await shell_exec.TOOL.preview(long, ctx)
    assert isinstance(preview, Shell)
    assert preview.timeout_s == ctx.max_shell_timeout_s
    assert shell_exec.TOOL.editable == "command"


@pytest.mark.parametrize(("command", "said"), [("  ", "is empty"), ("a\0b", "has a NUL")])
async def test_no_command(call: Call, command: str, said: str) -> None:
    with pytest.raises(ToolFailure, match=said):
        await call("shell_exec", command=command)


async def test_a_workspace_that_is_gone(ctx: ToolContext, call: Call) -> None:
    ctx.workspace.rmdir()
    with pytest.raises(ToolFailure, match="could not be started: no such file"):
        await call("shell_exec", command="true")


async def test_only_the_scrubbed_environment(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret")
    result = await call("shell_exec", command="env | sort; echo $TERM")
    assert "sk-secret" not in result.output
    assert "TERM=dumb" in result.output


async def test_nothing_to_read_and_no_terminal(call: Call) -> None:
    result = await call("shell_exec", command='cat; read x; echo "got [$x]"; test -t 0 || echo no')
    assert result.output == "got []\nno\n[exit 0]"
    result = await call("shell_exec", command="echo x >/dev/tty")
    assert not result.ok


async def test_live_output_comes_before_the_end(
    call: Call, narrow: Callable[..., ToolContext], tmp_path: Path
) -> None:
    """The command waits for a line that is only written once its output was seen."""
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    live: list[str] = []
    seen = asyncio.Event()

    def progress(piece: str) -> None:
        live.append(piece)
        if "".join(live) == "first\npart":
            seen.set()

    command = f"echo first; printf part; read x <{answer}; echo $x"
    task = asyncio.create_task(call("shell_exec", ctx=narrow(progress=progress), command=command))
    await seen.wait()
    await asyncio.to_thread(answer.write_text, "ial\n")
    result = await task
    assert result.output == "first\npartial\n[exit 0]"
    assert "".join(live) == "first\npartial\n"


async def test_long_output_keeps_both_ends(
    call: Call, narrow: Callable[..., ToolContext], live: list[str]
) -> None:
    small = narrow(max_output_chars=900)
    result = await call("shell_exec", ctx=small, command="seq 1 100000")
    head, gap, tail = result.output.partition("\n… ")
    assert head.startswith("1\n2\n3\n")
    assert len(head) == 300
    assert gap
    assert tail.startswith("587,995 characters in the middle left out …\n")
    assert "\n100000\n[exit 0]\n" in tail
    assert "send the output to a file" in tail
    assert result.summary == "exit 0, 100,000 lines"
    assert result.metadata["left_out"] == 587_995
    assert sum(map(len, live)) < 200_000


async def test_output_for_terminals_is_cleaned(call: Call) -> None:
    command = r"""printf '\033[31mred\033[0m \033]0;title\007x\n10%%\r50%%\r100%%\nbad \377\n'"""
    result = await call("shell_exec", command=command)
    assert result.output == "red x\n100%\nbad \ufffd\n[exit 0]"


async def test_a_background_job_does_not_keep_the_call(call: Call, witness: Witness) -> None:
    result = await call(
        "shell_exec", command=f"(exec 3>{witness.path}; echo up >&3; exec sleep 1000) & echo done"
    )
    try:
        assert result.output.startswith("done\n[exit 0]\nStill running in the background")
        assert result.ok
        await witness.told("up")
    finally:
        for line in result.output.split("lost: ")[1].split("; "):
            os.kill(int(line.split()[0]), 9)
    assert await witness.ended()


async def test_a_job_with_its_output_elsewhere_is_no_reason_to_wait(
    call: Call, witness: Witness
) -> None:
    result = await call(
        "shell_exec",
        command=f"(exec 3>{witness.path}; exec sleep 1000) >/dev/null 2>&1 & echo $!",
    )
    os.kill(int(result.output.split()[0]), 9)
    assert await witness.ended()


FAMILY = """
exec 3>{pipe}
trap '' TERM                                  # somebody who does not listen
(exec sleep 1000) &                           # a child in the group
python3 -c '
import os, time
if os.fork():                                 # the parent goes, the child is an orphan
    os._exit(0)
os.write(3, b"orphan\\n")
time.sleep(1000)
' &
python3 -c '
import os, time
os.setsid()                                   # leaves the group and the session
if os.fork() == 0:
    os.write(3, b"grandchild\\n")
    time.sleep(1000)
os.write(3, b"runaway\\n")
time.sleep(1000)
' &
echo shell >&3
while :; do sleep 1000; done
"""


async def test_an_interrupt_ends_the_whole_family(call: Call, witness: Witness) -> None:
    task = asyncio.create_task(call("shell_exec", command=FAMILY.format(pipe=witness.path)))
    await witness.told("shell orphan grandchild runaway")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await witness.ended()


async def test_a_timeout_ends_the_whole_family(
    call: Call, witness: Witness, narrow: Callable[..., ToolContext]
) -> None:
    command = "echo before;" + FAMILY.format(pipe=witness.path)
    limited = narrow(max_shell_timeout_s=2.0)
    result = await call("shell_exec", ctx=limited, command=command)
    assert result.output.startswith("before\n[timeout after 2 s]\nIt was stopped")
    assert (result.summary, result.ok) == ("timeout after 2 s, 1 line", False)
    assert result.metadata["exit_code"] is None
    assert await witness.ended()


LISTENER = """
exec 3>{pipe}
exec python3 -c '
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.write(3, b"up\\n")
signal.sigwait([signal.SIGTERM])
print("tidy")
'
"""


async def test_who_listens_may_tidy_up(call: Call, live: list[str], witness: Witness) -> None:
    task = asyncio.create_task(call("shell_exec", command=LISTENER.format(pipe=witness.path)))
    await witness.told("up")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "".join(live) == "tidy\n"
    assert await witness.ended()


async def test_a_second_interrupt_kills_at_once(call: Call, witness: Witness) -> None:
    task = asyncio.create_task(call("shell_exec", command=FAMILY.format(pipe=witness.path)))
    await witness.told("shell orphan grandchild runaway")
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await witness.ended()


async def test_no_descriptors_are_left(call: Call, ctx: ToolContext) -> None:
    await call("shell_exec", command="true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await call("shell_exec", command="echo x")
    with pytest.raises(ToolFailure):
        await call("shell_exec", command="x" * 3_000_000)  # longer than the system takes
    assert len(os.listdir("/proc/self/fd")) == before

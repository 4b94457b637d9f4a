"""The main job through real HTTP servers on loopback: a scripted one, and a real llama.cpp."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from byte_server import Reply, answer, delta, fragment, raw, serving, stream
from llama_server import llama_server, model_file
from scripted import Desk

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid")


def connect(desk: Desk, url: str, **more: Any) -> None:
    model = {"kind": "openai-compatible", "base_url": url, "model": "any", "max_retries": 0, **more}
    desk.configure({"default_provider": "here", "providers": {"models": {"here": model}}})


async def run(desk: Desk, *words: str, typed: str = "") -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "stormclaw",
        *words,
        cwd=desk.project,
        env=desk.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(typed.encode()), 120)
    return process.returncode or 0, out.decode(), err.decode()


def git(desk: Desk, *words: str) -> str:
    done = subprocess.run(
        [*GIT, *words], cwd=desk.project, env=desk.env, capture_output=True, text=True, check=True
    )
    return done.stdout


def tool_call(name: str, call_id: str, **arguments: Any) -> Reply:
    """A streamed call whose arguments come in two fragments."""
    text = json.dumps(arguments)
    half = len(text) // 2
    return stream(
        delta("On it."),
        fragment(name, text[:half], id=call_id, index=0),
        fragment(None, text[half:], index=0),
        delta(finish="tool_calls"),
    )


async def test_a_change_in_a_git_repository_shown_approved_and_made(desk: Desk) -> None:
    git(desk, "init", "-q")
    desk.write("src/retry.py", "def tries():\n    return 3\n")
    git(desk, "add", ".")
    git(desk, "commit", "-qm", "start")
    async with serving() as server:
        connect(desk, server.url)
        server.will(
            tool_call("read_file", "call_1", path="src/retry.py"),
            tool_call(
                "edit_file",
                "call_2",
                path="src/retry.py",
                old_string="return 3",
                new_string="return 5",
            ),
            tool_call("shell_exec", "call_3", command="git diff --stat"),
            stream(delta("Five tries now."), delta(finish="stop")),
        )
        code, out, err = await run(desk, "agent", typed="five tries please\ny\n/exit\n")
        assert code == 0, err
        assert "Approve? [y/N]" in out
        assert "-    return 3" in out
        assert "+    return 5" in out
        assert "Five tries now." in out
        assert "return 5" in git(desk, "diff")
        told = server.requests[-1].body["messages"]
        assert [message["role"] for message in told[:4]] == ["system", "user", "assistant", "tool"]
        assert "src/retry.py" in told[-1]["content"]
        assert len(told) == 8


async def test_the_first_request_is_small(desk: Desk) -> None:
    async with serving() as server:
        connect(desk, server.url)
        server.will(stream(delta("ok"), delta(finish="stop")))
        code, _, err = await run(desk, "-p", "hi")
        assert code == 0, err
        size = len(json.dumps(server.requests[0].body, separators=(",", ":")))
        assert size <= 10_000, f"{size} bytes before the first word"


BROKEN = [
    (answer({"error": {"message": "bad key"}}, 401), 1, "auth", "bad key"),
    (answer({"error": {"message": "slow down"}}, 429), 75, "rate_limit", "slow down"),
    (answer("<html>bad gateway</html>", 502), 75, "server", ""),
    (raw("data: {broken json\n\n"), 1, "protocol", ""),
    (stream(delta("half"), done=False, end="reset"), 75, "connection", ""),
    (raw('data: {"error": {"message": "boom", "code": 500}}\n\n'), 75, "server", "boom"),
]


@pytest.mark.parametrize(("reply", "code", "kind", "says"), BROKEN)
async def test_a_server_that_fails_is_told_by_class(
    desk: Desk, reply: Reply, code: int, kind: str, says: str
) -> None:
    async with serving() as server:
        connect(desk, server.url)
        server.will(reply)
        found, out, err = await run(desk, "-p", "hi", "--output-format", "json")
        result = json.loads(out)
        assert (found, result["error"]["class"]) == (code, kind), (out, err)
        assert says in result["error"]["message"]
        assert "Traceback" not in err


async def test_a_dead_server_is_told_with_what_to_do(desk: Desk) -> None:
    async with serving() as server:
        url = server.url
    connect(desk, url)
    code, out, err = await run(desk, "-p", "hi")
    assert (code, out) == (75, "")
    assert "Traceback" not in err
    assert url.removeprefix("http://").removesuffix("/v1") in err


async def test_a_truncated_call_is_never_run(desk: Desk) -> None:
    async with serving() as server:
        connect(desk, server.url)
        cut = '{"path": "a.txt", "content": "half'
        server.will(
            stream(fragment("write_file", cut, id="c1", index=0), delta(finish="length")),
            stream(delta("I was cut off."), delta(finish="stop")),
        )
        code, _, err = await run(desk, "-p", "write", "--autonomy", "full")
        assert not (desk.project / "a.txt").exists()
        assert code in (0, 1), err


@pytest.mark.llama
@pytest.mark.skipif(model_file() is None, reason="llama.cpp or its model has no wheel here")
async def test_a_plain_answer_from_a_real_llama_cpp(desk: Desk) -> None:
    with llama_server() as url:
        connect(desk, url, idle_timeout_s=120)
        desk.configure({"channels": {"cli": {"tools_allow": ["time"]}}})
        code, out, err = await run(
            desk, "-p", "Say hello in three words.", "--output-format", "json"
        )
        assert code == 0, (out, err)
        result = json.loads(out)
        assert result["result"].strip()
        assert result["usage"]["reported"]
        assert result["usage"]["output_tokens"] > 0

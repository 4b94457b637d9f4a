"""`stormclaw policy`: the rules in force, what a command would meet, taking grants back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from scripted import Desk

from stormclaw.protocol.effects import Grant
from stormclaw.security import grants

Run = Callable[..., "subprocess.CompletedProcess[str]"]

KEYS = {"decision", "risk", "reason", "rule", "segments", "origin", "reach"}


def lines(*commands: object) -> str:
    return "".join(f"{json.dumps(command)}\n" for command in commands)


def verdicts(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("command", "code", "decision"),
    [("ls -l", 0, "allow"), ("npm test", 0, "ask"), ("rm -rf /", 3, "deny"), ("frob", 3, "deny")],
)
def test_one_command_is_explained(
    desk: Desk, run: Run, command: str, code: int, decision: str
) -> None:
    told = run("policy", "test", command)
    assert told.returncode == code, told.stderr
    assert told.stdout.startswith(f"{decision} (")
    machine = run("policy", "test", command, "--json")
    verdict = json.loads(machine.stdout)
    assert machine.returncode == code
    assert verdict["decision"] == decision
    assert set(verdict) == KEYS | {"trace", "grants"}


def test_the_explanation_names_every_segment_the_rule_and_its_line(desk: Desk, run: Run) -> None:
    (desk.home / "config.yaml").write_text(
        "security:\n  forbidden_commands:\n    - rm\n    - docker\n  allowed_commands: [frob]\n"
    )
    done = run("policy", "test", "ls && frob build; docker ps")
    assert done.returncode == 3
    for part in ("ls  (", "frob build  (", "docker ps  (", "forbidden_commands: docker"):
        assert part in done.stdout
    assert "(forbidden_commands: docker)\n" in done.stdout
    assert f"{desk.home}/config.yaml:4" in done.stdout
    assert f"{desk.home}/config.yaml:5" in done.stdout
    assert "autonomy supervised: blocked is denied" in done.stdout


def test_words_need_no_quotes_and_flags_count(desk: Desk, run: Run) -> None:
    assert run("policy", "test", "npm", "test").stdout.startswith("ask")
    readonly = run("policy", "test", "npm test", "--json", "--autonomy", "readonly")
    assert (readonly.returncode, json.loads(readonly.stdout)["decision"]) == (3, "deny")
    before = run("policy", "--autonomy", "readonly", "test", "npm test")
    assert (before.returncode, before.stdout[:4]) == (3, "deny")
    (desk.root / "other").mkdir()
    command = f"cat {desk.root}/other/x"
    assert run("policy", "test", command).returncode == 3
    elsewhere = run("policy", "test", command, "--workspace", str(desk.root / "other"))
    assert elsewhere.returncode == 0


@pytest.mark.parametrize("words", [(), ("--jsonl", "ls"), ("",)])
def test_one_command_or_a_stream_of_them(desk: Desk, run: Run, words: tuple[str, ...]) -> None:
    done = run("policy", "test", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--jsonl" in done.stderr


def test_a_verdict_a_line(desk: Desk, run: Run) -> None:
    done = run("policy", "test", "--jsonl", typed=lines("ls", "npm test && rm x", "git push -f"))
    assert done.returncode == 0, done.stderr
    found = verdicts(done)
    assert [(one["decision"], one["risk"]) for one in found] == [
        ("allow", "low"),
        ("deny", "blocked"),
        ("deny", "high"),
    ]
    for one in found:
        assert set(one) == KEYS
        assert all(set(part) == {"text", "risk", "reason", "rule"} for part in one["segments"])
    assert [part["text"] for part in found[1]["segments"]][:2] == ["npm test", "rm x"]


STRANGE = (
    "\ud800",
    "ls \udcff",
    "a\0b",
    "",
    " ",
    "\n",
    "x" * 1_000_000,
    "ls " + "$(" * 5000,
    "'" * 999,
    "ls\u202e\u200b",
    "cat <<E\n" * 500,
    "((((((" * 200,
    "for i in $(seq 9); do " * 300,
    "echo \U0010ffff",
    "~" * 70_000,
    "cd ~nobody; cat x",
    "cat " + "../" * 5000,
    "a=" * 400,
)


def test_no_line_ends_the_stream(desk: Desk, run: Run) -> None:
    bad = "nope\n{}\n[1]\n42\nnull\n\n[[[[\n" + "[" * 200_000 + '\n"torn'
    done = run("policy", "test", "--jsonl", typed=lines(*STRANGE, "ls") + bad)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    found = verdicts(done)
    good, wrong = found[: len(STRANGE) + 1], found[len(STRANGE) + 1 :]
    assert len(wrong) == 9
    assert all(set(one) == KEYS for one in good)
    assert good[-1]["decision"] == "allow"
    assert not any(one["rule"] == "internal error" for one in good)
    for one in wrong:
        assert set(one) == KEYS | {"error"}
        assert (one["decision"], one["risk"], one["rule"]) == ("deny", "blocked", "input")
        assert one["segments"] == []
    for one in good[:7]:
        assert one["decision"] == "deny"


def test_bytes_that_are_no_text_are_a_bad_line(desk: Desk) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stormclaw", "policy", "test", "--jsonl"],
        cwd=desk.project,
        env=desk.env,
        input=b'"\xff\xfe"\n"ls"\r\n',
        capture_output=True,
        timeout=60,
        check=False,
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, first["rule"], second["decision"]) == (2, "input", "allow")


def test_each_verdict_is_there_before_the_next_question(desk: Desk) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stormclaw", "policy", "test", "--jsonl"],
        cwd=desk.project,
        env=desk.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for command, decision in (("ls", "allow"), ("npm test", "ask")):
            asked.stdin.write(lines(command))
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline())["decision"] == decision
        asked.stdin.close()
        assert asked.wait(timeout=60) == 0


def test_a_thousand_lines_in_one_go(desk: Desk, run: Run) -> None:
    command = "git status && npm test 2>&1 | tail -3; grep -rn 'rm -rf' . > out.txt"
    done = run("policy", "test", "--jsonl", typed=lines(*[command] * 1000))
    assert done.returncode == 0
    assert {one["decision"] for one in verdicts(done)} == {"ask"}
    assert len(verdicts(done)) == 1000


def test_a_broken_configuration_judges_nothing(desk: Desk, run: Run) -> None:
    desk.configure({"security": {"autonomy": "godmode"}})
    done = run("policy", "test", "--jsonl", typed=lines("ls"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "godmode" in done.stderr


def test_show_has_every_rule_and_where_it_stands(desk: Desk, run: Run) -> None:
    (desk.home / "config.yaml").write_text(
        "security:\n"
        "  allowed_hosts: [example.com]\n"
        "  sandbox_network: ['pip install']\n"
        "  sandbox_folders: ['~/.cache/uv', '~/.ssh']\n"
        "  tools_deny: [Bash, nonsense]\n"
        "  secrets: ask\n"
    )
    grants.append(desk.home, desk.project, Grant("command", "npm test"))
    done = run("policy", "show", "--json")
    assert done.returncode == 0, done.stderr
    rows = {(row["rule"], row["value"]): row["from"] for row in json.loads(done.stdout)}
    config, me = f"{desk.home}/config.yaml", desk.root / "home"
    assert rows[("autonomy", "supervised")] == "shipped"
    assert rows[("forbidden_commands", "rm")] == "shipped"
    assert rows[("allowed_hosts", "example.com")] == f"{config}:2"
    assert rows[("sandbox_network", "pip install")] == f"{config}:3"
    assert rows[("sandbox_folders", f"{me}/.cache/uv")] == f"{config}:4"
    assert rows[("sandbox_folders", f"{me}/.ssh (cannot be opened)")] == f"{config}:4"
    assert rows[("secrets", "ask")] == f"{config}:6"
    assert rows[("grant 1: command", "npm test")] == f"{desk.home}/grants.jsonl:1"
    assert rows[("security.tools_deny", "shell_exec")] == f"{config}:5"
    assert rows[("tool taken away", "shell_exec")] == f"security.tools_deny ({config}:5)"
    assert next(value for rule, value in rows if rule == "sandbox").endswith("(auto)")
    assert "'nonsense'" in done.stderr
    assert "npm test" in run("policy", "show").stdout


def test_a_grant_can_be_taken_back_and_asks_again(desk: Desk, run: Run) -> None:
    other = desk.root / "elsewhere"
    other.mkdir()
    grants.append(desk.home, other, Grant("command", "npm test"))
    grants.append(desk.home, desk.project, Grant("command", "make"))
    grants.append(desk.home, desk.project, Grant("command", "npm test"))
    assert run("policy", "test", "npm test && git status").stdout.startswith("allow")
    done = run("policy", "forget", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "command npm test" in done.stdout
    assert run("policy", "test", "npm test").stdout.startswith("ask")
    assert run("policy", "test", "make").stdout.startswith("allow")
    assert grants.load(desk.home, other).grants == (Grant("command", "npm test"),)
    assert run("policy", "forget", "make").returncode == 0
    for wanted in ("1", "0", "make", "npm test", "²"):
        again = run("policy", "forget", wanted)
        assert again.returncode == 2, wanted
        assert "policy show" in again.stderr

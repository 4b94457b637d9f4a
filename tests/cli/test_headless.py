"""`-p`, `agent -m` and `tool run`: output formats, exit codes, bad input."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from scripted import Desk, call, calls

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_print_answers_on_standard_output_alone(desk: Desk, run: Run) -> None:
    desk.script([{"text": "plain **answer**"}])
    done = run("-p", "hi")
    assert (done.returncode, done.stdout) == (0, "plain **answer**\n")
    assert done.stderr == ""


def test_piped_input_joins_the_prompt(desk: Desk, run: Run) -> None:
    desk.script([{"text": "seen", "expect": "line of a log"}])
    done = run("-p", "explain", typed="line of a log\n")
    assert (done.returncode, done.stdout) == (0, "seen\n"), done.stderr


def test_json_has_the_documented_fields(desk: Desk, run: Run) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01}
    desk.script([{"text": "hello", "usage": usage}])
    done = run("-p", "hi", "--output-format", "json")
    result = json.loads(done.stdout)
    assert result["result"] == "hello"
    assert result["num_turns"] == 1
    assert result["usage"]["input_tokens"] == 10
    assert result["cost_usd"] == 0.01
    assert (result["is_error"], result["error"]) == (False, None)
    assert result["permission_denials"] == []
    assert (desk.home / "sessions" / result["session_id"]).is_dir()


def test_a_slash_command_is_run_and_not_sent(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "one\n")
    change = calls(call("edit_file", path="a.txt", old_string="one", new_string="two"))
    desk.script([calls(call("read_file", path="a.txt")), change, {"text": "done"}])
    assert run("-p", "change it", "--autonomy", "full").returncode == 0
    done = run("-c", "-p", "/undo")
    assert done.returncode == 0, done.stderr
    assert (desk.project / "a.txt").read_text() == "one\n"
    assert "1 turn" in done.stdout
    shown = json.loads(run("-c", "-p", "/redo", "--output-format", "json").stdout)
    assert (shown["is_error"], shown["num_turns"]) == (False, 0)
    assert (desk.project / "a.txt").read_text() == "two\n"
    again = run("-c", "-p", "/redo")
    assert (again.returncode, again.stdout) == (1, "")
    assert "redo" in again.stderr or "bring back" in again.stderr
    assert run("-p", "/new").returncode == 2


def test_a_path_is_words_for_the_model(desk: Desk, run: Run) -> None:
    desk.script([{"text": "hosts", "expect": "/etc/hosts"}])
    assert run("-p", "/etc/hosts, what is it?").stdout == "hosts\n"


def test_a_question_nobody_can_answer_is_denied_reported_and_exits_3(desk: Desk, run: Run) -> None:
    desk.script([calls(call("write_file", path="a.txt", content="x")), {"text": "could not"}])
    done = run("-p", "write", "--output-format", "json")
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert not result["is_error"]
    assert [denial["tool"] for denial in result["permission_denials"]] == ["write_file"]
    assert not (desk.project / "a.txt").exists()


def test_full_autonomy_writes_without_asking(desk: Desk, run: Run) -> None:
    desk.script([calls(call("write_file", path="a.txt", content="x")), {"text": "written"}])
    done = run("-p", "write", "--autonomy", "full")
    assert done.returncode == 0, done.stderr
    assert (desk.project / "a.txt").read_text() == "x"


def test_stream_json_is_a_line_an_event_and_the_result_last(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "A")
    desk.script([calls(call("read_file", path="a.txt")), {"text": "done"}])
    done = run("-p", "go", "--output-format", "stream-json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "TurnStarted"
    assert kinds[-1] == "result"
    assert {"Committed", "ToolStarted", "ToolEnded", "TextDelta", "TurnEnded"} <= set(kinds)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("auth", 1), ("rate_limit", 75), ("server", 75), ("timeout", 75), ("connection", 75)],
)
def test_provider_errors_have_exit_codes(desk: Desk, run: Run, kind: str, code: int) -> None:
    desk.script([{"error": {"class": kind, "message": "no luck"}}])
    done = run("-p", "hi", "--output-format", "json")
    assert done.returncode == code
    assert json.loads(done.stdout)["error"] == {"class": kind, "message": "no luck"}


def test_turn_limit_exits_53(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "A")
    turn = calls(call("read_file", path="a.txt"))
    desk.script([turn, turn, {"text": "end"}])
    assert run("-p", "go", "--max-turns", "1").returncode == 53


def test_budget_limit_exits_53(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "A")
    usage = {"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.5}
    desk.script([{**calls(call("read_file", path="a.txt")), "usage": usage}, {"text": "end"}])
    assert run("-p", "go", "--max-budget-usd", "0.2").returncode == 53


def test_continue_goes_on_with_the_last_session(desk: Desk, run: Run) -> None:
    desk.script([{"text": "one"}])
    first = json.loads(run("-p", "hi", "--output-format", "json").stdout)
    desk.script([{"text": "two"}])
    second = json.loads(run("-c", "-p", "and", "--output-format", "json").stdout)
    assert second["session_id"] == first["session_id"]
    third = run("-r", first["session_id"][:12], "-p", "more", "--output-format", "json")
    assert json.loads(third.stdout)["session_id"] == first["session_id"]


def test_a_turn_without_a_model_at_hand_runs_on_the_demo_and_says_so(desk: Desk, run: Run) -> None:
    desk.write("lighthouse.py", "")
    done = run("-p", "list the files", "-m", "demo")
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stderr
    assert "lighthouse.py" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--no-such-flag",), 2, "no-such-flag"),
        (("config", "fly"), 2, "fly"),
        (("-p",), 2, "something to say"),
        (("-c", "-p", "hi"), 2, "no session to continue"),
        (("-r", "nope", "-p", "hi"), 2, "nope"),
        (("-m", "nowhere/x", "-p", "hi", "--autonomy", "godmode"), 2, "readonly"),
        (("provider", "test", "nowhere/x"), 2, "nowhere"),
        (("memory", "clear"), 2, "--yes"),
        (("memory", "show", "nope"), 2, "memory list"),
        (("tool", "run", "read_file", "--json", "{"), 2, "JSON"),
    ],
)
def test_bad_command_lines_are_told_in_one_line_and_exit(
    desk: Desk, run: Run, words: tuple[str, ...], code: int, says: str
) -> None:
    desk.script([{"text": "ok"}])
    done = run(*words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_tool_run_goes_through_the_gate(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "forty-two\n")
    done = run("tool", "run", "file_read", "--json", '{"path": "a.txt"}')
    assert done.returncode == 0, done.stderr
    assert "forty-two" in done.stdout
    missing = run("tool", "run", "read_file", "--json", '{"path": "none.txt"}')
    assert (missing.returncode, missing.stdout) == (1, "")
    denied = run("tool", "run", "read_file", "--json", '{"path": "/etc/passwd"}')
    assert (denied.returncode, denied.stdout) == (3, "")
    asked = run("tool", "run", "write_file", "--json", '{"path": "b.txt", "content": "x"}')
    assert asked.returncode == 3
    assert not (desk.project / "b.txt").exists()
    assert run("receipt", "verify").returncode == 0
    assert len(json.loads(run("receipt", "list", "--json").stdout)) == 4


def test_estop_stops_tools_and_not_answers(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "A")
    assert run("estop").returncode == 0
    assert run("tool", "run", "read_file", "--json", '{"path": "a.txt"}').returncode == 3
    desk.script([{"text": "still talking"}])
    assert run("-p", "hi").stdout == "still talking\n"
    assert run("estop", "--clear").returncode == 0
    assert run("tool", "run", "read_file", "--json", '{"path": "a.txt"}').returncode == 0


def test_config_show_says_where_each_value_is_from_and_no_secret(desk: Desk, run: Run) -> None:
    desk.configure({"security": {"autonomy": "readonly"}})
    done = run("config", "show", "--json", OPENROUTER_API_KEY="sk-or-v1-0123456789abcdef0123")
    rows = {row["key"]: row for row in json.loads(done.stdout)}
    assert rows["security.autonomy"]["value"] == "readonly"
    assert "config.yaml:" in rows["security.autonomy"]["from"]
    assert rows["limits.shell_timeout_s"]["from"] == "defaults"
    assert "0123456789abcdef" not in done.stdout


def test_config_validate_reports_everything_at_once(desk: Desk, run: Run) -> None:
    (desk.home / "config.yaml").write_text(
        "security: {autonomy: godmode, sandbx: auto}\nlimits: {shell_timeout_s: fast}\n"
    )
    done = run("config", "validate")
    assert done.returncode == 1
    for part in ("godmode", "supervised", "sandbx", "sandbox", "shell_timeout_s", "fast"):
        assert part in done.stderr


def test_config_validate_asks_each_kind_about_its_settings(desk: Desk, run: Run) -> None:
    (desk.home / "config.yaml").write_text(
        "providers:\n  models:\n"
        '    a: {kind: openai-compatible, base_url: "http://x/v1", quirks: {cache: so, foo: 1}}\n'
        '    b: {kind: openai-compatible, base_url: "http://x/v1", routing: {order: [x]}}\n'
    )
    done = run("config", "validate")
    assert done.returncode == 1
    for part in (
        ":3: providers.models.a.quirks.cache = so: must be one of",
        "quirks.foo = 1",
        ":4: providers.models.b.routing: has no effect",
    ):
        assert part in done.stderr


def test_help_shows_an_example_for_every_verb(desk: Desk, run: Run) -> None:
    nouns = {
        "config": ("validate", "show", "path"),
        "memory": ("list", "search", "show", "clear", "reindex"),
        "receipt": ("list", "verify"),
        "session": ("list", "show"),
        "tool": ("list", "run"),
        "provider": ("list", "test"),
    }
    for noun, verbs in nouns.items():
        for verb in verbs:
            assert "example" in run(noun, verb, "--help").stdout
    top = run("--help")
    assert "exit codes" in top.stdout
    for noun in nouns:
        assert noun in top.stdout


def test_the_log_is_json_on_demand_and_silent_otherwise(desk: Desk, run: Run) -> None:
    desk.write("a.txt", "A")
    desk.script([calls(call("read_file", path="a.txt")), {"text": "ok"}])
    done = run("-p", "go", STORMCLAW_LOG="json")
    assert done.stdout == "ok\n"
    logged = {json.loads(line)["event"] for line in done.stderr.splitlines()}
    wanted = "startup config_path workspace_path provider_selected channel_started"
    assert {*wanted.split(), "conversation_started", "tool_completed", "receipt_written"} <= logged
    assert "startup" in run("-v", "estop", "--clear").stderr
    assert run("estop", "--clear").stderr == ""

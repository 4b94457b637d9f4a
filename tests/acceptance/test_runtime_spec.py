"""The acceptance tests of the runtime specification, in its words."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from typing import Any

from scripted import Desk, call, calls

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def receipts(run: Run) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run("receipt", "list", "--json").stdout)
    return listed


def test_1_init_creates_expected_files(desk: Desk, run: Run) -> None:
    """Given no home When init runs Then config, memory and workspace exist."""
    desk.home.rmdir()
    done = run("init")
    assert done.returncode == 0, done.stderr
    assert (desk.home / "config.yaml").is_file()
    assert (desk.home / "memory.sqlite").is_file()
    assert desk.project.is_dir()


def test_1_init_in_the_home_folder_creates_the_default_workspace(desk: Desk, run: Run) -> None:
    done = run("init", "--workspace", str(desk.root / "home" / "new-workspace"))
    assert done.returncode == 0, done.stderr
    assert (desk.root / "home" / "new-workspace").is_dir()


def test_2_config_validation_catches_invalid_autonomy(desk: Desk, run: Run) -> None:
    """Given autonomy = "godmode" When config validate runs Then it names what is allowed."""
    desk.configure({"security": {"autonomy": "godmode"}})
    done = run("config", "validate")
    assert done.returncode != 0
    for level in ("godmode", "readonly", "supervised", "full"):
        assert level in done.stdout + done.stderr


def test_3_mock_provider_text_only_response(desk: Desk, run: Run) -> None:
    """Given the fixture returns "hello" Then stdout has it and memory has both turns."""
    desk.script([{"text": "hello"}])
    done = run("agent", "-m", "hi")
    assert done.returncode == 0, done.stderr
    assert "hello" in done.stdout
    (conversation,) = json.loads(run("memory", "list", "--json").stdout)
    turns = json.loads(run("memory", "show", conversation["conversation_id"], "--json").stdout)
    assert [(turn["role"], turn["content"]) for turn in turns] == [
        ("user", "hi"),
        ("assistant", "hello"),
    ]


def test_4_model_triggered_file_list_tool(desk: Desk, run: Run) -> None:
    """Given the fixture calls file_list Then it runs in the workspace, receipted, summarised."""
    desk.write("lighthouse.py", "")
    desk.script([calls(call("file_list", path=".")), {"text": "The files: {{last_output}}"}])
    done = run("agent", "-m", "list files")
    assert done.returncode == 0, done.stderr
    assert "lighthouse.py" in done.stdout
    (receipt,) = receipts(run)
    assert (receipt["tool"], receipt["status"], receipt["risk"]) == ("list_files", "allowed", "low")


def test_5_workspace_escape_blocked(desk: Desk, run: Run) -> None:
    """When the model requests file_read /etc/passwd Then it is denied, receipted, and told."""
    desk.script(
        [
            calls(call("file_read", path="/etc/passwd")),
            {"text": "I was refused.", "expect": "denied"},
        ]
    )
    done = run("agent", "-m", "read it")
    assert "I was refused." in done.stdout, done.stderr
    assert "root:" not in done.stdout
    (receipt,) = receipts(run)
    assert (receipt["tool"], receipt["status"]) == ("read_file", "denied")


def test_6_supervised_approval_asks_and_the_default_denies(desk: Desk, run: Run) -> None:
    """When the model requests file_write Then the CLI asks And the default empty answer denies."""
    desk.script([calls(call("file_write", path="a.txt", content="x")), {"text": "end"}])
    done = run("agent", typed="write it\n\n/exit\n")
    assert "Approve? [y/N]" in done.stdout
    assert "risk: medium" in done.stdout
    assert not (desk.project / "a.txt").exists()
    assert receipts(run)[0]["status"] == "denied"


def test_6_supervised_approval_y_approves(desk: Desk, run: Run) -> None:
    desk.script([calls(call("file_write", path="a.txt", content="x")), {"text": "end"}])
    done = run("agent", typed="write it\ny\n/exit\n")
    assert done.returncode == 0, done.stderr
    assert (desk.project / "a.txt").read_text() == "x"
    assert receipts(run)[0]["status"] == "allowed"


def test_6_one_turn_reads_the_approval_from_standard_input(desk: Desk, run: Run) -> None:
    desk.script([calls(call("file_write", path="a.txt", content="x")), {"text": "end"}])
    done = run("agent", "-m", "write it", typed="y\n")
    assert done.returncode == 0, done.stderr
    assert (desk.project / "a.txt").read_text() == "x"


def test_7_forbidden_command_blocked(desk: Desk, run: Run) -> None:
    """When the model requests shell rm -rf / Then it is blocked before it runs, receipt denied."""
    desk.script([calls(call("shell", command="rm -rf /")), {"text": "no", "expect": "denied"}])
    done = run("agent", "-m", "clean up")
    assert "no" in done.stdout
    (receipt,) = receipts(run)
    assert (receipt["tool"], receipt["status"]) == ("shell_exec", "denied")


def test_8_receipt_chain_detects_tampering(desk: Desk, run: Run) -> None:
    """Given three receipts When the second is edited Then verify reports receipt 2."""
    desk.script([calls(*(call("time") for _ in range(3))), {"text": "ok"}])
    run("agent", "-m", "go")
    assert run("receipt", "verify").returncode == 0
    log = desk.home / "tool_receipts.log"
    lines = log.read_text().splitlines()
    assert len(lines) == 3
    lines[1] = lines[1].replace('"allowed"', '"denied"')
    log.write_text("\n".join(lines) + "\n")
    done = run("receipt", "verify")
    assert done.returncode == 1
    assert "invalid chain at receipt 2" in done.stdout


def test_9_provider_fallback(desk: Desk, run: Run) -> None:
    """Given reliable = [bad, mock] And bad times out Then fallback is logged, the mock answers."""
    desk.script([{"text": "hello from the mock"}])
    mock = {"kind": "mock", "script": str(desk.root / "fixture.yaml")}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        bad = {
            "kind": "openai-compatible",
            "base_url": address,
            "model": "m",
            "idle_timeout_s": 0.5,
        }
        steady = {"kind": "reliable", "providers": ["bad", "mock"]}
        desk.configure(
            {
                "default_provider": "steady",
                "providers": {"models": {"bad": bad, "mock": mock, "steady": steady}},
            }
        )
        desk.env["STORMCLAW_LOG"] = "json"
        done = run("agent", "-m", "hi")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "hello from the mock"
    assert "bad sent nothing for 0.5s; mock answers instead" in done.stderr
    logged = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    (fallback,) = [line for line in logged if line.get("event") == "provider_fallback"]
    assert fallback["provider"] == "steady"
    assert (fallback["failed"], fallback["next"]) == ("bad", "mock")
    assert fallback["error"] == "timeout"


def test_10_memory_search(desk: Desk, run: Run) -> None:
    """Given a conversation contains "Aardvark adapter" Then searching aardvark returns its ID."""
    desk.script([{"text": "The Aardvark adapter is done."}])
    run("agent", "-m", "what is done?")
    (session,) = json.loads(run("session", "list", "--json").stdout)
    found = run("memory", "search", "aardvark")
    assert session["id"] in found.stdout


def test_every_receipt_has_exactly_the_documented_fields_and_more_only_beside(
    desk: Desk, run: Run
) -> None:
    desk.script([calls(call("time")), {"text": "ok"}])
    run("agent", "-m", "go")
    documented = {
        "id",
        "timestamp",
        "conversation_id",
        "tool",
        "args_hash",
        "result_hash",
        "status",
        "risk",
        "previous_hash",
        "receipt_hash",
    }
    line = json.loads((desk.home / "tool_receipts.log").read_text())
    assert documented <= set(line)
    assert line["id"].startswith("receipt-")

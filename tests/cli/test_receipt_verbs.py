"""`stormclaw receipt`: listed, shown, verified, given away, begun anew, each with its exit code."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted import Desk

from stormclaw.store.receipts import Key, ReceiptDraft, ReceiptLog

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def _fill(desk: Desk, count: int = 4, key: Key | None = None) -> Path:
    log = ReceiptLog(desk.home / "tool_receipts.log", key=key or Key())

    async def write() -> None:
        for number in range(1, count + 1):
            extra = {"agent": "root", "object": f"run step {number} `x` | y \x1b[31m"}
            session = "odd" if number % 2 else "even"
            draft = ReceiptDraft(session, "shell_exec", "{}", "", "allowed", "medium", extra)
            await log.append(draft)

    asyncio.run(write())
    log.close()
    return log.path


def _cut(path: Path, kept: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))


def test_listing_by_session_and_number(desk: Desk, run: Run) -> None:
    assert run("receipt", "list").stdout == "no receipt yet\n"
    assert run("receipt", "list", "--json").stdout == "[]\n"
    _fill(desk)

    listed = json.loads(run("receipt", "list", "--json", "--session", "odd").stdout)
    assert [receipt["number"] for receipt in listed] == [1, 3]
    listed = json.loads(run("receipt", "list", "--json", "--limit", "1").stdout)
    assert [receipt["number"] for receipt in listed] == [4]
    assert "\x1b" not in run("receipt", "list").stdout


@pytest.mark.parametrize("name", ["2", "r2", "receipt-000002"])
def test_showing_one(desk: Desk, run: Run, name: str) -> None:
    _fill(desk)
    shown = run("receipt", "show", name)
    assert shown.returncode == 0
    assert "receipt-000002" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert json.loads(run("receipt", "show", name, "--json").stdout)["number"] == 2


@pytest.mark.parametrize(("name", "said"), [("9", "there is no receipt 9"), ("x", "is no receipt")])
def test_showing_what_is_not_there(desk: Desk, run: Run, name: str, said: str) -> None:
    _fill(desk)
    shown = run("receipt", "show", name)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in shown.stderr


def test_verifying(desk: Desk, run: Run) -> None:
    path = _fill(desk)
    whole = run("receipt", "verify")
    assert whole.returncode == 0
    assert whole.stdout.startswith("4 receipts, chain unbroken, head ")
    _cut(path, 2)

    cut = run("receipt", "verify")
    assert cut.returncode == 1
    assert cut.stdout == (
        "invalid chain at receipt 3: 2 receipts are missing at the end: "
        "the log was cut after receipt 2\n"
    )
    told = run("receipt", "verify", "--json")
    assert told.returncode == 1
    found = json.loads(told.stdout)
    assert (found["ok"], found["broken_at"], found["missing"]) == (False, 3, 2)


def test_verifying_with_a_key(desk: Desk, run: Run) -> None:
    config = desk.home / "config.yaml"
    config.write_text("receipts: {hmac_key_env: MY_KEY}\n")
    _fill(desk, key=Key("MY_KEY", b"secret"))

    right = run("receipt", "verify", MY_KEY="secret")
    assert (right.returncode, "sealed with the key" in right.stdout) == (0, True)
    wrong = run("receipt", "verify", MY_KEY="other")
    assert (wrong.returncode, "sealed with another key" in wrong.stdout) == (1, True)
    missing = run("receipt", "verify")
    assert (missing.returncode, "set MY_KEY, as receipts" in missing.stdout) == (1, True)


@pytest.mark.parametrize("form", ["json", "md"])
@pytest.mark.parametrize("session", ["", "odd"])
def test_an_export_verifies_elsewhere(desk: Desk, run: Run, form: str, session: str) -> None:
    _fill(desk)
    chosen = ("--session", session) if session else ()
    export = desk.project / "out"
    done = run("receipt", "export", "--format", form, *chosen)
    assert done.returncode == 0
    export.write_text(done.stdout)
    for path in desk.home.glob("tool_receipts*"):
        if path.is_file():
            path.unlink()

    verified = run("receipt", "verify", "--file", str(export))
    assert verified.returncode == 0
    assert verified.stdout.startswith("4 receipts, chain unbroken")
    assert f"{2 if session else 4} of them are in this export" in verified.stdout

    export.write_text(done.stdout.replace("run step 3", "run step 9"))
    changed = run("receipt", "verify", "--file", str(export))
    assert changed.returncode == 1
    assert "invalid chain at receipt 3: receipt 3 was changed" in changed.stdout


def test_an_export_for_people_is_inert(desk: Desk, run: Run) -> None:
    _fill(desk, 1)
    text = run("receipt", "export", "--format", "md").stdout
    assert "\x1b" not in text
    assert "run step 1 \\`x\\` \\| y" in text
    assert text.count("```") == 2


def test_exporting_a_session_without_receipts(desk: Desk, run: Run) -> None:
    _fill(desk)
    done = run("receipt", "export", "--session", "nobody")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("content", ["", "hello\n", "{", '{"format": "stormclaw receipts"}'])
def test_what_is_no_export_is_an_error(desk: Desk, run: Run, content: str) -> None:
    (desk.project / "out").write_text(content)
    done = run("receipt", "verify", "--file", "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_a_log_kept_elsewhere_is_verified(desk: Desk, run: Run) -> None:
    path = _fill(desk)
    kept = path.rename(desk.project / "kept.log")
    assert run("receipt", "verify", "--file", str(kept)).returncode == 0
    assert run("receipt", "verify").returncode == 1


def test_beginning_anew(desk: Desk, run: Run) -> None:
    path = _fill(desk)
    _cut(path, 2)

    done = run("receipt", "rotate")

    assert done.returncode == 0
    (aside,) = desk.home.glob("tool_receipts-*.log")
    assert str(aside) in done.stdout
    verified = run("receipt", "verify")
    assert verified.returncode == 0
    assert "begun anew after 2 receipts" in verified.stdout
    assert "2 receipts are missing at the end" in verified.stdout


@pytest.mark.parametrize("verb", ["list", "show", "verify", "export", "rotate"])
def test_every_verb_has_help_with_an_example(run: Run, verb: str) -> None:
    shown = run("receipt", verb, "--help")
    assert shown.returncode == 0
    assert f"stormclaw receipt {verb}" in shown.stdout.partition("example:")[2]

"""`stormclaw key`: keys come in on standard input, never show, and are used in turn."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

from scripted import Desk

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SECRET = "sk-or-abcdefghijklmnopqrstuvwx"


def rows(run: Run, **env: str) -> list[dict[str, str]]:
    done = run("key", "list", "--json", **env)
    assert done.returncode == 0, done.stderr
    listed: list[dict[str, str]] = json.loads(done.stdout)
    return listed


def test_a_key_is_stored_listed_and_forgotten_without_being_shown(desk: Desk, run: Run) -> None:
    added = run("key", "add", "openrouter", typed=f"{SECRET}\n")
    assert added.returncode == 0, added.stderr
    assert "stored the key default for openrouter" in added.stdout
    second = run("key", "add", "openrouter", typed="sk-second\n")
    assert "used in this order: default, key-2" in second.stdout
    named = run("key", "add", "openrouter", "--profile", "work", typed="sk-third\n")
    listed = run("key", "list", OPENROUTER_API_KEY="sk-env")
    assert [row["profile"] for row in rows(run, OPENROUTER_API_KEY="sk-env")] == [
        "environment",
        "default",
        "key-2",
        "work",
    ]
    assert run("key", "remove", "openrouter", "key-2").returncode == 0
    everything = (added, second, named, listed)
    assert not any("sk-" in one.stdout + one.stderr for one in everything)
    assert run("key", "remove", "openrouter", "--all").returncode == 0
    assert "no key is stored" in run("key", "list").stdout
    assert SECRET not in (desk.home / "auth.json").read_text()


def test_the_same_profile_is_replaced(desk: Desk, run: Run) -> None:
    run("key", "add", "openrouter", "--profile", "work", typed="sk-1\n")
    again = run("key", "add", "openrouter", "--profile", "work", typed="sk-2\n")
    assert "replaced the key work" in again.stdout
    assert len(rows(run)) == 1


def test_a_key_on_the_command_line_is_refused_and_not_repeated(desk: Desk, run: Run) -> None:
    done = run("key", "add", "openrouter", SECRET, typed="")
    assert done.returncode == 2
    assert SECRET not in done.stdout + done.stderr
    assert not (desk.home / "auth.json").exists()


def test_what_cannot_be_stored_or_forgotten_is_told(desk: Desk, run: Run) -> None:
    unknown = run("key", "add", "opnrouter", typed="sk-1\n")
    assert unknown.returncode == 2
    assert "openrouter" in unknown.stderr
    empty = run("key", "add", "openrouter", typed="")
    assert empty.returncode == 2
    assert "stormclaw key add openrouter < key.txt" in empty.stderr
    misspelt = run("key", "retry", "opnrouter")
    assert misspelt.returncode == 2
    assert "openrouter" in misspelt.stderr
    assert run("key", "add", "openrouter", "--profile", "environment", typed="k\n").returncode == 2
    run("key", "add", "openrouter", typed="sk-1\n")
    run("key", "add", "openrouter", typed="sk-2\n")
    several = run("key", "remove", "openrouter")
    assert several.returncode == 2
    assert "default, key-2" in several.stderr
    assert run("key", "remove", "openrouter", "gone").returncode == 2
    assert len(rows(run)) == 2


def test_a_key_that_is_passed_over_is_listed_so_until_it_is_tried_again(
    desk: Desk, run: Run
) -> None:
    run("key", "add", "openrouter", typed="sk-1\n")
    rest = {"until": time.time() + 1800, "kind": "auth", "mark": "00000000"}
    resting = {"version": 1, "salt": "00" * 8, "resting": {"openrouter#default": rest}}
    (desk.home / "cooldowns.json").write_text(json.dumps(resting))
    (row,) = rows(run)
    assert row["state"] == "was refused, rests for 30 min"
    assert "1 key is tried again" in run("key", "retry", "openrouter").stdout
    (row,) = rows(run)
    assert row["state"] == "ready"
    assert "no key of openrouter" in run("key", "retry", "openrouter", "default").stdout

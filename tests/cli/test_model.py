"""`stormclaw model list`: what can be chosen, for people and for machines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from scripted import Desk

Run = Callable[..., subprocess.CompletedProcess[str]]


def listed(run: Run, *words: str, **env: str) -> list[dict[str, object]]:
    done = run("model", "list", *words, "--json", **env)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_without_words_the_few_that_can_be_used(desk: Desk, run: Run) -> None:
    rows = listed(run, OPENROUTER_API_KEY="sk-or-v1-" + "0" * 40)
    assert all(row["connected"] for row in rows)
    (routed,) = [row for row in rows if row["provider"] == "openrouter"]
    assert routed["tools"] is True
    assert isinstance(routed["usd_per_million"], dict)
    assert "price list" in (routed["prices_from"], routed["window_from"])
    told = run("model", "list", OPENROUTER_API_KEY="sk-or-v1-" + "0" * 40)
    assert "more are known: `stormclaw model list WORDS`" in told.stdout


def test_words_search_all_that_are_known(desk: Desk, run: Run) -> None:
    rows = listed(run, "claude", "HAIKU", OPENROUTER_API_KEY="sk-or-v1-" + "0" * 40)
    assert rows
    assert all("claude" in str(row["target"]) and "haiku" in str(row["target"]) for row in rows)
    done = run("model", "list", "no-such-model-anywhere")
    wider = "; --all looks among those not connected, too"
    assert (done.returncode, done.stdout) == (0, f"no model fits{wider}\n")
    done = run("model", "list", "no-such-model-anywhere", "--all")
    assert done.stdout == "no model fits\n"


def test_all_of_them_and_what_is_missing(desk: Desk, run: Run) -> None:
    rows = {row["provider"]: row for row in listed(run, "--all")}
    assert rows["mistral"]["from"] == "no MISTRAL_API_KEY"
    assert rows["mistral"]["connected"] is False
    assert rows["demo"]["connected"] is True


def test_a_bad_models_file_is_told_on_standard_error(desk: Desk, run: Run) -> None:
    (desk.home / "models.json").write_text(
        '{"models": [{"provider": "openrouter", "id": "x/own", "context_window": 5000,\n'
        ' "prices": {"input": 1, "output": 2}},\n'
        ' {"provider": "openrouter", "id": "y", "tools": 1}]}'
    )
    done = run("model", "list", "x/own", "--json", OPENROUTER_API_KEY="sk-or-v1-" + "0" * 40)
    (row,) = json.loads(done.stdout)
    assert (row["context_window"], row["window_from"]) == (5000, "models.json")
    assert row["usd_per_million"]["input"] == 1
    assert "models.json:3: models[1].tools = 1: must be true or false" in done.stderr

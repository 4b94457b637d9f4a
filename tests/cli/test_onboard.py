"""`stormclaw onboard`: step by step at a terminal, by flags without one."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import Callable

import pytest
import yaml
from byte_server import answer, delta, serving, stream
from scripted import Desk
from typist import Typist

from stormclaw.config.edit import set_autonomy
from stormclaw.errors import ConfigError

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = (sys.executable, "-m", "stormclaw", "onboard")
KEY = "sk-or-v1-0123456789abcdef0123456789"
READY = (delta("ready"), delta(finish="stop"))
NO_MODEL = answer({"error": {"message": "no such model"}}, 404)
WRONG = answer({"error": {"message": "no such key"}}, 401)


async def test_step_by_step_at_a_terminal_with_a_second_try(desk: Desk) -> None:
    async with serving() as server:
        server.will(WRONG, NO_MODEL, stream(*READY))

        def walk() -> int:
            command = (*PROGRAM, "--base-url", server.url)
            with Typist(command, cwd=desk.project, env=desk.env) as person:
                person.sees("provider [")
                person.types("nonesuch\r")
                person.sees("there is no nonesuch here")
                person.types("openrouter\r")
                person.sees("key (not shown)")
                person.types("sk-wrong\r")
                person.sees("another [k]ey")
                person.types("k\r")
                person.sees("key (not shown)")
                person.types(f"{KEY}\r")
                person.sees("another [k]ey")
                person.types("m\r")
                person.sees("model [")
                person.types("some/model\r")
                person.sees("connected: openrouter/")
                person.sees("autonomy [supervised]")
                person.types("godmode\r")
                person.sees("one of the names above")
                person.types("readonly\r")
                person.sees("autonomy readonly")
                person.sees("sandbox")
                person.sees("doctor")
                return person.ends()

        assert await asyncio.to_thread(walk) == 0
        bearers = [request.headers["authorization"] for request in server.requests]
        assert bearers == ["Bearer sk-wrong", f"Bearer {KEY}", f"Bearer {KEY}"]
    config = yaml.safe_load((desk.home / "config.yaml").read_text())
    assert config["default_provider"] == "openrouter"
    assert config["providers"]["models"]["openrouter"]["model"] == "some/model"
    assert config["security"]["autonomy"] == "readonly"
    assert KEY not in (desk.home / "config.yaml").read_text()
    auth = desk.home / "auth.json"
    assert KEY in auth.read_text()
    assert stat.S_IMODE(auth.stat().st_mode) == 0o600


async def test_giving_up_saves_nothing(desk: Desk) -> None:
    async with serving() as server:
        server.will(WRONG)

        def walk() -> int:
            command = (*PROGRAM, "openrouter", "--base-url", server.url, "--model", "m")
            with Typist(command, cwd=desk.project, env=desk.env) as person:
                person.sees("key (not shown)")
                person.types("sk-wrong\r")
                person.sees("another [k]ey")
                person.types("\r")
                person.sees("nothing was saved")
                return person.ends()

        assert await asyncio.to_thread(walk) == 1
    assert not (desk.home / "config.yaml").exists()
    assert not (desk.home / "auth.json").exists()


async def test_the_end_of_the_input_leaves(desk: Desk) -> None:
    def walk() -> int:
        with Typist(PROGRAM, cwd=desk.project, env=desk.env) as person:
            person.sees("provider [")
            person.types("\x04")
            person.sees("left; nothing more was changed")
            return person.ends()

    assert await asyncio.to_thread(walk) == 2
    assert not (desk.home / "config.yaml").exists()


async def test_by_flags_with_the_key_on_standard_input(desk: Desk, run: Run) -> None:
    async with serving() as server:
        server.will(stream(*READY))
        words = ("onboard", "openrouter", "--base-url", server.url, "--model", "m")
        done = await asyncio.to_thread(run, *words, "--autonomy", "full", typed=f"{KEY}\n")
        assert done.returncode == 0, done.stderr
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in done.stdout + done.stderr
    assert "autonomy full" in done.stdout
    assert "sandbox" in done.stdout
    config = yaml.safe_load((desk.home / "config.yaml").read_text())
    assert config["security"]["autonomy"] == "full"
    assert json.loads(run("provider", "list", "--json").stdout)


async def test_a_server_of_ones_own_needs_an_address_and_no_key(desk: Desk, run: Run) -> None:
    assert run("onboard", "ours").returncode == 2
    async with serving() as server:
        server.will(stream(*READY))
        words = ("onboard", "ours", "--base-url", server.url, "--model", "m", "--no-key")
        done = await asyncio.to_thread(run, *words)
        assert done.returncode == 0, done.stderr + done.stdout
    config = yaml.safe_load((desk.home / "config.yaml").read_text())
    assert config["default_provider"] == "ours"
    assert "autonomy" not in str(config)
    assert not (desk.home / "auth.json").exists()


async def test_a_key_in_the_environment_stays_there(desk: Desk, run: Run) -> None:
    async with serving() as server:
        server.will(stream(*READY))
        words = ("onboard", "openrouter", "--base-url", server.url, "--model", "m")
        done = await asyncio.to_thread(run, *words, OPENROUTER_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "OPENROUTER_API_KEY; it stays there" in done.stdout
    assert not (desk.home / "auth.json").exists()


def test_without_a_terminal_and_without_a_provider_it_says_what_is_missing(
    desk: Desk, run: Run
) -> None:
    done = run("onboard")
    assert done.returncode == 2
    assert "stormclaw onboard PROVIDER" in done.stderr
    unknown = run("onboard", "nonesuch")
    assert unknown.returncode == 2
    assert "openrouter" in unknown.stderr


async def test_what_the_project_asks_for_is_told_and_stays_off(desk: Desk, run: Run) -> None:
    desk.write(".stormclaw/config.yaml", "security: {allowed_commands: [terraform plan]}\n")
    async with serving() as server:
        server.will(stream(*READY))
        words = ("onboard", "ours", "--base-url", server.url, "--model", "m", "--no-key")
        done = await asyncio.to_thread(run, *words)
    assert done.returncode == 0, done.stderr
    assert "terraform plan" in done.stdout
    assert "config trust --yes" in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "security:\n  autonomy: full\n"),
        ("# mine\nui: {mouse: true}", "# mine\nui: {mouse: true}\nsecurity:\n  autonomy: full\n"),
        (
            "security:\n  # why\n  autonomy: readonly  # for now\n  sandbox: auto\n",
            "security:\n  # why\n  autonomy: full  # for now\n  sandbox: auto\n",
        ),
        (
            "security:\n  sandbox: auto\nui: {}\n",
            "security:\n  autonomy: full\n  sandbox: auto\nui: {}\n",
        ),
        ("security: {autonomy: readonly}\n", "security: {autonomy: full}\n"),
    ],
)
def test_autonomy_is_written_and_the_rest_stays(desk: Desk, before: str, after: str) -> None:
    path = desk.home / "config.yaml"
    path.write_text(before)
    set_autonomy(desk.home, "full")
    assert path.read_text() == after
    assert path.with_name("config.yaml.bak").read_text() == before


@pytest.mark.parametrize(
    "before", ["security: {sandbox: auto}\n", "security:\n    sandbox: auto\n"]
)
def test_where_the_text_cannot_be_kept_the_values_are(desk: Desk, before: str) -> None:
    path = desk.home / "config.yaml"
    path.write_text(before)
    set_autonomy(desk.home, "full")
    assert yaml.safe_load(path.read_text()) == {"security": {"sandbox": "auto", "autonomy": "full"}}


def test_no_other_level_is_written(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="godmode"):
        set_autonomy(desk.home, "godmode")
    assert not (desk.home / "config.yaml").exists()
    set_autonomy(desk.home, "readonly")
    written = (desk.home / "config.yaml").read_text()
    assert yaml.safe_load(written)["security"]["autonomy"] == "readonly"

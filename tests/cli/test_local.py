"""`stormclaw local ...`, run as a person runs it, against a hub on loopback."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from model_hub import ModelHub, model_hub
from scripted import Desk

Run = Callable[..., "subprocess.CompletedProcess[str]"]

REPO = "someone/Tiny-GGUF"
FILE = "tiny-Q4.gguf"
CONTENT = bytes(range(256)) * 9_000


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with model_hub() as running:
        running.files[REPO] = {FILE: CONTENT}
        yield running


def at_a_terminal(desk: Desk, hub: ModelHub, typed: str) -> tuple[int, str]:
    """Exit code, and what a person saw, of pulling at a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "stormclaw", "local", "pull", REPO],
        cwd=desk.project,
        env={**desk.env, "HF_ENDPOINT": hub.base},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, f"{typed}\n".encode())
        seen = b""
        try:
            while piece := os.read(ours, 4_096):
                seen += piece
        except OSError:
            pass  # the other side is gone
        os.close(ours)
    return process.returncode, seen.decode()


def test_size_licence_and_place_are_told_before_it_asks(desk: Desk, hub: ModelHub) -> None:
    code, seen = at_a_terminal(desk, hub, "n")
    assert code == 1
    told = seen.index("size     2 MB"), seen.index("licence  apache-2.0"), seen.index("goes to")
    assert max(told) < seen.index("Fetch it?")
    assert "nothing was fetched" in seen
    assert not (desk.home / "models").exists()


def test_a_yes_fetches_it_with_a_line_that_moves(desk: Desk, hub: ModelHub) -> None:
    code, seen = at_a_terminal(desk, hub, "y")
    assert code == 0
    assert "\r" in seen
    assert "100 %" in seen
    assert (desk.home / "models" / REPO / FILE).read_bytes() == CONTENT
    assert "stormclaw -m local/tiny-Q4" in seen


def test_nobody_to_ask_means_no(run: Run, desk: Desk, hub: ModelHub) -> None:
    done = run("local", "pull", REPO, FILE, HF_ENDPOINT=hub.base)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (desk.home / "models").exists()


def test_pulled_listed_pulled_again_and_removed(run: Run, desk: Desk, hub: ModelHub) -> None:
    assert "no model yet" in run("local", "list").stdout
    pulled = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert pulled.returncode == 0, pulled.stderr
    assert "checksum verified" in pulled.stdout
    assert pulled.stderr.count("\n") < 15
    (row,) = json.loads(run("local", "list", "--json").stdout)
    assert (row["name"], row["size"], row["from"]) == ("tiny-Q4", len(CONTENT), REPO)
    assert "2 MB" in run("local", "list").stdout
    again = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert "here already" in again.stdout
    removed = run("local", "rm", "tiny-Q4")
    assert removed.returncode == 0
    assert "is gone" in removed.stdout
    assert list((desk.home / "models").iterdir()) == []
    assert run("local", "rm", "tiny-Q4").returncode == 2


def test_an_abort_can_be_taken_up_again_and_says_so(run: Run, desk: Desk, hub: ModelHub) -> None:
    hub.break_after = 1_500_000
    broken = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert broken.returncode == 75
    assert "goes on where it stopped" in broken.stderr
    whole = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert whole.returncode == 0
    assert "of it are here" in whole.stdout
    assert hub.asked[-1][1].startswith("bytes=")


def test_refusals_have_words_and_codes(run: Run, hub: ModelHub) -> None:
    hub.token = "hf_right"
    closed = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert closed.returncode == 1
    assert "HF_TOKEN" in closed.stderr
    secret = "hf_" + "x" * 30
    wrong = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base, HF_TOKEN=secret)
    assert wrong.returncode == 1
    assert secret not in wrong.stdout + wrong.stderr
    hub.token = ""
    missing = run("local", "pull", "no/such", "x.gguf", "--yes", HF_ENDPOINT=hub.base)
    assert missing.returncode == 1
    assert "there is no no/such" in missing.stderr
    strange = run("local", "pull", "../x", "--yes", HF_ENDPOINT=hub.base)
    assert strange.returncode == 2


def test_no_room_is_said_before_it_asks(run: Run, hub: ModelHub) -> None:
    hub.sizes[FILE] = 10**15
    full = run("local", "pull", REPO, FILE, "--yes", HF_ENDPOINT=hub.base)
    assert full.returncode == 1
    assert "no room" in full.stderr
    assert "too large for this machine" in full.stdout


def test_a_hub_cannot_write_on_the_terminal(run: Run, hub: ModelHub) -> None:
    hub.licence = "\x1b]0;owned\x07"
    hub.files[REPO]["\x1b[31mred.gguf"] = b"x"
    told = run("local", "pull", REPO, "--yes", HF_ENDPOINT=hub.base)
    assert told.returncode == 2
    assert "\x1b" not in told.stdout + told.stderr

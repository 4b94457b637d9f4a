"""Standing grants: every kind, taken back, while others write, whatever happens to the disk."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stormclaw.errors import StoreError
from stormclaw.protocol.effects import Grant
from stormclaw.security import grants
from stormclaw.security.policy_rows import grant_meant

NPM = Grant("command", "npm test")


@pytest.mark.parametrize("kind", grants.KINDS)
def test_every_kind_comes_back_as_it_was_given(kind: grants.Kind, tmp_path: Path) -> None:
    grant = Grant(kind, "some words")
    place = grants.append(tmp_path, tmp_path, grant)
    standing = grants.load(tmp_path, tmp_path)
    assert standing.grants == (grant,)
    assert standing.origins == {f"grant:{kind}:some words": place}
    assert json.loads((tmp_path / "grants.jsonl").read_text()) == {
        "version": 1,
        "project": os.path.realpath(tmp_path),
        "kind": kind,
        "match": "some words",
    }


def test_the_kinds_there_are() -> None:
    kinds = {"command", "write", "host", "note", "network", "folder", "network-host"}
    assert set(grants.KINDS) == kinds


def test_a_grant_is_taken_back_and_nothing_else(tmp_path: Path) -> None:
    here, there, home = tmp_path / "a", tmp_path / "b", tmp_path / "home"
    for project, grant in (
        (here, NPM),
        (there, NPM),
        (here, Grant("network", "npm test")),
        (here, NPM),
        (here, Grant("command", "npm")),
    ):
        grants.append(home, project, grant)
    file = home / "grants.jsonl"
    with file.open("ab") as broken:
        broken.write(b"broken \xff\n")
    before = file.read_bytes().splitlines()
    assert grants.forget(home, here, NPM)
    assert file.read_bytes().splitlines() == [before[1], before[2], before[4], before[5]]
    assert file.read_bytes().endswith(b"\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(home) == ["grants.jsonl"]
    assert grants.load(home, here).grants == (
        Grant("network", "npm test"),
        Grant("command", "npm"),
    )
    assert grants.load(home, there).grants == (NPM,)
    unchanged = file.stat().st_ino
    assert not grants.forget(home, here, NPM)
    assert not grants.forget(home, tmp_path / "c", NPM)
    assert file.stat().st_ino == unchanged


def test_the_last_one_can_be_taken_back_and_given_again(tmp_path: Path) -> None:
    grants.append(tmp_path, tmp_path, NPM)
    assert grants.forget(tmp_path, tmp_path, NPM)
    assert grants.load(tmp_path, tmp_path).grants == ()
    assert grants.append(tmp_path, tmp_path, NPM) == f"{tmp_path}/grants.jsonl:1"
    assert grants.load(tmp_path, tmp_path).grants == (NPM,)


def test_without_a_file_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    assert not grants.forget(tmp_path / "home", tmp_path, NPM)
    assert not (tmp_path / "home").exists()


def test_a_torn_last_line_stays_as_it_is(tmp_path: Path) -> None:
    grants.append(tmp_path, tmp_path, NPM)
    file = tmp_path / "grants.jsonl"
    with file.open("ab") as torn:
        torn.write(b'{"version": 1, "pro')
    assert grants.forget(tmp_path, tmp_path, NPM)
    assert file.read_bytes() == b'{"version": 1, "pro'


def test_a_project_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    grants.append(tmp_path, tmp_path / "a", NPM)
    assert grants.forget(tmp_path, tmp_path / "link", NPM)


def test_a_file_kept_elsewhere_stays_a_link(tmp_path: Path) -> None:
    kept, home = tmp_path / "dotfiles", tmp_path / "home"
    kept.mkdir()
    home.mkdir()
    (home / "grants.jsonl").symlink_to(kept / "grants.jsonl")
    grants.append(home, tmp_path, NPM)
    assert grants.forget(home, tmp_path, NPM)
    assert (home / "grants.jsonl").is_symlink()
    assert (kept / "grants.jsonl").read_bytes() == b""
    assert os.listdir(kept) == ["grants.jsonl"]


def test_what_cannot_be_written_still_stands_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "grants.jsonl").mkdir()
    with pytest.raises(StoreError, match="cannot be taken back"):
        grants.forget(tmp_path, tmp_path, NPM)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_that_takes_no_file_keeps_the_grant(tmp_path: Path) -> None:
    grants.append(tmp_path, tmp_path, NPM)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="cannot be taken back"):
            grants.forget(tmp_path, tmp_path, NPM)
        assert grants.load(tmp_path, tmp_path).grants == (NPM,)
    finally:
        tmp_path.chmod(0o700)


def test_giving_and_taking_at_once_loses_nothing(tmp_path: Path) -> None:
    for number in range(15):
        grants.append(tmp_path, tmp_path, Grant("command", f"old {number}"))

    def give(number: int) -> None:
        grants.append(tmp_path, tmp_path, Grant("command", f"new {number}"))

    def take(number: int) -> None:
        assert grants.forget(tmp_path, tmp_path, Grant("command", f"old {number}"))

    threads = [
        threading.Thread(target=work, args=(number,))
        for number in range(15)
        for work in (give, take)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    standing = grants.load(tmp_path, tmp_path)
    assert {grant.match for grant in standing.grants} == {f"new {n}" for n in range(15)}
    assert standing.problems == ()


def test_two_processes_do_not_lose_each_others_lines(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stormclaw.security import grants; "
        "from stormclaw.protocol.effects import Grant; home = Path(sys.argv[1])\n"
        "for n in range(20):\n"
        "    grants.append(home, home, Grant('command', f'{sys.argv[2]} {n}'))\n"
        "    if n % 2: grants.forget(home, home, Grant('command', f'{sys.argv[2]} {n}'))\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    kept = {grant.match for grant in grants.load(tmp_path, tmp_path).grants}
    assert kept == {f"{name} {n}" for name in ("a", "b") for n in range(0, 20, 2)}


HELD = (NPM, Grant("command", "npm ci"), Grant("network", "npm ci"), Grant("command", "7"))


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("1", HELD[0]),
        (" 3 ", HELD[2]),
        ("4", HELD[3]),
        ("7", None),
        ("0", None),
        ("5", None),
        ("-1", None),
        ("²", None),
        ("npm test", HELD[0]),
        ("npm ci", None),
        ("network: npm ci", HELD[2]),
        ("command: npm ci", HELD[1]),
        ("npm", None),
        ("", None),
    ],
)
def test_a_grant_is_named_by_number_or_words(wanted: str, meant: Grant | None) -> None:
    assert grant_meant(HELD, wanted) == meant


def test_a_long_file_is_read_to_its_end(tmp_path: Path) -> None:
    for number in range(3):
        grants.append(tmp_path, tmp_path, Grant("command", f"{number} {'x' * 50_000}"))
    assert grants.append(tmp_path, tmp_path, NPM) == f"{tmp_path}/grants.jsonl:4"
    assert grants.forget(tmp_path, tmp_path, NPM)
    assert len(grants.load(tmp_path, tmp_path).grants) == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nope", "not a JSON object; it grants nothing"),
        ("[]", "not a JSON object; it grants nothing"),
        ('{"version": 2}', "version 2 is not known here; it grants nothing"),
        ('{"match": "x"}', "version None is not known here; it grants nothing"),
        ('{"version": 1}', "project, kind or match is missing or wrong; it grants nothing"),
    ],
)
def test_a_line_that_grants_nothing_says_why(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "grants.jsonl"
    file.write_text(f"\n  \n{line}\n")
    standing = grants.load(tmp_path, tmp_path)
    assert standing.problems == (f"{file}:3: {problem}",)
    assert (standing.grants, standing.origins) == ((), {})


def test_the_folder_and_the_file_are_the_persons_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    grants.append(home, tmp_path, NPM)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    file = home / "grants.jsonl"
    file.chmod(0o644)
    grants.append(home, tmp_path, NPM)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    standing = grants.load(home, tmp_path)
    assert (standing.grants, standing.origins) == ((NPM,), {"grant:command:npm test": f"{file}:1"})


def test_a_file_that_cannot_be_read_is_a_problem_and_no_grant(tmp_path: Path) -> None:
    (tmp_path / "grants.jsonl").mkdir()
    standing = grants.load(tmp_path, tmp_path)
    problem = f"{tmp_path}/grants.jsonl: cannot be read: Is a directory"
    assert standing == grants.Standing((), {}, (problem,))
    with pytest.raises(StoreError, match="the grant cannot be written: Is a directory"):
        grants.append(tmp_path, tmp_path, NPM)

"""Sessions are found again: by id, by the beginning of one, by folder, by age."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from stormclaw.errors import StoreError, UsageError
from stormclaw.store import sessions
from stormclaw.store.codec import NewerVersion
from stormclaw.store.sessions import SessionInfo, titled

_AT = 1_795_311_839.0  # 2026-11-22 01:43:59 UTC
_HERE, _THERE = Path("/src/here"), Path("/src/there")


def _create(home: Path, workspace: Path = _HERE, at: float = _AT) -> SessionInfo:
    return sessions.create(home, workspace, "small", "mock", now=at)


def _say(home: Path, info: SessionInfo, at: float) -> None:
    """Give the session a transcript, last written at a time."""
    transcript = sessions.folder(home, info.id) / "transcript.jsonl"
    transcript.write_bytes(b"{}\n")
    os.utime(transcript, (at, at))


def test_a_new_session_can_be_loaded(tmp_path: Path) -> None:
    info = _create(tmp_path / "home")

    assert info.id.startswith("20261122-014359-")
    assert info == SessionInfo(info.id, _HERE, "", _AT, _AT, "small", "mock", 1)
    assert sessions.load(tmp_path / "home", info.id) == info
    folder = sessions.folder(tmp_path / "home", info.id)
    assert folder == tmp_path / "home" / "sessions" / info.id
    assert folder.stat().st_mode & 0o077 == 0
    assert [path.name for path in folder.iterdir()] == ["session.json"]


def test_ids_made_in_the_same_second_differ_and_sort_by_time(tmp_path: Path) -> None:
    ids = [_create(tmp_path, at=_AT + second).id for second in (0, 0, 0, 1, 2)]

    assert len(set(ids)) == 5
    assert ids[3:] == sorted(ids)[3:]


def test_saving_keeps_every_field(tmp_path: Path) -> None:
    strange = Path(os.fsdecode(b"/src/\xff\xfe"))  # A folder whose name is not UTF-8.
    info = sessions.create(tmp_path, strange, "m", "p", now=_AT)
    changed = replace(info, title="Tüpfel \ud800", updated=_AT + 5, model="large", provider="q")
    sessions.save(tmp_path, changed)

    assert sessions.load(tmp_path, info.id) == changed


@pytest.mark.parametrize("length", [8, 15, 18])
def test_the_beginning_of_an_id_is_enough(tmp_path: Path, length: int) -> None:
    info = _create(tmp_path)
    _create(tmp_path, at=_AT + 100_000)

    assert sessions.load(tmp_path, info.id[:length]) == info
    assert sessions.load(tmp_path, info.id[-4:]) == info


def test_an_ambiguous_beginning_lists_the_candidates(tmp_path: Path) -> None:
    ids = [_create(tmp_path, at=_AT + second).id for second in range(3)]

    with pytest.raises(UsageError, match="fits 3 sessions") as raised:
        sessions.load(tmp_path, "2026")
    assert all(session_id in str(raised.value) for session_id in ids)

    for second in range(3, 12):
        _create(tmp_path, at=_AT + second)
    with pytest.raises(UsageError, match=r"fits 12 sessions: .* and 4 more"):
        sessions.load(tmp_path, "2026")


@pytest.mark.parametrize("wanted", ["", "2027", "..", "../..", "/", "*", "20261122-014359-zzzz0"])
def test_what_fits_nothing_is_said(tmp_path: Path, wanted: str) -> None:
    _create(tmp_path)
    with pytest.raises(UsageError, match="session list"):
        sessions.load(tmp_path, wanted)
    with pytest.raises(UsageError):
        sessions.folder(tmp_path, wanted)


def test_listing_is_newest_first_and_by_workspace(tmp_path: Path) -> None:
    assert sessions.list_sessions(tmp_path) == []
    first = _create(tmp_path, _HERE)
    second = _create(tmp_path, _THERE, _AT + 10)
    third = _create(tmp_path, _HERE, _AT + 20)
    sessions.save(tmp_path, replace(first, updated=_AT + 30))

    assert [info.id for info in sessions.list_sessions(tmp_path)] == [first.id, third.id, second.id]
    assert [info.id for info in sessions.list_sessions(tmp_path, _THERE)] == [second.id]
    assert sessions.list_sessions(tmp_path, Path("/nowhere")) == []


def test_the_transcripts_last_write_counts_as_an_update(tmp_path: Path) -> None:
    crashed = _create(tmp_path)
    later = _create(tmp_path, at=_AT + 10)
    _say(tmp_path, later, _AT + 20)
    _say(tmp_path, crashed, _AT + 30)  # Killed before anybody saved its session.json.

    assert sessions.load(tmp_path, crashed.id).updated == _AT + 30
    assert sessions.latest(tmp_path, _HERE) == replace(crashed, updated=_AT + 30)


def test_the_latest_is_one_in_which_something_was_said(tmp_path: Path) -> None:
    assert sessions.latest(tmp_path, _HERE) is None
    spoken = _create(tmp_path)
    empty = _create(tmp_path, at=_AT + 10)
    _create(tmp_path, _THERE, _AT + 20)
    assert sessions.latest(tmp_path, _HERE) == empty

    _say(tmp_path, spoken, _AT + 5)
    latest = sessions.latest(tmp_path, _HERE)
    assert latest is not None
    assert latest.id == spoken.id


def test_broken_folders_are_reported_and_passed_over(tmp_path: Path) -> None:
    whole = _create(tmp_path)
    broken = [_create(tmp_path, at=_AT + second) for second in range(1, 8)]
    files = [sessions.folder(tmp_path, info.id) / "session.json" for info in broken]
    files[0].unlink()
    files[1].write_text("{nope")
    files[2].write_text('{"version": 1}')
    files[3].write_text(files[3].read_text().replace('"version": 1', '"version": 2'))
    files[4].write_text("[]")
    files[5].write_text(json.dumps(json.loads(files[5].read_text()) | {"id": whole.id}))
    files[6].write_text("[" * 100_000)
    (tmp_path / "sessions" / "notes.txt").write_text("mine")

    listing = sessions.survey(tmp_path)

    assert listing.sessions == (whole,)
    assert len(listing.problems) == 7
    for info, problem in zip(broken, listing.problems, strict=True):
        assert info.id in problem
    for part, problem in zip(
        ("No such file", "not a session", "not a session", "newer StormClaw", "not a JSON object",
         "belongs to session", "not a session"),
        listing.problems,
        strict=True,
    ):  # fmt: skip
        assert part in problem
    assert sessions.list_sessions(tmp_path) == [whole]
    with pytest.raises(StoreError, match="not a session"):
        sessions.load(tmp_path, broken[1].id)
    with pytest.raises(NewerVersion, match=r"session\.json.*upgrade StormClaw"):
        sessions.load(tmp_path, broken[3].id)


def test_a_thousand_sessions_are_listed(tmp_path: Path) -> None:
    made = _create(tmp_path)
    text = (sessions.folder(tmp_path, made.id) / "session.json").read_text()
    for number in range(999):
        session_id = f"20250101-{number:06}-abcd"
        folder = sessions.folder(tmp_path, session_id)
        folder.mkdir()
        (folder / "session.json").write_text(text.replace(made.id, session_id))

    assert len(sessions.list_sessions(tmp_path)) == 1000


def test_a_full_disk_leaves_the_old_session_standing(small_disk: Path) -> None:
    info = _create(small_disk)
    (small_disk / "filler").write_bytes(b"x" * 8_000)
    try:
        with (small_disk / "filler").open("ab", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
    except OSError:
        pass

    with pytest.raises(StoreError, match=r"cannot save .*session\.json: No space left"):
        sessions.save(small_disk, replace(info, title="x" * 9000))

    assert sessions.load(small_disk, info.id) == info
    names = [path.name for path in sessions.folder(small_disk, info.id).iterdir()]
    assert names == ["session.json"]


def test_a_home_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match="file stands where a folder is needed"):
        _create(tmp_path / "home")
    with pytest.raises(StoreError):
        sessions.list_sessions(tmp_path / "home")


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("fix the jitter", "fix the jitter"),
        ("  fix\n\n the\tjitter\x1b[31m ", "fix the jitter [31m"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        (" \n ", ""),
    ],
)
def test_the_title_comes_from_the_first_prompt(prompt: str, title: str) -> None:
    info = SessionInfo("20261122-014359-abcd", _HERE, "", _AT, _AT, "m", "p")

    named = titled(info, prompt)

    assert named.title == title
    assert len(named.title) <= 60
    assert titled(replace(info, title="kept"), prompt).title == "kept"

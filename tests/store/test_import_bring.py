"""A file from elsewhere becomes a whole session, or nothing is left of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from any_nodes import SCATTERED, trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import StoreError, UsageError
from stormclaw.protocol.display import Diff, Headline, Plain, Table
from stormclaw.protocol.messages import Delegation, Node, ToolOutcome, Usage, UserText
from stormclaw.store import sessions, transcripts
from stormclaw.store.export.claude import project_folder
from stormclaw.store.export.json_file import to_json
from stormclaw.store.imports import native
from stormclaw.store.imports.bring import bring, remember
from stormclaw.store.imports.look import Found, Places, find, first_prompt, listed, look
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo

UUID = "0b222b9d-d797-4fe3-ba81-b19031369070"
OTHER = "1b222b9d-d797-4fe3-ba81-b19031369071"
META = {
    "timestamp": "2026-10-01T10:00:00Z",
    "type": "session_meta",
    "payload": {"id": UUID, "cwd": "/src/tide"},
}


def claude_rows(*said: str, **more: Any) -> str:
    rows = [
        {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": UUID,
            "cwd": "/src/tide",
            "timestamp": f"2026-10-01T10:00:{number:02d}Z",
            "message": {"role": "user", "content": text},
            **more,
        }
        for number, text in enumerate(said)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def codex_rows(*said: str, cwd: str = "/src/tide") -> str:
    content = [[{"type": "input_text", "text": text}] for text in said]
    rows = [
        META | {"payload": {"id": UUID, "cwd": cwd}},
        *(
            {
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": one},
            }
            for one in content
        ),
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def put(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def brought(home: Path, path: Path, **more: Any) -> SessionInfo:
    return bring(home, look(path), Path("/src/tide"), **more).info


def read(home: Path, info: SessionInfo) -> tuple[Node, ...]:
    reading = transcripts.read(sessions.folder(home, info.id))
    assert not reading.problems
    return reading.nodes


def left(home: Path) -> list[str]:
    place = home / "sessions"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def test_a_session_of_claude_code_is_listed_and_read(tmp_path: Path) -> None:
    path = put(tmp_path / f"{UUID}.jsonl", claude_rows("hello there", "and again"))
    info = brought(tmp_path, path)
    again = sessions.load(tmp_path, info.id)
    assert again == info
    assert (again.origin, again.title, again.turns) == (f"claude:{UUID}", "hello there", 2)
    assert (again.provider, again.workspace) == ("anthropic", Path("/src/tide"))
    assert again.id.startswith("20261001-100000-")
    assert (again.created, again.updated) == (1_790_848_800.0, 1_790_848_801.0)
    assert [node.body for node in read(tmp_path, info)] == [
        UserText("hello there"), UserText("and again"),
    ]  # fmt: skip
    assert left(tmp_path) == [info.id]


def test_a_rollout_of_codex_likewise(tmp_path: Path) -> None:
    path = put(tmp_path / f"rollout-2026-{UUID}.jsonl", codex_rows("hello"))
    info = brought(tmp_path, path)
    assert (info.origin, info.title, info.provider) == (f"codex:{UUID}", "hello", "openai")


def test_twice_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path / f"{UUID}.jsonl", claude_rows("hello"))
    first = brought(tmp_path, path)
    with pytest.raises(UsageError, match=f"is here already, as {first.id}; --again"):
        brought(tmp_path, path)
    second = brought(tmp_path, path, again=True)
    assert second.id != first.id
    assert read(tmp_path, first) == read(tmp_path, second)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (claude_rows("hello") + "{broken\n" + claude_rows("x"), "line 2: not JSON"),
        (claude_rows("meta", isMeta=True), "nothing was said"),
        (claude_rows("deep").replace('"deep"', '[{"type": "text"}]'), "nothing was said"),
    ],
)
def test_nothing_is_left_of_a_bad_file(tmp_path: Path, content: str, said: str) -> None:
    good = claude_rows(*map(str, range(50)))
    path = put(tmp_path / f"{UUID}.jsonl", content if "nothing" in said else good + content)
    with pytest.raises(StoreError, match=said if "nothing" in said else "line 52: not JSON"):
        brought(tmp_path, path)
    assert left(tmp_path) == []


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    for content in ('{"a": 1}\n', "", '{"type":"user"}\n', '{"payload": {}}\n'):
        path = put(tmp_path / "x.jsonl", content)
        with pytest.raises(StoreError, match=r"x.jsonl line 1: neither a session of Claude"):
            look(path)
    with pytest.raises(StoreError, match="not JSON"):
        look(put(tmp_path / "x.jsonl", "hello\n"))
    with pytest.raises(UsageError, match="does not exist"):
        look(tmp_path / "none")


def test_times_that_cannot_be_are_not_believed(tmp_path: Path) -> None:
    for stamp in ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "noon", 1e300, -5, True):
        path = put(tmp_path / f"{UUID}.jsonl", claude_rows("hello", timestamp=stamp))
        os.utime(path, (1_790_000_000.0, 1_790_000_000.0))
        info = brought(tmp_path, path, again=True)
        assert info.created == 1_790_000_000.0, stamp
        assert sessions.load(tmp_path, info.id).updated >= info.created


def test_keys_in_results_and_titles_are_taken_out(tmp_path: Path) -> None:
    key = "sk-" + "a1b2c3d4" * 4
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "env"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"KEY={key}"}
    rows = [
        {"type": "user", "sessionId": UUID, "uuid": "a", "message": {"content": f"use {key}"}},
        {"type": "assistant", "uuid": "b", "message": {"id": "m", "content": [call]}},
        {"type": "user", "uuid": "c", "message": {"content": [result]}},
    ]
    path = put(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    info = brought(
        tmp_path,
        path,
        screen=lambda text: text.replace(key, "***"),
        mask=lambda text: text.replace(key, "***"),
    )
    assert info.title == "use ***"
    outcome = read(tmp_path, info)[-1].body
    assert isinstance(outcome, ToolOutcome)
    assert outcome.output == "KEY=***"


def test_displays_are_screened_as_the_output_is() -> None:
    from stormclaw.store.imports.bring import _clean, _screened

    mask = str.upper
    head = Headline("x", "y")
    assert _clean(Plain("a"), mask) == Plain("A")
    assert _clean(Table(("c",), (("a",),)), mask) == Table(("c",), (("A",),))
    diff = Diff("a", (), 0, 0)
    assert _clean(diff, mask) is diff
    outcome = ToolOutcome("c", "t", "done", "a", head, display=Plain("a"))
    sent = Delegation(outcome, "root/x", "t", "done", Usage())
    screened = _screened(sent, mask)
    assert isinstance(screened, Delegation)
    assert (screened.outcome.output, screened.outcome.display) == ("A", Plain("A"))
    assert _screened(UserText("a"), mask) == UserText("a")


@settings(max_examples=tries(20, 300), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(SCATTERED, trees()))
def test_any_nodes_come_back_through_a_json_export(
    tmp_path_factory: pytest.TempPathFactory, some: tuple[Node, ...]
) -> None:
    home = tmp_path_factory.mktemp("home")
    source = SessionInfo("20261122-014359-k3f9", home, "A title", 1.7e9, 1.7e9, "m", "p")
    path = put(home / "x.json", to_json(source, some))
    if not some:
        with pytest.raises(StoreError, match="nothing was said"):
            brought(home, path)
        return
    info = brought(home, path)
    assert read(home, info) == some
    assert (info.title, info.model, info.provider) == ("A title", "m", "p")
    assert info.origin == "stormclaw:20261122-014359-k3f9"
    assert info.created == 1.7e9


def test_a_json_export_that_was_damaged_is_refused(tmp_path: Path) -> None:
    source = SessionInfo("20261122-014359-k3f9", tmp_path, "T", 1.7e9, 1.7e9, "m", "p")
    nodes = [Node(f"n{n}", None, "root", float(n), UserText("x" * 500)) for n in range(5)]
    whole = to_json(source, nodes)
    newer = whole.replace('"v":2', '"v":99', 1)
    cases = {
        "line 5: .*": whole.replace('"type":"user"', '"type":"song"').replace("song", "user", 1),
        "the file is cut short": "".join(whole.splitlines(keepends=True)[:6]),
        "line 6: not JSON": whole[: whole.index('"n2"') + 40],
        "a second node has the id 'n1'": whole.replace('"id":"n2"', '"id":"n1"'),
        "newer StormClaw": newer,
        "not an export this StormClaw can read": whole.replace('"version":1', '"version":9'),
        "neither a session": "{}\n",
    }
    for said, content in cases.items():
        path = put(tmp_path / "x.json", content)
        with pytest.raises(StoreError, match=said):
            brought(tmp_path, path)
        assert left(tmp_path) == [], said


def test_a_json_export_laid_out_anew_has_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SessionInfo("20261122-014359-k3f9", tmp_path, "T", 1.7e9, 1.7e9, "m", "p")
    text = to_json(source, [Node("n", None, "root", 1.0, UserText("x"))])
    path = put(tmp_path / "x.json", json.dumps(json.loads(text), indent=2))
    assert read(tmp_path, brought(tmp_path, path))[0].body == UserText("x")
    monkeypatch.setattr(native, "LARGEST_WHOLE", 10)
    with pytest.raises(StoreError, match="laid out anew and is too large"):
        brought(tmp_path, path, again=True)


def test_the_index_finds_what_was_imported(tmp_path: Path) -> None:
    path = put(tmp_path / f"{UUID}.jsonl", claude_rows(*(f"word{n}" for n in range(60))))
    info = brought(tmp_path, path)
    memory = Memory(tmp_path / "memory.db")
    remember(tmp_path, info, memory)
    remember(tmp_path, info, memory)
    assert [hit.conversation_id for hit in memory.search("word42")] == [info.id]
    assert memory.conversations()[0].turns == 60
    memory.close()


LARGE = """
import json, resource, sys
from pathlib import Path
from stormclaw.store.imports.bring import bring
from stormclaw.store.imports.look import look

def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

home = Path(sys.argv[1])
small = look(home / "small.jsonl")
bring(home, small, home)
before = peak()
done = bring(home, look(home / "large.jsonl"), home, again=True)
print(json.dumps({"nodes": done.nodes, "grown": peak() - before}))
"""


def test_a_large_file_does_not_need_large_memory(
    tmp_path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    put(tmp_path / "small.jsonl", claude_rows("hello"))
    long = "word " * 20_000
    with (tmp_path / "large.jsonl").open("w") as file:
        for number in range(480):
            file.write(
                claude_rows(f"{number} {long}", uuid=f"r{number}", parentUuid=f"r{number - 1}")
            )
    size = (tmp_path / "large.jsonl").stat().st_size
    assert size > 45_000_000
    told, _ = child(LARGE, tmp_path).communicate(timeout=120)
    measured = json.loads(told)
    assert measured["nodes"] == 480
    assert measured["grown"] < size / 3


# What there is -----------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / ".claude", tmp_path / ".codex")


def test_sessions_of_a_folder_are_found_newest_first(tmp_path: Path, places: Places) -> None:
    work = Path("/src/tide")
    folder = project_folder(places.claude, work)
    old = put(folder / f"{UUID}.jsonl", claude_rows("an old one"))
    new = put(folder / f"{OTHER}.jsonl", claude_rows("a new one"))
    put(folder / "agent-1.jsonl", claude_rows("a sub-agent"))
    broken = put(folder / "broken.jsonl", "{x\n{}\n")
    put(project_folder(places.claude, Path("/elsewhere")) / "x.jsonl", claude_rows("far"))
    day = places.codex / "sessions" / "2026" / "10" / "01"
    middle = put(day / f"rollout-2026-{UUID}.jsonl", codex_rows("by codex"))
    put(day / f"rollout-2026-{OTHER}.jsonl", codex_rows("by codex, elsewhere", cwd="/elsewhere"))
    for at, path in enumerate((old, middle, new, broken)):
        os.utime(path, (1_790_000_000.0 + at, 1_790_000_000.0 + at))

    found, problems = listed(places, work, ("claude", "codex"))
    assert [one.path for one in found] == [new, middle, old]
    assert [first_prompt(one) for one in found] == ["a new one", "by codex", "an old one"]
    assert len(problems) == 1
    assert "broken.jsonl line 1: not JSON" in problems[0]
    assert [one.kind for one in listed(places, work, ("codex",))[0]] == ["codex"]
    assert listed(Places(tmp_path / "no", tmp_path / "no"), work, ("claude", "codex")) == ([], [])


def test_a_session_is_found_by_the_beginning_of_its_id(places: Places) -> None:
    here = put(project_folder(places.claude, Path("/far")) / f"{UUID}.jsonl", claude_rows("x"))
    there = put(places.codex / "sessions/2026/10/01" / f"rollout-2026-{OTHER}.jsonl", codex_rows())
    assert find(places, UUID[:8], ("claude", "codex")) == here
    assert find(places, OTHER[:8], ("claude", "codex")) == there
    put(project_folder(places.claude, Path("/other")) / f"{UUID}.jsonl", claude_rows("x"))
    for wanted, said in (
        (UUID[:8], "fits 2 sessions"),
        ("ffff", "neither a file nor a session"),
        ("../..", "neither a file nor the id"),
        ("*", "neither a file nor the id"),
    ):
        with pytest.raises(UsageError, match=said):
            find(places, wanted, ("claude", "codex"))


def test_a_prompt_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    path = put(tmp_path / "x.jsonl", "{broken\n{}\n")
    assert first_prompt(Found("claude", path, "x", "", 0.0, 0.0)) == ""

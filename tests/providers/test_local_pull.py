"""Pulling from a hub on loopback: resumed, checked, refused, never half a model in its place."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_hub import ModelHub, model_hub

from stormclaw.errors import ConfigError, ErrorClass, ProviderError, StoreError, UsageError
from stormclaw.providers.local_models import installed, place_of
from stormclaw.providers.local_pull import Plan, look

REPO = "someone/Tiny-GGUF"
FILE = "tiny-Q4.gguf"
CONTENT = bytes(range(256)) * 9_000


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with model_hub() as running:
        running.files[REPO] = {"README.md": b"hello", FILE: CONTENT}
        yield running


async def plan_of(hub: ModelHub, home: Path, file: str = FILE, **env: str) -> Plan:
    return await look({"HF_ENDPOINT": hub.base, **env}, home, REPO, file)


def nothing(have: int) -> None:
    """No progress wanted."""


async def test_what_it_is_is_known_before_a_byte_of_it_comes(hub: ModelHub, tmp_path: Path) -> None:
    plan = await plan_of(hub, tmp_path)
    assert plan.remote.size == len(CONTENT)
    assert plan.remote.licence == "apache-2.0"
    assert plan.places == (tmp_path / "models" / REPO / FILE,)
    assert [path for path, _, _ in hub.asked] == [f"/api/models/{REPO}"]
    assert not (tmp_path / "models").exists()


async def test_a_model_comes_whole_and_says_how_far_it_is(hub: ModelHub, tmp_path: Path) -> None:
    plan = await plan_of(hub, tmp_path)
    told: list[int] = []
    path = await plan.pull(told.append)
    assert path.read_bytes() == CONTENT
    assert told == sorted(told)
    assert told[-1] == len(CONTENT)
    assert plan.is_done
    (model,) = installed(tmp_path)
    assert (model.name, model.repo, model.size) == ("tiny-Q4", REPO, len(CONTENT))
    assert [entry.name for entry in path.parent.iterdir()] == [FILE]


async def test_a_broken_connection_is_gone_on_with_where_it_stopped(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.break_after = 1_500_000
    plan = await plan_of(hub, tmp_path)
    with pytest.raises(ProviderError) as caught:
        await plan.pull(nothing)
    assert caught.value.kind == "connection"
    assert "goes on where it stopped" in caught.value.hint
    here = plan.here
    assert 0 < here < len(CONTENT)
    assert installed(tmp_path) == ()
    path = await (await plan_of(hub, tmp_path)).pull(nothing)
    assert path.read_bytes() == CONTENT
    assert hub.asked[-1][1] == f"bytes={here}-"


async def test_a_hub_that_knows_no_parts_is_read_from_the_beginning(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.break_after, hub.ranges = 1_500_000, False
    plan = await plan_of(hub, tmp_path)
    with pytest.raises(ProviderError):
        await plan.pull(nothing)
    assert (await plan.pull(nothing)).read_bytes() == CONTENT


async def test_another_file_of_the_same_name_is_not_gone_on_with(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.break_after = 1_500_000
    with pytest.raises(ProviderError):
        await (await plan_of(hub, tmp_path)).pull(nothing)
    hub.files[REPO][FILE] = CONTENT[::-1]
    plan = await plan_of(hub, tmp_path)
    assert plan.here == 0
    assert (await plan.pull(nothing)).read_bytes() == CONTENT[::-1]


async def test_a_wrong_checksum_is_thrown_away(hub: ModelHub, tmp_path: Path) -> None:
    hub.sums[FILE] = "0" * 64
    plan = await plan_of(hub, tmp_path)
    with pytest.raises(ProviderError, match="wrong checksum") as caught:
        await plan.pull(nothing)
    assert caught.value.kind == "protocol"
    assert list(plan.places[0].parent.iterdir()) == []


@pytest.mark.parametrize("claimed", ["", "nonsense"])
async def test_what_cannot_be_checked_is_not_fetched(
    hub: ModelHub, tmp_path: Path, claimed: str
) -> None:
    hub.sums[FILE] = claimed
    with pytest.raises(ProviderError, match="checksum"):
        await plan_of(hub, tmp_path)


async def test_more_than_was_announced_is_no_model(hub: ModelHub, tmp_path: Path) -> None:
    hub.sizes[FILE] = 1_000
    with pytest.raises(ProviderError, match="more came"):
        await (await plan_of(hub, tmp_path)).pull(nothing)
    assert installed(tmp_path) == ()


async def test_no_room_is_told_before_anything_is_fetched(hub: ModelHub, tmp_path: Path) -> None:
    hub.sizes[FILE] = 10**15
    plan = await plan_of(hub, tmp_path)
    assert plan.too_large() is not None
    with pytest.raises(StoreError, match="no room"):
        plan.check_disk()
    with pytest.raises(StoreError, match="no room"):
        await plan.pull(nothing)
    assert not any("/resolve/" in path for path, _, _ in hub.asked)


async def test_a_token_opens_what_is_not_public_and_is_never_shown(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.token = "hf_secret"
    with pytest.raises(ProviderError) as closed:
        await plan_of(hub, tmp_path)
    assert closed.value.kind == "auth"
    assert "HF_TOKEN" in closed.value.hint
    with pytest.raises(ProviderError) as wrong:
        await plan_of(hub, tmp_path, HF_TOKEN="hf_wrong")
    assert wrong.value.kind == "forbidden"
    assert "hf_wrong" not in f"{wrong.value!r} {wrong.value.hint}"
    plan = await plan_of(hub, tmp_path, HF_TOKEN="hf_secret")
    assert "hf_secret" not in repr(plan)
    assert (await plan.pull(nothing)).read_bytes() == CONTENT


async def test_the_token_stays_with_the_hub(hub: ModelHub, tmp_path: Path) -> None:
    with model_hub() as other:
        other.files[REPO] = hub.files[REPO]
        hub.elsewhere = other.base
        plan = await plan_of(hub, tmp_path, HF_TOKEN="hf_secret")
        await plan.pull(nothing)
        assert hub.asked[-1][2] == "Bearer hf_secret"
        assert [given for _, _, given in other.asked] == [""]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, "not_found"), (429, "rate_limit"), (503, "server"), (410, "provider")],
)
async def test_a_refusal_has_its_class(
    hub: ModelHub, tmp_path: Path, status: int, kind: ErrorClass
) -> None:
    hub.status = status
    with pytest.raises(ProviderError) as caught:
        await plan_of(hub, tmp_path)
    assert caught.value.kind == kind


async def test_what_is_not_there_is_told_with_what_is(hub: ModelHub, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=FILE):
        await plan_of(hub, tmp_path, "other.gguf")
    assert (await plan_of(hub, tmp_path, "")).remote.files[0].name == FILE
    hub.files[REPO]["second.gguf"] = b"x"
    with pytest.raises(UsageError, match=r"second\.gguf"):
        await plan_of(hub, tmp_path, "")


async def test_a_model_in_parts_comes_with_all_of_them(hub: ModelHub, tmp_path: Path) -> None:
    names = [f"big/m-0000{at}-of-00002.gguf" for at in (1, 2)]
    hub.files[REPO] |= {names[0]: b"one" * 99, names[1]: b"two" * 99}
    plan = await plan_of(hub, tmp_path, names[0])
    told: list[int] = []
    path = await plan.pull(told.append)
    assert [place.read_bytes()[:3] for place in plan.places] == [b"one", b"two"]
    assert told[-1] == plan.remote.size == 594
    assert path.name == "m-00001-of-00002.gguf"
    (model,) = installed(tmp_path)
    assert (model.name, model.size) == ("m", 594)


async def test_two_pulls_of_one_file_do_not_write_into_each_other(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.break_after = 1_500_000
    plan = await plan_of(hub, tmp_path)
    with pytest.raises(ProviderError):
        await plan.pull(nothing)
    (part,) = plan.places[0].parent.iterdir()
    with part.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another"):
            await plan.pull(nothing)


async def test_nobody_there_is_a_connection_error(tmp_path: Path) -> None:
    with model_hub() as gone:
        base = gone.base
    with pytest.raises(ProviderError) as caught:
        await look({"HF_ENDPOINT": base}, tmp_path, REPO, FILE)
    assert caught.value.kind == "connection"


async def test_an_address_that_is_none_is_a_mistake_in_the_environment(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="HF_ENDPOINT"):
        await look({"HF_ENDPOINT": "nonsense"}, tmp_path, REPO, FILE)


@pytest.mark.parametrize(
    ("repo", "file"),
    [
        ("../etc", "a.gguf"),
        ("a/b/c", "a.gguf"),
        ("a/..", "a.gguf"),
        ("a/b", "../x.gguf"),
        ("a/b", "/x.gguf"),
        ("a/b", "x/../../y.gguf"),
        ("a/b", "x.bin"),
        ("a/b", "x\n.gguf"),
    ],
)
def test_names_cannot_lead_out_of_the_folder(repo: str, file: str) -> None:
    with pytest.raises(ValueError):
        place_of(Path("/home"), repo, file)


@pytest.mark.parametrize("odd", ["m-00001-of-00000.gguf", "m-00003-of-00002.gguf"])
async def test_a_name_with_impossible_parts_is_just_a_name(
    hub: ModelHub, tmp_path: Path, odd: str
) -> None:
    hub.files[REPO] = {odd: CONTENT}
    path = await (await plan_of(hub, tmp_path, "")).pull(nothing)
    assert path.name == odd
    assert [model.path for model in installed(tmp_path)] == [path]

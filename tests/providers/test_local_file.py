"""Which model file is meant, what its head says, and what is said of one that cannot be loaded."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from gguf_file import write_gguf
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, ProviderError
from stormclaw.protocol.messages import UserText
from stormclaw.protocol.provider import ChatRequest
from stormclaw.providers import llama
from stormclaw.providers._llama.gguf import BadModelFile, read_head, read_window
from stormclaw.providers._llama.memory import Need, check_memory, free_memory
from stormclaw.providers.local_models import (
    DEFAULT_FILE,
    DEFAULT_REPO,
    chosen,
    installed,
    remove,
    size,
)

HELLO = ChatRequest("", (UserText("hi"),), (), "")
with_llama = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="llama.cpp is not installed here"
)


def pulled(home: Path, repo: str, file: str, *, missing: int = 0) -> Path:
    return write_gguf(home / "models" / repo / file, missing=missing)


# The head ---------------------------------------------------------------------------------------


def test_the_head_says_what_the_model_is_and_takes(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf")
    head = read_head(path)
    assert (head.name, head.architecture, head.context) == ("Tiny", "llama", 4_096)
    assert head.cache_bytes == 10 * 2 * (8 + 8) * 2
    assert head.control_tokens == ("<|im_end|>", "<|im|>")
    assert read_window(path) == 4_096


def test_heads_that_differ_by_layer_and_width_are_counted(tmp_path: Path) -> None:
    facts = {
        "llama.attention.head_count_kv": [2] * 5 + [1] * 5,
        "llama.attention.key_length": 16,
        "llama.attention.value_length": 4,
    }
    assert read_head(write_gguf(tmp_path / "m.gguf", facts)).cache_bytes == 15 * 20 * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"PK\x03\x04" + b"\0" * 100, "no GGUF file"),
        (b"<html>not found</html>" * 9, "no GGUF file"),
        (b"GGUF\x09\0\0\0" + b"\0" * 100, "version 9"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 100, "damaged"),
        (b"GGUF\x03\0\0\0", "cut off"),
    ],
)
def test_what_is_no_model_is_named_so(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(BadModelFile, match=said):
        read_head(path)


def test_half_a_file_is_told_by_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match="at least 100 bytes are missing"):
        read_head(write_gguf(tmp_path / "m.gguf", missing=100))


@given(st.integers(0, 700), st.binary(max_size=8))
def test_no_damage_does_more_than_raise(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    path = write_gguf(tmp_path_factory.getbasetemp() / "damaged.gguf")
    raw = bytearray(path.read_bytes())
    raw[at : at + len(junk)] = junk
    path.write_bytes(raw)
    try:
        read_head(path)
    except BadModelFile:
        pass


# Memory -----------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    need = Need(weights=2_000_000_000, token=100_000, context=32_768)
    assert need.total > 5_000_000_000
    check_memory("own", "big", need, need.total)
    check_memory("own", "big", need, None)
    with pytest.raises(ProviderError) as less:
        check_memory("own", "big", need, 4_000_000_000)
    assert "4.0 GB are free" in str(less.value)
    assert "providers.models.own.context_window to 13312 or less" in less.value.hint
    with pytest.raises(ProviderError) as none:
        check_memory("own", "big", need, 1_000_000_000)
    assert "context_window" not in none.value.hint
    assert "stormclaw local pull" in none.value.hint


def test_this_machine_says_what_is_free() -> None:
    free = free_memory()
    assert free is None or free > 0


@with_llama
async def test_a_model_too_large_for_this_machine_is_never_loaded(tmp_path: Path) -> None:
    facts = {"llama.block_count": 4_000_000, "llama.context_length": 1_000_000}
    path = write_gguf(tmp_path / "huge.gguf", facts)
    settings = ModelSettings("llama", path=str(path), context_window=1_000_000)
    provider = llama.connect("own", settings, None)
    for _ in range(2):
        with pytest.raises(ProviderError, match="it was not loaded") as caught:
            await provider.chat(HELLO)
        assert caught.value.kind == "provider"
    await provider.close()


@with_llama
async def test_a_bad_file_is_told_and_a_mended_one_is_tried_again(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "half.gguf", missing=100)
    provider = llama.connect("own", ModelSettings("llama", path=str(path)), None)
    with pytest.raises(ProviderError, match="not whole") as caught:
        await provider.chat(HELLO)
    assert "stormclaw local pull" in caught.value.hint
    await provider.warm_up()
    write_gguf(path)
    with pytest.raises(ProviderError, match=r"llama\.cpp does not load half"):
        await provider.chat(HELLO)
    path.unlink()
    with pytest.raises(ProviderError) as gone:
        await provider.chat(HELLO)
    assert gone.value.kind == "not_found"
    await provider.close()


# Which one --------------------------------------------------------------------------------------


def test_the_only_model_here_is_meant_and_the_default_before_others(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stormclaw local pull"):
        chosen("own", ModelSettings("llama"), tmp_path)
    other = pulled(tmp_path, "a/b", "aaa.gguf")
    assert chosen("own", ModelSettings("llama"), tmp_path) == other
    default = pulled(tmp_path, DEFAULT_REPO, DEFAULT_FILE)
    assert chosen("own", ModelSettings("llama"), tmp_path) == default
    assert chosen("own", ModelSettings("llama", model="aaa"), tmp_path) == other
    assert chosen("own", ModelSettings("llama", repo="a/b"), tmp_path) == other
    by_file = ModelSettings("llama", repo="a/b", file="aaa.gguf")
    assert chosen("own", by_file, tmp_path) == other
    assert chosen("own", ModelSettings("llama", path=str(other), model="x"), tmp_path) == other


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (ModelSettings("llama", path="/no/such.gguf"), r"own\.path = /no/such\.gguf: no such file"),
        (ModelSettings("llama", repo="a/c", file="x.gguf"), "stormclaw local pull a/c x.gguf"),
        (ModelSettings("llama", repo="a/c"), "stormclaw local pull a/c"),
        (ModelSettings("llama", model="zzz"), "there are: aaa"),
        (ModelSettings("llama", repo="../etc", file="x.gguf"), "no repository"),
    ],
)
def test_what_is_not_here_is_told_with_how_to_get_it(
    tmp_path: Path, settings: ModelSettings, said: str
) -> None:
    pulled(tmp_path, "a/b", "aaa.gguf")
    with pytest.raises(ConfigError, match=said):
        chosen("own", settings, tmp_path)


def test_models_are_listed_whole_and_removed_with_their_folders(tmp_path: Path) -> None:
    one = pulled(tmp_path, "a/b", "sub/m-00001-of-00002.gguf")
    two = pulled(tmp_path, "a/b", "sub/m-00002-of-00002.gguf")
    pulled(tmp_path, "a/c", "lone-00001-of-00002.gguf")
    pulled(tmp_path, "a/c", "mmproj-eyes.gguf")
    write_gguf(tmp_path / "models" / "own.gguf")
    split, own = installed(tmp_path)
    assert [(model.name, model.repo) for model in (split, own)] == [("m", "a/b"), ("own", "")]
    assert split.size == one.stat().st_size + two.stat().st_size
    remove(split, tmp_path)
    assert not (tmp_path / "models" / "a" / "b").exists()
    assert (tmp_path / "models" / "a" / "c").exists()
    remove(own, tmp_path)
    assert installed(tmp_path) == ()


@pytest.mark.parametrize(
    ("count", "said"), [(98_362_432, "98 MB"), (1_117_320_000, "1.1 GB"), (0, "0 MB")]
)
def test_sizes_are_for_people(count: int, said: str) -> None:
    assert size(count) == said


def test_nothing_of_llama_cpp_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf")
    code = (
        "import sys; from stormclaw.config.settings import ModelSettings;"
        "from stormclaw.providers import llama;"
        f"p = llama.connect('own', ModelSettings('llama', path={str(path)!r}), None);"
        "assert p.capabilities().context_window == 4096;"
        "assert not {'xllamacpp', 'aiohttp', 'huggingface_hub'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    installed_here = importlib.util.find_spec("xllamacpp") is not None
    assert (done.returncode == 0) == installed_here, done.stderr
    if not installed_here:
        assert "pip install 'stormclaw[local]'" in done.stderr

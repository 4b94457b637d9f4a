"""The registry of models: who is found under which spelling, and what an answer cost."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stormclaw.config.settings import ModelSettings
from stormclaw.protocol.messages import Usage
from stormclaw.providers._models import prices as price_list
from stormclaw.providers._models.abilities import abilities, can_chat
from stormclaw.providers._models.card import FREE, Prices, Rate
from stormclaw.providers._models.match import find, spellings
from stormclaw.providers._models.prices import Listed, Priced, Vendor
from stormclaw.providers._models.terms import runs_here
from stormclaw.providers.models import ModelBook

DAY = datetime(2026, 11, 22, 12, tzinfo=UTC)
MILLION = 1_000_000


def a_book(home: Path, **models: ModelSettings) -> ModelBook:
    book = ModelBook(models, home, clock=lambda: DAY)
    book.load_here()
    return book


def settings(kind: str = "openai-compatible", **more: Any) -> ModelSettings:
    return ModelSettings(kind=kind, **more)


def write(home: Path, *entries: Any) -> Path:
    path = home / "models.json"
    path.write_text(json.dumps({"models": list(entries)}, indent=1))
    return path


# The price list ----------------------------------------------------------------------------------


def test_the_light_reading_and_the_package_itself_say_the_same() -> None:
    light, whole = price_list._run_data(), price_list._import_data()
    assert light == whole
    assert len(light) > 20
    assert sum(len(vendor.models) for vendor in light) > 1000


def test_reading_it_imports_neither_the_package_nor_what_it_needs() -> None:
    code = (
        "import sys; from stormclaw.providers._models import prices as m; m.read_list()\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in "
        "('genai_prices', 'pydantic', 'httpx', 'httpx2', 'textual', 'openai')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("anthropic", "claude-sonnet-4.5"),
        ("anthropic", "anthropic/claude-sonnet-4.5:high"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
        ("openrouter", "anthropic/claude-sonnet-4.5:nitro"),
        ("openrouter", "anthropic/claude-4.5-sonnet-20250929"),
        ("openrouter", "Anthropic/Claude-Sonnet-4.5:thinking"),
    ],
)
def test_a_model_is_found_however_it_is_spelled(tmp_path: Path, provider: str, model: str) -> None:
    card = a_book(tmp_path).card(provider, model)
    assert card is not None
    assert card.prices is not None
    assert (card.prices.input.base, card.prices.output.base) == (3.0, 15.0)
    assert card.id == model
    assert (card.tools, card.thinking, card.images) == (True, True, True)
    assert card.prices_from == "price list"


def test_spellings_come_once_each_and_the_nearest_first() -> None:
    found = list(spellings("OpenAI/gpt-5.1-2025-11-13:high"))
    assert len(found) == len(set(found))
    assert found[0] == "openai/gpt-5.1-2025-11-13:high"
    assert found.index("openai/gpt-5.1") < found.index("gpt-5.1")
    assert list(spellings("")) == []


def test_another_model_of_the_family_is_not_taken_for_the_one() -> None:
    models = tuple(Listed(name, None, 0, ()) for name in ("m-1", "m-1-mini"))
    vendor = Vendor("v", "", models)
    assert find(vendor, "m-1-mini") is models[1]
    assert find(vendor, "m-1-huge") is None


def test_the_rules_of_the_list_count_for_models_it_has_under_another_name(tmp_path: Path) -> None:
    card = a_book(tmp_path).card("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert card is not None
    assert card.prices is not None
    assert card.prices.input.base > 0


def test_prices_that_hold_from_a_day_or_at_some_hours() -> None:
    cheap, dear, night = (Prices(Rate(usd), Rate(usd)) for usd in (1.0, 2.0, 0.5))
    hours = (datetime(2026, 1, 1, 16, 30).time(), datetime(2026, 1, 1, 0, 30).time())
    since = datetime(2026, 11, 1).date()
    model = Listed(
        "m", None, 0, (Priced(cheap), Priced(dear, since=since), Priced(night, hours=hours))
    )
    assert model.prices_at(datetime(2026, 10, 31, 12, tzinfo=UTC)) is cheap
    assert model.prices_at(datetime(2026, 11, 1, 12, tzinfo=UTC)) is dear
    assert model.prices_at(datetime(2026, 11, 1, 23, tzinfo=UTC)) is night
    assert model.prices_at(datetime(2026, 11, 2, 0, 10, tzinfo=UTC)) is night


# What it costs -----------------------------------------------------------------------------------

PRICES = Prices(Rate(3.0, ((200_000, 6.0),)), Rate(15.0), Rate(0.3), Rate(3.75))


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(MILLION // 10, 0), 0.3),
        (Usage(0, MILLION), 15.0),
        (Usage(100_000, 0, cached_tokens=90_000), 0.03 + 0.027),
        (Usage(100_000, 0, cached_tokens=50_000, cache_write_tokens=40_000), 0.03 + 0.015 + 0.15),
        (Usage(100, 0, cached_tokens=500, cache_write_tokens=500), 100 * 0.3 / MILLION),
        (Usage(200_000, 0), 0.6),
        (Usage(200_001, 0), 200_001 * 6.0 / MILLION),
    ],
)
def test_cached_written_and_many_tokens_have_their_own_price(usage: Usage, usd: float) -> None:
    assert PRICES.of(usage) == pytest.approx(usd)


def test_a_cache_without_a_price_of_its_own_costs_like_input() -> None:
    prices = Prices(Rate(2.0), Rate(4.0))
    assert prices.of(Usage(MILLION, 0, cached_tokens=MILLION // 2)) == pytest.approx(2.0)


def test_an_answer_without_a_reported_cost_is_priced(tmp_path: Path) -> None:
    usage = a_book(tmp_path).priced("anthropic", "claude-sonnet-4-5", Usage(1000, 100))
    assert usage.cost_usd == pytest.approx(0.0045)
    assert usage.priced
    assert usage.reported


def test_a_reported_cost_is_never_touched(tmp_path: Path) -> None:
    reported = Usage(1000, 100, cost_usd=0.5)
    assert a_book(tmp_path).priced("anthropic", "claude-sonnet-4-5", reported) is reported


def test_before_it_is_loaded_nothing_is_priced(tmp_path: Path) -> None:
    usage = Usage(1000, 100)
    book = ModelBook({}, tmp_path)
    assert book.priced("anthropic", "claude-sonnet-4-5", usage) is usage
    assert not book.loaded


async def test_it_is_loaded_in_a_thread(tmp_path: Path) -> None:
    book = ModelBook({}, tmp_path)
    await book.load()
    await book.load()
    assert book.loaded
    assert book.priced("openai", "gpt-5.1", Usage(1000, 100)).priced


@pytest.mark.parametrize(
    ("name", "model", "entry", "cost", "priced"),
    [
        ("ollama", "qwen3", None, 0.0, False),
        ("gguf", "x", settings("llama"), 0.0, False),
        ("here", "x", settings(base_url="http://localhost:8080/v1"), 0.0, False),
        ("proxy", "gpt-5.1", settings(base_url="http://127.0.0.1:4000/v1"), None, False),
        ("far", "gpt-5.1", settings(base_url="https://models.example/v1"), None, False),
        ("sub", "claude-opus-5-5", settings("claude-cli"), None, False),
        ("sub", "gpt-5.1", settings("codex-cli"), None, False),
        ("script", "gpt-5.1", settings("mock"), None, False),
        ("demo", "demo", None, None, False),
        ("github", "openai/gpt-4.1", None, None, False),
        ("mine", "gpt-5.1", settings(base_url="https://api.openai.com/v1"), 0.00225, True),
        ("odd", "gpt-5.1", settings(base_url="http://[::1"), None, False),
        ("openrouter", "qwen/qwen3-coder:free", None, 0.0, True),
    ],
)
def test_who_costs_what(
    tmp_path: Path,
    name: str,
    model: str,
    entry: ModelSettings | None,
    cost: float | None,
    priced: bool,
) -> None:
    book = a_book(tmp_path, **({name: entry} if entry is not None else {}))
    usage = book.priced(name, model, Usage(1000, 100))
    assert usage.cost_usd == (None if cost is None else pytest.approx(cost))
    assert usage.priced is priced


def test_a_composite_that_does_not_say_who_answered(tmp_path: Path) -> None:
    both = settings("reliable", providers=("openai/gpt-5.1", "other"))
    mixed = settings("reliable", providers=("openai/gpt-5.1", "ollama"))
    loop = settings("router", routes={"default": "loop"})
    other = settings(base_url="https://api.openai.com/v1")
    book = a_book(tmp_path, both=both, mixed=mixed, other=other, loop=loop)
    assert book.priced("both", "gpt-5.1", Usage(1000, 100)).priced
    for name in ("mixed", "loop"):
        assert book.priced(name, "gpt-5.1", Usage(1000, 100)).cost_usd is None


def test_usual_ports_are_this_machine_others_may_be_a_proxy() -> None:
    assert runs_here("http://localhost:11434/v1")
    assert runs_here("http://[::1]:1234/v1")
    assert not runs_here("http://127.0.0.1:4000/v1")
    assert not runs_here("http://192.168.1.2:11434/v1")
    assert not runs_here("http://127.0.0.1:99999/v1")
    assert not runs_here("")


# models.json -------------------------------------------------------------------------------------


def test_the_persons_own_file_comes_first_and_fills_up_from_the_list(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"provider": "anthropic", "id": "claude-sonnet-4-5", "context_window": 500_000},
        {
            "provider": "sub",
            "id": "Opus",
            "prices": {"input": 1, "output": 2, "cache_read": 0.1},
            "images": False,
        },
    )
    book = a_book(tmp_path, sub=settings("claude-cli"))
    card = book.card("anthropic", "claude-sonnet-4-5-20250929")
    assert card is not None
    assert (card.context_window, card.window_from) == (500_000, "models.json")
    assert card.prices is not None
    assert (card.prices.input.base, card.prices_from) == (3.0, "price list")
    usage = book.priced("sub", "opus", Usage(MILLION, 0, cached_tokens=MILLION))
    assert usage.cost_usd == pytest.approx(0.1)
    assert usage.priced
    assert not book.problems
    first = next(book.cards("sub"))
    assert (first.id, first.source) == ("Opus", "models.json")


def test_every_problem_is_told_with_file_key_and_value(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"provider": "a", "id": "good", "max_output": 5},
        {"id": "no-provider", "context_window": "large"},
        {"provider": "a", "id": "b", "prices": {"input": -1, "otput": 2}},
        {"provider": "a", "id": "c", "tools": "yes", "window": 3},
        "text",
    )
    book = a_book(tmp_path)
    said = [str(problem) for problem in book.problems]
    assert said == [
        f"{path}:10: models[1].context_window = large: "
        "must be a whole number of tokens, more than 0",
        f"{path}: models[1].provider: is missing",
        f"{path}:16: models[2].prices.input = -1: must be US dollars per million tokens, 0 or more",
        f"{path}:17: models[2].prices.otput = 2: "
        "unknown key; known here: input, output, cache_read, cache_write",
        f"{path}: models[2].prices.output: is missing",
        f"{path}:23: models[3].tools = yes: must be true or false",
        f"{path}:24: models[3].window = 3: unknown key; known here: provider, id, "
        "context_window, max_output, tools, thinking, images, prices",
        f"{path}:26: models[4] = text: must be a mapping with the keys provider, id, "
        "context_window, max_output, tools, thinking, images, prices",
    ]
    good = book.card("a", "good")
    assert good is not None
    assert good.max_output == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"models": [', "invalid YAML"),
        ("[]", "models.json"),
        ('{"models": 3, "more": 1}', "models.json:1: models = 3: must be a list of models"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "models.json").write_text(text)
    book = a_book(tmp_path)
    assert any(said in str(problem) for problem in book.problems)
    assert book.priced("openai", "gpt-5.1", Usage(1000, 100)).priced


# Choosing ----------------------------------------------------------------------------------------


def test_only_models_to_talk_to_are_offered(tmp_path: Path) -> None:
    book = a_book(tmp_path)
    openai = [card.id for card in book.cards("openai")]
    assert "gpt-5.1" in openai
    assert not {"whisper-1", "tts-1", "text-embedding-3-small", "gpt-image-1"} & set(openai)
    openrouter = [card.id for card in book.cards("openrouter")]
    assert len(openrouter) > 200
    assert all("/" in model and not model.startswith("~") for model in openrouter)
    assert not any(model.endswith(":batch") for model in openrouter)
    assert all(card.id.startswith(("gemini", "gemma")) for card in book.cards("gemini"))
    assert list(book.cards("nobody")) == []


def test_abilities_follow_the_family_and_stay_unknown_otherwise() -> None:
    assert abilities("openai/gpt-oss-120b") == (True, True, False)
    assert abilities("us.anthropic.claude-sonnet-4-5-v1:0") == (True, True, True)
    assert abilities("nobody/knows") == (None, None, None)
    assert can_chat("qwen3-coder")
    assert not can_chat("text-embedding-3-small")


def test_what_nobody_knows_has_no_card(tmp_path: Path) -> None:
    book = a_book(tmp_path)
    assert book.card("openrouter", "nobody/knows") is None
    assert book.known_window("openrouter", "nobody/knows") == 0
    assert book.card("", "") is None
    free = book.card("ollama", "nobody/knows")
    assert free is not None
    assert free.prices is FREE

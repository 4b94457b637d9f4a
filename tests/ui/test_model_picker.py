"""The screen on which a model is chosen: what it lists, its keys, and pictures of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from stage import Stage
from textual.pilot import Pilot

from stormclaw.config.settings import ModelSettings, ProvidersSettings, Settings, UiSettings
from stormclaw.providers._models.prices import Listed, Priced, Vendor
from stormclaw.providers.models import ModelBook, Prices, Rate
from stormclaw.ui.screens.connect import ConnectScreen
from stormclaw.ui.screens.model import ModelScreen

Stages = Callable[..., Stage]
SIZES = [(80, 24), (120, 36), (200, 50)]
DAY = datetime(2026, 11, 22, 12, tzinfo=UTC)


def listed(name: str, window: int, sent: float, received: float, **more: Any) -> Listed:
    prices = Prices(Rate(sent, more.pop("steps", ())), Rate(received), Rate(sent / 10))
    return Listed(name, None, window, (Priced(prices),), **more)


def price_list() -> Mapping[str, Vendor]:
    """A list like the real one, which changes with every release."""
    routed = (
        listed("anthropic/claude-opus-4.5", 200_000, 5, 25),
        listed("anthropic/claude-sonnet-4.5", 1_000_000, 3, 15, steps=((200_000, 6.0),)),
        listed("anthropic/claude-haiku-4.5", 200_000, 1, 5),
        listed("deepseek/deepseek-v3.2", 163_840, 0.26, 0.38),
        listed("google/gemini-2.5-pro", 1_048_576, 1.25, 10),
        listed("moonshotai/kimi-k2", 262_144, 0.5, 2.4),
        listed("openai/gpt-5.1", 400_000, 1.25, 10),
        listed("openai/gpt-oss-120b", 131_072, 0.072, 0.28),
        listed("qwen/qwen3-coder", 262_144, 0.22, 0.95),
        listed("qwen/qwen3-coder:free", 262_144, 0, 0),
        listed("z-ai/glm-4.6", 202_752, 0.6, 2.2),
        listed("gryphe/mythomax-l2-13b", 4_096, 0.06, 0.06),
        listed("openai/whisper-1", 0, 1, 1),
        *(listed(f"vendor/llama-3.3-{number:03}b", 131_072, 0.1, 0.3) for number in range(300)),
    )
    own = (listed("gpt-5.1", 400_000, 1.25, 10), listed("gpt-4o", 128_000, 2.5, 10))
    return {
        "openrouter": Vendor("openrouter", r"https://openrouter\.ai", routed),
        "openai": Vendor("openai", r"https://api\.openai\.com", own),
    }


ENV = {"OPENROUTER_API_KEY": "sk-or-x", "PATH": "/nowhere", "HOME": "/nowhere"}


def chosen(there: Stage, *, env: Mapping[str, str] = ENV, **models: ModelSettings) -> Stage:
    """The stage, on which the runtime has these models; everything switched to is in `switched`."""
    runtime: Any = there.runtime
    settings = Settings(
        ui=there.ui,
        default_provider="openrouter",
        providers=ProvidersSettings(models=models),
    )
    runtime.settings = settings
    runtime.place = SimpleNamespace(
        **{**vars(runtime.place), "settings": settings, "env": dict(env)}
    )
    way = ModelSettings("openai-compatible", model="anthropic/claude-sonnet-4.5")
    runtime.way = SimpleNamespace(name="openrouter", model=way.model, settings=way)
    runtime.switched = []

    async def switch_model(target: str) -> str:
        runtime.switched.append(target)
        return target

    runtime.switch_model = switch_model
    return there


async def opened(there: Stage, pilot: Pilot[Any], argument: str = "") -> ModelScreen:
    await there.ready(pilot)
    models = there.runtime.settings.providers.models
    book = ModelBook(models, there.home, clock=lambda: DAY, prices=price_list)
    screen = ModelScreen(argument, book, places=())
    there.storm.push_screen(screen)
    await there.until(pilot, lambda: screen._read and screen.picker.size.height)
    await pilot.pause()
    await pilot.pause()
    return screen


def targets(screen: ModelScreen) -> list[str]:
    return [line.offer.target for section in screen._sections for line in section.lines]


def picked(screen: ModelScreen) -> str:
    line = screen.picker.line
    assert line is not None
    return line.offer.target


def words_on(screen: ModelScreen) -> str:
    return "\n".join(row.text for row in screen.picker.lines(screen.size.width))


WORK = ModelSettings(
    "openai-compatible",
    model="gpt-5.1",
    base_url="https://api.openai.com/v1",
    api_key_env="WORK_KEY",
)


async def test_the_current_model_is_under_the_cursor(stage: Stages) -> None:
    there = chosen(stage(), work=WORK)
    async with there.app().run_test(size=(120, 36)) as pilot:
        screen = await opened(there, pilot)
        assert picked(screen) == "openrouter/anthropic/claude-sonnet-4.5"
        assert words_on(screen).count("in use") == 1
        assert targets(screen)[0] == "work/gpt-5.1"
        assert "openrouter/openai/whisper-1" not in targets(screen)
        assert "openai/gpt-5.1" in targets(screen)  # Not connected, last.


async def test_typing_searches_in_every_word(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        await pilot.press(*"coder qwen")
        await pilot.pause()
        assert picked(screen) == "openrouter/qwen/qwen3-coder"
        assert "claude" not in words_on(screen)
        await pilot.press("down", "down", "down")
        assert picked(screen) == "openrouter/qwen/qwen3-coder:free"
        await pilot.press(*" zzz")
        await pilot.pause()
        assert "no model fits" in words_on(screen)
        await pilot.press("enter")
        assert there.runtime.switched == []  # type: ignore[attr-defined]
        await pilot.press("escape")
        await pilot.pause()
        assert picked(screen) == "openrouter/anthropic/claude-sonnet-4.5"
        await pilot.press("escape")
        await there.until(pilot, lambda: there.storm.screen is there.storm.main)


async def test_enter_switches_with_the_effort_that_was_chosen(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        await pilot.press(*"gpt-5.1", "left", "right", "right", "right", "right")
        await pilot.pause()
        assert screen.facts.rows[-1].text.startswith("effort   default  none  minimal  low")
        bright = [run.text for run in screen.facts.rows[-1].runs if run.role == "accent"]
        assert bright == ["medium"]
        await pilot.press("enter")
        runtime: Any = there.runtime
        await there.until(pilot, lambda: runtime.switched)
        assert runtime.switched == ["openrouter/openai/gpt-5.1:medium"]
        assert there.storm.screen is there.storm.main


async def test_a_model_that_does_not_think_has_no_effort(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        await pilot.press("right", "right", *"kimi")
        await pilot.pause()
        assert picked(screen) == "openrouter/moonshotai/kimi-k2"
        assert "does not think" in screen.facts.rows[-1].text
        await pilot.press("right", "enter")
        runtime: Any = there.runtime
        await there.until(pilot, lambda: runtime.switched)
        assert runtime.switched == ["openrouter/moonshotai/kimi-k2"]


async def test_what_is_not_connected_leads_to_its_key(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        await pilot.press(*"mistral")
        await pilot.pause()
        assert picked(screen).startswith("mistral/")
        assert "no MISTRAL_API_KEY; enter asks for a key" in screen.facts.rows[1].text
        await pilot.press("enter")
        await there.until(pilot, lambda: isinstance(there.storm.screen, ConnectScreen))
        assert there.runtime.switched == []  # type: ignore[attr-defined]
        connect = there.storm.screen
        assert isinstance(connect, ConnectScreen)
        await there.until(pilot, lambda: connect._step == "key")


async def test_the_cursor_passes_over_names_and_shows_the_first_one(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        seen = []
        for _ in range(3):
            seen.append(picked(screen))
            await pilot.press("down")
        assert len(set(seen)) == 3
        await pilot.press("ctrl+end", "pageup", "pagedown", "ctrl+home", "up")
        assert picked(screen) == targets(screen)[0]
        assert "OpenRouter" in words_on(screen).split("\n")[1]


async def test_drawing_is_bounded_by_the_screen(stage: Stages) -> None:
    there = chosen(stage())
    async with there.app().run_test(size=(80, 24)) as pilot:
        screen = await opened(there, pilot)
        assert screen.picker.count > 300
        assert len(screen.picker.lines(80)) <= 24


async def test_a_bad_models_file_is_told_and_its_sound_part_counts(stage: Stages) -> None:
    there = chosen(stage())
    (there.home / "models.json").write_text(
        '{"models": [{"provider": "openrouter", "id": "x/own", "context_window": 5000},'
        ' {"provider": "openrouter"}]}'
    )
    async with there.app().run_test(size=(200, 50)) as pilot:
        screen = await opened(there, pilot)
        assert "openrouter/x/own" in targets(screen)
        assert "models[1].id: is missing" in screen.footer.costs.said


async def test_names_are_foreign_text(stage: Stages) -> None:
    odd = ModelSettings("openai-compatible", model="[bold]\x1b[31mx\x07", base_url="http://h/v1")
    there = chosen(stage(), odd=odd)
    async with there.app().run_test(size=(120, 36)) as pilot:
        screen = await opened(there, pilot, "odd")
        drawn = words_on(screen) + "".join(row.text for row in screen.facts.rows)
        assert "[bold]" in drawn
        assert "\x1b" not in drawn
        assert "\x07" not in drawn


# Pictures -----------------------------------------------------------------------------------------


def pictured(stage: Stages, theme: str = "stormclaw-dark", **ui: Any) -> Stage:
    env = {**ENV, "WORK_KEY": "x"}
    there = stage(ui=UiSettings(theme=theme, motion="reduced", **ui))
    return chosen(there, env=env, work=WORK)


def named(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


@pytest.mark.parametrize("size", SIZES, ids=named)
def test_picker(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    there = pictured(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot)

    assert snap_compare(there.app(), terminal_size=size, run_before=act)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=named)
def test_picker_in_light(stage: Stages, snap_compare: Any, size: tuple[int, int]) -> None:
    there = pictured(stage, "stormclaw-light")

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot)

    assert snap_compare(there.app(), terminal_size=size, run_before=act)


def test_picker_in_ascii(stage: Stages, snap_compare: Any) -> None:
    there = pictured(stage, ascii=True)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot)

    assert snap_compare(there.app(), terminal_size=(120, 36), run_before=act)


def test_picker_searched(stage: Stages, snap_compare: Any) -> None:
    there = pictured(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot)
        await pilot.press(*"gpt", "down", "right", "right", "right")
        await pilot.pause()

    assert snap_compare(there.app(), terminal_size=(80, 24), run_before=act)


def test_picker_not_connected(stage: Stages, snap_compare: Any) -> None:
    there = pictured(stage)

    async def act(pilot: Pilot[Any]) -> None:
        await opened(there, pilot)
        await pilot.press("ctrl+end")
        await pilot.pause()

    assert snap_compare(there.app(), terminal_size=(120, 36), run_before=act)

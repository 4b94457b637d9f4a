"""What changes while a session runs: model, autonomy, configuration, emergency stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest
from byte_server import answer, delta, fragment, serving, stream
from scripted import PATIENCE_S, Desk, Ear, call, calls, outcomes

from stormclaw.config.keys import stored_keys
from stormclaw.errors import ConfigError, UsageError
from stormclaw.protocol.asks import DENIED
from stormclaw.protocol.events import Answered, Asked, Notice
from stormclaw.providers.presets import by_name


async def until(true: Callable[[], bool], changed: asyncio.Event) -> None:
    """Wait for what listeners are told of."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            changed.clear()
            await changed.wait()


async def test_autonomy_changes_count_from_the_next_call_on(desk: Desk) -> None:
    write = calls(call("write_file", path="a.txt", content="x"))
    desk.script([write, {"text": "no"}, {**write, "text": "again"}, {"text": "yes"}])
    runtime = await desk.open(attended=False)
    told: list[str] = []
    runtime.subscribe(lambda: told.append(runtime.autonomy))
    ear = Ear(runtime.session)
    runtime.set_autonomy("readonly")
    runtime.session.prompt("write")
    await ear.end()
    assert not (desk.project / "a.txt").exists()
    runtime.set_autonomy("full")
    runtime.session.prompt("write")
    await ear.end()
    assert (desk.project / "a.txt").exists()
    assert list(dict.fromkeys(told)) == ["readonly", "full"]
    await runtime.close()


async def test_a_changed_configuration_is_picked_up_and_announced(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    desk.configure({"limits": {"max_tool_rounds": 7}, "security": {"autonomy": "readonly"}})
    runtime.reload()
    assert runtime.settings.limits.max_tool_rounds == 7
    assert runtime.session.kit.limits.max_tool_rounds == 7
    assert runtime.autonomy == "readonly"
    desk.configure({"security": {"autonomy": "godmode"}})
    with pytest.raises(ConfigError, match="godmode"):
        runtime.reload()
    assert runtime.autonomy == "readonly"
    ear.heard.clear()
    await runtime.close()


async def test_the_vigil_sees_the_file_change_keeps_old_values_and_says_so(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.beside(runtime.watch())
    desk.configure({"limits": {"max_tool_rounds": 7}})
    first = await notice_after_changes(desk, ear, {"limits": {"max_tool_rounds": 7}}, "in force")
    assert first.level == "info"
    assert runtime.settings.limits.max_tool_rounds == 7
    wrong = {"security": {"autonomy": "godmode"}}
    second = await notice_after_changes(desk, ear, wrong, "not valid")
    assert second.level == "warning"
    assert "godmode" in second.text
    assert runtime.autonomy == "supervised"
    await runtime.close()


async def notice_after_changes(
    desk: Desk, ear: Ear, settings: Mapping[str, object], says: str
) -> Notice:
    """Change the file until the watch (which starts in its own time) has seen it."""
    waiting = asyncio.create_task(ear.until(Notice, lambda notice: says in notice.text))
    turn = 0
    while not waiting.done():
        turn += 1
        desk.configure({**settings, "agents": {"max_children": 1 + turn % 7}})
        await asyncio.wait({waiting}, timeout=0.5)
    return await waiting


async def test_the_emergency_stop_closes_questions_and_the_turn_goes_on_in_words(
    desk: Desk,
) -> None:
    desk.script(
        [
            calls(call("write_file", path="a.txt", content="x")),
            {"text": "stopped", "expect": "emergency stop"},
        ]
    )
    runtime = await desk.open()
    ear = Ear(runtime.session)
    runtime.session.prompt("write")
    ask = (await ear.until(Asked)).ask
    (desk.home / "ESTOP").touch()
    runtime.stop_everything()
    assert (await ear.end()).reason == "done"
    assert outcomes(runtime.session)[0].status == "denied"
    assert (ask.id, DENIED) in [(event.ask_id, event.reply) for event in ear.of(Answered)]
    assert runtime.estopped
    await runtime.close()


async def test_switching_the_model_counts_from_the_next_turn_for_children_too(
    desk: Desk,
) -> None:
    desk.script([{"text": "from the mock"}])
    async with serving() as server:
        model = {"kind": "openai-compatible", "base_url": server.url, "model": "m"}
        desk.configure(
            {
                "providers": {
                    "models": {
                        "local": {
                            "kind": "mock",
                            "model": "mock",
                            "script": str(desk.root / "fixture.yaml"),
                        },
                        "real": model,
                    }
                }
            }
        )
        runtime = await desk.open()
        ear = Ear(runtime.session)
        runtime.session.prompt("hi")
        await ear.end()
        assert await runtime.switch_model("real/other") == "real/other"
        assert (runtime.provider_label, runtime.model_label) == ("real", "other")
        spawn = json.dumps({"task": "look", "name": "scout"})
        server.will(
            stream(fragment("spawn_agent", spawn, id="c1", index=0), delta(finish="tool_calls")),
            stream(delta("child here"), delta(finish="stop")),
            stream(delta("all done"), delta(finish="stop")),
        )
        runtime.session.prompt("again")
        assert (await ear.end()).reason == "done"
        assert outcomes(runtime.session)[0].output == "child here"
        assert [request.body["model"] for request in server.requests] == ["other"] * 3
        assert runtime.session.info.provider == "real"
        await runtime.close()


async def test_connecting_keeps_the_key_apart_and_switches_only_if_it_answers(desk: Desk) -> None:
    desk.script([{"text": "ok"}])
    preset = by_name("openrouter")
    assert preset is not None
    async with serving() as server:
        settings = preset.settings(model="m", base_url=server.url)
        runtime = await desk.open()
        server.will(answer({"error": {"message": "no such key"}}, 401))
        report = await runtime.connect("openrouter", settings, "sk-wrong")
        assert (report.ok, report.error) == (False, "auth")
        assert stored_keys(desk.home) == {}
        assert runtime.provider_label == "local"
        server.will(stream(delta("ready"), delta(finish="stop")))
        assert (await runtime.connect("openrouter", settings, "sk-right-0123456789")).ok
        assert runtime.provider_label == "openrouter"
        assert "openrouter" in stored_keys(desk.home)
        config = (desk.home / "config.yaml").read_text()
        assert "default_provider: openrouter" in config
        assert "sk-right" not in config
        assert server.requests[-1].headers["authorization"] == "Bearer sk-right-0123456789"
        await runtime.close()


async def test_another_session_closes_the_one_before(desk: Desk) -> None:
    desk.script([{"text": "one"}, {"text": "two"}])
    runtime = await desk.open()
    first = runtime.session
    ear = Ear(first)
    first.prompt("hi")
    await ear.end()
    second = await runtime.open_session()
    assert second.id != first.id
    assert second.nodes() == ()
    assert (await runtime.open_session(first.id)).nodes() == first.nodes()
    with pytest.raises(UsageError):
        await runtime.open_session("19990101-000000-none")
    assert runtime.session.id == first.id
    await runtime.close()

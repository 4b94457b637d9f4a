"""A task is given to whoever is named: the same loop, another provider, narrower tools."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from scripted import Desk, Ear, call, calls, outcomes

from stormclaw.agent.conversation import Conversation
from stormclaw.agent.executors import AgentExecutor
from stormclaw.agent.hub import Hub
from stormclaw.errors import ToolFailure
from stormclaw.protocol.events import ChildStarted
from stormclaw.protocol.messages import AssistantTurn, Delegation, Node, UserText
from stormclaw.runtime import Runtime


def other(desk: Desk, name: str, turns: list[dict[str, object]], **settings: object) -> None:
    """One more mock provider, called `name`."""
    script = desk.root / f"{name}.yaml"
    script.write_text(yaml.safe_dump({"turns": turns, "agents": {"*": {"turns": turns}}}))
    entry = {"kind": "mock", "model": f"{name}-1", "script": str(script), **settings}
    path = desk.home / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["providers"]["models"][name] = entry
    path.write_text(yaml.safe_dump(config))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def spawn(**arguments: object) -> dict[str, object]:
    return calls(call("spawn_agent", "c1", task="say who you are", name="scout", **arguments))


async def ran(runtime: Runtime) -> Ear:
    ear = Ear(runtime.session)
    runtime.session.prompt("ask somebody")
    await ear.end()
    return ear


@pytest.mark.parametrize(
    ("named", "model"),
    [
        ({"executor": "second"}, "second-1"),
        ({"model": "second"}, "second-1"),
        ({"executor": "second", "model": "second-9"}, "second-9"),
    ],
)
async def test_a_sub_agent_works_on_the_executor_it_was_given(
    desk: Desk, named: dict[str, str], model: str
) -> None:
    desk.script([spawn(**named), {"text": "heard"}])
    other(desk, "second", [{"text": "I am the second"}])
    runtime = await desk.open()
    ear = await ran(runtime)
    child = runtime.session.children()[0]
    answer = runtime.session.nodes(child)[-1].body
    assert isinstance(answer, AssistantTurn)
    assert (answer.text, answer.provider) == ("I am the second", "second")
    assert ear.of(ChildStarted)[0].model == model
    assert isinstance(runtime.session.nodes()[2].body, Delegation)
    assert runtime.session.kit.provider_name == "local"
    await runtime.close()


async def test_its_provider_may_take_tools_away(desk: Desk) -> None:
    desk.script([spawn(executor="second"), {"text": "heard"}])
    turns: list[dict[str, object]] = [
        calls(call("shell_exec", command="ls")),
        {"text": "no shell", "expect": "shell_exec"},
    ]
    other(desk, "second", turns, tools_deny=["shell_exec"])
    runtime = await desk.open()
    await ran(runtime)
    child = runtime.session.children()[0]
    (refused,) = outcomes(runtime.session, child)
    assert refused.status == "failed"
    assert "providers.models.second.tools_deny" in refused.output
    assert "shell_exec" in runtime.session.kit.tools
    await runtime.close()


async def test_an_unknown_executor_is_told_to_the_model_and_leaves_nothing(desk: Desk) -> None:
    desk.script([spawn(executor="nobody"), {"text": "oh", "expect": "no executor 'nobody'"}])
    runtime = await desk.open()
    await ran(runtime)
    (refused,) = outcomes(runtime.session)
    assert (refused.status, refused.summary) == ("failed", "no such executor")
    assert runtime.session.children() == ()
    await runtime.close()


async def test_a_changed_configuration_counts_for_the_next_one(desk: Desk) -> None:
    desk.script([spawn(executor="second"), {"text": "heard"}])
    runtime = await desk.open()
    other(desk, "second", [{"text": "new here"}])
    runtime.reload()
    await ran(runtime)
    answer = runtime.session.nodes(runtime.session.children()[0])[-1].body
    assert isinstance(answer, AssistantTurn)
    assert answer.text == "new here"
    await runtime.close()


async def test_each_is_connected_once_and_knows_its_type(desk: Desk) -> None:
    desk.script([{"text": "unused"}])
    other(desk, "second", [{"text": "x"}])
    runtime = await desk.open()
    executors = runtime._shop.executors
    first = await executors.get(runtime.place, "second")
    assert await executors.get(runtime.place, "", "second/second-1", "local") is first
    assert (first.name, first.model, first.type) == ("second", "second-1", "stormclaw")
    with pytest.raises(ToolFailure, match=r"there are: .*second"):
        await executors.get(runtime.place, "nobody", "x")
    await runtime.close()


class Memory:
    """A journal that only remembers."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    async def append(self, node: Node) -> None:
        self.nodes.append(node)


async def test_a_task_is_done_in_a_conversation_of_its_own(desk: Desk) -> None:
    desk.script([{"text": "unused"}])
    other(desk, "second", [{"text": "done that"}])
    runtime = await desk.open()
    executor: AgentExecutor = await runtime._shop.executors.get(runtime.place, "second")
    conversation = Conversation("root/worker", Memory(), Hub())  # type: ignore[arg-type]
    assert await executor.execute(runtime.session.kit, conversation, "do that") == "done"
    said, answer = (node.body for node in conversation.nodes)
    assert said == UserText("do that")
    assert isinstance(answer, AssistantTurn)
    assert answer.text == "done that"
    assert len(runtime.session.nodes()) == 0
    await runtime.close()


async def test_a_task_that_takes_too_long_is_interrupted_and_closed(desk: Desk) -> None:
    desk.script([{"text": "unused"}])
    other(desk, "second", [{"text": "slow", "delay_s": 3600}])
    runtime = await desk.open()
    executor = await runtime._shop.executors.get(runtime.place, "second")
    conversation = Conversation("root/worker", Memory(), Hub())  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        await executor.execute(runtime.session.kit, conversation, "do that", timeout_s=0.05)
    assert [type(node.body).__name__ for node in conversation.nodes] == ["UserText", "Note"]
    await runtime.close()


async def test_tools_taken_from_sub_agents_are_gone_at_once(desk: Desk) -> None:
    desk.script(
        [spawn(), {"text": "heard"}],
        {"*": [calls(call("shell_exec", command="ls")), {"text": "no shell"}]},
    )
    runtime = await desk.open()
    desk.configure({"agents": {"child_tools_deny": ["shell_exec"]}})
    runtime.reload()
    await ran(runtime)
    (refused,) = outcomes(runtime.session, runtime.session.children()[0])
    assert refused.status == "failed"
    assert "agents.child_tools_deny" in refused.output
    await runtime.close()

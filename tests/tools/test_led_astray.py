"""The file tools behind the real gate: no link leads them where it would not let them go."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stormclaw.config.settings import SecuritySettings, Settings
from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Decision
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.security.gate import judge, policy_from
from stormclaw.tools._openat import WALK_ONLY
from stormclaw.tools.registry import Registry
from stormclaw.tools.schema import parse

Call = Callable[..., Awaitable[ToolResult]]
Judged = Callable[..., tuple[Decision, Callable[[], Awaitable[ToolResult]]]]

CHANGED = "changed while it was looked at"


@pytest.fixture(params=["kernel", "by hand"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by hand":
        monkeypatch.setenv(WALK_ONLY, "1")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("the secret\n")
    return folder


@pytest.fixture
def judged(
    ctx: ToolContext, registry: Registry, narrow: Callable[..., ToolContext], tmp_path: Path
) -> Judged:
    """What the gate says of a call, and the call itself, which runs with what was judged."""

    def weigh(
        tool: str, /, *, workspace_only: bool = True, **arguments: Any
    ) -> tuple[Decision, Callable[[], Awaitable[ToolResult]]]:
        security = SecuritySettings(autonomy="full", workspace_only=workspace_only)
        policy = policy_from(
            Settings(security=security),
            workspace=ctx.workspace,
            home=tmp_path / "claw",
            user_home=tmp_path / "me",
            sandbox="bwrap",
        )
        found = registry.resolve(tool)
        assert found is not None
        args = parse(found, json.dumps(arguments))
        verdict = judge(found.effects(args, ctx), policy)
        used = narrow(places=dict(verdict.places), confined=workspace_only)
        return verdict.decision, lambda: found.run(args, used)

    return weigh


def swap(path: Path, target: str | Path) -> None:
    """Put a link where something else was."""
    aside = path.with_name(f"{path.name}-aside")
    if os.path.lexists(path):
        path.rename(aside)
    path.symlink_to(target)


READERS = (
    ("read_file", {"path": "a/f"}),
    ("grep", {"pattern": ".", "path": "a/f"}),
    ("list_files", {"path": "a"}),
    ("glob", {"pattern": "*", "path": "a"}),
    ("grep", {"pattern": ".", "path": "a"}),
)


@pytest.mark.parametrize(("tool", "arguments"), READERS)
async def test_a_folder_swapped_for_a_link_out(
    ctx: ToolContext, judged: Judged, outside: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (ctx.workspace / "a").mkdir()
    (ctx.workspace / "a" / "f").write_text("mine\n")
    (outside / "f").write_text("the secret\n")
    decision, run = judged(tool, **arguments)
    assert decision == "allow"
    swap(ctx.workspace / "a", outside)
    with pytest.raises(ToolFailure, match=CHANGED) as failure:
        await run()
    assert "the secret" not in str(failure.value)
    assert not ctx.seen.stamps


async def test_the_same_without_confinement(
    ctx: ToolContext, judged: Judged, outside: Path, tmp_path: Path
) -> None:
    """Where everything may be read, still only that is read which was judged and shown."""
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "f").write_text("mine\n")
    (outside / "f").write_text("the secret\n")
    decision, run = judged("read_file", path=str(other / "f"), workspace_only=False)
    assert decision == "allow"
    assert (await run()).output == "1\tmine"
    swap(other, outside)
    with pytest.raises(ToolFailure, match=CHANGED):
        await run()


@pytest.mark.parametrize("protected", [".git/config", ".stormclaw/config.yaml", ".envrc"])
async def test_a_link_to_a_protected_place(
    ctx: ToolContext, judged: Judged, protected: str
) -> None:
    """There from the beginning: the gate sees it. Put there later: the tool does."""
    place = ctx.workspace / protected
    place.parent.mkdir(exist_ok=True)
    (ctx.workspace / "link").symlink_to(protected)
    decision, _ = judged("write_file", path="link", content="evil\n")
    assert decision == "ask"
    decision, run = judged("write_file", path="plain", content="evil\n")
    assert decision == "allow"
    (ctx.workspace / "plain").symlink_to(protected)
    with pytest.raises(ToolFailure, match=CHANGED):
        await run()
    assert not place.exists()


async def test_a_folder_of_the_way_becomes_a_link_to_a_protected_one(
    ctx: ToolContext, judged: Judged
) -> None:
    (ctx.workspace / ".git" / "hooks").mkdir(parents=True)
    (ctx.workspace / "src").mkdir()
    decision, run = judged("write_file", path="src/pre-commit", content="#!/bin/sh\n")
    assert decision == "allow"
    swap(ctx.workspace / "src", ".git/hooks")
    with pytest.raises(ToolFailure, match=CHANGED):
        await run()
    assert list((ctx.workspace / ".git" / "hooks").iterdir()) == []


async def test_a_link_whose_target_is_swapped(
    ctx: ToolContext, judged: Judged, outside: Path
) -> None:
    (ctx.workspace / "real").write_text("mine\n")
    (ctx.workspace / "link").symlink_to("real")
    decision, run = judged("read_file", path="link")
    assert decision == "allow"
    assert (await run()).output == "1\tmine"
    (ctx.workspace / "link").unlink()
    (ctx.workspace / "link").symlink_to(outside / "secret.txt")
    with pytest.raises(ToolFailure, match=CHANGED):
        await run()


async def test_a_link_out_is_refused_and_a_link_inside_works(
    ctx: ToolContext, call: Call, outside: Path
) -> None:
    """Also without a gate before it: a confined tool does not go out by itself."""
    (ctx.workspace / "out").symlink_to(outside)
    (ctx.workspace / "in").symlink_to("real")
    (ctx.workspace / "real").mkdir()
    (ctx.workspace / "real" / "f").write_text("mine\n")
    for tool, arguments in (
        ("read_file", {"path": "out/secret.txt"}),
        ("write_file", {"path": "out/new", "content": "x"}),
        ("list_files", {"path": "out"}),
        ("glob", {"pattern": "*", "path": "out"}),
        ("grep", {"pattern": "secret", "path": "out"}),
        ("read_file", {"path": "../outside/secret.txt"}),
        ("glob", {"pattern": "../outside/*"}),
    ):
        with pytest.raises(ToolFailure, match=r"leads outside the workspace, to .*outside"):
            await call(tool, **arguments)
    assert sorted(entry.name for entry in outside.iterdir()) == ["secret.txt"]
    assert (await call("read_file", path="in/f")).output == "1\tmine"
    assert (await call("list_files", path="in")).output == "f"
    assert (await call("glob", pattern="*", path="in")).output == "in/f"
    assert "1:mine" in (await call("grep", pattern="mine", path="in/f")).output
    (await call("write_file", path="in/new", content="x"))
    assert (ctx.workspace / "real" / "new").read_text() == "x"


async def test_a_dangling_link_makes_its_target_only_inside(
    ctx: ToolContext, call: Call, judged: Judged, outside: Path
) -> None:
    (ctx.workspace / "in").symlink_to("sub/target")
    (ctx.workspace / "out").symlink_to(outside / "target")
    await call("write_file", path="in", content="x")
    assert (ctx.workspace / "sub" / "target").read_text() == "x"
    assert (ctx.workspace / "in").is_symlink()
    decision, _ = judged("write_file", path="out", content="x")
    assert decision == "deny"
    with pytest.raises(ToolFailure):
        await call("write_file", path="out", content="x")
    assert not (outside / "target").exists()


async def test_nothing_of_a_refusal_tells_what_is_outside(
    ctx: ToolContext, call: Call, outside: Path
) -> None:
    (ctx.workspace / "out").symlink_to(outside)
    with pytest.raises(ToolFailure) as failure:
        await call("read_file", path="out/secrets.txt")
    assert "near it" not in str(failure.value)


async def test_a_link_that_never_stands_still(
    ctx: ToolContext, judged: Judged, outside: Path
) -> None:
    """Swapped all the time by another thread: every reading is the right file or a refusal."""
    place, link = ctx.workspace / "d", ctx.workspace / "d2"
    place.mkdir()
    (place / "f").write_text("mine\n")
    (outside / "f").write_text("the secret\n")
    link.symlink_to(outside)
    over = False

    def stir() -> None:
        while not over:
            for one, two in ((place, "x"), (link, "d"), (ctx.workspace / "x", "d2")):
                one.rename(ctx.workspace / two)

    _, run = judged("read_file", path="d/f")
    answers = [(await run()).output]
    assert answers == ["1\tmine"]
    stirring = asyncio.create_task(asyncio.to_thread(stir))
    try:
        for _ in range(60):
            decision, run = judged("read_file", path="d/f")
            if decision != "allow":
                continue
            try:
                answers.append((await run()).output)
            except ToolFailure as failure:
                answers.append(str(failure))
    finally:
        over = True
        await stirring
    assert not any("the secret" in answer for answer in answers)


async def test_a_path_that_was_not_judged_is_not_opened(
    ctx: ToolContext, registry: Registry, narrow: Callable[..., ToolContext]
) -> None:
    (ctx.workspace / "a").write_text("a\n")
    (ctx.workspace / "b").write_text("b\n")
    found = registry.resolve("read_file")
    assert found is not None
    used = narrow(places={ctx.workspace / "a": ctx.workspace / "a"})
    assert (await found.run(parse(found, '{"path": "a"}'), used)).output == "1\ta"
    with pytest.raises(ToolFailure, match=CHANGED):
        await found.run(parse(found, '{"path": "b"}'), used)

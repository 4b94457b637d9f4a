"""Patches as models and programs write them, each with its reason, from files of cases."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext, ToolResult

Call = Callable[..., Awaitable[ToolResult]]
CORPUS = Path(__file__).parent / "corpus"


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load((CORPUS / name).read_text("utf-8"))
    return loaded


BEGIN, UNIFIED = cases("patches_begin.yaml"), cases("patches_unified.yaml")


def test_there_are_enough_and_each_has_its_own_reason() -> None:
    assert len(BEGIN) + len(UNIFIED) >= 150
    for some in (BEGIN, UNIFIED):
        assert len({case["why"] for case in some}) == len(some)


def taken(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def applied(ctx: ToolContext, call: Call, case: dict[str, Any], patch: str) -> None:
    before = {name: text.encode() for name, text in case["files"].items()}
    for name, content in before.items():
        (ctx.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.workspace / name).write_bytes(content)
    if "error" in case:
        with pytest.raises(ToolFailure) as failure:
            await call("apply_patch", patch=patch)
        assert re.search(case["error"], str(failure.value), re.DOTALL)
        assert taken(ctx.workspace) == before
        return
    result = await call("apply_patch", patch=patch)
    after = before | {n: None if t is None else t.encode() for n, t in case["gives"].items()}
    assert taken(ctx.workspace) == {n: c for n, c in sorted(after.items()) if c is not None}
    assert case.get("says", "") in result.output


@pytest.mark.parametrize("case", BEGIN, ids=lambda case: case["why"])
async def test_begin_patch(ctx: ToolContext, call: Call, case: dict[str, Any]) -> None:
    patch = case["patch"]
    if not case.get("whole"):
        patch = f"*** Begin Patch\n{patch}*** End Patch\n"
    await applied(ctx, call, case, patch)


@pytest.mark.parametrize("case", UNIFIED, ids=lambda case: case["why"])
async def test_unified_diff(ctx: ToolContext, call: Call, case: dict[str, Any]) -> None:
    await applied(ctx, call, case, case["patch"])

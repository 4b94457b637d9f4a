"""Edits as models send them, each with its reason, from a file of cases."""

from __future__ import annotations

import codecs
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext, ToolResult

Call = Callable[..., Awaitable[ToolResult]]

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "corpus" / "edits.yaml").read_text("utf-8")
)
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


def test_there_are_enough_and_each_has_its_own_reason() -> None:
    assert len(CASES) >= 90
    assert len({case["why"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
async def test_edit(ctx: ToolContext, call: Call, case: dict[str, Any]) -> None:
    encoding = case.get("encoding", "utf-8")
    mark = MARKS[encoding] if case.get("bom") else b""
    path = ctx.workspace / "f.txt"
    before = mark + case["file"].encode(encoding)
    path.write_bytes(before)
    await call("read_file", path="f.txt")
    edit = call(
        "edit_file",
        path="f.txt",
        old_string=case["old"],
        new_string=case["new"],
        replace_all=case.get("all", False),
    )
    if "error" in case:
        with pytest.raises(ToolFailure) as failure:
            await edit
        assert re.search(case["error"], str(failure.value))
        assert path.read_bytes() == before
        return
    result = await edit
    assert path.read_bytes() == mark + case["gives"].encode(encoding)
    assert case.get("says", "") in result.output

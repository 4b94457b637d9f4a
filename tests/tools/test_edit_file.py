"""Editing: the place that is meant, no other, and everything around it byte for byte."""

from __future__ import annotations

import stat
from collections.abc import Awaitable, Callable

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff
from stormclaw.protocol.effects import Reads, Writes
from stormclaw.protocol.tool import SeenFiles, ToolContext, ToolResult
from stormclaw.tools import edit_file

Call = Callable[..., Awaitable[ToolResult]]
Edit = Callable[..., Awaitable[str]]


@pytest.fixture
def edit(ctx: ToolContext, call: Call) -> Edit:
    """`await edit(before, old, new)` -> after, by way of the disk."""

    async def run(before: str, old: str, new: str, **more: object) -> str:
        path = ctx.workspace / "f.txt"
        path.write_bytes(before.encode())
        await call("read_file", path="f.txt")
        await call("edit_file", path="f.txt", old_string=old, new_string=new, **more)
        return path.read_bytes().decode()

    return run


EXACT = [
    ("a b c", "b", "x", "a x c"),
    ("a\nb\nc\n", "b\n", "", "a\nc\n"),
    ("a\nb\nc\n", "a\nb", "x", "x\nc\n"),
    ("a\nb", "b", "b\n", "a\nb\n"),
    ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\nc\r\n"),
    ("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n"),
    ("a\rb\rc\r", "b\nc", "x\ny\nc", "a\rx\ry\rc\r"),
    ("a\nb\n", "a\r\nb", "a\r\nc", "a\nc\n"),
    ("one(two)[three]\\d+", "(two)[three]\\d", "\\1", "one\\1+"),
    ("tab\there", "\t", "    ", "tab    here"),
]


@pytest.mark.parametrize(("before", "old", "new", "after"), EXACT)
async def test_exact(edit: Edit, before: str, old: str, new: str, after: str) -> None:
    assert await edit(before, old, new) == after


TOLERANT = {
    "white space at the end of lines": (
        "def f():   \n    return 1\t\nx\n",
        "def f():\n    return 1\n",
        "def f():\n    return 2\n",
        "def f():   \n    return 2\nx\n",
    ),
    "white space at the end of the model's lines": (
        "a\nb\n",
        "a  \nb  ",
        "a\nc",
        "a\nc\n",
    ),
    "the model left out common indentation": (
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n    if self:\n        return 2\n    return 1",
        "class A:\n    def f(self):\n        if self:\n            return 2\n        return 1\n",
    ),
    "the model indented too much": (
        "a:\n  b: 1\n",
        "    a:\n      b: 1",
        "    a:\n      b: 2\n    c: 3",
        "a:\n  b: 2\nc: 3\n",
    ),
    "spaces for tabs": (
        "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
        "    if x {\n        return\n    }",
        "    if y {\n        for {\n            return\n        }\n    }",
        "func f() {\n\tif y {\n\t\tfor {\n\t\t\treturn\n\t\t}\n\t}\n}\n",
    ),
    "tabs for spaces": (
        "if x:\n    a\n",
        "if x:\n\ta",
        "if x:\n\tif y:\n\t\ta",
        "if x:\n    if y:\n        a\n",
    ),
    "blank lines around": ("a\nb\nc\n", "\n\nb\n\n", "\n\nx\n\n", "a\nx\nc\n"),
    "typographic quotes, kept where they stay": (
        "say “Hello” and ‘bye’ now\n",
        "say \"Hello\" and 'bye' now",
        "say \"Hello\" and 'bye' later",
        "say “Hello” and ‘bye’ later\n",
    ),
    "dashes and hard spaces": (
        "pages 3–5\u00a0here\nend\n",
        "pages 3-5 here",
        "pages 3-9 here",
        "pages 3–9\u00a0here\nend\n",
    ),
    "typographic quotes and indentation": (
        "    x = ‘a’\n    y = 1\n",
        "x = 'a'\ny = 1",
        "x = 'a'\ny = 2",
        "    x = ‘a’\n    y = 2\n",
    ),
    "the line numbers of read_file": ("a\n  b\nc\n", "2\t  b\n3\tc", "2\t  x\n3\tc", "a\n  x\nc\n"),
    "blank lines with white space": ("a\n   \nb\n", "a\n\nb", "a\n\nc", "a\n   \nc\n"),
}


@pytest.mark.parametrize("name", TOLERANT)
async def test_tolerant(edit: Edit, name: str) -> None:
    before, old, new, after = TOLERANT[name]
    assert await edit(before, old, new) == after
    assert await edit(before.replace("\n", "\r\n"), old, new) == after.replace("\n", "\r\n")


async def test_indentation_that_differs_in_two_ways_is_no_match(edit: Edit) -> None:
    with pytest.raises(ToolFailure, match="not found"):
        await edit("if x:\n    a\nb\n", "  if x:\n  a\n  b", "  c")


async def test_exact_comes_before_tolerant(edit: Edit) -> None:
    assert await edit("  a\na\n    a\n", "\na\n", "\nb\n") == "  a\nb\n    a\n"


async def test_several_places(edit: Edit, ctx: ToolContext) -> None:
    before = "x = 1\ny = 2\nx = 1\n"
    with pytest.raises(ToolFailure, match=r"stands 2 times in f\.txt, at lines 1, 3; nothing"):
        await edit(before, "x = 1", "x = 2")
    assert (ctx.workspace / "f.txt").read_text() == before
    assert await edit(before, "x = 1", "x = 2", replace_all=True) == "x = 2\ny = 2\nx = 2\n"
    assert await edit("aaaa", "aa", "b", replace_all=True) == "bb"
    assert await edit("a a\na\n", "a", "bb", replace_all=True) == "bb bb\nbb\n"
    with pytest.raises(ToolFailure, match="and 90 more"):
        await edit("a\n" * 100, "a", "b")


async def test_a_miss_shows_the_nearest_text(edit: Edit) -> None:
    before = "".join(f"def f{n}(x):\n    return x * {n}\n\n" for n in range(20))
    with pytest.raises(ToolFailure) as failure:
        await edit(before, "def f7(y):\n    return y * 7\n", "pass\n")
    said = str(failure.value)
    assert said.startswith("old_string was not found in f.txt; nothing changed.")
    assert "22\tdef f7(x):\n23\t    return x * 7" in said
    assert failure.value.summary == "text not found"


async def test_a_miss_without_anything_near(edit: Edit) -> None:
    with pytest.raises(ToolFailure, match="Nothing in it is like that text"):
        await edit("hello\n", "zzzzzzzzzzzzz", "y")


async def test_an_edit_that_was_already_made(edit: Edit) -> None:
    with pytest.raises(ToolFailure, match="new_string already stands there at line 2"):
        await edit("a\ntimeout = 60\n", "timeout = 30", "timeout = 60")


async def test_a_miss_in_a_large_file_is_answered_soon(edit: Edit) -> None:
    before = "".join(f"    value_{n} = compute({n}, other={n * 7})\n" for n in range(20_000))
    with pytest.raises(ToolFailure, match="The nearest text"):
        await edit(before, "value_77 = compute(77, another=538)", "x")


async def test_what_makes_no_sense(edit: Edit, call: Call, ctx: ToolContext) -> None:
    with pytest.raises(ToolFailure, match="are the same"):
        await edit("a", "a", "a")
    with pytest.raises(ToolFailure, match="use write_file"):
        await edit("a", "", "b")
    with pytest.raises(ToolFailure, match=r"g\.txt does not exist; near it: f\.txt"):
        await call("edit_file", path="g.txt", old_string="a", new_string="b")
    with pytest.raises(ToolFailure, match="already reads like that"):
        await edit("    a\n", "a  ", "a")


async def test_what_was_not_read_is_not_edited(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "f.txt"
    path.write_text("a\n")
    with pytest.raises(ToolFailure, match="you have not read it"):
        await call("edit_file", path="f.txt", old_string="a", new_string="b")
    await call("read_file", path="f.txt")
    path.write_text("a\nand more\n")
    with pytest.raises(ToolFailure, match="changed since you read it"):
        await call("edit_file", path="f.txt", old_string="a", new_string="b")
    await call("read_file", path="f.txt")
    await call("edit_file", path="f.txt", old_string="a\nand", new_string="b\nand")
    await call("edit_file", path="f.txt", old_string="b", new_string="c")
    assert path.read_text() == "c\nand more\n"


async def test_agents_do_not_know_what_others_read(
    ctx: ToolContext, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    (ctx.workspace / "f.txt").write_text("a\n")
    await call("read_file", path="f.txt")
    with pytest.raises(ToolFailure, match="you have not read it"):
        await call(
            "edit_file",
            ctx=narrow(seen=SeenFiles()),
            path="f.txt",
            old_string="a",
            new_string="b",
        )


async def test_a_file_read_through_a_link_is_the_same_file(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "f.txt").write_text("a\n")
    (ctx.workspace / "l.txt").symlink_to("f.txt")
    await call("read_file", path="l.txt")
    await call("edit_file", path="f.txt", old_string="a", new_string="b")
    assert (ctx.workspace / "l.txt").read_text() == "b\n"


async def test_preview_and_run_agree(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "f.txt"
    path.write_text("a\nb\nc\n")
    path.chmod(0o640)
    await call("read_file", path="f.txt")
    args = edit_file.Args("f.txt", "b", "B")
    assert edit_file.TOOL.effects(args, ctx) == (Reads(path), Writes(path))
    assert edit_file.TOOL.preview is not None
    preview = await edit_file.TOOL.preview(args, ctx)
    assert path.read_text() == "a\nb\nc\n"
    result = await edit_file.TOOL.run(args, ctx)
    assert isinstance(preview, Diff)
    assert result.display == preview
    assert result.summary == "+1 −1"
    assert result.output == "Edited f.txt from line 2: +1 −1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


async def test_binary_files_are_not_edited(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "f.bin").write_bytes(b"a\0b")
    with pytest.raises(ToolFailure, match="no text file"):
        await call("edit_file", path="f.bin", old_string="a", new_string="b")

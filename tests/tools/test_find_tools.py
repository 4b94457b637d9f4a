"""list_files, glob and grep as a model sees them, and the names a front end completes."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reads
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import glob, grep, list_files
from stormclaw.tools.complete import modified, workspace_files

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def project(ctx: ToolContext) -> Path:
    root = ctx.workspace
    for name, text in {
        ".gitignore": "*.log\nbuild/\n",
        "README.md": "# Tide\n",
        "src/tide/retry.py": "def retry():\n    return attempts\n\n\nattempts = 3\n",
        "src/tide/client.py": "from retry import attempts\n",
        "src/main.c": "int attempts;\n",
        "build/out.py": "attempts\n",
        "debug.log": "attempts\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "empty").mkdir()
    (root / "latest").symlink_to("src/tide")
    return root


async def test_list(project: Path, call: Call) -> None:
    result = await call("list_files")
    assert result.output.splitlines() == [
        ".gitignore",
        "README.md",
        "empty/",
        "latest -> src/tide",
        "src/",
        "(2 ignored by .gitignore not shown)",
    ]
    assert result.summary == "2 folders, 3 files"
    assert list_files.TOOL.headline(list_files.Args()).object == "."


async def test_list_deeper(project: Path, call: Call) -> None:
    result = await call("list_files", path="src", depth=2)
    assert result.output.splitlines() == ["main.c", "tide/", "tide/client.py", "tide/retry.py"]
    assert result.summary == "1 folder, 3 files"
    assert (await call("list_files", path="build")).output == "out.py"
    assert (await call("list_files", path="empty")).output == "empty has nothing to show"


async def test_list_is_cut_with_a_count(
    project: Path, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    result = await call("list_files", ctx=narrow(max_output_chars=25))
    assert result.output.splitlines()[:3] == [
        ".gitignore",
        "README.md",
        "… 3 entries not shown; list a folder below, or use glob",
    ]


async def test_list_what_is_no_folder(project: Path, call: Call) -> None:
    with pytest.raises(ToolFailure, match=r"README\.md is a file, not a folder; use read_file"):
        await call("list_files", path="README.md")
    with pytest.raises(ToolFailure, match=r"srk does not exist; near it: src"):
        await call("list_files", path="srk")
    os.mkfifo(project / "pipe")
    with pytest.raises(ToolFailure, match="is a named pipe"):
        await call("list_files", path="pipe")


async def test_glob(project: Path, call: Call, ctx: ToolContext) -> None:
    result = await call("glob", pattern="*.py")
    assert result.output.splitlines() == ["src/tide/client.py", "src/tide/retry.py"]
    assert result.summary == "2 files"
    assert (await call("glob", pattern="tide/*.py", path="src")).output == result.output
    assert (await call("glob", pattern=f"{project}/src/**/*.py")).output == result.output
    nothing = await call("glob", pattern="*.rs")
    assert (nothing.output, nothing.summary) == ("no file below . matches *.rs", "0 files")
    outside = glob.Args("../*.txt")
    assert glob.TOOL.effects(outside, ctx) == (Reads(ctx.workspace / ".."),)
    assert glob.TOOL.effects(glob.Args("/etc/*.conf"), ctx) == (Reads(Path("/etc")),)
    home = Path(ctx.environ["HOME"])
    assert glob.TOOL.effects(glob.Args("~/x/*.conf"), ctx) == (Reads(home / "x"),)


async def test_glob_is_cut_with_a_count(
    ctx: ToolContext, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    for number in range(50):
        (ctx.workspace / f"file{number:02}.txt").touch()
    result = await call("glob", ctx=narrow(max_output_chars=60), pattern="*.txt")
    assert result.output.splitlines()[-1] == "… 45 files not shown; narrow the pattern"
    assert result.summary == "50 files"


async def test_glob_failures(project: Path, call: Call) -> None:
    with pytest.raises(ToolFailure, match="pattern` is empty"):
        await call("glob", pattern="")
    with pytest.raises(ToolFailure, match="brace that is not closed"):
        await call("glob", pattern="{a")
    with pytest.raises(ToolFailure, match="is a file, not a folder"):
        await call("glob", pattern="*", path="README.md")
    with pytest.raises(ToolFailure, match="does not exist"):
        await call("glob", pattern="*", path="nowhere")


async def test_grep(project: Path, call: Call, ctx: ToolContext) -> None:
    result = await call("grep", pattern="attempts")
    assert result.output.splitlines() == [
        "src/main.c",
        "1:int attempts;",
        "src/tide/client.py",
        "1:from retry import attempts",
        "src/tide/retry.py",
        "2:    return attempts",
        "5:attempts = 3",
    ]
    assert result.summary == "4 in 3 files"
    assert grep.TOOL.effects(grep.Args("x", "src"), ctx) == (Reads(project / "src"),)


async def test_grep_narrowed(project: Path, call: Call) -> None:
    by_glob = await call("grep", pattern="attempts", glob="tide/*.py", path="src")
    assert by_glob.summary == "3 in 2 files"
    assert "src/tide/retry.py\n" in by_glob.output
    assert (await call("grep", pattern="attempts", glob="*.{c,h}")).summary == "1 in 1 file"
    one = await call("grep", pattern="ATTEMPTS", path="src/tide/retry.py", ignore_case=True)
    assert one.output == "src/tide/retry.py\n2:    return attempts\n5:attempts = 3"
    names = await call("grep", pattern="attempts", files_only=True)
    assert names.output.splitlines() == ["src/main.c", "src/tide/client.py", "src/tide/retry.py"]
    assert names.summary == "3 files"
    around = await call("grep", pattern="= 3", context=1)
    assert around.output == "src/tide/retry.py\n4-\n5:attempts = 3"
    ignored = await call("grep", pattern="attempts", path="build")
    assert ignored.output == "build/out.py\n1:attempts"


async def test_grep_is_cut_with_a_count(
    project: Path, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    some = await call("grep", pattern="attempts", max_results=2)
    assert some.output.splitlines()[-1] == (
        "… 2 more not shown; narrow with path or glob, or raise max_results"
    )
    assert some.summary == "4 in 3 files"
    few = await call("grep", ctx=narrow(max_output_chars=40), pattern="attempts")
    assert few.output.splitlines()[:2] == ["src/main.c", "1:int attempts;"]
    assert "… 3 more not shown" in few.output
    names = await call("grep", pattern="attempts", files_only=True, max_results=1)
    assert names.output.splitlines()[1].startswith("… 2 more not shown")


async def test_grep_without_a_match(project: Path, call: Call) -> None:
    result = await call("grep", pattern="zebra", glob="*.py")
    assert (result.output, result.summary) == ("no match in ., *.py", "0 matches")
    (project / "b.bin").write_bytes(b"zebra\n" + b"x\n" * 60_000 + b"\0")
    result = await call("grep", pattern="zebra")
    assert result.output.endswith("(1 binary file with matches left out)")


async def test_grep_failures(project: Path, call: Call) -> None:
    for pattern in ("", "a\nb", "a\0b"):
        with pytest.raises(ToolFailure, match="must be a regular expression for one line"):
            await call("grep", pattern=pattern)
    with pytest.raises(ToolFailure, match="unclosed group"):
        await call("grep", pattern="retry(")
    with pytest.raises(ToolFailure, match="brace that is not closed"):
        await call("grep", pattern="x", glob="*.{a")
    with pytest.raises(ToolFailure, match=r"src/tide/retri\.py does not exist; near it: retry"):
        await call("grep", pattern="x", path="src/tide/retri.py")
    os.mkfifo(project / "pipe")
    with pytest.raises(ToolFailure, match="is a named pipe"):
        await call("grep", pattern="x", path="pipe")


async def test_patterns_are_never_options(project: Path, call: Call) -> None:
    (project / "odd.txt").write_text("--pre=touch pwned\n")
    result = await call("grep", pattern="--pre=touch pwned")
    assert result.output == "odd.txt\n1:--pre=touch pwned"
    assert not (project / "pwned").exists()
    assert (await call("glob", pattern="--files")).summary == "0 files"


async def test_odd_names_are_shown_as_text(project: Path, call: Call) -> None:
    Path(os.fsdecode(os.fsencode(project) + b"/bad\xff.py")).write_text("zebra\n")
    (project / "two\nlines.py").write_text("zebra\n")
    for result in (
        await call("glob", pattern="*.py"),
        await call("grep", pattern="zebra", files_only=True),
        await call("list_files"),
    ):
        assert {"bad\\xff.py", "two\\x0alines.py"} <= set(result.output.splitlines())
        result.output.encode()


async def test_names_for_completion(project: Path) -> None:
    Path(os.fsdecode(os.fsencode(project) + b"/bad\xff.py")).touch()
    assert await workspace_files(project, 100) == [
        ".gitignore",
        "README.md",
        "src/main.c",
        "src/tide/client.py",
        "src/tide/retry.py",
    ]
    assert len(await workspace_files(project, 2)) <= 2
    os.utime(project / "README.md", (1000, 2000))
    assert await modified(project, ["README.md", "gone"]) == {"README.md": 2000.0}

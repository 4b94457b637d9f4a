"""Writing: all or nothing, in the style of the file that was there, and never over the unknown."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Diff
from stormclaw.protocol.effects import Writes
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import write_file

Call = Callable[..., Awaitable[ToolResult]]


@contextmanager
def disk_full_after(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: the system refuses as it does on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


async def test_a_new_file_in_new_folders(ctx: ToolContext, call: Call) -> None:
    result = await call("write_file", path="a/b/c.txt", content="one\ntwo\n")
    assert (ctx.workspace / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert (result.summary, result.output) == ("+2 −0", "Created a/b/c.txt: +2 −0")
    assert isinstance(result.display, Diff)
    assert result.display.created
    mode = stat.S_IMODE((ctx.workspace / "a/b/c.txt").stat().st_mode)
    umask = os.umask(0o022)
    os.umask(umask)
    assert mode == 0o666 & ~umask


async def test_effects_and_preview_change_nothing(ctx: ToolContext) -> None:
    args = write_file.Args("new.txt", "x\n")
    assert write_file.TOOL.effects(args, ctx) == (Writes(ctx.workspace / "new.txt"),)
    assert write_file.TOOL.preview is not None
    diff = await write_file.TOOL.preview(args, ctx)
    assert isinstance(diff, Diff)
    assert (diff.path, diff.created, diff.added) == ("new.txt", True, 1)
    assert list(ctx.workspace.iterdir()) == []


async def test_the_unknown_is_not_overwritten(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("precious\n")
    with pytest.raises(ToolFailure, match=r"a\.txt exists and you have not read it"):
        await call("write_file", path="a.txt", content="x")
    await call("read_file", path="a.txt")
    path.write_text("changed by somebody\n")
    with pytest.raises(ToolFailure, match=r"a\.txt changed since you read it"):
        await call("write_file", path="a.txt", content="x")
    assert path.read_text() == "changed by somebody\n"
    await call("read_file", path="a.txt")
    result = await call("write_file", path="a.txt", content="mine\n")
    assert (path.read_text(), result.summary) == ("mine\n", "+1 −1")
    await call("write_file", path="a.txt", content="again\n")
    assert path.read_text() == "again\n"


async def test_touching_is_not_changing(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("x\n")
    await call("read_file", path="a.txt")
    os.utime(path, (1, 1))
    await call("write_file", path="a.txt", content="y\n")
    assert path.read_text() == "y\n"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\nb\n", b"a\r\nc\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\r\nc\r\n", b"a\r\nc\r\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\nc\n"),
        (b"a\rb\r", "a\nc\n", b"a\rc\r"),
        (b"a\r\nb\nc\n", "a\nx\nb\nc\n", b"a\r\nx\nb\nc\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffschön\n".encode("utf-16-le"), "größer\n", "\ufeffgrößer\n".encode("utf-16-le")),
        ("schön\n".encode("cp1252"), "größer €\n", "größer €\n".encode("cp1252")),
        (b"", "a\r\n", b"a\r\n"),
        (b"no end", "still none", b"still none"),
    ],
)
async def test_the_style_of_the_old_file(
    ctx: ToolContext, call: Call, before: bytes, content: str, after: bytes
) -> None:
    path = ctx.workspace / "a.txt"
    path.write_bytes(before)
    await call("read_file", path="a.txt")
    await call("write_file", path="a.txt", content=content)
    assert path.read_bytes() == after


async def test_a_character_the_encoding_lacks(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_bytes(b"sch\xf6n\n")
    await call("read_file", path="a.txt")
    with pytest.raises(ToolFailure, match=r"cp1252, which has no .* \(U\+2192\)"):
        await call("write_file", path="a.txt", content="a → b\n")
    assert path.read_bytes() == b"sch\xf6n\n"


async def test_mode_stays_and_links_stay_links(ctx: ToolContext, call: Call) -> None:
    real = ctx.workspace / "real.sh"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o750)
    (ctx.workspace / "link.sh").symlink_to("real.sh")
    await call("read_file", path="link.sh")
    await call("write_file", path="link.sh", content="#!/bin/sh\nexit\n")
    assert (ctx.workspace / "link.sh").is_symlink()
    assert real.read_text() == "#!/bin/sh\nexit\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    (ctx.workspace / "dangling").symlink_to("sub/target")
    await call("write_file", path="dangling", content="x")
    assert (ctx.workspace / "sub/target").read_text() == "x"


async def test_a_full_disk_leaves_the_old_file(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("old\n")
    await call("read_file", path="a.txt")
    with disk_full_after(10_000), pytest.raises(ToolFailure, match=r"a\.txt cannot be written"):
        await call("write_file", path="a.txt", content="x" * 50_000)
    assert path.read_text() == "old\n"
    assert [entry.name for entry in ctx.workspace.iterdir()] == ["a.txt"]
    await call("write_file", path="a.txt", content="new\n")


async def test_what_is_in_the_way(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "file").write_text("x")
    (ctx.workspace / "folder").mkdir()
    os.mkfifo(ctx.workspace / "pipe")
    (ctx.workspace / "image").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ToolFailure, match=r"cannot be written: .*not a directory"):
        await call("write_file", path="file/below", content="x")
    with pytest.raises(ToolFailure, match="is a folder"):
        await call("write_file", path="folder", content="x")
    with pytest.raises(ToolFailure, match="is a named pipe"):
        await call("write_file", path="pipe", content="x")
    with pytest.raises(ToolFailure, match="PNG image"):
        await call("write_file", path="image", content="x")
    with pytest.raises(ToolFailure, match="file name too long"):
        await call("write_file", path="x" * 400, content="x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_no_permission(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("x")
    path.chmod(0o444)
    await call("read_file", path="a.txt")
    with pytest.raises(ToolFailure, match=r"it is read-only \(mode 0444\)"):
        await call("write_file", path="a.txt", content="y")
    ctx.workspace.chmod(0o555)
    try:
        with pytest.raises(ToolFailure, match="cannot be written: permission denied"):
            await call("write_file", path="new", content="y")
    finally:
        ctx.workspace.chmod(0o755)


async def test_paths_outside_are_shown_whole(
    call: Call, tmp_path: Path, narrow: Callable[..., ToolContext]
) -> None:
    result = await call("write_file", ctx=narrow(confined=False), path="../out.txt", content="x")
    assert isinstance(result.display, Diff)
    assert result.display.path == str(tmp_path.resolve() / "out.txt")

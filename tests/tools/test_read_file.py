"""Reading: numbered lines, windows, encodings, and everything that is no text file."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools._files import MAX_BYTES

Call = Callable[..., Awaitable[ToolResult]]


async def test_lines_are_numbered(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_text("one\ntwo\n\tthree\n")
    result = await call("read_file", path="a.txt")
    assert result.output == "1\tone\n2\ttwo\n3\t\tthree"
    assert result.summary == "3 lines"


async def test_a_part(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_text("".join(f"l{n}\n" for n in range(1, 11)))
    result = await call("read_file", path="a.txt", offset=3, limit=2)
    assert result.output == "3\tl3\n4\tl4\n… lines 5-10 not shown; read on with offset=5"
    assert result.summary == "lines 3-4 of 10"
    assert (await call("read_file", path="a.txt", offset=9)).output == "9\tl9\n10\tl10"
    assert (await call("read_file", path="a.txt", offset=0)).summary == "10 lines"


async def test_two_thousand_lines_at_most(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_text("x\n" * 5000)
    result = await call("read_file", path="a.txt")
    assert result.output.endswith("… lines 2001-5000 not shown; read on with offset=2001")
    assert result.output.splitlines()[1999] == "2000\tx"


async def test_the_output_limit_holds_and_reading_on_misses_nothing(
    ctx: ToolContext, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    lines = [f"line {n} " + "x" * (n % 50) for n in range(1, 200)]
    (ctx.workspace / "a.txt").write_text("\n".join(lines))
    small = narrow(max_output_chars=700)
    seen: list[str] = []
    offset: int | None = 1
    while offset is not None:
        result = await call("read_file", ctx=small, path="a.txt", offset=offset)
        body = result.output.splitlines()
        offset = None
        if body[-1].startswith("…"):
            offset = int(body.pop().rpartition("=")[2])
        assert sum(map(len, body)) <= 700
        seen += [line.partition("\t")[2] for line in body]
    assert seen == lines


async def test_long_lines_are_cut_with_a_count(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_text("a" * 5000 + "\nb\n")
    result = await call("read_file", path="a.txt")
    assert result.output == f"1\t{'a' * 2000}… (+3,000 characters)\n2\tb"


async def test_empty_and_past_the_end(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "empty").touch()
    assert (await call("read_file", path="empty")).output == "empty is empty"
    (ctx.workspace / "one").write_text("x")
    with pytest.raises(ToolFailure, match=r"one has 1 line; offset=2 is past its end"):
        await call("read_file", path="one", offset=2)


@pytest.mark.parametrize(
    ("encoding", "mark", "remark"),
    [
        ("utf-8", b"", ""),
        ("utf-8", b"\xef\xbb\xbf", ""),
        ("utf-16-le", b"\xff\xfe", "encoding utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "encoding utf-16-be"),
        ("utf-32-le", b"\xff\xfe\0\0", "encoding utf-32-le"),
        ("cp1252", b"", "encoding cp1252"),
    ],
)
async def test_encodings(
    ctx: ToolContext, call: Call, encoding: str, mark: bytes, remark: str
) -> None:
    (ctx.workspace / "a.txt").write_bytes(mark + "schön\r\n“quoted”\r\n".encode(encoding))
    result = await call("read_file", path="a.txt")
    assert result.output.startswith("1\tschön\n2\t“quoted”\n")
    assert remark in result.output
    assert "CRLF line endings" in result.output


async def test_latin_1_when_nothing_else_fits(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_bytes("schön ".encode("latin-1") + b"\x81\n")
    assert "encoding latin-1" in (await call("read_file", path="a.txt")).output


async def test_mixed_line_endings_are_told(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a.txt").write_bytes(b"a\r\nb\nc\r\n")
    result = await call("read_file", path="a.txt")
    assert result.output == "1\ta\n2\tb\n3\tc\n(mixed line endings; edits keep that)"
    (ctx.workspace / "mac.txt").write_bytes(b"a\rb\r")
    assert (await call("read_file", path="mac.txt")).summary == "2 lines"


async def test_a_missing_file_names_what_is_near(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "src").mkdir()
    (ctx.workspace / "src" / "retry.py").touch()
    with pytest.raises(ToolFailure, match=r"src/Retri\.py does not exist; near it: retry\.py"):
        await call("read_file", path="src/Retri.py")
    with pytest.raises(ToolFailure, match=r"the deepest folder that exists is .*/work"):
        await call("read_file", path="lib/deep/x.py")
    with pytest.raises(ToolFailure, match="does not exist"):
        await call("read_file", path="src/retry.py/x")


@pytest.mark.parametrize("path", ["", "a\0b"])
async def test_paths_that_name_nothing(call: Call, path: str) -> None:
    with pytest.raises(ToolFailure, match="must name a file"):
        await call("read_file", path=path)


async def test_home_and_absolute_paths(
    call: Call, tmp_path: Path, narrow: Callable[..., ToolContext]
) -> None:
    free = narrow(confined=False)
    home = tmp_path / "home"
    home.mkdir()
    (home / "n.txt").write_text("hi")
    assert (await call("read_file", ctx=free, path="~/n.txt")).output == "1\thi"
    assert (await call("read_file", ctx=free, path=str(home / "n.txt"))).output == "1\thi"


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"%PDF-1.7\nplain looking", "PDF document"),
        (b"\x89PNG\r\n\x1a\nxx", "PNG image"),
        (b"\x7fELF\x02\x01", "ELF executable"),
        (b"text with a \0 in it", "binary data"),
        (b"x" * 100_000 + b"\0", "binary data"),
        (bytes(range(1, 32)) * 9, "binary data"),
    ],
)
async def test_what_is_no_text(ctx: ToolContext, call: Call, raw: bytes, kind: str) -> None:
    (ctx.workspace / "b").write_bytes(raw)
    with pytest.raises(ToolFailure, match=f"b is no text file but {kind}") as failure:
        await call("read_file", path="b")
    assert kind in failure.value.summary
    assert not ctx.seen.stamps


async def test_things_that_are_no_files_never_hang(
    ctx: ToolContext, call: Call, narrow: Callable[..., ToolContext]
) -> None:
    os.mkfifo(ctx.workspace / "pipe")
    (ctx.workspace / "folder").mkdir()
    (ctx.workspace / "link").symlink_to("pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(ctx.workspace / "sock"))
    try:
        for path, kind in [
            ("pipe", "a named pipe"),
            ("link", "a named pipe"),
            ("folder", "a folder"),
            ("sock", "a socket"),
            ("/dev/zero", "a device"),
            ("/dev/tty", "a device"),
            ("/proc/self/status", "a kernel interface"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "a kernel interface"),
        ]:
            if path.startswith("/") and not os.path.exists(path):
                continue  # no such file system here
            async with asyncio.timeout(60):
                with pytest.raises(ToolFailure, match=f"is {kind}, not a file"):
                    await call("read_file", ctx=narrow(confined=False), path=path)
    finally:
        listening.close()


async def test_a_loop_of_links(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "a").symlink_to("b")
    (ctx.workspace / "b").symlink_to("a")
    with pytest.raises(ToolFailure, match="cannot be read: too many levels of symbolic links"):
        await call("read_file", path="a")


async def test_a_name_that_is_too_long(ctx: ToolContext, call: Call) -> None:
    with pytest.raises(ToolFailure, match="cannot be read: file name too long"):
        await call("read_file", path="x" * 400)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_no_permission(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "secret").write_text("x")
    (ctx.workspace / "secret").chmod(0)
    with pytest.raises(ToolFailure, match="cannot be read: permission denied"):
        await call("read_file", path="secret")


async def test_a_huge_file_is_read_in_parts(ctx: ToolContext, call: Call) -> None:
    line = b"x" * 99 + b"\n"
    count = MAX_BYTES // len(line) + 1000
    with (ctx.workspace / "big.log").open("wb") as file:
        file.write(line * count)
        file.write(b"the end\r\n" + b"y" * 200_000)
    result = await call("read_file", path="big.log", offset=count, limit=2)
    body = result.output.splitlines()
    assert body[:2] == [f"{count}\t{'x' * 99}", f"{count + 1}\tthe end"]
    assert "the file goes on (17.1 MB in all)" in body[2]
    assert f"offset={count + 2}" in body[2]
    last = await call("read_file", path="big.log", offset=count + 2)
    assert last.output == f"{count + 2}\t{'y' * 2000}… (+198,000 characters)"
    with pytest.raises(ToolFailure, match="is shorter; offset="):
        await call("read_file", path="big.log", offset=count + 3)
    assert not ctx.seen.stamps
    with pytest.raises(ToolFailure, match="too large for this"):
        await call("edit_file", path="big.log", old_string="the end", new_string="z")


async def test_a_huge_binary_is_refused(ctx: ToolContext, call: Call) -> None:
    with (ctx.workspace / "big").open("wb") as file:
        file.truncate(MAX_BYTES * 20)
    with pytest.raises(ToolFailure, match=r"binary data, 335\.5 MB"):
        await call("read_file", path="big")


async def test_names_that_are_no_utf_8(ctx: ToolContext, call: Call) -> None:
    (Path(os.fsdecode(os.fsencode(ctx.workspace) + b"/caf\xe9.txt"))).write_text("x")
    with pytest.raises(ToolFailure) as failure:
        await call("read_file", path="caf.txt")
    assert str(failure.value).encode() == rb"caf.txt does not exist; near it: caf\xe9.txt"

"""Writing where it is difficult: several names, attributes, full and read-only disks, odd names."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import SeenFiles, ToolContext, ToolResult
from stormclaw.tools._openat import WALK_ONLY
from stormclaw.tools._write import is_temporary, write_atomically

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture(params=["kernel", "by hand"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by hand":
        monkeypatch.setenv(WALK_ONLY, "1")


async def test_other_names_of_a_file_keep_what_they_had(
    ctx: ToolContext, call: Call, tmp_path: Path
) -> None:
    """A hard link may lead outside: what lies there must not change through the name inside."""
    outside = tmp_path / "outside.txt"
    outside.write_text("old\n")
    os.link(outside, ctx.workspace / "a.txt")
    await call("read_file", path="a.txt")
    result = await call("write_file", path="a.txt", content="new\n")
    assert (ctx.workspace / "a.txt").read_text() == "new\n"
    assert outside.read_text() == "old\n"
    assert "another name (hard links); there the old content stays" in result.output
    again = await call("write_file", path="a.txt", content="newer\n")
    assert "hard link" not in again.output


async def test_attributes_of_a_file_stay(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("old\n")
    try:
        os.setxattr(path, "user.origin", b"here")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes on this file system")
    path.chmod(0o640)
    await call("read_file", path="a.txt")
    await call("write_file", path="a.txt", content="new\n")
    assert os.getxattr(path, "user.origin") == b"here"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_the_owner_stays(ctx: ToolContext, call: Call) -> None:
    path = ctx.workspace / "a.txt"
    path.write_text("old\n")
    os.chown(path, 1234, 1235)
    await call("read_file", path="a.txt")
    await call("write_file", path="a.txt", content="new\n")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


def test_a_file_that_came_in_between_is_not_replaced(ctx: ToolContext) -> None:
    """Seen as new, there when it is put in place: whoever made it keeps it."""
    from stormclaw.tools import _write

    folder = os.open(ctx.workspace, os.O_RDONLY)
    try:
        (ctx.workspace / "a.txt").write_text("somebody's\n")
        with pytest.raises(OSError, match="changed"):
            _write._replace(folder, "a.txt", b"ours\n", None)
    finally:
        os.close(folder)
    assert (ctx.workspace / "a.txt").read_text() == "somebody's\n"
    assert [entry.name for entry in ctx.workspace.iterdir()] == ["a.txt"]


async def test_folders_made_for_nothing_go_again(ctx: ToolContext, call: Call) -> None:
    with pytest.raises(ToolFailure, match="file name too long"):
        await call("write_file", path="one/two/" + "x" * 300, content="x")
    with pytest.raises(ToolFailure, match="file name too long"):
        await call("write_file", path="one/" + "y" * 300 + "/two/f", content="x")
    assert list(ctx.workspace.iterdir()) == []


async def test_a_path_that_is_too_long(ctx: ToolContext, call: Call) -> None:
    with pytest.raises(ToolFailure, match="name too long"):
        await call("write_file", path="d/" * 2500 + "f", content="x")
    assert list(ctx.workspace.iterdir()) == []


CRASH = """
import os, sys
from pathlib import Path
from stormclaw.protocol.tool import SeenFiles
from stormclaw.tools import _write

def die(*arguments, **options):
    os.kill(os.getpid(), 9)

os.rename = os.link = die  # the last step is never reached
_write.write_atomically(Path(sys.argv[1]), b"new" * 100_000, "a.txt", SeenFiles())
"""


@pytest.mark.parametrize("there", [True, False])
async def test_a_crash_before_the_last_step_leaves_the_old(
    ctx: ToolContext, call: Call, there: bool
) -> None:
    path = ctx.workspace / "a.txt"
    if there:
        path.write_text("old\n")
    done = subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False)
    assert done.returncode == -9
    left = [entry.name for entry in ctx.workspace.iterdir() if entry.name != "a.txt"]
    assert len(left) == 1
    assert is_temporary(left[0])
    assert path.read_text() == "old\n" if there else not path.exists()
    (ctx.workspace / "other").write_text("new")
    for result in (
        await call("list_files"),
        await call("glob", pattern="*"),
        await call("grep", pattern="new", files_only=True),
    ):
        assert left[0] not in result.output
        assert "other" in result.output


def test_our_temporary_names_are_no_other_s() -> None:
    assert is_temporary(".stormclaw-0123456789abcdef.tmp")
    for name in (".stormclaw", ".stormclaw-x.tmp", "a.stormclaw-0123456789abcdef.tmp", "x.tmp"):
        assert not is_temporary(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
async def test_a_small_disk_that_is_full(ctx: ToolContext, call: Call) -> None:
    disk = ctx.workspace / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "a.txt").write_text("old\n")
        await call("read_file", path="disk/a.txt")
        with pytest.raises(ToolFailure, match="no space left on device; nothing changed"):
            await call("write_file", path="disk/a.txt", content="x" * 200_000)
        assert (disk / "a.txt").read_text() == "old\n"
        assert [entry.name for entry in disk.iterdir()] == ["a.txt"]
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(ToolFailure, match="read-only file system"):
            await call("write_file", path="disk/new", content="x")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("two\nlines.txt", "two\\x0alines.txt"),
        ("trailing ", "trailing "),
        ("esc\x1b[31m", "esc\\x1b[31m"),
        ("-rf", "-rf"),
        (" ", " "),
        ("\u202etxt.exe", "\\u202etxt.exe"),
    ],
)
async def test_odd_names_are_written_read_and_shown_safely(
    ctx: ToolContext, call: Call, name: str, shown: str
) -> None:
    """Through JSON and back, as a model gives them."""
    assert json.loads(json.dumps(name)) == name
    result = await call("write_file", path=name, content="x\n")
    assert [os.fsencode(entry.name) for entry in ctx.workspace.iterdir()] == [os.fsencode(name)]
    result.output.encode()
    assert "\x1b" not in result.output
    assert "\n" not in result.output
    assert (await call("read_file", path=name)).output == "1\tx"
    listed = (await call("list_files")).output
    assert listed == shown or name.startswith("\u202e")


async def test_a_name_of_other_bytes_is_reached_as_it_is_shown(
    ctx: ToolContext, call: Call
) -> None:
    """No JSON can hold such a name, so the one that a listing shows does."""
    path = Path(os.fsdecode(os.fsencode(ctx.workspace) + b"/caf\xe9\n.txt"))
    path.write_text("x\n")
    listed = (await call("list_files")).output
    assert listed == "caf\\xe9\\x0a.txt"
    assert (await call("read_file", path=listed)).output == "1\tx"
    await call("write_file", path=listed, content="y\n")
    assert path.read_text() == "y\n"
    assert [entry.name for entry in ctx.workspace.iterdir()] == [path.name]
    (ctx.workspace / listed).write_text("its own\n")
    assert (await call("read_file", path=listed)).output == "1\tits own"
    await call("write_file", path="new\\x41", content="z")
    assert (ctx.workspace / "new\\x41").exists()


@pytest.mark.parametrize("name", ["a\0b", "", "\ud800"])
async def test_names_no_file_can_have(ctx: ToolContext, call: Call, name: str) -> None:
    with pytest.raises(ToolFailure):
        await call("write_file", path=name, content="x")
    assert list(ctx.workspace.iterdir()) == []


async def test_names_that_differ_in_case_are_two_files(ctx: ToolContext, call: Call) -> None:
    await call("write_file", path="Read.me", content="one\n")
    if (ctx.workspace / "READ.ME").exists():
        pytest.skip("this file system does not tell cases apart")
    await call("write_file", path="READ.ME", content="two\n")
    assert (ctx.workspace / "Read.me").read_text() == "one\n"


def test_what_was_written_counts_as_read(ctx: ToolContext) -> None:
    seen = SeenFiles()
    path = ctx.workspace / "a.txt"
    write_atomically(path, b"x\n", "a.txt", seen, ctx)
    status = path.stat()
    assert seen.stamps[path][:2] == (status.st_mtime_ns, status.st_size)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_folder_that_may_be_entered_but_not_read(ctx: ToolContext, call: Call) -> None:
    (ctx.workspace / "drop").mkdir()
    (ctx.workspace / "drop").chmod(0o333)
    try:
        await call("write_file", path="drop/a", content="x")
    finally:
        (ctx.workspace / "drop").chmod(0o755)
    assert (ctx.workspace / "drop" / "a").read_text() == "x"

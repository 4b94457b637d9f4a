"""apply_patch: all files or none, what it says it would do, and what it refuses."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from stormclaw.errors import ToolFailure
from stormclaw.protocol.display import Headline, Patch
from stormclaw.protocol.effects import Reads, Writes
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import apply_patch
from stormclaw.tools._patch import parse_patch
from stormclaw.tools._patch_commit import Commit
from stormclaw.tools._patch_tree import Entry, Tree

Call = Callable[..., Awaitable[ToolResult]]

THREE = (
    "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: new/deep/b.txt\n+b\n"
    "*** Update File: c.txt\n*** Move to: moved/c.txt\n@@\n-three\n+THREE\n"
    "*** Delete File: d.txt\n*** End Patch\n"
)


@pytest.fixture
def three(ctx: ToolContext) -> Path:
    for name, text in (("a.txt", "one\n"), ("c.txt", "three\n"), ("d.txt", "four\n")):
        (ctx.workspace / name).write_text(text)
    (ctx.workspace / "a.txt").chmod(0o640)
    (ctx.workspace / "c.txt").chmod(0o755)
    return ctx.workspace


def picture(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file and folder below: content, mode, time of change."""
    found = {}
    for path in root.rglob("*"):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b"folder"
        changed = status.st_mtime_ns if path.is_file() else 0
        found[str(path.relative_to(root))] = (content, stat.S_IMODE(status.st_mode), changed)
    return found


async def test_preview_effects_and_run_agree(three: Path, ctx: ToolContext, call: Call) -> None:
    args = apply_patch.Args(THREE)
    before = picture(three)
    assert apply_patch.TOOL.effects(args, ctx) == (
        Reads(three / "a.txt"),
        Writes(three / "a.txt"),
        Writes(three / "new/deep/b.txt"),
        Reads(three / "c.txt"),
        Writes(three / "c.txt"),
        Writes(three / "moved/c.txt"),
        Reads(three / "d.txt"),
        Writes(three / "d.txt"),
    )
    assert apply_patch.TOOL.headline(args) == Headline("patch", "a.txt + 4 more", "path")
    assert apply_patch.TOOL.preview is not None
    preview = await apply_patch.TOOL.preview(args, ctx)
    assert picture(three) == before
    result = await call("apply_patch", patch=THREE)
    assert isinstance(preview, Patch)
    assert result.display == preview
    assert [(diff.path, diff.added, diff.removed, diff.created) for diff in preview.files] == [
        ("a.txt", 1, 1, False),
        ("new/deep/b.txt", 1, 0, True),
        ("c.txt → moved/c.txt", 1, 1, False),
        ("d.txt", 0, 1, False),
    ]
    assert result.summary == "4 files, +3 −3"
    assert result.output.splitlines() == [
        "Patched 4 files:",
        "M a.txt +1 −1",
        "A new/deep/b.txt +1 −0",
        "R c.txt → moved/c.txt +1 −1",
        "D d.txt +0 −1",
    ]
    after = picture(three)
    assert {name: content for name, (content, _, _) in after.items() if content != b"folder"} == {
        "a.txt": b"ONE\n",
        "new/deep/b.txt": b"b\n",
        "moved/c.txt": b"THREE\n",
    }
    assert after["a.txt"][1] == 0o640
    assert after["moved/c.txt"][1] == 0o755


def test_headlines_of_what_is_no_patch(ctx: ToolContext) -> None:
    assert apply_patch.TOOL.headline(apply_patch.Args("nonsense")).object == "?"
    with pytest.raises(ToolFailure, match="no patch"):
        apply_patch.TOOL.effects(apply_patch.Args("nonsense"), ctx)


async def test_the_agent_knows_what_it_patched(three: Path, ctx: ToolContext, call: Call) -> None:
    await call("apply_patch", patch=THREE)
    await call("edit_file", path="a.txt", old_string="ONE", new_string="two")
    await call("edit_file", path="moved/c.txt", old_string="THREE", new_string="3")
    assert (three / "a.txt").read_text() == "two\n"
    assert three / "d.txt" not in ctx.seen.stamps


@pytest.mark.parametrize("broken", ["a.txt", "new/deep/b.txt", "moved/c.txt", "c.txt", "d.txt"])
async def test_a_failure_in_the_middle_puts_everything_back(
    three: Path, ctx: ToolContext, call: Call, broken: str
) -> None:
    await call("read_file", path="a.txt")
    known = dict(ctx.seen.stamps)
    before = picture(three)
    entries = Tree(ctx).run(parse_patch(THREE))
    # After the check somebody else changes one file; the others are in place by then.
    other = three / broken
    made = [up for up in other.parents if not up.exists()]
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("somebody else's\n")
    entries.sort(key=lambda entry: entry.real == other)
    with pytest.raises(ToolFailure, match="put back as it was; nothing changed"):
        Commit(ctx).run(entries)
    assert other.read_text() == "somebody else's\n"
    after = picture(three)
    assert after.pop(broken)[0] == b"somebody else's\n"
    before.pop(broken, None)
    for folder in made:
        after.pop(str(folder.relative_to(three)), None)
    assert after == before
    assert ctx.seen.stamps == known


async def test_a_folder_in_the_way_puts_everything_back(three: Path, ctx: ToolContext) -> None:
    entries = Tree(ctx).run(parse_patch(THREE))
    (three / "moved").write_text("a file where a folder is to be\n")
    before = picture(three)
    with pytest.raises(ToolFailure, match="nothing changed"):
        Commit(ctx).run(entries)
    assert picture(three) == before


async def test_what_changed_since_it_was_read_is_read_again(
    three: Path, ctx: ToolContext, call: Call
) -> None:
    await call("read_file", path="a.txt")
    (three / "a.txt").write_text("zero\none\n")
    before = picture(three)
    with pytest.raises(ToolFailure, match=r"(?s)a\.txt changed since you read it.*2\tone"):
        await call("apply_patch", patch=THREE)
    assert picture(three) == before
    await call("read_file", path="a.txt")
    await call("apply_patch", patch=THREE)
    assert (three / "a.txt").read_text() == "zero\nONE\n"


async def test_a_file_that_was_read_may_be_replaced(three: Path, call: Call) -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+all new\n*** End Patch\n"
    with pytest.raises(ToolFailure, match="exists already"):
        await call("apply_patch", patch=patch)
    await call("read_file", path="a.txt")
    await call("apply_patch", patch=patch)
    assert (three / "a.txt").read_text() == "all new\n"
    assert stat.S_IMODE((three / "a.txt").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_read_only_files_and_folders_are_found_first(three: Path, call: Call) -> None:
    (three / "d.txt").chmod(0o444)
    before = picture(three)
    with pytest.raises(ToolFailure, match=r"d\.txt is read-only"):
        await call("apply_patch", patch=THREE)
    (three / "d.txt").chmod(0o644)
    (three / "moved").mkdir(mode=0o555)
    with pytest.raises(ToolFailure, match="its folder moved is read-only"):
        await call("apply_patch", patch=THREE)
    (three / "moved").rmdir()
    assert {name: now[0] for name, now in picture(three).items()} == {
        name: then[0] for name, then in before.items()
    }


async def test_links(three: Path, ctx: ToolContext, call: Call, tmp_path: Path) -> None:
    (three / "l.txt").symlink_to("a.txt")
    await call("apply_patch", patch="--- a/l.txt\n+++ b/l.txt\n@@ -1 +1 @@\n-one\n+1\n")
    assert (three / "l.txt").is_symlink()
    assert (three / "a.txt").read_text() == "1\n"
    with pytest.raises(ToolFailure, match="symbolic link"):
        await call("apply_patch", patch="*** Begin Patch\n*** Delete File: l.txt\n*** End Patch")
    outside = tmp_path / "outside.txt"
    outside.write_text("x\n")
    (three / "out.txt").symlink_to(outside)
    with pytest.raises(ToolFailure, match="outside the workspace"):
        await call("apply_patch", patch="--- a/out.txt\n+++ b/out.txt\n@@ -1 +1 @@\n-x\n+y\n")
    assert outside.read_text() == "x\n"


async def test_one_file_through_a_link_and_by_name_is_one_file(three: Path, call: Call) -> None:
    (three / "a.txt").write_text("1\n2\n")
    (three / "l.txt").symlink_to("a.txt")
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+one\n"
        "*** Update File: l.txt\n@@\n-2\n+two\n*** End Patch\n"
    )
    await call("apply_patch", patch=patch)
    assert (three / "a.txt").read_text() == "one\ntwo\n"


async def test_modes_of_git(three: Path, call: Call) -> None:
    patch = (
        "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"
        "diff --git a/c.txt b/c.txt\nold mode 100755\nnew mode 100644\n--- a/c.txt\n+++ b/c.txt\n"
        "@@ -1 +1 @@\n-three\n+3\n"
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n"
        "@@ -0,0 +1 @@\n+#!/bin/sh\n"
    )
    await call("apply_patch", patch=patch)
    assert stat.S_IMODE((three / "a.txt").stat().st_mode) == 0o750
    assert stat.S_IMODE((three / "c.txt").stat().st_mode) == 0o644
    assert os.access(three / "run", os.X_OK)


async def test_other_encodings_and_binary_files(three: Path, call: Call) -> None:
    (three / "u16.txt").write_bytes("\ufeffé\r\nb\r\n".encode("utf-16-le"))
    (three / "latin.txt").write_bytes("é\nb\n".encode("latin-1"))
    patch = "".join(
        f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n é\n-b\n+ü\n"
        for name in ("u16.txt", "latin.txt")
    )
    await call("apply_patch", patch=patch)
    assert (three / "u16.txt").read_bytes() == "\ufeffé\r\nü\r\n".encode("utf-16-le")
    assert (three / "latin.txt").read_bytes() == "é\nü\n".encode("latin-1")
    with pytest.raises(ToolFailure, match="which has no"):
        await call("apply_patch", patch="--- latin.txt\n+++ latin.txt\n@@ -2 +2 @@\n-ü\n+→\n")
    (three / "f.bin").write_bytes(b"a\0b\n")
    with pytest.raises(ToolFailure, match="no text file"):
        await call("apply_patch", patch="--- f.bin\n+++ f.bin\n@@ -1 +1 @@\n-a\n+b\n")
    moved = "diff --git a/f.bin b/g.bin\nrename from f.bin\nrename to g.bin\n"
    result = await call("apply_patch", patch=moved)
    assert (three / "g.bin").read_bytes() == b"a\0b\n"
    assert isinstance(result.display, Patch)


async def test_what_is_no_file(three: Path, call: Call) -> None:
    os.mkfifo(three / "pipe")
    with pytest.raises(ToolFailure, match="a named pipe"):
        await call("apply_patch", patch="--- pipe\n+++ pipe\n@@ -1 +1 @@\n-a\n+b\n")
    with pytest.raises(ToolFailure, match="outside the workspace"):
        await call("apply_patch", patch="*** Begin Patch\n*** Add File: ../x\n+a\n*** End Patch")
    with pytest.raises(ToolFailure, match="outside the workspace"):
        await call("apply_patch", patch="--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+a\n")


async def test_large_files_and_patches_are_done(three: Path, call: Call) -> None:
    lines = [f"    value_{n} = compute({n}, other={n * 7})\n" for n in range(100_000)]
    (three / "big.py").write_text("".join(lines))
    parts = [
        f"@@ -{n + 1},3 +{n + 1},3 @@\n {lines[n]}-{lines[n + 1]}+changed {n}\n {lines[n + 2]}"
        for n in range(0, 90_000, 900)
    ]
    await call("apply_patch", patch="--- a/big.py\n+++ b/big.py\n" + "".join(parts))
    digest = hashlib.sha256((three / "big.py").read_bytes()).hexdigest()
    for n in range(0, 90_000, 900):
        lines[n + 1] = f"changed {n}\n"
    assert digest == hashlib.sha256("".join(lines).encode()).hexdigest()
    (three / "same.txt").write_text("x\n" * 100_000)
    with pytest.raises(ToolFailure, match="not found"):
        await call(
            "apply_patch",
            patch="*** Begin Patch\n*** Update File: same.txt\n@@\n" + " x\n" * 3000 + "-y\n+z\n",
        )


async def test_a_crash_in_the_middle_leaves_every_file_whole(three: Path, ctx: ToolContext) -> None:
    class Dies(Commit):
        def _put_aside(self, entry: Entry) -> None:
            os._exit(9)

    entries = Tree(ctx).run(parse_patch(THREE))
    child = os.fork()
    if child == 0:
        try:
            Dies(ctx).run(entries)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    # All that is new is there before anything that goes is touched.
    assert {name: now[0] for name, now in picture(three).items() if now[0] != b"folder"} == {
        "a.txt": b"ONE\n",
        "new/deep/b.txt": b"b\n",
        "moved/c.txt": b"THREE\n",
        "c.txt": b"three\n",
        "d.txt": b"four\n",
    }

"""Patches that git and diff really make: applied here they give the very tree they came from."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from handy import context
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import ToolFailure
from stormclaw.protocol.tool import ToolContext
from stormclaw.tools import apply_patch

GIT = [
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.autocrlf=false", "-c", "user.name=t", "-c", "user.email=t@t",
]  # fmt: skip

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

LINE = st.sampled_from(
    ["a", "b", "  b", "\tc", "", "}", "-- d", "++ e", "@@ f", "é “x”", "trailing ", "x\ry", "*** g"]
)
END = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> list[str]:
    """Lines with their endings; the last perhaps without one."""
    lines = [draw(LINE) + draw(END) for _ in range(draw(st.integers(1, 25)))]
    if draw(st.booleans()):
        lines[-1] = lines[-1].rstrip("\r\n") or "z"
    return lines


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    """A tree, and the same with lines changed, files added, deleted and moved."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for name in ("a.txt", "d/b c.txt", "ü.txt")[: draw(st.integers(1, 3))]:
        lines = draw(texts())
        before[name] = "".join(lines)
        what = draw(st.sampled_from(["change", "change", "change", "delete", "move", "keep"]))
        if what == "delete":
            continue
        if what != "keep":
            for _ in range(draw(st.integers(1, 3))):
                at = draw(st.integers(0, max(0, len(lines) - 1)))
                lines[at : at + draw(st.integers(0, 2))] = [
                    draw(LINE) + draw(END) for _ in range(draw(st.integers(0, 2)))
                ]
        text = "".join(
            line if line.endswith("\n") or at == len(lines) - 1 else line + "\n"
            for at, line in enumerate(lines)
        )
        after["moved/" + name if what == "move" else name] = text
    if draw(st.booleans()):
        after["new.txt"] = "".join(draw(texts()))
    return before, after


def put(root: Path, tree: dict[str, str]) -> None:
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def taken(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_bytes().decode()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def git(root: Path, *words: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        [*GIT, *words], cwd=root, env=environ, capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


def apply(root: Path, patch: str) -> None:
    ctx: ToolContext = context(root, root)
    args = apply_patch.Args(patch)
    apply_patch.TOOL.effects(args, ctx)

    async def run() -> None:
        await apply_patch.TOOL.run(args, ctx)

    asyncio.run(run())


@settings(max_examples=tries(15, 300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees=edits(), context_lines=st.sampled_from([3, 3, 1, 0, 10]), renames=st.booleans())
def test_what_git_diff_says_is_what_comes_out(
    trees: tuple[dict[str, str], dict[str, str]], context_lines: int, renames: bool
) -> None:
    before, after = trees
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        git(root, "init", "-q")
        put(root, before)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "x")
        for name in before:
            (root / name).unlink()
        put(root, after)
        git(root, "add", "-A")
        found = "-M30" if renames else "--no-renames"
        patch = git(root, "diff", "--cached", found, f"-U{context_lines}")
        work = Path(folder).resolve() / "work"
        work.mkdir()
        put(work, before)
        if patch:
            apply(work, patch)
        assert taken(work) == after


@settings(max_examples=tries(15, 200), deadline=None)
@given(before=texts(), after=texts())
def test_what_diff_says_is_what_comes_out(before: list[str], after: list[str]) -> None:
    if not shutil.which("diff"):
        pytest.skip("needs diff")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        put(root, {"old/f.txt": "".join(before), "new/f.txt": "".join(after)})
        patch = subprocess.run(
            ["diff", "-u", "old/f.txt", "new/f.txt"], cwd=root, capture_output=True, check=False
        ).stdout.decode()
        put(root, {"work/f.txt": "".join(before)})
        if patch:
            apply(root / "work", patch)
        assert (root / "work" / "f.txt").read_bytes() == "".join(after).encode()


@settings(max_examples=tries(15, 200), deadline=None)
@given(
    count=st.integers(8, 40),
    changed=st.sets(st.integers(0, 39), min_size=1, max_size=4),
    above=st.integers(0, 6),
)
def test_where_lines_moved_git_and_we_find_the_same_place(
    count: int, changed: set[int], above: int
) -> None:
    before = [f"line {n} of {n * 7 % 5}\n" for n in range(count)]
    after = ["changed\n" if n in changed else line for n, line in enumerate(before)]
    if before == after:
        return
    now = "".join([*(f"new {n}\n" for n in range(above)), *before])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        put(root, {"a/f": "".join(before), "b/f": "".join(after), "git/f": now, "we/f": now})
        diff = ["diff", "-u", "a/f", "b/f"]
        patch = subprocess.run(diff, cwd=root, capture_output=True, check=False).stdout
        git(root / "git", "init", "-q")
        said = subprocess.run(
            [*GIT, "apply", "-"], cwd=root / "git", input=patch, capture_output=True, check=False
        )
        apply(root / "we", patch.decode())
        ours = (root / "we" / "f").read_text()
        if said.returncode == 0:  # git insists on the beginning of a file where we do not
            assert ours == (root / "git" / "f").read_text()
        assert ours == now[: now.index("line 0")] + "".join(after) if above else "".join(after)


PIECES = st.sampled_from(
    [
        "*** Begin Patch\n", "*** Update File: f\n", "*** Add File: g\n", "*** Delete File: f\n",
        "*** Move to: h\n", "*** End of File\n", "*** End Patch\n", "@@\n", "@@ a\n", " a\n",
        "-a\n", "+b\n", "\n", "diff --git a/f b/f\n", "--- a/f\n", "+++ b/f\n", "@@ -1 +1 @@\n",
        "@@ -1,2 +1,3 @@\n", "rename from f\n", "rename to g\n", "new file mode 100644\n",
        "\\ No newline at end of file\n", "```\n", "--- /dev/null\n", "\r\n", "x", "-- \n", "\0",
    ]
)  # fmt: skip


@settings(max_examples=tries(100, 1000), deadline=None)
@given(pieces=st.lists(PIECES, max_size=14))
def test_nonsense_is_refused_and_nothing_is_changed(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        put(root, {"f": "a\nb\na\n"})
        try:
            apply(root, "".join(pieces))
        except ToolFailure:
            assert taken(root) == {"f": "a\nb\na\n"}
        assert not list(root.rglob(".stormclaw-*"))

"""Searching with ripgrep and without gives the same answer, on the same tree."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.errors import ToolFailure
from stormclaw.tools._found import Found, Query
from stormclaw.tools._rg import RgUnavailable, find_rg, rg_files, rg_search
from stormclaw.tools._search import in_order, list_all, plain_files, plain_search, search

RG = find_rg()


def plant(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with everything that makes listing hard."""
    root = tmp_path.resolve() / "tree"
    plant(
        root,
        {
            ".gitignore": (
                "*.log\n!keep.log\n/build/\nnode_modules/\ndocs/*.html\n# comment\n\n"
                "**/cache\nsub/**/gen\ntrailing   \n\\#odd\n\\!odd\nname\\ \na[bc]d\nx{1,2}y\n"
                "foo/**\n/only-root\nq?z\ndir-not-file/\n"
            ),
            ".ignore": "secret.txt\n!b.log\n",
            ".hidden/h.py": "needle\n",
            "a.log": "needle\n",
            "b.log": "needle\n",
            "keep.log": "needle\n",
            "build/out.py": "needle\n",
            "src/build/in.py": "needle here\nand needle there\n",
            "src/node_modules/m.js": "needle\n",
            "docs/a.html": "needle\n",
            "docs/deep/a.html": "needle\n",
            "sub/cache/c": "needle\n",
            "sub/one/two/gen/g": "needle\n",
            "sub/gen/g": "needle\n",
            "trailing": "needle\n",
            "#odd": "needle\n",
            "!odd": "needle\n",
            "name ": "needle\n",
            "abd": "needle\n",
            "aed": "needle\n",
            "x1y": "needle\n",
            "x{1,2}y": "needle\n",
            "foo/inner/f": "needle\n",
            "only-root": "needle\n",
            "src/only-root": "needle\n",
            "qxz": "needle\n",
            "dir-not-file": "needle\n",
            "src/dir-not-file/f": "needle\n",
            "src/.gitignore": "*.tmp\n!important.tmp\n/local\n!a.log\n",
            "src/x.tmp": "needle\n",
            "src/important.tmp": "needle\n",
            "src/local": "needle\n",
            "src/deep/local": "needle\n",
            "src/a.log": "needle\n",
            "src/secret.txt": "needle\n",
            "crlf.txt": b"one\r\nneedle\r\nthree\r\n",
            "latin.txt": b"caf\xe9 needle\n",
            "utf16.txt": "\ufeffa needle\n".encode("utf-16-le"),
            "bom.txt": b"\xef\xbb\xbfneedle\n",
            "binary.bin": b"needle\n\0\n",
            "late.bin": b"needle\n" + b"x\n" * 60_000 + b"\0",
            "empty.txt": b"",
            "no-end.txt": "x\nneedle",
            "-dash": "needle\n",
            "with space.txt": "needle\n",
        },
    )
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.txt")).write_text("needle\n")
    (root / "new\nline.txt").write_text("needle\n")
    (root / "link.py").symlink_to("src/build/in.py")
    (root / "loop").symlink_to(".")
    (root / "void").mkdir()
    os.mkfifo(root / "pipe")
    return root


def in_git(root: Path) -> None:
    plant(root, {".git/HEAD": "needle\n", ".git/info/exclude": "excluded.txt\n"})
    plant(
        root,
        {"excluded.txt": "needle\n", "src/inner/.git/HEAD": "x", "src/inner/z.log": "needle\n"},
    )
    plant(root.parent, {".gitignore": "*.txt\n"})


def told(found: Found) -> object:
    lines = [
        (file.path, file.matches, [(line.number, line.text, line.hit) for line in file.lines])
        for file in found.files
    ]
    return lines, found.matches, found.matched_files, found.kept, found.binaries


@pytest.mark.parametrize("git", [False, True])
@pytest.mark.parametrize("start", [".", "src", "build", "src/build", ".hidden", "void"])
async def test_the_same_files(tree: Path, git: bool, start: str) -> None:
    if git:
        in_git(tree)
    base = tree / start if start != "." else tree
    assert RG is not None
    by_rg = sorted(await rg_files(RG, base), key=in_order)
    assert sorted(plain_files(base), key=in_order) == by_rg
    assert await list_all(base) == by_rg


SEEN = {
    *("keep.log", "b.log", "src/a.log", ".hidden/h.py", "src/build/in.py", "docs/deep/a.html"),
    *("aed", ".gitignore", "src/only-root", "src/important.tmp", "src/deep/local", "dir-not-file"),
}
IGNORED = {
    *("a.log", "build/out.py", "src/node_modules/m.js", "docs/a.html", "sub/cache/c", "sub/gen/g"),
    *("trailing", "abd", "only-root", "src/x.tmp", "src/local", "src/secret.txt", "foo/inner/f"),
    *("link.py", "pipe", "src/dir-not-file/f"),
}


async def test_what_is_ignored(tree: Path) -> None:
    names = await list_all(tree)
    assert set(names) >= SEEN
    assert not IGNORED & set(names)


async def test_git_files_above_the_repository_do_not_count(tree: Path) -> None:
    in_git(tree)
    names = await list_all(tree)
    assert "crlf.txt" in names
    assert "excluded.txt" not in names
    assert "src/inner/z.log" in names
    assert not any(".git/" in name for name in names)


QUERIES = [
    Query("needle"),
    Query("NEEDLE", ignore_case=True),
    Query("needle$"),
    Query("^needle", context=2),
    Query("needle", files_only=True),
    Query("needle", max_results=3, context=1),
    Query("needle", max_results=3, files_only=True),
    Query(r"\bhere\b|there"),
    Query("-dash|needle here"),
    Query("(?<=and )needle"),
    Query("zzz"),
    Query("needle", keep=lambda path: path.endswith(".py"), last_part="*.py"),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query.pattern))
@pytest.mark.parametrize("start", [".", "src", "src/build/in.py", "crlf.txt", "build", "late.bin"])
async def test_the_same_matches(tree: Path, query: Query, start: str) -> None:
    base = tree / start if start != "." else tree
    by_rg = await rg_search(RG, base, query)
    assert told(plain_search(base, query)) == told(by_rg)
    assert told(await search(base, query)) == told(by_rg)


async def test_what_is_found(tree: Path) -> None:
    found = await search(tree / "src", Query("needle"))
    files = {file.path: [(line.number, line.text) for line in file.lines] for file in found.files}
    assert files["build/in.py"] == [(1, "needle here"), (2, "and needle there")]
    assert list(files) == sorted(files, key=in_order)
    assert (await search(tree, Query("needle"))).binaries == 1
    assert (await search(tree / "binary.bin", Query("needle"))).binaries == 1


async def test_long_lines_are_cut_around_the_match(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("é" * 5000 + "needle" + "y" * 5000)
    for found in (
        await rg_search(RG, tmp_path, Query("needle")),
        plain_search(tmp_path, Query("needle")),
    ):
        text = found.files[0].lines[0].text
        assert text.startswith("(4,900 characters) …éé")
        assert "needle" in text
        assert text.endswith("yy… (+4,706 characters)")


@pytest.mark.parametrize("pattern", ["(", "[a", "*x", "(?<=a"])
async def test_a_wrong_pattern_is_told(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ToolFailure, match=r"regex|PCRE2") as failure:
        await rg_search(RG, tmp_path, Query(pattern))
    assert failure.value.summary == "bad pattern"
    with pytest.raises(ToolFailure, match="the regular expression is wrong") as failure:
        plain_search(tmp_path, Query(pattern))
    assert failure.value.summary == "bad pattern"


async def test_a_ripgrep_that_does_not_run(tmp_path: Path) -> None:
    broken = tmp_path / "rg"
    for content, mode in (
        ("not a program", 0o755),
        ("", 0o644),
        ("#!/bin/sh\nkill -9 $$\n", 0o755),
    ):
        broken.write_text(content)
        broken.chmod(mode)
        with pytest.raises(RgUnavailable):
            await rg_files(str(broken), tmp_path)
    with pytest.raises(RgUnavailable):
        await rg_search(None, tmp_path, Query("x"))


async def test_without_ripgrep_everything_still_works(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rg = await list_all(tree), told(await search(tree, Query("needle")))
    monkeypatch.setattr("sys.executable", str(tmp_path / "nowhere" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_rg() is None
    assert (await list_all(tree), told(await search(tree, Query("needle")))) == with_rg


async def test_configuration_of_others_is_not_read(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await list_all(tree)
    config = tmp_path / "rc"
    config.write_text("--glob=!*\n--pre=/bin/false\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert await list_all(tree) == before
    assert (await search(tree, Query("needle"))).matches > 10


async def test_cancelling_ends_ripgrep(tmp_path: Path) -> None:
    """Our "ripgrep" holds a pipe open; when the pipe ends, the program is gone."""
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\nexec 3>{fifo}\necho here >&3\nexec sleep 1000\n")
    program.chmod(0o755)
    task = asyncio.create_task(rg_files(str(program), tmp_path))
    reading = await asyncio.to_thread(os.open, fifo, os.O_RDONLY)
    try:
        assert await asyncio.to_thread(os.read, reading, 10) == b"here\n"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(os.read, reading, 10) == b""
    finally:
        os.close(reading)


PARTS = st.sampled_from(["a", "b", "ab", ".c", "a b"])
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
RULES = st.builds(
    lambda negated, start, body, end: ("!" * negated) + start + body + end,
    st.booleans(),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(
        st.sampled_from(["a", "b", "*", "a*", "?", "**", "[ab]", "[!a]", ".c", "{a,b}"]),
        min_size=1,
        max_size=3,
    ).map("/".join),
    st.sampled_from(["", "", "/", "/**"]),
)


@settings(max_examples=tries(20, 60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    paths=st.lists(PATHS, max_size=12),
    rules=st.lists(
        st.tuples(st.sampled_from([".gitignore", "a/.gitignore", ".ignore"]), RULES), max_size=5
    ),
)
def test_any_rules_mean_the_same_to_both(paths: list[str], rules: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for path in paths:
            try:
                plant(root, {path: "x"})
            except OSError:
                continue  # a file is where a folder would have to be
        for name, rule in rules:
            try:
                with (root / name).open("a") as file:
                    file.write(rule + "\n")
            except OSError:
                continue
        by_rg = asyncio.run(rg_files(RG, root))
        assert sorted(plain_files(root)) == sorted(by_rg)

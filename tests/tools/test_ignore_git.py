"""What is hidden is what git hides: our walk and ripgrep's beside `git ls-files`, case by case."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stormclaw.tools._rg import find_rg, rg_files
from stormclaw.tools._search import list_all, plain_files

GIT = shutil.which("git")
RG = find_rg()
pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")

Git = Callable[..., bytes]

NAMES = (
    "a", "b", "c.txt", "A", "ab", "abc", "a.log", "b.log", "keep.log", "a b", "a ", "#a", "!a",
    "\\a",
    "[a]", "{a,b}", "*", "a?b", "-", "]", "^", "é", "ßé.txt", ".hidden", ".env", "a.b.c", "x-y",
    "x_y",
    "dir/a", "dir/b.log", "dir/sub/a", "dir/sub/b", "dir/sub/deep/a", "dir/.x/a", "foo/a",
    "foo/bar/a",
    "foo/bar/baz/b", "foo/b.log", "foobar/a", "foobar/bar/a", "src/build/o", "src/x.tmp", "build/o",
    "build/sub/o", "node_modules/m/i.js", "src/node_modules/m.js", "doc/a.html", "doc/x/a.html",
    "x/y/z/w", "x/y/a", "x/a/y", "tab\tx", "Dir2/A", "q/[b]/a", "q/b/a", "ünï/a", "café/b.log",
)  # fmt: skip
"""The files of the tree in which every case is tried."""

CASES: tuple[bytes, ...] = tuple(
    line.encode() if isinstance(line, str) else line
    for line in (
        # plain names, at any depth and at the top
        "a", "/a", "a/", "/a/", "dir", "dir/", "/dir", "/dir/", "dir/a", "/dir/a", "dir/a/", "sub",
        "sub/", "dir/sub", "dir/sub/", "sub/a", "bar/a", "foo/bar", "/foo/bar/a", "b.log", "A",
        # stars
        "*", "/*", "*/", "/*/", "*.log", "/*.log", "*.log/", "dir/*", "dir/*/", "*/a", "*/*",
        "*/*/a",
        "a*", "*b", "a*c", "*.*", ".*", "*a*b*", "f*/b*", "/f*r/a", "*.html", "doc/*.html", "x-*",
        "*.b.*", "foo*", "foo*/", "foo/*/a", "?", "??", "?.log", "a?b", "di?/a", "?/?", "x?y",
        # two stars
        "**", "/**", "**/", "**/a", "/**/a", "**/a/", "**/sub", "**/sub/", "**/sub/a", "dir/**",
        "dir/**/", "dir/**/a", "dir/**/**/a", "**/bar/**", "foo/**/b", "**/*.log", "/**/*.log",
        "a**",
        "**a", "a**b", "foo**", "foo**/", "foo**/a", "foo/b**", "foo/ba**", "d**/a", "***", "***/a",
        "dir/***/a", "x/**/w", "x/**y/a", "**/**", "**/x/**/a", "dir/sub**", "foo/bar**/b", "x/**/",
        # brackets
        "[ab]", "[a-c]*", "[!a]", "[^a]", "[]a]", "[]]", "[!]a]", "[-a]", "[a-]", "[]-a]", "[a",
        "[",
        "[[]a]", "[a]", "\\[a\\]", "\\[a]", "[[:alpha:]]", "[[:upper:]]", "[[:digit:]x]-y",
        "[![:alnum:]]*",
        "[[:foo:]]", "[[:alpha:]", "[[:space:]]", "a[[:blank:]]b", "[\\a]", "[\\]]", "[\\-x]",
        "q/[[]b]/a",
        "x[_-]y", "[!-]", "[z-a]", "*.[lt]og", "d[i/]r", "dir[/]a", "[^^]", "[!!]a", "x[!a-z]y",
        "[#]a",
        # signs that mean something elsewhere, and their escapes
        "{a,b}", "{a,b", "#a", "\\#a", "!a", "\\!a", "\\a", "\\\\a", "\\*", "a\\?b", "a\\", "\\",
        "a\\ ",
        "a ", "a  ", "a\\  ", " a", "a b", "a\\ b", "tab\tx", "tab\t", "é", "?é.txt", "??é.txt",
        "ca*", "caf?",
        "caf??", "ünï/", "[é]", "*é*", b"\xff*", b"caf\xc3*", b"[\xc3]?", "^", "-", "(a)", "a|b",
        "a.b.c", ".",
        "..", "./a", "dir/../a", "//a", "dir//a", "a//", "/", "//", "!", "!/", "   ", "", "#",
        "\\ ",
        # several lines: the last one that speaks decides; nothing comes back below a hidden one
        "*.log\n!keep.log", "!keep.log\n*.log", "dir/\n!dir/a", "dir/*\n!dir/a", "dir/*\n!dir/sub",
        "dir/*\n!dir/sub/\ndir/sub/*\n!dir/sub/a", "*\n!*/", "*\n!*/\n!*.log",
        "/*\n!/foo\n/foo/*\n!/foo/bar",
        "*\n!a", "*\n!/dir/", "**\n!**/\n!**/a", "foo/**\n!foo/bar/", "foo/**\n!foo/**/",
        "a\n!a\na",
        "*.log\n!/dir/*.log", "build\n!src/build", "!a\n!b", "*\n!.*", ".*\n!.env",
        "node_modules\n!node_modules/",
        "*\n!src/**", "/*\n!/x\n!/x/y/", "*\n!{a,b}", "*\n![\xe9]", "*\n!caf**/", "*\n!foo/ba**",
        "*a*b*c*d*\n!a", "**/x/**/y/**/z/**/w", "*?*?*?*", "*\n!*o*o*a*r*/\n!*/*a*",
        # how files are written
        b"\xef\xbb\xbfa\nb", b"a\r\nb\r\n", b"a\r\n\r\n#x\r\n*.log\r\n!keep.log\r\n", b"a\rb",
        b"a\0b\nb",
        b"\xef\xbb\xbf# only a comment\n\n", b"a\n\xef\xbb\xbfb", b"a", b"a\n\n\n", b"a \r\nb",
        b"dir/ \n", b"dir/\t\n",
    )
)  # fmt: skip


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A git that knows nobody; `git(folder, *arguments)`."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def run(folder: Path, *arguments: str) -> bytes:
        assert GIT is not None
        always = ("-c", "protocol.file.allow=always", "-c", "user.name=x", "-c", "user.email=x@x")
        done = subprocess.run(
            [GIT, "-C", str(folder), *always, *arguments], check=True, capture_output=True
        )
        return done.stdout

    return run


def plant(root: Path, *names: str | bytes, content: bytes = b"x\n") -> None:
    for name in names:
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + os.fsencode(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def tree(tmp_path: Path, git: Git) -> Path:
    root = tmp_path.resolve() / "tree"
    root.mkdir()
    git(root, "init", "-q")
    plant(root, *NAMES)
    return root


def seen_by_git(git: Git, root: Path) -> set[str]:
    """Files that are neither tracked nor ignored."""
    out = git(root, "ls-files", "-o", "--exclude-standard", "-z")
    return {os.fsdecode(name) for name in out.split(b"\0") if name}


def seen_by_us(base: Path) -> set[str]:
    """Both of our ways, which must agree."""
    by_hand = set(plain_files(base))
    if RG is not None:
        assert set(asyncio.run(rg_files(RG, base))) == by_hand
    return by_hand


@pytest.mark.parametrize("first", range(0, len(CASES), 20))
def test_every_case(tree: Path, git: Git, first: int) -> None:
    for case in CASES[first : first + 20]:
        (tree / ".gitignore").write_bytes(case)
        assert seen_by_us(tree) == seen_by_git(git, tree), case


def test_there_are_enough_cases() -> None:
    assert len(set(CASES)) >= 220


ATOMS = (
    "a", "b", "A", "dir", "sub", "foo", "*", "*", "?", "**", "**/", "/", "/", "/", "[ab]", "[!a]",
    "[a-f]", "[]a]", "[a", "\\", "\\*", " ", "\\ ", "#", "!", "{a,b}", ".log", "bar", "[[:alpha:]]",
    "***", "é", "\t", "[-a]", "\\/", "o", "x",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_lines_put_together_at_random(tree: Path, git: Git, seed: int) -> None:
    chance = random.Random(seed)
    fold = seed == 2
    git(tree, "config", "core.ignoreCase", str(fold).lower())
    for _ in range(25):
        lines = [
            "!" * (chance.random() < 0.25)
            + "".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 5)))
            for _ in range(chance.randint(1, 4))
        ]
        (tree / ".gitignore").write_text("\n".join(lines))
        (tree / "dir" / ".gitignore").write_text(lines[0])
        assert seen_by_us(tree) == seen_by_git(git, tree), lines


def test_files_in_folders_speak_for_what_is_below(tree: Path, git: Git) -> None:
    plant(tree, ".gitignore", content=b"*.log\n/build\nsub\n")
    plant(tree, "dir/.gitignore", content=b"!b.log\n!sub\n/a\n")
    plant(tree, "dir/sub/.gitignore", content=b"deep/*\n")
    plant(tree, "foo/.gitignore", content=b"bar/*\n!bar/a\n.gitignore\n")
    plant(tree, "x/.gitignore", content=b"{a,b}\n[[:alpha:]]\n!y\n")
    assert seen_by_us(tree) == seen_by_git(git, tree)
    shown = seen_by_us(tree)
    assert {"dir/b.log", "dir/sub/a", "foo/bar/a"} <= shown
    assert not {"dir/a", "dir/sub/deep/a", "foo/b.log", "foo/.gitignore", "build/o"} & shown


@pytest.mark.parametrize("below", ["dir", "dir/sub", "foo", "src", "x/y"])
def test_rules_from_above_hold_below(tree: Path, git: Git, below: str) -> None:
    rules = b"*.log\n/src/build\nsub/deep\n**/y/a\nd*/b.log\nfoo/**/b\nx/y/**\n!x/y/a\n/dir/*/a\n"
    plant(tree, ".gitignore", content=rules)
    assert seen_by_us(tree / below) == seen_by_git(git, tree / below)


def test_hidden_ignore_files_count_all_the_same(tree: Path, git: Git) -> None:
    plant(tree, ".gitignore", content=b".*\nfoo/\n")
    plant(tree, "dir/.gitignore", content=b"b.log\n!.x\n")
    plant(tree, "foo/.gitignore", content=b"!*\n")
    assert seen_by_us(tree) == seen_by_git(git, tree)
    assert "dir/b.log" not in seen_by_us(tree)
    assert "dir/.x/a" in seen_by_us(tree)


def test_the_list_of_the_repository_and_of_the_person(tree: Path, git: Git, tmp_path: Path) -> None:
    plant(tree, ".git/info/exclude", content=b"*.tmp\n!b.log\n/doc\n")
    plant(tmp_path / "home", ".config/git/ignore", content=b"*.html\n*.log\n/x/y\n")
    assert seen_by_us(tree) == seen_by_git(git, tree)
    assert "b.log" in seen_by_us(tree)
    plant(tmp_path / "home", "mine", content=b"/foo\nA\n")
    git(tree, "config", "--global", "core.excludesFile", "~/mine")
    assert seen_by_us(tree) == seen_by_git(git, tree)
    assert not {"foo/a", "A"} & seen_by_us(tree)
    assert seen_by_us(tree / "dir") == seen_by_git(git, tree / "dir")
    git(tree, "config", "core.excludesFile", "own.txt")
    plant(tree, "own.txt", content=b"c.txt\n")
    assert seen_by_us(tree) == seen_by_git(git, tree)
    git(tree, "config", "core.excludesFile", "")
    assert seen_by_us(tree) == seen_by_git(git, tree)


def test_work_trees_share_the_list_of_the_repository(tree: Path, git: Git, tmp_path: Path) -> None:
    git(tree, "commit", "-q", "--allow-empty", "-m", "x")
    other = tmp_path.resolve() / "other"
    git(tree, "worktree", "add", "-q", str(other))
    plant(tree, ".git/info/exclude", content=b"a\n")
    plant(other, "a", "b", "dir/a")
    assert seen_by_us(other) == seen_by_git(git, other) == {"b"}


def test_a_repository_inside_has_its_own_rules(tree: Path, git: Git, tmp_path: Path) -> None:
    """Also a submodule, whose own list lies in the repository around it."""
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    plant(library, "lib.log", "lib.py")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "x")
    plant(tree, ".gitignore", content=b"*.log\n*.tmp\n")
    git(tree, "submodule", "add", "-q", str(library), "ext/lib")
    plant(tree, "ext/lib/x.tmp", "ext/lib/y.o")
    plant(tree, ".git/modules/ext/lib/info/exclude", content=b"*.o\n")
    shown = seen_by_us(tree)
    assert {"ext/lib/lib.log", "ext/lib/lib.py", "ext/lib/x.tmp"} <= shown
    assert not {"ext/lib/y.o", "a.log", "ext/lib/.git"} & shown
    inner = tree / "ext" / "lib"
    assert seen_by_us(inner) >= seen_by_git(git, inner)


def test_a_pattern_hides_what_is_tracked_too(tree: Path, git: Git) -> None:
    """As for ripgrep: `git ls-files` would name it, a search does not."""
    git(tree, "add", "a.log", "b.log")
    plant(tree, ".gitignore", content=b"*.log\n")
    assert not {"a.log", "b.log"} & seen_by_us(tree)


def test_ignore_files_that_are_none(tree: Path, git: Git, tmp_path: Path) -> None:
    """A link is not followed (git does not either); a pipe is not waited for."""
    plant(tmp_path, "rules", content=b"*\n")
    (tree / ".gitignore").symlink_to(tmp_path / "rules")
    assert seen_by_us(tree) - {".gitignore"} == seen_by_git(git, tree) - {".gitignore"}
    assert "a" in seen_by_us(tree)
    (tree / ".gitignore").unlink()
    os.mkfifo(tree / ".gitignore")
    os.mkfifo(tree / "dir" / ".gitignore")
    (tree / "foo" / ".gitignore").mkdir()
    assert "dir/a" in seen_by_us(tree)
    assert set(asyncio.run(list_all(tree))) == seen_by_us(tree)


def test_without_git_the_files_count_too(tmp_path: Path, git: Git) -> None:
    root = tmp_path.resolve() / "plain"
    plant(root, "a.log", "b", "sub/c.log", "sub/d")
    plant(root, ".gitignore", content=b"*.log\n")
    plant(root, "sub/.gitignore", content=b"!c.log\nd\n")
    assert seen_by_us(root) == {".gitignore", "b", "sub/.gitignore", "sub/c.log"}
    assert seen_by_us(root / "sub") == {".gitignore", "c.log"}


def test_a_hostile_configuration_runs_nothing(
    tree: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "ran"
    program = tree / "git"
    program.write_text(f"#!/bin/sh\ntouch {trap}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.hooksPath", "alias.config", "core.sshCommand",
                "pager.config", "core.editor", "diff.external"):  # fmt: skip
        git(tree, "config", key, str(program))
    git(tree, "config", "core.ignoreCase", "true")
    monkeypatch.setenv("PATH", f"{tree}:.:{os.environ['PATH']}")
    plant(tree, ".gitignore", content=b"DIR/\n")
    assert not {"dir/a"} & seen_by_us(tree)
    assert not trap.exists()


def test_a_configuration_that_is_never_read_to_its_end(tree: Path, git: Git) -> None:
    (tree / ".git" / "config").write_text("[include]\n\tpath = /dev/zero\n")
    assert "a" in set(plain_files(tree))


def test_hostile_patterns_take_no_time(tree: Path, git: Git) -> None:
    """Stars upon stars: a regular expression would never come back from these names."""
    long = "a" * 200
    plant(tree, long, "/".join(["aa"] * 40) + "/b")
    plant(tree, ".gitignore", content=b"*a*a*a*a*a*a*a*a*a*a*b\n" + b"**/aa/" * 20 + b"c\n")
    assert long in seen_by_us(tree)

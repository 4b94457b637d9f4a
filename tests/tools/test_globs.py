"""Glob patterns, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.errors import ToolFailure
from stormclaw.tools._globs import compile_glob, literal_prefix


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "lib/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/test_*.py", ["test_a.py", "x/test_a.py"], ["x/a_test_b.py"]),
        ("**", ["a", "a/b"], []),
        ("src/**", ["src/a", "src/a/b"], ["src"]),
        ("src/", ["src/a", "src/a/b"], ["srca"]),
        ("./a.py", ["a.py"], []),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("*.{js,ts}", ["a.js", "x/b.ts"], ["a.css"]),
        ("{a,b/{c,d}}.x", ["a.x", "b/c.x", "b/d.x"], ["c.x"]),
        ("[!a-c]?", ["d1"], ["a1", "d"]),
        ("[]x]", ["]", "x"], ["a"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[--/]", ["-", "."], ["/", "a"]),
        ("[!^]", ["a"], ["^"]),
        ("[[&&]", ["[", "&"], ["a"]),
        ("[", ["["], ["a"]),
        ("a}b,c", ["a}b,c"], ["ab"]),
        ("\\*", ["*"], ["a"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("a.b+c(d)", ["a.b+c(d)"], ["axb+c(d)"]),
        ("ä*", ["ähm", "x/ä"], ["a"]),
    ],
)
def test_globs(pattern: str, matching: list[str], other: list[str]) -> None:
    regex = compile_glob(pattern)
    assert [path for path in matching if not regex.fullmatch(path)] == []
    assert [path for path in other if regex.fullmatch(path)] == []


@pytest.mark.parametrize("pattern", ["{a,b", "a\\", "[z-a]"])
def test_wrong_globs(pattern: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        compile_glob(pattern)
    assert failure.value.summary == "bad glob"


@given(st.text("ab/*?[]{},\\!^-.", max_size=12), st.text("ab/.", max_size=8))
def test_any_glob_is_understood_or_refused(pattern: str, path: str) -> None:
    try:
        regex = compile_glob(pattern)
    except ToolFailure:
        return
    regex.fullmatch(path)


@pytest.mark.parametrize(
    ("pattern", "prefix", "rest"),
    [
        ("/a/b/*.py", "/a/b", "*.py"),
        ("/*.py", "/", "*.py"),
        ("../x/*.py", "../x", "*.py"),
        ("*.py", "", "*.py"),
        ("a/b.py", "a", "b.py"),
    ],
)
def test_the_literal_start_of_a_glob(pattern: str, prefix: str, rest: str) -> None:
    assert literal_prefix(pattern) == (prefix, rest)
